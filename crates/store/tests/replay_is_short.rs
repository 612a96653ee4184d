//! After a crash only the tail is read: work grows with what is new, not with what is kept.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::double;
use crate::news;

use double::Double;
use news::News;
use store::{Options, Spool};

const ARTICLE_BYTES: usize = 20_000;
const ARTICLES: u64 = 1_000;

/// Files about 20 MB, the last commit not long after a checkpoint. Returns what a start reads then.
fn bytes_read_after(crash: impl Fn(&Double) -> Option<tempfile::TempDir>) -> u64 {
    let options = Options {
        segment_bytes: 32 << 20,
        checkpoint_bytes: 1 << 20,
        ..Options::default()
    };
    let news = News::new(&["a.b"]);
    let double = Double::new(news.dir());
    let mut spool = Spool::open_on(double.disk(), news.dir(), options).unwrap();
    let filler = "y".repeat(ARTICLE_BYTES);
    for number in 0..ARTICLES {
        news.file_with(&mut spool, &format!("<{number}@x>"), &["a.b"], &filler);
        if number % 10 == 9 {
            spool.commit().unwrap();
        }
    }
    drop(spool);
    let left = crash(&double);
    let (double, dir) = match &left {
        Some(left) => (Double::new(left.path()), left.path()),
        None => (double, news.dir()),
    };
    let before = double.bytes_read();
    let spool = Spool::open_on(double.disk(), dir, options).unwrap();
    let read = double.bytes_read() - before;
    assert!(
        spool
            .has(format!("<{}@x>", ARTICLES - 1).as_bytes())
            .unwrap()
    );
    read
}

#[test]
fn after_a_power_cut_what_follows_the_checkpoint_is_read() {
    let read = bytes_read_after(|double| Some(double.power_cut(7)));
    // Looked at once for its end and once for what it says.
    assert!(read < 3 << 20, "{read} bytes of 20 MB");
}

#[test]
fn after_a_normal_end_nothing_of_the_log_is_read() {
    let read = bytes_read_after(|_| None);
    assert!(read < 4096, "{read} bytes");
}

#[test]
fn after_a_kill_what_follows_the_last_commit_is_read() {
    // Killed behind the write of .art and before its derived files: as if a record came from nowhere.
    let read = bytes_read_after(|double| {
        let (path, base) = (double.root().join("segments"), 4096);
        let art = path.join(format!("{base:020}.art"));
        let bytes = std::fs::read(&art).unwrap();
        std::fs::write(&art, [&bytes[..], b"BSr1 torn"].concat()).unwrap();
        None
    });
    assert!(read < 1 << 20, "{read} bytes of 20 MB");
}

#[test]
fn whether_old_articles_are_visible_is_known_without_a_list() {
    let options = Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    };
    let news = News::new(&["a.b"]);
    let double = Double::new(news.dir());
    let mut spool = Spool::open_on(double.disk(), news.dir(), options).unwrap();
    let filler = "y".repeat(ARTICLE_BYTES);
    let id = |number: u64| format!("<{number}@x>");
    for number in 0..300 {
        news.file_with(&mut spool, &id(number), &["a.b"], &filler);
        spool.commit().unwrap();
    }
    let is_visible = |spool: &Spool, number: u64| {
        let line = spool.find(id(number).as_bytes()).unwrap().unwrap();
        spool.is_visible(&line).unwrap()
    };
    assert!(is_visible(&spool, 0));
    let listed = double.listed();
    for number in 0..300 {
        assert!(is_visible(&spool, number), "{number}");
    }
    assert_eq!(double.listed(), listed);
    // As expire does in another program.
    let arts = std::fs::read_dir(news.dir().join("segments")).unwrap();
    let arts = arts.map(|entry| entry.unwrap().path());
    let mut arts: Vec<_> = arts
        .filter(|path| path.extension().is_some_and(|end| end == "art"))
        .collect();
    arts.sort();
    assert!(arts.len() > 3, "{arts:?}");
    std::fs::remove_file(&arts[0]).unwrap();
    assert!(!is_visible(&spool, 0) && is_visible(&spool, 299));
}
