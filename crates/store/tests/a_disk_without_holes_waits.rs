//! A file system that cannot punch holes: it is told, nothing is lost, and the space comes back when the segment is written
//! anew or dies.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::double;
use crate::news;
use crate::story;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use double::Double;
use news::News;
use store::disk::Disk;
use store::fsck::fsck_on;
use store::{ExpiryDecision, ReclaimPolicy, Reclaimed, Snapshot, Spool, reclaim_on};
use story::{native, small};

/// Articles of either group in the first segment.
const EACH: u64 = 60;
/// One in the other group after them, until the segment is full and another begun.
const ALL: u64 = 300;

/// Of the group `goes` a long run, then as many of `stays`, and so many more of `stays` that the segment is sealed.
struct Site {
    news: News,
    disk: Arc<dyn Disk>,
    filler: String,
}

impl Site {
    fn new(prepare: impl Fn(&Double)) -> Site {
        let news = News::new(&["goes", "stays"]);
        let double = Double::new(news.dir());
        prepare(&double);
        let site = Site {
            disk: double.disk(),
            filler: "\nfive thousand bytes".repeat(250),
            news,
        };
        let mut spool = Spool::open_on(site.disk.clone(), site.dir(), small()).unwrap();
        for group in ["goes", "stays"] {
            let all = if group == "goes" { EACH } else { ALL };
            for number in 1..=all {
                let id = id(group, number);
                site.news.file_with(&mut spool, &id, &[group], &site.filler);
            }
            spool.commit().unwrap();
        }
        drop(spool);
        assert_eq!(site.segments().len(), 2);
        site
    }

    fn dir(&self) -> &Path {
        self.news.dir()
    }

    fn segments(&self) -> Vec<u64> {
        let reader = Snapshot::open_on(self.disk.clone(), self.dir()).unwrap();
        reader.segments().to_vec()
    }

    /// The first segment's file.
    fn first(&self) -> PathBuf {
        self.dir().join("segments/00000000000000004096.art")
    }

    fn expire(&self, expiry: ExpiryDecision) -> Reclaimed {
        let expiry = ExpiryDecision {
            touched: self.segments(),
            ..expiry
        };
        let mut spool = Spool::open_on(self.disk.clone(), self.dir(), small()).unwrap();
        spool.expire(&expiry).unwrap();
        drop(spool);
        let told = reclaim_on(
            self.disk.clone(),
            self.dir(),
            small(),
            ReclaimPolicy::usual(0.15),
        )
        .unwrap();
        assert_eq!(told.faults, [""; 0]);
        told
    }

    fn cut(&self, group: &str, below: u64) -> Reclaimed {
        self.expire(ExpiryDecision {
            cuts: vec![(group.into(), below)],
            ..ExpiryDecision::default()
        })
    }

    /// What stays is there byte for byte by id and number, of the rest the id.
    fn check(&self, stays: impl Fn(&str, u64) -> bool, what: &str) {
        let reader = Snapshot::open_on(self.disk.clone(), self.dir()).unwrap();
        for (group, all) in [("goes", EACH), ("stays", ALL)] {
            for number in 1..=all {
                let id = id(group, number);
                let text = news::article(&id) + &self.filler;
                let (mut one, mut other) = (Vec::new(), Vec::new());
                let by_id = reader.article(id.as_bytes(), &mut one).unwrap();
                let by_number = reader
                    .article_by_number(group.as_bytes(), number, &mut other)
                    .unwrap();
                for found in [by_id, by_number] {
                    let found = found.as_ref().map(native);
                    let wanted = stays(group, number).then_some(&text);
                    assert!(found.as_ref() == wanted, "{what}: {group}/{number}");
                }
                let known = reader.history_line(id.as_bytes()).unwrap().is_some();
                assert!(known, "{what}: {id} is forgotten");
            }
        }
        drop(reader);
        let report = fsck_on(self.disk.clone(), self.dir(), false).unwrap();
        assert_eq!(report.faults, 0, "{what}: {report:?}");
    }
}

fn id(group: &str, number: u64) -> String {
    format!("<{group}.{number}@example.org>")
}

/// The long run of `goes` is gone; its space is not.
fn waiting() -> Site {
    let site = Site::new(Double::make_no_holes);
    let before = std::fs::metadata(site.first()).unwrap().len();
    let told = site.cut("goes", EACH + 1);
    assert!(told.no_holes, "{told:?}");
    assert_eq!((told.holes, told.repacked, told.segments), (0, 0, 0));
    assert_eq!(std::fs::metadata(site.first()).unwrap().len(), before);
    site.check(|group, _| group == "stays", "waiting");
    // Once told, and done what can be done, there is nothing to do for the next run.
    assert!(!store::is_unreclaimed(site.dir(), 0).unwrap());
    let again = reclaim_on(
        site.disk.clone(),
        site.dir(),
        small(),
        ReclaimPolicy::usual(0.15),
    )
    .unwrap();
    assert_eq!(again, Reclaimed::default());
    site
}

#[test]
fn the_space_comes_back_when_the_segment_is_written_anew() {
    let site = waiting();
    let before = std::fs::metadata(site.first()).unwrap().len();
    let odd = |number: u64| !number.is_multiple_of(2);
    let gone = (1..=ALL).filter(|number| odd(*number));
    let told = site.expire(ExpiryDecision {
        gone: gone.map(|number| (b"stays".to_vec(), number)).collect(),
        ..ExpiryDecision::default()
    });
    assert!(told.repacked > 0 && !told.no_holes, "{told:?}");
    let after = std::fs::metadata(site.first()).unwrap().len();
    assert!(after < before / 2, "{before} before, {after} after");
    site.check(|group, number| group == "stays" && !odd(number), "repacked");
    store::rebuild(site.dir()).unwrap();
    site.check(|group, number| group == "stays" && !odd(number), "rebuilt");
}

#[test]
fn the_space_comes_back_when_the_segment_dies() {
    let site = waiting();
    store::rebuild(site.dir()).unwrap();
    site.check(|group, _| group == "stays", "rebuilt");
    let told = site.cut("stays", ALL + 1);
    assert!(told.segments > 0, "{told:?}");
    assert!(!site.first().exists());
    site.check(|_, _| false, "dead");
}

/// As on btrfs: a hole would return nothing, so that the segment is rewritten at once, and what counts as freed is what came back.
#[test]
fn a_segment_is_rewritten_where_holes_return_nothing() {
    let site = Site::new(Double::keep_holes);
    let before = std::fs::metadata(site.first()).unwrap().len();
    let told = site.cut("goes", EACH + 1);
    assert_eq!(
        (told.holes, told.repacked, told.held),
        (0, 1, 0),
        "{told:?}"
    );
    let after = std::fs::metadata(site.first()).unwrap().len();
    assert!(after < before, "{before} before, {after} after");
    site.check(|group, _| group == "stays", "rewritten");
    let again = site.cut("goes", EACH + 1);
    assert_eq!((again.repacked, again.bytes), (0, 0), "{again:?}");
}
