//! Administrators: they remove and restore articles, make and remove groups, and run expire, on one node after the other.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::articles::{Article, MADE_EVERY, SHORT, id, is_cancelled, made};
use super::load::Load;
use super::rig::COUNT;
use crate::program::dice::Dice;

/// Administrators. Each has articles and groups of his own, so that nobody undoes the work of another.
pub const ADMINS: u64 = 2;
/// Longest pause between two commands, ms.
const PAUSE_MS: u64 = 700;
/// How far behind the newest article administrators look for one.
const BEHIND: u64 = 1_000;
/// Longest time after the load until each has done something of every kind.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command of an administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Remove(u64),
    Erase(u64),
    Restore(u64),
    AddGroup(u64),
    /// The flag is `n`, or `y` again.
    SetGroup(u64, bool),
    RemoveGroup(u64),
    /// Everything in the group [`SHORT`] that the node has.
    Expire,
}

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Exit status 0.
    Done,
    /// Exit status 1: nothing was changed.
    Nothing,
    /// It may happen, even later.
    Unknown,
}

/// A command of an administrator.
#[derive(Clone, Debug)]
pub struct Act {
    pub what: What,
    pub node: usize,
    /// The life of the news directory, see [`Load::life`].
    pub life: u64,
    pub began: Instant,
    pub ended: Instant,
    pub told: Told,
}

/// The state of an article or a group by the results of the commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A group that is closed to local posts has `true`.
    There(bool),
    Gone,
    Unknown,
}

struct Admin<'a> {
    load: &'a Load,
    own: u64,
    dice: Dice,
    articles: BTreeMap<u64, State>,
    groups: BTreeMap<u64, State>,
}

/// Works until the load is over, and everything was done at least once.
pub fn administer(load: &Arc<Load>, own: u64) {
    let mut admin = Admin {
        load,
        own,
        dice: Dice::new(load.seed ^ 0xad31 ^ (own << 32)),
        articles: BTreeMap::new(),
        groups: BTreeMap::new(),
    };
    let mut over = None;
    loop {
        std::thread::sleep(Duration::from_millis(100 + admin.dice.below(PAUSE_MS)));
        let what = admin.plan();
        if let Some(what) = what {
            admin.act(what);
        }
        if !load.goes_on() {
            let since = *over.get_or_insert_with(Instant::now);
            if admin.has_done_all() || since.elapsed() > PATIENCE {
                return;
            }
        }
    }
}

/// Whether what was done is of the kind of `what`.
fn is_kind(act: &Act, what: What) -> bool {
    std::mem::discriminant(&act.what) == std::mem::discriminant(&what)
}

/// One command of each kind.
const KINDS: [What; 7] = [
    What::Remove(0),
    What::Erase(0),
    What::Restore(0),
    What::AddGroup(0),
    What::SetGroup(0, false),
    What::RemoveGroup(0),
    What::Expire,
];

/// The number of commands of each kind that were done.
pub fn counts(acts: &[Act]) -> BTreeMap<&'static str, usize> {
    let names = [
        "remove",
        "erase",
        "restore",
        "group add",
        "group set",
        "group remove",
        "expire",
    ];
    let count = |what: What| {
        let done = acts.iter().filter(|act| act.told == Told::Done);
        done.filter(|act| is_kind(act, what)).count()
    };
    names.into_iter().zip(KINDS.map(count)).collect()
}

impl Admin<'_> {
    fn has_done_all(&self) -> bool {
        let acts = self.load.acts.lock().unwrap();
        counts(&acts).values().all(|count| *count > 0)
    }

    fn plan(&mut self) -> Option<What> {
        let newest = self.load.newest.load(Ordering::Relaxed);
        match self.dice.below(100) {
            0..=39 => self.plan_article(newest),
            40..=72 => Some(self.plan_group(newest)),
            _ if self.own == 0 => Some(What::Expire),
            _ => None,
        }
    }

    fn plan_article(&mut self, newest: u64) -> Option<What> {
        let gone = self.articles.iter();
        let gone: Vec<u64> = gone
            .filter(|(_, state)| **state == State::Gone)
            .map(|(number, _)| *number)
            .collect();
        if self.dice.chance(45)
            && let Some(number) = self.dice.pick(&gone)
        {
            return Some(What::Restore(*number));
        }
        let number = newest.saturating_sub(self.dice.below(BEHIND)).max(1);
        let number = number - number % ADMINS + self.own;
        let is_fit = !Article::of(self.load.seed, number).groups.is_empty()
            && !is_cancelled(self.load.seed, number)
            && !self.articles.contains_key(&number);
        // Even one that never came: it is refused then.
        is_fit.then(|| match self.dice.chance(15) {
            true => What::Erase(number),
            false => What::Remove(number),
        })
    }

    fn plan_group(&mut self, newest: u64) -> What {
        let number = newest / MADE_EVERY + self.dice.below(3);
        let mut number = number - number % ADMINS + self.own;
        while self.groups.get(&number) == Some(&State::Unknown) {
            number += ADMINS;
        }
        match self.groups.get(&number) {
            Some(State::There(is_closed)) => match self.dice.chance(70) {
                true => What::SetGroup(number, !is_closed),
                false => What::RemoveGroup(number),
            },
            _ => What::AddGroup(number),
        }
    }

    fn act(&mut self, what: What) {
        let node = self.dice.below(COUNT as u64) as usize;
        let (Some(program), Some(gate)) = (self.load.programs.get(node), self.load.gates.get(node))
        else {
            return;
        };
        // Nobody works at a node whose disk is being changed.
        let Ok(_open) = gate.try_read() else {
            return;
        };
        let is_new = self.load.are_new.get(node);
        if is_new.is_some_and(|is_new| is_new.load(Ordering::SeqCst)) {
            return;
        }
        let life = self.load.life(node);
        let began = Instant::now();
        let words = words(self.load, what);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let told = program.run(&words);
        let ended = Instant::now();
        let told = match told.status {
            0 if self.load.life(node) == life => Told::Done,
            1 if what != What::Expire => Told::Nothing,
            _ => Told::Unknown,
        };
        let is_there = match what {
            What::Remove(_) | What::Erase(_) | What::RemoveGroup(_) => State::Gone,
            What::Restore(_) | What::AddGroup(_) => State::There(false),
            What::SetGroup(_, is_closed) => State::There(is_closed),
            What::Expire => State::Unknown,
        };
        let (all, number) = match what {
            What::Remove(number) | What::Erase(number) | What::Restore(number) => {
                (Some(&mut self.articles), number)
            }
            What::AddGroup(number) | What::SetGroup(number, _) | What::RemoveGroup(number) => {
                (Some(&mut self.groups), number)
            }
            What::Expire => (None, 0),
        };
        match (all, told) {
            (Some(all), Told::Done) => drop(all.insert(number, is_there)),
            (Some(all), Told::Unknown) => drop(all.insert(number, State::Unknown)),
            _ => {}
        }
        self.load.acts.lock().unwrap().push(Act {
            what,
            node,
            life,
            began,
            ended,
            told,
        });
    }
}

fn words(load: &Load, what: What) -> Vec<String> {
    let seed = load.seed;
    let of = |words: &[&str], last: &[&str]| -> Vec<String> {
        let words = words.iter().chain(&["--dir", "news"]).chain(last);
        words.map(|word| (*word).to_owned()).collect()
    };
    match what {
        What::Remove(number) => of(
            &["article", "remove"],
            &["--reason", "chaos", &id(seed, number)],
        ),
        What::Erase(number) => of(&["article", "remove"], &["--erase", &id(seed, number)]),
        What::Restore(number) => of(&["article", "restore"], &[&id(seed, number)]),
        What::AddGroup(number) => of(&["group", "add"], &[&made(number)]),
        What::SetGroup(number, is_closed) => of(
            &["group", "set"],
            &[&made(number), if is_closed { "n" } else { "y" }],
        ),
        What::RemoveGroup(number) => of(&["group", "remove"], &[&made(number)]),
        What::Expire => {
            // No clock here is so far ahead.
            let later = SystemTime::now() + Duration::from_secs(86_400);
            let later = later.duration_since(UNIX_EPOCH).unwrap().as_secs();
            of(
                &["expire"],
                &["--force", "--now", &later.to_string(), POLICY],
            )
        }
    }
}

/// The file with the policy, beside the news directory of each node. The policy within it keeps everything: the daemon of a node whose disk
/// is full runs expire by that one.
const POLICY: &str = "policy";

/// Everything in one group goes as soon as expire runs; nothing else does, and no id is forgotten.
pub fn policy() -> (&'static str, String) {
    let text = format!("/expired/ x 3650 -\n{SHORT} x 0 -\nall x 3650 -\n");
    (POLICY, text)
}
