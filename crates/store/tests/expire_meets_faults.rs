//! Expire and the giving back of space meet every fault: a call of the disk that fails, a disk that is full, the power that
//! fails. What stays by the decision is always there, byte for byte; the next run finishes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::double;
use crate::news;
use crate::story;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use double::dice::{Dice, first_seed, rounds};
use double::{Double, Fault};
use news::News;
use store::disk::{Disk, RealDisk};
use store::{
    Error, ExpiryDecision, Position, ReclaimPolicy, Reclaimed, Snapshot, Spool, reclaim_on,
};
use story::{Deed, GROUPS, Story, native, small};

const STEPS: u64 = 160;
/// Where the first segment ends, of [`small`] ones.
const FIRST_END: u64 = 4096 + (1 << 20);

/// A story, and what is to go of it.
struct Told {
    story: Story,
    cuts: BTreeMap<String, u64>,
    survivors: BTreeSet<(String, u64)>,
    cancelled: HashSet<Position>,
    dead_part: f64,
}

impl Told {
    /// Files news by chance and decides by chance what goes.
    fn new(dir: &Path, dice: &mut Dice) -> Told {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let mut spool = Spool::open_on(disk, dir, small()).unwrap();
        let mut story = Story::default();
        for _ in 0..STEPS {
            story.step(&mut spool, dice).unwrap();
        }
        story.commit(&mut spool).unwrap();
        let mut told = Told {
            story,
            cuts: BTreeMap::new(),
            survivors: BTreeSet::new(),
            cancelled: HashSet::new(),
            dead_part: *dice.pick(&[0.0, 0.15, 0.5, 1.0]).unwrap(),
        };
        for id in spool.active().ids() {
            let name = String::from_utf8(spool.active().name(id).to_vec()).unwrap();
            let cut = dice.below(spool.active().high(id) + 2);
            told.cuts.insert(name, cut);
        }
        let first_goes = dice.chance(50);
        for deed in &told.story.deeds {
            match deed {
                Deed::Article(filed) if first_goes && filed.position.0 < FIRST_END => {
                    for (name, number) in &filed.links {
                        let cut = told.cuts.entry(name.clone()).or_default();
                        *cut = (*cut).max(number + 1);
                    }
                }
                Deed::Cancel(position, _) => {
                    told.cancelled.insert(*position);
                }
                // What expire set before.
                Deed::Low(name, low) => {
                    let cut = told.cuts.get_mut(name).unwrap();
                    *cut = (*cut).max(*low);
                }
                Deed::Article(filed) => {
                    for (name, number) in &filed.links {
                        let is_low = spool.expired().unwrap().cut(name.as_bytes()) > *number;
                        if !is_low && dice.chance(20) {
                            told.survivors.insert((name.clone(), *number));
                        }
                    }
                }
                _ => {}
            }
        }
        told.survivors
            .retain(|(name, number)| told.cuts.get(name).is_some_and(|cut| number < cut));
        told
    }

    fn expiry(&self, reader: &Snapshot) -> ExpiryDecision {
        let name = |name: &String| name.clone().into_bytes();
        ExpiryDecision {
            survivors: self
                .survivors
                .iter()
                .map(|(group, n)| (name(group), *n))
                .collect(),
            cuts: self
                .cuts
                .iter()
                .map(|(group, cut)| (name(group), *cut))
                .collect(),
            touched: reader.segments().to_vec(),
            ..ExpiryDecision::default()
        }
    }

    fn keeps(&self, name: &str, number: u64) -> bool {
        self.cuts.get(name).is_none_or(|cut| number >= *cut)
            || self.survivors.contains(&(name.to_owned(), number))
    }

    /// The whole of a run.
    fn expire(&self, disk: &Arc<dyn Disk>, dir: &Path) -> Result<Reclaimed, Error> {
        let expiry = self.expiry(&Snapshot::open_on(disk.clone(), dir)?);
        let mut spool = Spool::open_on(disk.clone(), dir, small())?;
        spool.expire(&expiry)?;
        drop(spool);
        let told = reclaim_on(
            disk.clone(),
            dir,
            small(),
            ReclaimPolicy::usual(self.dead_part),
        )?;
        match told.faults.first() {
            Some(fault) => Err(Error::Io {
                doing: "give back the space of",
                path: dir.to_owned(),
                source: std::io::Error::other(fault.clone()),
            }),
            None => Ok(told),
        }
    }

    /// What stays is there; `exact`: and nothing else.
    fn check(&self, disk: &Arc<dyn Disk>, dir: &Path, exact: bool, what: &str) {
        let reader = Snapshot::open_on(disk.clone(), dir).unwrap_or_else(|e| panic!("{what}: {e}"));
        for filed in self.story.articles() {
            let cancelled = self.cancelled.contains(&filed.position);
            let stays = |(name, number): &(String, u64)| self.keeps(name, *number) && !cancelled;
            for (name, number) in &filed.links {
                let link = (name.clone(), *number);
                let mut buffer = Vec::new();
                let found = reader
                    .article_by_number(name.as_bytes(), *number, &mut buffer)
                    .unwrap_or_else(|e| panic!("{what}: {name}/{number}: {e}"));
                if stays(&link) {
                    let found = found.unwrap_or_else(|| panic!("{what}: {name}/{number} is lost"));
                    assert!(native(&found) == filed.text, "{what}: {name}/{number}");
                } else if exact {
                    assert!(found.is_none(), "{what}: {name}/{number} is there");
                }
            }
            let mut buffer = Vec::new();
            let found = reader
                .article(filed.id.as_bytes(), &mut buffer)
                .unwrap_or_else(|e| panic!("{what}: {}: {e}", filed.id));
            let alive = filed.links.iter().any(stays);
            let is_back = cancelled && found.is_some();
            assert!(!is_back, "{what}: {} is back", filed.id);
            assert!(found.is_some() || !alive, "{what}: {} is lost", filed.id);
            // Its id is not forgotten, gone or not.
            let line = reader.history_line(filed.id.as_bytes()).unwrap();
            assert!(line.is_some(), "{what}: {} is forgotten", filed.id);
        }
        drop(reader);
        let report = store::fsck::fsck_on(disk.clone(), dir, false).unwrap();
        assert!(report.faults == 0, "{what}: {report:?}");
    }

    /// After whatever happened: nothing that stays is lost, and the next run finishes.
    fn finish(&self, disk: &Arc<dyn Disk>, dir: &Path, what: &str) {
        self.check(disk, dir, false, what);
        self.expire(disk, dir)
            .unwrap_or_else(|error| panic!("{what}: the next run: {error}"));
        self.check(disk, dir, true, &format!("{what}, next run"));
    }
}

/// Expires with a fault at call `at`; when the run was over before it, what it gave back.
fn run(at: u64, fault: Fault, forever: bool, seed: u64) -> Option<Reclaimed> {
    let what = format!("{fault:?} at call {at}, seed {seed}");
    let mut dice = Dice::new(seed);
    let news = News::new(&GROUPS);
    let told = Told::new(news.dir(), &mut dice);
    let double = Double::new(news.dir());
    double.fail_at(at, fault, forever);
    let outcome = told.expire(&double.disk(), news.dir());
    let Some(failed) = double.failed() else {
        double.heal();
        told.check(&double.disk(), news.dir(), true, &what);
        return Some(outcome.unwrap());
    };
    let what = format!("{what} ({failed})");
    double.heal();
    if fault != Fault::PowerCut {
        told.finish(&double.disk(), news.dir(), &what);
    }
    let left = double.power_cut(dice.next() ^ at);
    let double = Double::new(left.path());
    told.finish(&double.disk(), left.path(), &format!("{what}, power cut"));
    if at.is_multiple_of(7) {
        store::rebuild(left.path()).unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        told.check(&disk, left.path(), true, &format!("{what}, rebuilt"));
    }
    None
}

/// With fewer rounds than calls, calls are passed over by chance.
fn calls(fault: Fault, forever: bool) {
    let every = rounds(40).max(1);
    let mut given = Reclaimed::default();
    for seed in first_seed()..first_seed() + 4 {
        let mut dice = Dice::new(seed);
        let mut at = 1 + dice.below(6);
        let mut met = 0;
        let told = loop {
            if let Some(told) = run(at, fault, forever, seed) {
                break told;
            }
            met += 1;
            at += 1 + dice.below(1 + 1200 / every);
        };
        assert!(met > 5, "{met} calls only");
        given.segments += told.segments;
        given.repacked += told.repacked;
        given.holes += told.holes;
    }
    assert!(
        given.segments > 0 && given.repacked > 0 && given.holes > 0,
        "{given:?}"
    );
}

#[test]
fn a_failing_call_takes_nothing_that_stays() {
    calls(Fault::Eio, false);
}

#[test]
fn a_full_disk_takes_nothing_that_stays() {
    calls(Fault::Enospc, true);
}

#[test]
fn a_power_cut_takes_nothing_that_stays() {
    calls(Fault::PowerCut, true);
}
