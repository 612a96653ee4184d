//! A sync that failed is never made good by writing the same bytes again through the page cache: the pages read well, the next
//! sync succeeds, and when the file system is mounted again they are gone. Nothing that was told to be filed may be among them.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::double;
use crate::news;

use double::Double;
use news::News;
use store::{Error, Options, Snapshot, Spool};

const IDS: [&str; 6] = ["<1@x>", "<2@x>", "<3@x>", "<4@x>", "<5@x>", "<6@x>"];

fn options() -> Options {
    Options {
        checkpoint_bytes: 1,
        ..Options::default()
    }
}

/// Files what is not known yet, in commits of two, up to the first error; adds what was told to be filed.
fn file_all(news: &News, double: &Double, told: &mut Vec<&'static str>) -> Result<(), Error> {
    let mut spool = Spool::open_on(double.disk(), news.dir(), options())?;
    for pair in IDS.chunks(2) {
        for id in pair {
            if spool.has(id.as_bytes())? {
                told.push(id);
            } else {
                news.try_file(&mut spool, id, &["a.b"], &"text ".repeat(3000))?;
            }
        }
        spool.commit()?;
        told.extend(pair);
    }
    Ok(())
}

/// The sync that comes at this place fails, whatever file it is of; then everything is given again by another program.
fn one_failed_sync(at: u64, forgets_pages: bool) -> bool {
    let news = News::new(&["a.b"]);
    let double = Double::new(news.dir());
    if forgets_pages {
        double.forget_pages();
    }
    double.fail_sync(at);
    let mut told = Vec::new();
    let first = file_all(&news, &double, &mut told);
    let Some(failed) = double.failed() else {
        first.unwrap();
        return false;
    };
    let what = format!("sync {at} ({failed}), pages forgotten: {forgets_pages}");
    double.heal();
    // Two programs: what the first made good is enough for the second.
    for _ in 0..2 {
        file_all(&news, &double, &mut told).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    let left = double.remounted();
    let double = Double::new(left.path());
    let spool = Spool::open_on(double.disk(), left.path(), options())
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    for id in &told {
        assert!(spool.has(id.as_bytes()).unwrap(), "{what}: {id}");
    }
    drop(spool);
    let report = store::fsck::fsck_on(double.disk(), left.path(), false).unwrap();
    assert!(report.is_clean(), "{what}: {report:?}");
    let reader = Snapshot::open_on(double.disk(), left.path()).unwrap();
    for id in told {
        let mut buffer = Vec::new();
        let article = reader.article(id.as_bytes(), &mut buffer);
        let found = article.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(found.is_some(), "{what}: {id} is lost");
    }
    true
}

#[test]
fn no_article_is_lost_where_the_pages_stay() {
    let mut at = 1;
    while one_failed_sync(at, false) {
        at += 1;
    }
    assert!(at > 10, "{at}");
}

#[test]
fn no_article_is_lost_where_the_pages_go() {
    let mut at = 1;
    while one_failed_sync(at, true) {
        at += 1;
    }
}

/// Nothing tells the next program: the one that heard of the failure was killed.
#[test]
fn a_killed_program_tells_nobody() {
    let news = News::new(&["a.b"]);
    let double = Double::new(news.dir());
    let mut spool = Spool::open_on(double.disk(), news.dir(), Options::default()).unwrap();
    news.file(&mut spool, IDS[0], &["a.b"]);
    spool.commit().unwrap();
    news.file(&mut spool, IDS[1], &["a.b"]);
    double.fail_sync(1);
    spool.commit().unwrap_err();
    drop(spool);
    double.heal();
    let spool = Spool::open_on(double.disk(), news.dir(), Options::default()).unwrap();
    let ids = IDS.iter().filter(|id| spool.has(id.as_bytes()).unwrap());
    let told: Vec<_> = ids.collect();
    drop(spool);
    let left = double.remounted();
    let reader = Snapshot::open_on(Double::new(left.path()).disk(), left.path()).unwrap();
    assert!(told.contains(&&IDS[0]));
    for id in told {
        assert!(
            reader
                .article(id.as_bytes(), &mut Vec::new())
                .unwrap()
                .is_some(),
            "{id}"
        );
    }
}

#[test]
fn what_was_not_read_back_from_the_disk_is_said() {
    for hides_disk in [false, true] {
        let news = News::new(&["a.b"]);
        let double = Double::new(news.dir());
        if hides_disk {
            double.hide_disk();
        }
        let mut spool = Spool::open_on(double.disk(), news.dir(), Options::default()).unwrap();
        news.file(&mut spool, IDS[0], &["a.b"]);
        double.fail_sync(1);
        spool.commit().unwrap_err();
        drop(spool);
        double.heal();
        let spool = Spool::open_on(double.disk(), news.dir(), Options::default()).unwrap();
        let is_said = |notice: &String| notice.contains("nothing verifies");
        assert_eq!(
            spool.notices().iter().any(is_said),
            hides_disk,
            "{:?}",
            spool.notices()
        );
    }
}
