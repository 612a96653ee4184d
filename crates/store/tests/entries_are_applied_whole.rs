//! A node of a cluster applies entries of a log, and hardly syncs. After any power cut its spool has the outcome of a whole number of entries,
//! no fewer than at the last checkpoint; and when the other entries have come again, it equals one that nothing happened to, numbers included.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::a_log_applied_elsewhere_gives_the_same::same;
use crate::double::dice::{Dice, first_seed, rounds};
use crate::double::{Double, Fault};
use crate::news::News;
use crate::story::{GROUPS, GUESTS, append, large, take_number};

use std::path::Path;
use std::rc::Rc;

use groups::Flag;
use store::{
    AppliedEntry, Durability, Error, ExpiryDecision, GroupEdits, Options, PendingCancel,
    ReclaimPolicy, Serial, Spool, reclaim_on,
};

/// Entries of a whole story.
pub const ENTRIES: u64 = 120;

pub fn options() -> Options {
    Options {
        durability: Durability::None,
        checkpoint_bytes: 700 << 10,
        follows_log: true,
        ..large()
    }
}

/// A news directory whose log begins before the first entry.
pub fn node() -> News {
    let news = News::new(&GROUPS);
    let mut spool = Spool::open(news.dir(), options()).unwrap();
    spool.follow_from(&place(0)).unwrap();
    news
}

fn active(spool: &Spool) -> String {
    let highs = GUESTS.map(|group| spool.expired().unwrap().highest(group.as_bytes()));
    let text = String::from_utf8_lossy(spool.active().image());
    format!("{text}{highs:?}")
}

fn place(entry: u64) -> AppliedEntry {
    AppliedEntry {
        log: "test".to_owned(),
        sequence: entry,
        chain: format!("{entry:x}"),
        rules: 0,
        outcome: format!("o{entry}"),
        decisions: 2,
    }
}

/// Applies an entry: all that it does depends on its number and on the state of the spool alone.
pub fn apply(spool: &mut Spool, entry: u64) -> Result<(), Error> {
    let mut dice = Dice::new(entry);
    spool.reserve(2 << 20)?;
    for part in 0..=dice.below(5) {
        let id = format!("<{entry}.{part}@example.org>");
        let older = format!("<{}.0@example.org>", dice.below(entry));
        match dice.below(100) {
            0..60 => file(spool, &mut dice, &id)?,
            60..66 => spool.remember(id.as_bytes(), 77, None.into())?,
            66..76 => {
                let found = spool.find(older.as_bytes())?;
                if let Some(position) = found.and_then(|line| line.position) {
                    spool.cancel(position, older.as_bytes())?;
                }
            }
            76..80 => {
                let name = *dice.pick(&GROUPS).unwrap();
                let group = spool.active().find(name.as_bytes()).unwrap();
                let (low, high) = (spool.active().low(group), spool.active().high(group));
                if dice.chance(30) {
                    spool.set_low_marks(&[(name.as_bytes(), low + dice.below(3))])?;
                    continue;
                }
                let cut = (low + dice.below(4)).min(high + 1);
                let link = |number: u64| (name.as_bytes().to_vec(), number);
                spool.expire_entry(&ExpiryDecision {
                    survivors: vec![link(low + 1)],
                    cuts: vec![link(cut)],
                    gone: (cut..=high).step_by(3).map(link).collect(),
                    forget_before: Some(entry as i64),
                    ..ExpiryDecision::default()
                })?;
            }
            80..90 => {
                let name = dice.pick(&GUESTS).unwrap().as_bytes();
                let text = format!("described by {id}");
                spool.edit_groups(&GroupEdits {
                    descriptions: vec![(name, Some(text.as_bytes()))],
                    ..GroupEdits::default()
                })?;
                match spool.active().find(name) {
                    Some(_) if dice.chance(50) => spool.remove_group(name)?,
                    _ => spool.set_group(name, Flag::parse(b"y").unwrap())?,
                }
            }
            90..95 => {
                spool.keep_serial(&Serial {
                    hierarchies: vec![b"a".to_vec()],
                    key: "k".to_owned(),
                    number: entry,
                    replaces: false,
                })?;
            }
            _ => {
                let cancel = PendingCancel {
                    seconds: 1000,
                    id: older.replace("example.org", "absent").into_bytes(),
                    by: id.into_bytes(),
                    keys: vec![b"sha1:x".to_vec()],
                };
                spool.add_pending_cancel(&cancel)?;
            }
        }
    }
    spool.set_applied_entry(&place(entry))
}

fn file(spool: &mut Spool, dice: &mut Dice, id: &str) -> Result<(), Error> {
    let mut text = crate::news::article(id);
    let more = *dice.pick(&[0, 10, 2000, 2000, 20_000, 150_000]).unwrap();
    text.extend("some text\n".chars().cycle().take(more));
    let mut links = Vec::<(String, u64)>::new();
    for name in [*dice.pick(&GROUPS).unwrap(), *dice.pick(&GUESTS).unwrap()] {
        if spool.active().find(name.as_bytes()).is_some() {
            let (number, _) = take_number(spool, name)?;
            links.push((name.to_owned(), number));
        }
    }
    append(spool, id, &text, (&links, false)).map(drop)
}

/// The last entry applied, and the one at the last checkpoint.
struct Reached {
    applied: u64,
    checkpoint: u64,
    /// The active file after each entry.
    active: Rc<Vec<String>>,
}

fn live(double: &Double, dir: &Path, reached: &mut Reached, dice: &mut Dice) -> Result<(), Error> {
    let mut spool = Spool::open_on(double.disk(), dir, options())?;
    let found = spool.applied_entry()?.clone();
    let (least, most) = (reached.checkpoint, reached.applied);
    assert!(
        (least..=most).contains(&found.sequence),
        "{} is not within {least} and {most}",
        found.sequence
    );
    assert_eq!(found, place(found.sequence));
    reached.applied = found.sequence;
    assert_eq!(active(&spool), reached.active[found.sequence as usize]);
    while reached.applied < ENTRIES {
        // Counted first: a failed call may have written all.
        reached.applied += 1;
        apply(&mut spool, reached.applied)?;
        if dice.chance(40) {
            spool.commit()?;
        }
        if dice.chance(6) {
            spool.commit()?;
            spool.checkpoint()?;
            reached.checkpoint = reached.applied;
        }
        if dice.chance(5) {
            // Another program returns the space meanwhile.
            spool.commit()?;
            drop(spool);
            // As `expire` does, which syncs what it writes itself: not all of the log was.
            let syncs = Options {
                durability: Durability::Commit,
                ..options()
            };
            reclaim_on(double.disk(), dir, syncs, ReclaimPolicy::usual(0.2))?;
            spool = Spool::open_on(double.disk(), dir, options())?;
            assert_eq!(spool.applied_entry()?.sequence, reached.applied);
        }
    }
    spool.commit()?;
    Ok(())
}

#[test]
fn after_power_cuts_it_goes_on_as_if_nothing_had_been() {
    let uncut = node();
    let mut spool = Spool::open(uncut.dir(), options()).unwrap();
    let mut told = vec![active(&spool)];
    for entry in 1..=ENTRIES {
        apply(&mut spool, entry).unwrap();
        told.push(active(&spool));
    }
    let told = Rc::new(told);
    spool.commit().unwrap();
    drop(spool);
    let first = first_seed();
    let mut cuts = 0;
    for seed in first..first + rounds(25) {
        let mut dice = Dice::new(seed);
        let news = node();
        let mut reached = Reached {
            applied: 0,
            checkpoint: 0,
            active: told.clone(),
        };
        let mut directory: Option<tempfile::TempDir> = None;
        for life in 0..1 + dice.below(4) {
            let dir = directory.as_ref().map_or(news.dir(), |dir| dir.path());
            let double = Double::new(dir);
            let calls = if life > 0 && dice.chance(50) {
                100
            } else {
                900
            };
            double.fail_at(1 + dice.below(calls), Fault::PowerCut, true);
            if let Err(error) = live(&double, dir, &mut reached, &mut dice) {
                assert!(double.is_cut(), "seed {seed} life {life}: {error}");
                cuts += 1;
            }
            directory = Some(double.power_cut(dice.next()));
        }
        let directory = directory.unwrap();
        let double = Double::new(directory.path());
        live(&double, directory.path(), &mut reached, &mut dice).unwrap();
        same(
            uncut.dir(),
            directory.path(),
            options(),
            &format!("seed {seed}"),
        );
        let report = store::fsck(directory.path(), false).unwrap();
        assert!(report.is_clean(), "seed {seed}: {report:?}");
    }
    assert!(cuts > rounds(25) / 2, "{cuts}");
}

#[test]
fn nobody_else_writes_there() {
    let news = node();
    let mut spool = Spool::open(news.dir(), options()).unwrap();
    apply(&mut spool, 1).unwrap();
    spool.commit().unwrap();
    drop(spool);
    let alone = Options {
        follows_log: false,
        ..options()
    };
    let error = Spool::open(news.dir(), alone).unwrap_err();
    assert!(
        error.to_string().contains("belongs to a cluster"),
        "{error}"
    );
    // An edit of active is undone.
    let path = news.dir().join("active");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}by.hand 0000000000 00001 y\n")).unwrap();
    let spool = Spool::open(news.dir(), options()).unwrap();
    assert!(spool.active().find(b"by.hand").is_none());
    assert!(spool.notices()[0].contains("the edit is undone"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(spool.applied_entry().unwrap().sequence, 1);
    drop(spool);
    // It is told once.
    let spool = Spool::open(news.dir(), options()).unwrap();
    assert_eq!(spool.notices(), [""; 0]);
}

#[test]
fn derived_files_that_are_made_anew_are_neither_edited_nor_damaged() {
    let news = node();
    let mut spool = Spool::open(news.dir(), options()).unwrap();
    (1..20).for_each(|entry| apply(&mut spool, entry).unwrap());
    spool.commit().unwrap();
    drop(spool);
    store::rebuild(news.dir()).unwrap();
    let quiet = || {
        for _ in 0..2 {
            let spool = Spool::open(news.dir(), options()).unwrap();
            assert_eq!(spool.notices(), [""; 0]);
        }
    };
    quiet();
    // As after a restored backup, and `cluster reseed`.
    std::fs::remove_file(news.dir().join("index")).unwrap();
    let spool = Spool::open(news.dir(), options()).unwrap();
    let notices = spool.notices().join("\n");
    assert!(
        !notices.contains("was edited") && !notices.contains("expired"),
        "{notices}"
    );
    drop(spool);
    quiet();
}
