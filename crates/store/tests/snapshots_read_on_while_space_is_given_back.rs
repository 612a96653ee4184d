//! Expire gives space back in segments that are mapped: what is alive is read as before; what is gone is gone, and who was just
//! sending it is told.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::agree;
use crate::double::{Double, Fault};
use crate::news;

use std::cell::Cell;

use news::News;
use store::{
    ExpiryDecision, Options, Published, ReclaimPolicy, Snapshot, Spool, reclaim, reclaim_on,
};

fn options() -> Options {
    Options {
        segment_bytes: 2 << 20,
        ..Options::default()
    }
}

struct Site {
    news: News,
    live: Snapshot,
    published: std::sync::Arc<Published>,
    positions: Vec<store::Position>,
}

/// A sealed segment: twenty large articles in one group, then as many in the other, or by turns.
fn site(by_turns: bool) -> Site {
    let news = News::new(&["goes", "stays"]);
    let mut spool = Spool::open(news.dir(), options()).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let filler = "\nthirty bytes of some filler...".repeat(1300);
    let mut positions = Vec::new();
    for number in 0..40 {
        let goes = if by_turns {
            number % 2 == 0
        } else {
            number < 20
        };
        let group = if goes { "goes" } else { "stays" };
        let id = format!("<{number}@x>");
        positions.push(news.file_with(&mut spool, &id, &[group], &filler));
        spool.commit().unwrap();
    }
    spool.seal().unwrap();
    spool.commit().unwrap();
    let live = Snapshot::open_live(news.dir(), published.clone()).unwrap();
    for position in &positions {
        assert!(live.record(*position, &mut Vec::new()).unwrap().is_some());
    }
    Site {
        news,
        live,
        published,
        positions,
    }
}

impl Site {
    fn expire(&mut self) {
        self.expire_and_forget(None);
    }

    fn expire_and_forget(&mut self, forget_before: Option<i64>) {
        let base = Snapshot::open(self.news.dir()).unwrap().segments()[0];
        let mut spool = Spool::open(self.news.dir(), options()).unwrap();
        spool
            .expire(&ExpiryDecision {
                cuts: vec![(b"goes".to_vec(), 21)],
                touched: vec![base],
                forget_before,
                ..ExpiryDecision::default()
            })
            .unwrap();
    }

    fn come_back(&mut self) {
        let mut spool = Spool::open(self.news.dir(), options()).unwrap();
        spool.publish_to(self.published.clone());
        self.live.catch_up().unwrap();
        let reader = Snapshot::open(self.news.dir()).unwrap();
        agree::agree(&mut self.live, &reader, "afterwards");
    }
}

#[test]
fn a_hole_is_noticed() {
    let mut site = site(false);
    let sending = site.live.stretch(site.positions[7]).unwrap().unwrap();
    let staying = site.live.stretch(site.positions[30]).unwrap().unwrap();
    assert!(sending.is_still_there() && staying.is_still_there());
    site.expire();
    assert!(sending.is_still_there(), "nothing is given back yet");
    let told = reclaim(site.news.dir(), options(), ReclaimPolicy::usual(0.9)).unwrap();
    assert_eq!((told.holes, told.no_holes), (1, false));
    assert!(!sending.is_still_there());
    assert!(staying.is_still_there());
    // It has not caught up, and knows of no expire.
    for (number, position) in site.positions.iter().enumerate() {
        let mut buffer = Vec::new();
        let record = site.live.record(*position, &mut buffer).unwrap();
        assert_eq!(record.is_some(), number >= 20, "{number}");
        let stretch = site.live.stretch(*position).unwrap();
        assert_eq!(stretch.is_some(), number >= 20, "{number}");
    }
    site.come_back();
}

/// A record is converted as it lies in the map, and its space is given back meanwhile.
#[test]
fn a_hole_made_during_a_conversion_is_noticed() {
    let mut site = site(false);
    site.expire();
    let is_first = Cell::new(true);
    let give_back = |out: &mut Vec<u8>, record: &store::Record<'_>| {
        let (begin, end) = record.wire().split_at(record.wire().len() / 2);
        out.extend_from_slice(begin);
        if is_first.replace(false) {
            let told = reclaim(site.news.dir(), options(), ReclaimPolicy::usual(0.9)).unwrap();
            assert_eq!((told.holes, told.no_holes), (1, false));
        }
        out.extend_from_slice(end);
    };
    let mut out = b"before".to_vec();
    let is_there = |number: usize, out: &mut Vec<u8>| {
        let position = site.positions[number];
        site.live.push_record(position, out, give_back).unwrap()
    };
    assert!(!is_there(7, &mut out));
    assert!(!is_first.get());
    assert_eq!(out, b"before");
    assert!(is_there(30, &mut out));
    let mut copy = Vec::new();
    let record = site.live.record(site.positions[30], &mut copy).unwrap();
    assert_eq!(&out[6..], record.unwrap().wire());
}

#[test]
fn a_segment_written_anew_is_read() {
    let mut site = site(true);
    let sending = site.live.stretch(site.positions[6]).unwrap().unwrap();
    let wire = sending.bytes().to_vec();
    site.expire();
    let told = reclaim(site.news.dir(), options(), ReclaimPolicy::usual(0.1)).unwrap();
    assert_eq!(told.repacked, 1);
    // Who sends it has the old file.
    assert!(sending.is_still_there());
    assert_eq!(sending.bytes(), wire);
    for position in site.positions.iter().skip(1).step_by(2) {
        assert!(
            site.live
                .record(*position, &mut Vec::new())
                .unwrap()
                .is_some()
        );
        assert!(site.live.stretch(*position).unwrap().is_some());
    }
    site.come_back();
    assert!(
        site.live
            .record(site.positions[6], &mut Vec::new())
            .unwrap()
            .is_none()
    );
    assert!(site.live.stretch(site.positions[6]).unwrap().is_none());
}

/// The history lines say where dead articles lie: they may be forgotten only when the space is back.
#[test]
fn space_comes_back_after_a_failed_attempt() {
    let policy = ReclaimPolicy::usual(0.1);
    let mut site = site(true);
    site.expire_and_forget(Some(i64::MAX));
    let art = format!("segments/{:020}.art", site.live.segments()[0]);
    for at in 1.. {
        let copy = tempfile::tempdir().unwrap();
        let mut cp = std::process::Command::new("cp");
        let copied = cp.arg("-a").arg(site.news.dir().join(".")).arg(copy.path());
        assert!(copied.status().unwrap().success());
        let double = Double::new(copy.path());
        double.fail_at(at, Fault::Enospc, false);
        let first = reclaim_on(double.disk(), copy.path(), options(), policy);
        let Some(failed) = double.failed() else {
            assert!(at > 100, "{at} calls only");
            break;
        };
        reclaim(copy.path(), options(), policy).unwrap();
        let left = std::fs::metadata(copy.path().join(&art)).unwrap().len();
        assert!(
            left < 22 * 42_000,
            "call {at} ({failed}) {first:?}: {left} bytes"
        );
    }
}
