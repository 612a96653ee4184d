//! Full-size `active` and `newsgroups` lists load without bad lines.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::shared;

use std::io::Read;

use groups::{Active, Flag, Newsgroups};

fn unzipped(path: &str) -> Option<Vec<u8>> {
    let packed = shared::read(path)?;
    let mut text = Vec::new();
    let mut unpack = flate2::read::MultiGzDecoder::new(packed.as_slice());
    unpack.read_to_end(&mut text).unwrap();
    Some(text)
}

#[test]
fn a_full_active_list_loads_unchanged() {
    let Some(text) = unzipped("corpus/admin/active.isc.gz") else {
        return;
    };
    let lines = text.iter().filter(|&&byte| byte == b'\n').count();
    let mut active = Active::parse(text.clone()).unwrap();
    assert_eq!(active.bad_lines(), []);
    assert_eq!(active.len(), lines);
    assert!(!active.layout_changed());
    assert_eq!(active.image(), text);
    let names: Vec<Vec<u8>> = active.ids().map(|id| active.name(id).to_vec()).collect();
    for (line, name) in text.split(|&byte| byte == b'\n').zip(&names) {
        let id = active.find(name).unwrap();
        assert!(line.starts_with(name));
        assert_eq!(line[line.len() - 1], active.flag(id).letter());
        assert_eq!(active.take_number(id), Some(1));
        assert_eq!(active.resolve(id), Some(id));
    }
    // The list contains them already.
    for name in [&b"control"[..], b"junk"] {
        let id = active.ensure(name).unwrap();
        assert_eq!(active.flag(id), Flag::NoPosting);
    }
    assert!(!active.layout_changed());
    let reread = Active::parse(active.image().to_vec()).unwrap();
    assert_eq!(reread.len(), lines);
    assert!(reread.ids().all(|id| reread.high(id) == 1));
}

#[test]
fn a_full_newsgroups_list_loads() {
    let Some(text) = unzipped("corpus/admin/newsgroups.isc.gz") else {
        return;
    };
    let newsgroups = Newsgroups::parse(text.clone()).unwrap();
    assert_eq!(newsgroups.text(), text);
    assert!(newsgroups.iter().count() > 40_000);
    eprintln!("newsgroups: bad lines {:?}", newsgroups.bad_lines());
    assert!(newsgroups.bad_line_count() * 1000 < newsgroups.iter().count());
}
