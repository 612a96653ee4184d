//! A file that readers may have mapped is never made shorter than what was published: they would die of SIGBUS. What has to be
//! made again is a new file.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::double;
use crate::news;
use crate::story;

use std::collections::HashMap;
use std::path::PathBuf;

use double::{Deed, Double};
use news::News;
use store::{Options, Snapshot, Spool};
use story::small;

/// Articles are filed and published, and nothing was synced but them.
fn filed(news: &News, double: &Double) -> Spool {
    let options = Options {
        checkpoint_bytes: u64::MAX,
        ..small()
    };
    let mut spool = Spool::open_on(double.disk(), news.dir(), options).unwrap();
    for number in 0..60 {
        let place = news.file(&mut spool, &format!("<{number}@x>"), &["a.b"]);
        if number % 10 == 5 {
            spool.cancel(place, b"<c@x>").unwrap();
        }
        if number % 4 == 3 {
            spool.commit().unwrap();
        }
    }
    spool
}

fn lengths(news: &News) -> HashMap<PathBuf, u64> {
    let inside = |dir: PathBuf| std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    let all = inside(news.dir().join("segments")).chain(inside(news.dir().to_owned()));
    let files = all.filter(|entry| entry.file_type().unwrap().is_file());
    files
        .map(|entry| (entry.path(), entry.metadata().unwrap().len()))
        .collect()
}

fn check(before: &HashMap<PathBuf, u64>, double: &Double, what: &str) {
    for deed in double.take_trace() {
        if let Deed::Cut(path, to) = deed {
            let published = before.get(&path).copied().unwrap_or(0);
            assert!(
                to >= published,
                "{what}: {path:?} was cut from {published} to {to}"
            );
        }
    }
}

#[test]
fn when_a_checkpoint_fails() {
    let mut at = 1;
    loop {
        let news = News::new(&["a.b"]);
        let double = Double::new(news.dir());
        let mut spool = filed(&news, &double);
        let before = lengths(&news);
        double.take_trace();
        double.fail_sync(at);
        let failed = spool.checkpoint().is_err();
        double.heal();
        // Who only reads does not wait for what is made good.
        let reader = Snapshot::open_on(double.disk(), news.dir()).unwrap();
        assert!(
            reader
                .article(b"<58@x>", &mut Vec::new())
                .unwrap()
                .is_some()
        );
        drop(spool);
        drop(Spool::open_on(double.disk(), news.dir(), small()).unwrap());
        check(&before, &double, &format!("sync {at}"));
        let reader = Snapshot::open_on(double.disk(), news.dir()).unwrap();
        assert!(
            reader
                .article(b"<58@x>", &mut Vec::new())
                .unwrap()
                .is_some()
        );
        if !failed {
            break;
        }
        at += 1;
    }
    assert!(at > 5, "{at}");
}

#[test]
fn when_views_are_damaged_while_somebody_reads() {
    let news = News::new(&["a.b"]);
    let double = Double::new(news.dir());
    drop(filed(&news, &double));
    for suffix in ["his", "ovr"] {
        let path = news
            .dir()
            .join(format!("segments/00000000000000004096.{suffix}"));
        let bytes = std::fs::read(&path).unwrap();
        // What a reader has mapped stays there, whatever is in it.
        std::fs::write(&path, [&bytes[..], b"more than there should be"].concat()).unwrap();
        let mut torn = bytes.clone();
        torn[bytes.len() / 2] ^= 1;
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &torn, 0).unwrap();
        let mut before = lengths(&news);
        before.insert(path, bytes.len() as u64);
        double.take_trace();
        drop(Spool::open_on(double.disk(), news.dir(), small()).unwrap());
        store::fsck::fsck_on(double.disk(), news.dir(), true).unwrap();
        check(&before, &double, suffix);
        assert!(
            store::fsck::fsck_on(double.disk(), news.dir(), false)
                .unwrap()
                .is_clean()
        );
    }
}

#[test]
fn when_the_last_article_is_damaged() {
    let news = News::new(&["a.b"]);
    let double = Double::new(news.dir());
    drop(filed(&news, &double));
    let path = news.dir().join("segments/00000000000000004096.art");
    let before = lengths(&news);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let end = file.metadata().unwrap().len();
    std::os::unix::fs::FileExt::write_all_at(&file, b"torn", end - 60).unwrap();
    double.take_trace();
    let report = store::fsck::fsck_on(double.disk(), news.dir(), true).unwrap();
    assert_eq!(report.lost, 1, "{report:?}");
    check(&before, &double, "the last article");
    assert!(
        store::fsck::fsck_on(double.disk(), news.dir(), false)
            .unwrap()
            .is_clean()
    );
}
