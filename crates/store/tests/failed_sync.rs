//! After a sync that failed nobody knows what is on the disk: nothing more is accepted until the next start.

#![allow(clippy::unwrap_used)]

use crate::double;
use crate::news;

use double::{Double, Fault};
use news::News;
use store::{Error, Options, Snapshot, Spool};

#[test]
fn a_failed_sync_stops_filing() {
    let news = News::new(&["a.b"]);
    let double = Double::new(news.dir());
    let mut spool = Spool::open_on(double.disk(), news.dir(), Options::default()).unwrap();
    news.file(&mut spool, "<1@x>", &["a.b"]);
    spool.commit().unwrap();
    news.file(&mut spool, "<2@x>", &["a.b"]);
    // A write, then the sync.
    double.fail_at(2, Fault::Eio, false);
    let error = spool.commit().unwrap_err();
    assert!(double.failed().unwrap().starts_with("Sync"), "{error}");
    assert!(error.to_string().contains("sync"), "{error}");
    assert!(matches!(spool.commit(), Err(Error::Stopped)));
    assert!(matches!(
        news.try_file(&mut spool, "<3@x>", &["a.b"], ""),
        Err(Error::Stopped)
    ));
    assert!(matches!(
        spool.remember(b"<4@x>", 1, None.into()),
        Err(Error::Stopped)
    ));
    drop(spool);

    // The next start finds what the system still has in core, so it must see to it that this reaches the disk.
    let spool = Spool::open_on(double.disk(), news.dir(), Options::default()).unwrap();
    let found = spool.has(b"<2@x>").unwrap();
    drop(spool);
    let left = double.power_cut(1);
    let double = Double::new(left.path());
    let reader = Snapshot::open_on(double.disk(), left.path()).unwrap();
    assert!(reader.article(b"<1@x>", &mut Vec::new()).unwrap().is_some());
    assert_eq!(
        reader.article(b"<2@x>", &mut Vec::new()).unwrap().is_some(),
        found
    );
}
