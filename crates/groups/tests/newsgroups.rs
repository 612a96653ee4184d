//! The `newsgroups` file.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use groups::Newsgroups;
use proptest::prelude::*;

const SAMPLE: &str = "\
# descriptions
comp.a\t\t\tAbout a.
comp.b About b, with blanks.  \r
comp.c
bad/name\tx

comp.a\tAgain.
comp.d\tThe last";

#[test]
fn lines_are_parsed() {
    let newsgroups = Newsgroups::parse(SAMPLE.into()).unwrap();
    assert_eq!(newsgroups.description(b"comp.a"), Some(&b"About a."[..]));
    assert_eq!(
        newsgroups.description(b"comp.b"),
        Some(&b"About b, with blanks."[..])
    );
    assert_eq!(newsgroups.description(b"comp.c"), Some(&b""[..]));
    assert_eq!(newsgroups.description(b"comp.d"), Some(&b"The last"[..]));
    assert_eq!(newsgroups.description(b"comp"), None);
    assert_eq!(newsgroups.bad_lines(), [5, 7]);
    assert_eq!(newsgroups.iter().count(), 4);
}

#[test]
fn lines_are_set_and_removed() {
    let mut newsgroups =
        Newsgroups::parse(b"comp.a\tA\ncomp.bb\tB  \r\ncomp.c\tC".to_vec()).unwrap();
    newsgroups.set(b"comp.bb", b" new\n text ").unwrap();
    newsgroups.set(b"comp.a.very.long.name", b"D").unwrap();
    assert!(newsgroups.set(b"../x", b"D").is_err());
    assert!(newsgroups.remove(b"comp.a").unwrap());
    assert!(!newsgroups.remove(b"comp.a").unwrap());
    let text = newsgroups.text().escape_ascii().to_string();
    assert_eq!(
        text,
        "comp.bb\\t\\t\\tnew  text\\ncomp.c\\tC\\ncomp.a.very.long.name\\tD\\n"
    );
    assert_eq!(newsgroups.description(b"comp.bb"), Some(&b"new  text"[..]));
}

proptest! {
    #[test]
    fn any_bytes_are_parsed(
        text in prop::collection::vec(
            prop_oneof![5 => prop::sample::select(b"ab.\t \r\n#".to_vec()), 1 => any::<u8>()], 0..200),
        description in any::<Vec<u8>>(),
    ) {
        let mut newsgroups = Newsgroups::parse(text).unwrap();
        let before = newsgroups.iter().count();
        let faults = newsgroups.bad_line_count();
        let had = newsgroups.description(b"a.b").is_some();
        newsgroups.set(b"a.b", &description).unwrap();
        prop_assert!(newsgroups.description(b"a.b").is_some());
        prop_assert_eq!(newsgroups.iter().count(), before + usize::from(!had));
        prop_assert_eq!(newsgroups.bad_line_count(), faults);
    }
}

#[test]
fn a_long_description_is_cut_between_characters() {
    use groups::newsgroups::DESCRIPTION_BYTES_MAX;
    for before in 0..4 {
        let text = format!("{}{}", "x".repeat(before), "\u{20ac}".repeat(300));
        let mut file = groups::Newsgroups::parse(Vec::new()).unwrap();
        file.set(b"a.b", text.as_bytes()).unwrap();
        let kept = std::str::from_utf8(file.description(b"a.b").unwrap()).unwrap();
        assert!(text.starts_with(kept));
        assert!(kept.len() <= DESCRIPTION_BYTES_MAX && kept.len() > DESCRIPTION_BYTES_MAX - 3);
    }
}
