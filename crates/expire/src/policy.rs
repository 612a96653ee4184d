//! The policy over the active table, and the decision about one article in one
//! group. Pure: the clock is passed in.
//!
//! C News's order, for an article that arrived at `arrival`:
//!
//! 1. arrival cannot be read (negative): complain, and it goes;
//! 2. `arrival >= now - low`: it stays;
//! 3. `arrival <= now - high`: it goes;
//! 4. it has an explicit expiry date: it goes if and only if `now` has reached it;
//! 5. otherwise it goes if and only if `arrival < now - default`.
//!
//! Dates before the epoch count as the epoch, `never` too, so that what arrived
//! at 0 (an article that could not be read when history was rebuilt) goes even
//! then. An arrival in the future always falls under 2, because `low` is never
//! negative: a clock set back expires nothing.

use groups::pattern::Pattern;
use groups::{Active, Flag, GroupId};

use crate::archive::Archive;
use crate::dates::Dates;
use crate::error::Error;
use crate::explist::{Explist, Rule, shown};
use crate::life::{Life, Share};
use crate::reach::Reach;

/// An arrival date that could not be read.
pub const ARRIVAL_UNREADABLE: i64 = -1;

/// No rule: a group that came after the policy was compiled.
const NO_RULE: u32 = u32::MAX;

/// Rules compiled over one state of the active table.
pub struct Policy {
    rules: Vec<Compiled>,
    reach: Reach,
    /// By group id: index of the ruling line, or [`NO_RULE`].
    ruling: Vec<u32>,
    expired: Option<Life>,
    /// What space leaves of every life.
    share: Share,
}

struct Compiled {
    pattern: Pattern,
    rule: Rule,
}

/// Something to tell the administrator; expire goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A line of the policy rules no group.
    Unused {
        /// The policy file's name.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// Its patterns.
        patterns: String,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unused {
                file,
                line,
                patterns,
            } => write!(f, "{file}:{line}: `{patterns}' rules no group"),
        }
    }
}

/// What is known of an article when it is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// When it arrived, epoch seconds; negative if that cannot be read.
    pub arrival: i64,
    /// Its explicit expiry date, if there is one and it could be read.
    pub expires: Option<i64>,
    /// There is an explicit expiry date, but it could not be read: the default
    /// rules, and `-g` reports it.
    pub expires_unreadable: bool,
}

/// Whether an article leaves a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'p> {
    /// It stays.
    Keep,
    /// It goes, after being copied if there is an archive.
    Remove {
        /// Where to.
        archive: Option<&'p Archive>,
    },
}

/// The verdict, and what to complain of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision<'p> {
    /// Whether it goes.
    pub verdict: Verdict<'p>,
    /// At most one complaint; about the arrival rather than about the expiry.
    pub complaint: Option<Complaint>,
}

/// What is odd about an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complaint {
    /// Its arrival date cannot be read; it goes.
    ArrivalUnreadable,
    /// It arrived in the future; it stays. (Was the clock set back?)
    ArrivalInFuture,
    /// Its explicit expiry date cannot be read; the default rules (`-g`).
    ExpiresUnreadable,
    /// Its group is neither in the active table nor in any rule; it stays.
    NoRule,
}

/// A group's dates at one moment, so that articles in order of arrival are
/// decided by binary search:
///
/// - `arrival < high`: it goes;
/// - `high <= arrival < low` with an explicit expiry date: it goes if and only
///   if `now` has reached the date;
/// - `arrival < default` without one: it goes;
/// - otherwise it stays.
///
/// Always `high <= default <= low`. Edge cases of the classic test (both ends
/// at the epoch, equal ends) are worked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutoffs {
    /// Everything that arrived before this goes.
    pub high: i64,
    /// What arrived before this goes, unless it has an explicit expiry date.
    pub default: i64,
    /// What arrived at this time or later stays.
    pub low: i64,
}

impl Cutoffs {
    /// Cut-offs that keep everything.
    pub const KEEP: Self = Self {
        high: i64::MIN,
        default: i64::MIN,
        low: i64::MIN,
    };

    /// The cut-offs of dates at a moment.
    pub fn new(dates: &Dates, now: i64) -> Self {
        let low = dates.low().before(now);
        // "At or before now - high" as "before the second after it".
        let high = dates.high().before(now).saturating_add(1).min(low);
        // Not above `low`, since lives are in order.
        let default = dates.default().before(now).max(high);
        Self { high, default, low }
    }

    /// Whether an article goes. `expires` only if it could be read.
    #[inline]
    pub fn remove(&self, arrival: i64, expires: Option<i64>, now: i64) -> bool {
        match expires {
            None => arrival < self.default,
            Some(date) => arrival < self.high || (arrival < self.low && now >= date),
        }
    }
}

impl Policy {
    /// Finds the ruling line of every group: the first whose patterns and
    /// moderation fit. Warns of each line that rules none.
    ///
    /// # Errors
    /// [`Error::Uncovered`] if a group has no ruling line.
    pub fn compile(list: Explist, active: &Active) -> Result<(Self, Vec<Warning>), Error> {
        let Explist {
            file,
            rules,
            expired,
        } = list;
        let mut policy = Self {
            reach: Reach::new(&rules),
            rules: rules
                .into_iter()
                .map(|rule| Compiled {
                    pattern: Pattern::parse(&rule.patterns),
                    rule,
                })
                .collect(),
            ruling: vec![NO_RULE; active.id_end()],
            expired,
            share: Share::WHOLE,
        };
        let mut used = vec![false; policy.rules.len()];
        let (mut first_uncovered, mut uncovered) = (None, 0usize);
        for id in active.ids() {
            let name = active.name(id);
            match policy.search(name, active.flag(id) == Flag::Moderated) {
                Some(index) => {
                    if let Some(slot) = policy.ruling.get_mut(id.0 as usize) {
                        *slot = index;
                    }
                    if let Some(used) = used.get_mut(index as usize) {
                        *used = true;
                    }
                }
                None => {
                    first_uncovered.get_or_insert_with(|| shown(name));
                    uncovered += 1;
                }
            }
        }
        if let Some(group) = first_uncovered {
            return Err(Error::Uncovered {
                file,
                group,
                others: uncovered - 1,
            });
        }
        let warnings = policy
            .rules
            .iter()
            .zip(used)
            .filter(|(_, used)| !used)
            .map(|(compiled, _)| Warning::Unused {
                file: file.clone(),
                line: compiled.rule.line,
                patterns: shown(&compiled.rule.patterns),
            })
            .collect();
        Ok((policy, warnings))
    }

    /// The line that rules a group of the active table. `None` for a group that
    /// was added after the policy was compiled, or removed before.
    #[inline]
    pub fn rule(&self, group: GroupId) -> Option<&Rule> {
        let index = *self.ruling.get(group.0 as usize)?;
        self.rules
            .get(index as usize)
            .map(|compiled| &compiled.rule)
    }

    /// The line that rules a group by name, for groups that are not in the active
    /// table. Those count as unmoderated. Costs a search; keep the answer.
    pub fn rule_of_name(&self, name: &[u8], moderated: bool) -> Option<&Rule> {
        let index = self.search(name, moderated)?;
        self.rules
            .get(index as usize)
            .map(|compiled| &compiled.rule)
    }

    /// The rules in their order.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(|compiled| &compiled.rule)
    }

    /// Decides about an article in a group of the active table.
    #[inline]
    pub fn decide(&self, facts: Facts, group: GroupId, now: i64) -> Decision<'_> {
        match self.rule(group) {
            Some(rule) => rule.decide(facts, now),
            None => Decision {
                verdict: Verdict::Keep,
                complaint: Some(Complaint::NoRule),
            },
        }
    }

    /// A group's cut-offs at a moment; [`Cutoffs::KEEP`] without a ruling line.
    pub fn cutoffs(&self, group: GroupId, now: i64) -> Cutoffs {
        self.rule(group)
            .map_or(Cutoffs::KEEP, |rule| self.cutoffs_of(rule, now))
    }

    /// The cut-offs of a line at a moment, its lives shortened to the share that space leaves of them.
    pub fn cutoffs_of(&self, rule: &Rule, now: i64) -> Cutoffs {
        Cutoffs::new(&rule.dates.shortened(self.share), now)
    }

    /// From now on [`Policy::cutoffs`] are of lives shortened to this share ([`Dates::shortened`]).
    pub fn shorten(&mut self, share: Share) {
        self.share = share;
    }

    /// The lines that rule a group, in their order.
    pub fn used_rules(&self) -> impl Iterator<Item = &Rule> {
        let mut used = vec![false; self.rules.len()];
        for index in &self.ruling {
            if let Some(used) = used.get_mut(*index as usize) {
                *used = true;
            }
        }
        let rules = self.rules().zip(used).filter(|(_, used)| *used);
        rules.map(|(rule, _)| rule)
    }

    /// The horizon of memory: a history line without an article (expired,
    /// refused, cancelled in advance) is dropped if its arrival lies before this.
    /// Counted from arrival, the only date that a history line keeps. Without an
    /// `/expired/` line everything lies before it.
    pub fn forget_before(&self, now: i64) -> i64 {
        self.expired.map_or(i64::MAX, |life| life.before(now))
    }

    fn search(&self, name: &[u8], moderated: bool) -> Option<u32> {
        self.reach.rules(name).iter().copied().find(|index| {
            self.rules.get(*index as usize).is_some_and(|compiled| {
                compiled.rule.moderation.fits(moderated) && compiled.pattern.matches(name)
            })
        })
    }
}

impl Rule {
    /// Decides about an article in a group that this line rules.
    #[inline]
    pub fn decide(&self, facts: Facts, now: i64) -> Decision<'_> {
        let Facts {
            arrival, expires, ..
        } = facts;
        let remove = arrival < 0 || Cutoffs::new(&self.dates, now).remove(arrival, expires, now);
        let complaint = if arrival < 0 {
            Some(Complaint::ArrivalUnreadable)
        } else if arrival > now {
            Some(Complaint::ArrivalInFuture)
        } else if facts.expires_unreadable {
            Some(Complaint::ExpiresUnreadable)
        } else {
            None
        };
        let verdict = if remove {
            Verdict::Remove {
                archive: self.archive.as_ref(),
            }
        } else {
            Verdict::Keep
        };
        Decision { verdict, complaint }
    }
}
