//! The state is a fold over the log: the entries of one store, applied in their order to an empty one, give the same articles, numbers,
//! active, history, cancels, expiry state, and what control messages leave. Only positions differ.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::double::dice::{Dice, first_seed, rounds};
use crate::news::News;
use crate::story::{GROUPS, Story, large, small};

use std::collections::BTreeSet;
use std::path::Path;

use store::{ExpiryDecision, GroupEdits, HistoryLine, Options, Serial, Snapshot, Spool};

const STEPS: u64 = 400;
/// What control messages leave.
const STATE_FILES: [&str; 4] = [
    "cancels.early",
    "checkgroups.serials",
    "newsgroups",
    "active.times",
];

#[test]
fn whatever_was_done() {
    let first = first_seed();
    for seed in first..first + rounds(8) {
        let news = News::new(&GROUPS);
        let mut dice = Dice::new(seed);
        // Another life begins behind each: recovery and an active that somebody edited are in the log, too.
        let mut story = Story::default();
        for life in 0..3 {
            let mut spool = Spool::open(news.dir(), small()).unwrap();
            for step in 0..STEPS / 3 {
                story.step(&mut spool, &mut dice).unwrap();
                if step % 10 == 0 {
                    change_control_state(&mut spool, &mut dice);
                }
            }
            story.commit(&mut spool).unwrap();
            expire(&mut spool, &story, &mut dice);
            if life == 1 {
                spool.seal().unwrap();
                spool.commit().unwrap();
            }
            drop(spool);
            edit_active(news.dir(), life);
        }
        Spool::open(news.dir(), small()).unwrap();
        let other = News::new(&[]);
        replay(news.dir(), other.dir());
        same(news.dir(), other.dir(), small(), &format!("seed {seed}"));
        assert!(store::fsck(other.dir(), false).unwrap().is_clean());
        // What the other one logged says the same once more.
        for file in STATE_FILES {
            assert!(
                other.dir().join(file).metadata().unwrap().len() > 0,
                "{file}"
            );
        }
        let third = News::new(&[]);
        replay(other.dir(), third.dir());
        same(
            news.dir(),
            third.dir(),
            small(),
            &format!("seed {seed}, twice"),
        );
    }
}

fn expire(spool: &mut Spool, story: &Story, dice: &mut Dice) {
    let group = GROUPS[0].as_bytes();
    let numbers = story.articles().flat_map(|filed| filed.links.clone());
    let numbers: Vec<u64> = numbers
        .filter(|(name, _)| name.as_bytes() == group)
        .map(|(_, number)| number)
        .collect();
    let Some(&cut) = dice.pick(&numbers) else {
        return;
    };
    let pick = |dice: &mut Dice, wanted: &dyn Fn(u64) -> bool| {
        let some: Vec<u64> = numbers.iter().copied().filter(|n| wanted(*n)).collect();
        let picked = dice.pick(&some);
        picked.map(|number| (group.to_vec(), *number))
    };
    let decision = ExpiryDecision {
        survivors: pick(dice, &|number| number < cut).into_iter().collect(),
        cuts: vec![(group.to_vec(), cut)],
        gone: pick(dice, &|number| number > cut).into_iter().collect(),
        forget_before: Some(500),
        ..ExpiryDecision::default()
    };
    spool.expire(&decision).unwrap();
}

fn change_control_state(spool: &mut Spool, dice: &mut Dice) {
    let group = format!("made.{}", dice.below(8)).into_bytes();
    let text = format!("Number {}.", dice.below(100)).into_bytes();
    let is_removed = dice.chance(30);
    let creation = groups::times::GroupCreation {
        group: &group,
        seconds: dice.below(100),
        creator: b"boss@x",
    };
    let edits = GroupEdits {
        descriptions: vec![(&group, (!is_removed).then_some(text.as_slice()))],
        creations: (!is_removed).then_some(creation).into_iter().collect(),
        removed: is_removed.then_some(group.as_slice()).into_iter().collect(),
    };
    spool.edit_groups(&edits).unwrap();
    let serial = Serial {
        hierarchies: vec![b"made".to_vec(), format!("h{}", dice.below(3)).into_bytes()],
        key: "A1".to_owned(),
        number: dice.below(1000),
        replaces: dice.below(4) == 0,
    };
    spool.keep_serial(&serial).unwrap();
}

/// Edits `active` and `newsgroups`.
fn edit_active(dir: &Path, life: u64) {
    let path = dir.join("newsgroups");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("# {life}\n{text}by.hand{life}\tBy hand.\n")).unwrap();
    let path = dir.join("active");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}by.hand{life} 0000000000 00001 m\n")).unwrap();
}

/// Applies the whole log of one to the other, whose segments are of another size.
fn replay(from: &Path, to: &Path) {
    let log = Snapshot::open(from).unwrap();
    let mut spool = Spool::open(to, large()).unwrap();
    let mut entries = 0;
    log.each_entry(|entry| {
        entries += 1;
        if entries % 50 == 0 {
            spool.commit()?;
        }
        spool.apply_entry(entry)
    })
    .unwrap();
    spool.commit().unwrap();
}

/// Asserts that two news directories say the same, positions aside.
pub fn same(one: &Path, other: &Path, options: Options, what: &str) {
    let [told, told_again] = [one, other].map(|dir| Told::of(dir, options));
    let mut pairs = told.history.iter().zip(&told_again.history);
    let differing = pairs.find(|(one, other)| one != other);
    assert_eq!(differing, None, "{what}");
    assert_eq!(told.history.len(), told_again.history.len(), "{what}");
    assert_eq!(told.articles, told_again.articles, "{what}");
    assert_eq!(told.rows, told_again.rows, "{what}");
    assert_eq!(told.active, told_again.active, "{what}");
    assert_eq!(told.cancelled, told_again.cancelled, "{what}");
    assert_eq!(told.expired, told_again.expired, "{what}");
    assert_eq!(told.files, told_again.files, "{what}");
    assert!(!told.cancelled.is_empty());
}

/// What a news directory says, positions aside.
struct Told {
    /// The history lines in their order.
    history: Vec<String>,
    /// The records of articles that are visible: sites, flag and wire form.
    articles: Vec<(Vec<u8>, bool, Vec<u8>)>,
    rows: Vec<String>,
    active: String,
    cancelled: BTreeSet<Vec<u8>>,
    /// Links that have expired.
    expired: Vec<(String, u64)>,
    files: [String; 4],
}

impl Told {
    fn of(dir: &Path, options: Options) -> Told {
        let spool = Spool::open(dir, options).unwrap();
        let cancelled: Vec<_> = spool.cancelled().positions().collect();
        assert!(spool.pending_cancels().is_ok() && spool.serials().is_ok());
        drop(spool);
        let reader = Snapshot::open(dir).unwrap();
        let mut told = Told {
            history: Vec::new(),
            articles: Vec::new(),
            rows: Vec::new(),
            active: std::fs::read_to_string(dir.join("active")).unwrap(),
            cancelled: BTreeSet::new(),
            expired: Vec::new(),
            files: STATE_FILES
                .map(|file| std::fs::read_to_string(dir.join(file)).unwrap_or_default()),
        };
        let mut buffer = Vec::new();
        reader
            .each_history_line(|text| {
                let line = HistoryLine::parse(text).unwrap();
                told.history.push(format!(
                    "{} {:?} {:?} {:?} {}",
                    line.id.escape_ascii(),
                    line.arrival,
                    line.expires,
                    line.size,
                    line.links.escape_ascii()
                ));
                if line
                    .position
                    .is_some_and(|position| cancelled.contains(&position))
                {
                    told.cancelled.insert(line.id.to_vec());
                }
                for (group, number) in line.links() {
                    if !reader.expired().keeps(group, number) {
                        let group = String::from_utf8(group.to_vec()).unwrap();
                        told.expired.push((group, number));
                    }
                }
                if let Some(record) = reader.article(line.id, &mut buffer)? {
                    let flag = record.head.no_final_newline;
                    let bytes = (record.sites().to_vec(), flag, record.wire().to_vec());
                    told.articles.push(bytes);
                }
                Ok(())
            })
            .unwrap();
        let active = reader.active();
        for group in active.ids() {
            let name = active.name(group);
            reader
                .overview(name, (1, u64::MAX), |row| {
                    let (name, text) = (name.escape_ascii(), row.text.escape_ascii());
                    told.rows.push(format!("{name} {text}"));
                    Ok(())
                })
                .unwrap();
        }
        told
    }
}
