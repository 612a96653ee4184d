//! The power fails at any moment, again during the recovery, and nothing that was reported is lost.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::double;
use crate::news;
use crate::story;

use double::dice::{Dice, first_seed, rounds};
use double::{Double, Fault};
use news::News;
use store::Spool;
use story::{GROUPS, Story, large, small};

/// Calls of the disk in a life of [`STEPS`] steps, about.
const CALLS: u64 = 600;
const STEPS: u64 = 300;
/// Calls of the disk in a recovery, about.
const RECOVERY_CALLS: u64 = 120;

#[test]
fn what_was_reported_survives_power_cuts() {
    let first = first_seed();
    for seed in first..first + rounds(150) {
        one_round(seed);
    }
}

fn one_round(seed: u64) {
    let mut dice = Dice::new(seed);
    let news = News::new(&GROUPS);
    let mut story = Story {
        is_patient: seed % 4 == 3,
        ..Story::default()
    };
    let mut directory: Option<tempfile::TempDir> = None;
    let lives = 1 + dice.below(4);
    for life in 0..lives {
        let what = format!("seed {seed} life {life}");
        let dir = directory.as_ref().map_or(news.dir(), |dir| dir.path());
        let double = Double::new(dir);
        // Later lives often end while they recover.
        let calls = if story.is_patient || life > 0 && dice.chance(60) {
            RECOVERY_CALLS
        } else {
            CALLS
        };
        double.fail_at(1 + dice.below(calls), Fault::PowerCut, true);
        if let Err(error) = live(&double, dir, &mut story, &mut dice) {
            assert!(double.is_cut(), "{what}: {error}");
        }
        directory = Some(double.power_cut(dice.next()));
    }
    let directory = directory.unwrap();
    let double = Double::new(directory.path());
    story.check(&double.disk(), directory.path(), &format!("seed {seed}"));
}

fn live(
    double: &Double,
    dir: &std::path::Path,
    story: &mut Story,
    dice: &mut Dice,
) -> Result<(), store::Error> {
    let options = if story.is_patient { large() } else { small() };
    let mut spool = Spool::open_on(double.disk(), dir, options)?;
    story.look_what_is_left(&spool)?;
    for _ in 0..STEPS {
        story.step(&mut spool, dice)?;
    }
    Ok(())
}
