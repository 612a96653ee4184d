//! What administrators were told must be true in the end: each article that they removed is gone, each that they restored is there, and
//! what expire removed stays away.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::admins::{Act, Told, What};
use super::articles::{Article, GROUPS, SHORT, is_cancelled, made};
use super::load::{Heard, Load};

/// Where an article must be, as its administrator knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Here,
    Gone,
    /// A command failed that may have done something.
    Either,
}

/// The changes that administrators made.
pub struct Changes {
    /// Articles that somebody removed, or tried to.
    articles: BTreeMap<u64, Presence>,
    /// The flag of a group that somebody made, if it must be there; `None`: it may be either.
    groups: BTreeMap<u64, (Option<Option<&'static str>>, Instant)>,
    expires: Vec<Act>,
    offered: BTreeMap<u64, Instant>,
}

impl Changes {
    pub fn of(load: &Load) -> Changes {
        let (mut articles, mut groups) = (BTreeMap::new(), BTreeMap::new());
        let mut expires = Vec::new();
        for act in load.acts.lock().unwrap().iter() {
            match act.what {
                What::Remove(number) | What::Erase(number) | What::Restore(number) => {
                    let presence = articles.entry(number).or_insert(Presence::Here);
                    *presence = match (*presence, act.told, act.what) {
                        (before, Told::Nothing, _) => before,
                        (Presence::Either, ..) | (_, Told::Unknown, _) => Presence::Either,
                        (_, Told::Done, What::Restore(_)) => Presence::Here,
                        (_, Told::Done, _) => Presence::Gone,
                    };
                }
                What::AddGroup(number) | What::SetGroup(number, _) | What::RemoveGroup(number) => {
                    let group = groups.entry(number).or_insert((Some(None), act.ended));
                    let flag = match act.what {
                        What::RemoveGroup(_) => None,
                        What::SetGroup(_, true) => Some("n"),
                        _ => Some("y"),
                    };
                    match act.told {
                        Told::Nothing => {}
                        Told::Unknown => group.0 = None,
                        Told::Done if group.0.is_some() => {
                            // Since when it was there without a break.
                            if !matches!(group.0, Some(Some(_))) {
                                group.1 = act.ended;
                            }
                            group.0 = Some(flag);
                        }
                        Told::Done => {}
                    }
                }
                What::Expire => expires.push(act.clone()),
            }
        }
        Changes {
            articles,
            groups,
            expires,
            offered: load.offered.lock().unwrap().clone(),
        }
    }

    pub fn presence(&self, number: u64) -> Presence {
        let known = self.articles.get(&number).copied();
        known.unwrap_or(Presence::Here)
    }

    /// Whether somebody removed it, or tried to, or restored it.
    pub fn touches(&self, number: u64) -> bool {
        self.articles.contains_key(&number)
    }

    /// Whether a reader may miss it for a while.
    pub fn may_have_vanished(&self, number: u64, groups: &[usize]) -> bool {
        let is_short = groups.iter().all(|group| is_short(*group));
        self.articles.contains_key(&number) || is_short && self.may_have_expired(number)
    }

    /// Whether a run of expire may have seen it.
    pub fn may_have_expired(&self, number: u64) -> bool {
        let offered = self.offered.get(&number);
        let acts = self.expires.iter();
        let mut acts = acts.filter(|act| act.told != Told::Nothing);
        acts.any(|act| offered.is_none_or(|offered| *offered < act.ended))
    }

    /// The numbers of all articles that a run of expire must have removed from [`SHORT`]: their node had them, and ran it afterwards.
    pub fn have_expired(&self, heard: &BTreeMap<u64, Vec<Heard>>) -> BTreeSet<u64> {
        let is_filed = |told: &Heard| {
            let codes = ["239 ", "235 ", "240 "];
            codes.iter().any(|code| told.reply.starts_with(code))
        };
        let is_gone = |told: &&Heard| {
            let mut acts = self.expires.iter().filter(|act| act.told == Told::Done);
            is_filed(told)
                && acts.any(|act| {
                    (act.node, act.life) == (told.node, told.life) && told.at < act.began
                })
        };
        let gone = heard
            .iter()
            .filter(|(_, all)| all.iter().any(|told| is_gone(&told)));
        gone.map(|(number, _)| *number).collect()
    }

    /// Compares where the articles are: `there` has the groups of each number.
    pub fn check_articles(
        &self,
        load: &Load,
        known: impl Iterator<Item = u64>,
        cancelled: &dyn Fn(u64) -> bool,
        there: &dyn Fn(u64) -> Option<Vec<usize>>,
    ) -> Vec<String> {
        let heard = load.heard.lock().unwrap();
        let expired = self.have_expired(&heard);
        let mut faults = Vec::new();
        for number in known {
            let article = Article::of(load.seed, number);
            if article.groups.is_empty() || cancelled(number) {
                continue;
            }
            let found = there(number).unwrap_or_default();
            let presence = self.presence(number);
            let has_all = |wanted: &dyn Fn(usize) -> bool| {
                let mut groups = article.groups.iter();
                groups.all(|group| !wanted(*group) || found.contains(group))
            };
            let is_stray = found.iter().any(|group| !article.groups.contains(group));
            let is_whole = has_all(&|group| !is_short(group))
                && (self.may_have_expired(number) || has_all(&is_short));
            let is_right = match presence {
                Presence::Here => is_whole,
                Presence::Gone => found.is_empty(),
                Presence::Either => found.is_empty() || is_whole,
            };
            if is_stray || !is_right {
                faults.push(format!(
                    "{} is in {found:?}, belongs into {:?}, and to its administrator it is {presence:?}",
                    article.id, article.groups
                ));
            }
            if expired.contains(&number) && found.iter().any(|group| is_short(*group)) {
                faults.push(format!("{} had expired, and is in {SHORT}", article.id));
            }
        }
        faults
    }

    /// The groups that administrators made, set and removed, in an active file.
    pub fn check_groups(
        &self,
        active: &str,
        rows: &dyn Fn(&str) -> BTreeSet<String>,
        known: &BTreeSet<String>,
        seed: u64,
    ) -> Vec<String> {
        let flags: BTreeMap<&str, &str> = active
            .lines()
            .filter_map(|line| Some((line.split(' ').next()?, line.rsplit(' ').next()?)))
            .collect();
        let mut faults = Vec::new();
        for (number, (flag, since)) in &self.groups {
            let name = made(*number);
            let found = flags.get(name.as_str()).copied();
            match flag {
                None => {}
                Some(flag) if *flag != found => faults.push(format!(
                    "the group {name} has the flag {found:?}, and its administrator knows {flag:?}"
                )),
                Some(None) => {}
                Some(Some(_)) => {
                    // What was offered afterwards is in it.
                    let rows = rows(&name);
                    let later = self.offered.iter().filter(|(_, offered)| *offered > since);
                    for (article, _) in later {
                        let (place, article) = (*article, Article::of(seed, *article));
                        if article.made == Some(*number)
                            && known.contains(&article.id)
                            && !rows.contains(&article.id)
                            && self.presence(place) == Presence::Here
                            && !is_cancelled(seed, place)
                        {
                            faults.push(format!("{} is not in {name}", article.id));
                        }
                    }
                }
            }
        }
        faults
    }
}

/// Whether expire removes what is in this group.
pub fn is_short(group: usize) -> bool {
    GROUPS.get(group) == Some(&SHORT)
}
