//! Two nodes of a cluster with segments of different sizes, of which one has returned space: a place in the log of one is found in that of the
//! other by the sequence number of the last entry before it. No article is left out, and only those of one entry are met again.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::double::dice::{Dice, first_seed, rounds};
use crate::entries_are_applied_whole::{ENTRIES, apply, node, options};
use crate::news::News;

use std::ops::ControlFlow;

use store::disk::RealDisk;
use store::{HistoryLine, Options, Position, ReclaimPolicy, Snapshot, Spool, reclaim_on};

/// The articles of a log with their positions, and the entry that each belongs to.
fn articles(snapshot: &Snapshot) -> Vec<(Position, u64, String)> {
    let mut found = Vec::new();
    let all = (snapshot.oldest(), snapshot.end());
    let flow = snapshot.each_article(all, |logged| {
        let line = HistoryLine::parse(logged.record.line()).unwrap();
        let id = String::from_utf8(line.id.to_vec()).unwrap();
        let entry = id[1..].split('.').next().unwrap().parse().unwrap();
        found.push((logged.position, entry, id));
        ControlFlow::<()>::Continue(())
    });
    assert!(flow.unwrap().is_continue());
    found
}

fn story(segment_bytes: u64, dice: &mut Dice, returns_space: bool) -> (News, Options) {
    let news = node();
    let options = Options {
        segment_bytes,
        ..options()
    };
    let mut spool = Spool::open(news.dir(), options).unwrap();
    for entry in 1..=ENTRIES {
        apply(&mut spool, entry).unwrap();
        if dice.chance(30) {
            spool.commit().unwrap();
        }
        if returns_space && dice.chance(10) {
            spool.commit().unwrap();
            drop(spool);
            let disk = std::sync::Arc::new(RealDisk);
            reclaim_on(disk, news.dir(), options, ReclaimPolicy::usual(0.2)).unwrap();
            spool = Spool::open(news.dir(), options).unwrap();
        }
    }
    spool.commit().unwrap();
    drop(spool);
    (news, options)
}

#[test]
fn whatever_their_segments() {
    let first = first_seed();
    let mut again = 0;
    for seed in first..first + rounds(4) {
        let mut dice = Dice::new(seed);
        let (one, _) = story(6 << 20, &mut dice, false);
        let (other, _) = story(5 << 20, &mut dice, true);
        let (one, other) = [one.dir(), other.dir()]
            .map(|dir| Snapshot::open(dir).unwrap())
            .into();
        assert!(one.segments().len() > 1 && one.segments() != other.segments());
        for (from, to) in [(&one, &other), (&other, &one)] {
            let (of_from, of_to) = (articles(from), articles(to));
            let mut known = None;
            for (position, entry, _) in &of_from {
                let found = from.entry_before(*position, None).unwrap().unwrap();
                // Also on from an earlier result.
                known = from.entry_before(*position, known).unwrap();
                assert_eq!(known, Some(found));
                assert_eq!(found.sequence, entry - 1, "seed {seed}");
                let there = to.behind_entry(found.sequence).unwrap();
                let waits =
                    |(at, of, _): &&(Position, u64, String)| (*at >= there) == (of >= entry);
                assert_eq!(
                    of_to.iter().filter(waits).count(),
                    of_to.len(),
                    "seed {seed}"
                );
                again += 1;
            }
            let end = from.entry_before(from.end(), None).unwrap().unwrap();
            assert_eq!(end.sequence, ENTRIES);
            let there = to.behind_entry(ENTRIES).unwrap();
            assert!(of_to.iter().all(|(at, ..)| *at < there) && there <= to.end());
            // What is not there yet, or not any more.
            assert!(to.behind_entry(0).unwrap() >= to.oldest());
            assert_eq!(to.behind_entry(ENTRIES + 5).unwrap(), there);
            assert_eq!(from.entry_before(from.oldest(), None).unwrap(), None);
        }
    }
    assert!(again > 0);
}

#[test]
fn a_log_that_does_not_reach_back_is_read_from_its_beginning() {
    let mut dice = Dice::new(1);
    let (news, _) = story(6 << 20, &mut dice, false);
    let snapshot = Snapshot::open(news.dir()).unwrap();
    let bases = snapshot.segments().to_vec();
    // The first one is from before the cluster.
    assert!(bases.len() > 2);
    drop(snapshot);
    for name in std::fs::read_dir(news.dir().join("segments")).unwrap() {
        let path = name.unwrap().path();
        let is_old = |base| path.to_string_lossy().contains(&format!("{base:020}."));
        if bases[..2].iter().any(is_old) {
            std::fs::remove_file(path).unwrap();
        }
    }
    let snapshot = Snapshot::open(news.dir()).unwrap();
    let behind = snapshot.behind_entry(3).unwrap();
    assert_eq!(behind, snapshot.oldest());
    let all = articles(&snapshot).len();
    assert!(all > 0);
    // The copy at the head of the segment counts.
    let (first, entry, _) = articles(&snapshot)[0].clone();
    let before = snapshot.entry_before(first, None).unwrap().unwrap();
    assert_eq!(before.sequence, entry - 1);
    assert!(snapshot.behind_entry(entry - 1).unwrap() <= first);
}
