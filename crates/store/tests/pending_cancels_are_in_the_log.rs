//! Cancels that wait for their articles are records of the log: their file is derived, and they cost no sync of their own.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::double;
use crate::news;
use crate::story;

use std::path::Path;

use double::{Deed, Double};
use news::News;
use store::{ExpiryDecision, NotKept, Options, PendingCancel, ReclaimPolicy, Spool, fsck, reclaim};
use story::{native, small};

const FILE: &str = "cancels.early";

fn cancel(id: &str) -> PendingCancel {
    PendingCancel {
        seconds: 1000,
        id: id.into(),
        by: b"<c@x>".to_vec(),
        keys: vec![b"sha256:aa".to_vec(), b"sha1:bb".to_vec()],
    }
}

fn open(dir: &Path) -> Spool {
    Spool::open(dir, small()).unwrap()
}

fn waits(dir: &Path, id: &str) -> bool {
    let spool = open(dir);
    let pending = spool.pending_cancels().unwrap();
    pending.find(id.as_bytes(), 1000).is_some()
}

#[test]
fn a_lost_or_damaged_file_is_made_again() {
    let news = News::new(&["a.b"]);
    let mut spool = open(news.dir());
    assert_eq!(spool.add_pending_cancel(&cancel("<1@x>")).unwrap(), None);
    // The same again changes nothing, and one without a key is not kept.
    let again = spool.add_pending_cancel(&cancel("<1@x>")).unwrap();
    assert_eq!(again, Some(NotKept::Known));
    let keyless = PendingCancel {
        keys: Vec::new(),
        ..cancel("<2@x>")
    };
    let told = spool.add_pending_cancel(&keyless).unwrap();
    assert_eq!(told, Some(NotKept::NoKey));
    news.file(&mut spool, "<3@x>", &["a.b"]);
    spool.commit().unwrap();
    drop(spool);
    let file = news.dir().join(FILE);
    let text = "1000\t<1@x>\t<c@x>\tsha256:aa sha1:bb\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    std::fs::remove_file(&file).unwrap();
    assert!(waits(news.dir(), "<1@x>"));
    std::fs::write(&file, "").unwrap();
    assert!(!waits(news.dir(), "<1@x>"));
    assert_eq!(fsck(news.dir(), false).unwrap().findings.len(), 1);
    assert!(!fsck(news.dir(), true).unwrap().findings.is_empty());
    assert!(fsck(news.dir(), false).unwrap().is_clean());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    // With everything else that is derived.
    std::fs::write(&file, "").unwrap();
    store::rebuild(news.dir()).unwrap();
    assert!(waits(news.dir(), "<1@x>"));
}

#[test]
fn they_outlive_the_segment_they_were_logged_in() {
    let news = News::new(&["a.b"]);
    let mut spool = open(news.dir());
    spool.add_pending_cancel(&cancel("<1@x>")).unwrap();
    news.file(&mut spool, "<3@x>", &["a.b"]);
    spool.commit().unwrap();
    spool.seal().unwrap();
    spool.commit().unwrap();
    let expiry = ExpiryDecision {
        cuts: vec![(b"a.b".to_vec(), 2)],
        forget_before: Some(2000),
        touched: vec![4096],
        ..ExpiryDecision::default()
    };
    spool.expire(&expiry).unwrap();
    drop(spool);
    let told = reclaim(news.dir(), small(), ReclaimPolicy::usual(0.1)).unwrap();
    assert_eq!((told.segments, told.faults.len()), (1, 0), "{told:?}");
    std::fs::remove_file(news.dir().join(FILE)).unwrap();
    assert!(waits(news.dir(), "<1@x>"));
}

#[test]
fn a_mass_of_cancels_costs_the_sync_of_its_commit() {
    let news = News::new(&["a.b"]);
    let double = Double::new(news.dir());
    let mut spool = Spool::open_on(double.disk(), news.dir(), Options::default()).unwrap();
    spool.add_pending_cancel(&cancel("<first@x>")).unwrap();
    // The first one in a segment is noted for expire, in a file.
    let first = news.file_with(&mut spool, "<first@y>", &["a.b"], "x");
    spool.cancel(first, b"<first@y>").unwrap();
    spool.commit().unwrap();
    double.take_trace();
    let listed = double.listed();
    let mut buffer = Vec::new();
    for number in 0..500 {
        let id = format!("<{number}@x>");
        assert_eq!(spool.add_pending_cancel(&cancel(&id)).unwrap(), None);
        let target = format!("<{number}@y>");
        let position = news.file_with(&mut spool, &target, &["a.b"], &"x".repeat(5000));
        let stored = spool.record(position, &mut buffer).unwrap().unwrap();
        let text = news::article(&target) + &"x".repeat(5000);
        assert_eq!(native(&stored), text);
        spool.cancel(position, target.as_bytes()).unwrap();
    }
    assert!(double.take_trace().is_empty(), "more than writes of .art");
    spool.commit().unwrap();
    let trace = double.take_trace();
    let syncs = trace.iter().filter(|deed| matches!(deed, Deed::Sync(_)));
    assert_eq!(syncs.count(), 1, "{trace:?}");
    assert_eq!(double.listed(), listed);
}

/// Expire has to know of them, and one write tells of all.
#[test]
fn removals_in_many_segments_are_noted_once() {
    let news = News::new(&["a.b"]);
    let options = Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    };
    let mut spool = Spool::open(news.dir(), options).unwrap();
    let filler = "x".repeat(300_000);
    let filed: Vec<_> = (0..12)
        .map(|number| {
            let id = format!("<{number}@x>");
            let position = news.file_with(&mut spool, &id, &["a.b"], &filler);
            spool.commit().unwrap();
            (position, id)
        })
        .collect();
    drop(spool);
    let double = Double::new(news.dir());
    let mut spool = Spool::open_on(double.disk(), news.dir(), options).unwrap();
    double.take_trace();
    for (position, id) in &filed {
        spool.cancel(*position, id.as_bytes()).unwrap();
    }
    assert!(double.take_trace().is_empty());
    spool.commit().unwrap();
    let is_note = |deed: &Deed| matches!(deed, Deed::Rename(_, to) if to.ends_with("unreclaimed"));
    let trace = double.take_trace();
    assert_eq!(
        trace.iter().filter(|deed| is_note(deed)).count(),
        1,
        "{trace:?}"
    );
    drop(spool);
    let noted = std::fs::read_to_string(news.dir().join("unreclaimed")).unwrap();
    assert!(noted.lines().count() > 3, "{noted}");
}
