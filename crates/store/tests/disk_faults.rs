//! Every call of the disk fails once: the error is reported, what was committed stays, and the same feed given again
//! files the rest without duplicates.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::double;
use crate::news;
use crate::story;

use double::dice::{Dice, first_seed, rounds};
use double::{Double, Fault};
use news::News;
use store::{Error, Spool};
use story::{GROUPS, Story, small};

const STEPS: u64 = 80;

/// Runs the scenario with a fault at call `at`; false when the run was over before it.
fn run(at: u64, fault: Fault, forever: bool, seed: u64) -> bool {
    let what = format!("{fault:?} at call {at}, seed {seed}");
    let mut dice = Dice::new(seed);
    let news = News::new(&GROUPS);
    let mut story = Story::default();
    let double = Double::new(news.dir());
    // The news directory is not new: the fault meets a start that has something to read.
    let mut spool = Spool::open_on(double.disk(), news.dir(), small()).unwrap();
    for _ in 0..8 {
        story.step(&mut spool, &mut dice).unwrap();
    }
    story.commit(&mut spool).unwrap();
    drop(spool);

    double.fail_at(at, fault, forever);
    let outcome = live(&double, &news, &mut story, &mut dice, &what);
    let Some(failed) = double.failed() else {
        outcome.unwrap();
        return false;
    };
    let what = format!("{what} ({failed})");
    double.heal();
    // Either the fault was reported, or it did no harm.
    if let Err(error) = &outcome {
        assert_eq!(
            error.is_disk_full(),
            fault == Fault::Enospc,
            "{what}: {error}"
        );
    }
    if dice.chance(50) {
        story.check(&double.disk(), news.dir(), &what);
    }
    // Sometimes the machine goes down later, and what a failed sync lost comes to light.
    let left = double.power_cut(dice.next());
    let double = Double::new(left.path());
    story.check(&double.disk(), left.path(), &format!("{what}, power cut"));
    true
}

fn live(
    double: &Double,
    news: &News,
    story: &mut Story,
    dice: &mut Dice,
    what: &str,
) -> Result<(), Error> {
    let mut spool = Spool::open_on(double.disk(), news.dir(), small())?;
    for _ in 0..STEPS {
        if let Err(error) = story.step(&mut spool, dice) {
            // Whatever is tried next, it is refused, or it succeeds as if nothing had been.
            double.heal();
            for _ in 0..5 {
                match story.step(&mut spool, dice) {
                    Ok(()) | Err(Error::Stopped) => {}
                    Err(other) => panic!("{what}: {error}, then {other}"),
                }
            }
            return Err(error);
        }
    }
    story.commit(&mut spool)
}

/// With fewer rounds than calls, calls are passed over by chance.
fn every_call(fault: Fault, forever: bool) {
    let step = 1000 / rounds(1000).clamp(1, 1000);
    for seed in first_seed()..first_seed() + 2 {
        let mut dice = Dice::new(seed);
        let mut at = 1;
        while run(at, fault, forever, seed) {
            at += 1 + dice.below(2 * step - 1);
        }
        assert!(at > 60, "{at}");
    }
}

#[test]
fn one_failing_call_loses_nothing() {
    every_call(Fault::Eio, false);
}

#[test]
fn a_disk_that_stays_full_loses_nothing() {
    every_call(Fault::Enospc, true);
}

#[test]
fn a_disk_that_was_full_for_a_moment_loses_nothing() {
    every_call(Fault::Enospc, false);
}
