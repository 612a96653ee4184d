//! The policy compiled over the active table, and the decision about one article in one
//! group. Pure: the caller passes the time.
//!
//! C News's order, for an article that arrived at `arrival`:
//!
//! 1. its arrival cannot be read (negative): report it, and remove it;
//! 2. `arrival >= now - low`: keep it;
//! 3. `arrival <= now - high`: remove it;
//! 4. it has an explicit expiry date: remove it if and only if `now` has reached that date;
//! 5. otherwise remove it if and only if `arrival < now - default`.
//!
//! Dates before 1970 count as 0, and so does `never`, so that an article with arrival
//! 0 (one that could not be read when history was rebuilt) is removed even
//! then. An arrival in the future always falls under 2, because `low` is never
//! negative: setting the clock back expires nothing.

use std::collections::HashMap;

use groups::pattern::Pattern;
use groups::{Active, Flag, GroupId, shown};

use crate::archive::{Archive, Layout};
use crate::dates::Dates;
use crate::error::Error;
use crate::explist::{Explist, Rule};
use crate::life::{DAY_SECONDS, Lifetime, Share};
use crate::rule_index::RuleIndex;

/// The arrival of an article whose arrival date cannot be read.
pub const ARRIVAL_UNREADABLE: i64 = -1;

/// Longest life that [`Policy::forget_before`] adds to `/expired/`, days: memory of ids costs about 100 bytes an id.
pub const LIFE_REMEMBERED_DAYS_MAX: u32 = 400;

/// No rule: the group was added after the policy was compiled.
const NO_RULE: u32 = u32::MAX;

/// A policy compiled over one state of the active table.
pub struct Policy {
    rules: Vec<Compiled>,
    rule_index: RuleIndex,
    /// By group id: index of the ruling line, or [`NO_RULE`].
    ruling: Vec<u32>,
    expired: Option<Lifetime>,
    /// The rules are tables of `broadsheet.toml`.
    are_tables: bool,
    /// The fraction of every life that is left when space is short.
    share: Share,
}

struct Compiled {
    pattern: Pattern,
    rule: Rule,
}

/// A warning for the administrator; expire continues.
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
    /// Articles of several groups are archived in one directory under their numbers, which collide.
    Flat {
        /// The policy file's name.
        file: String,
        /// Number of the first line with this directory, from 1.
        line: usize,
        /// The directory.
        directory: String,
        /// The number of groups.
        groups: usize,
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
            Self::Flat {
                file,
                line,
                directory,
                groups,
            } => write!(
                f,
                "{file}:{line}: the flat archive {directory} is for {groups} groups, whose numbers collide: articles that find theirs taken stay; give each \
                 group a directory, or archive without `=' (flat)"
            ),
        }
    }
}

/// The data of an article for the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Arrival, seconds since 1970; negative if it cannot be read.
    pub arrival: i64,
    /// Explicit expiry date, if there is one and it is readable.
    pub expires: Option<i64>,
    /// Whether there is an explicit expiry date that is not readable: the default
    /// applies, and `-g` reports it.
    pub expires_unreadable: bool,
}

/// Whether an article is removed from a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'p> {
    /// It is kept.
    Keep,
    /// It is removed, after being copied if there is an archive.
    Remove {
        /// The archive.
        archive: Option<&'p Archive>,
    },
}

/// The verdict, with a possible warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision<'p> {
    /// Whether the article is removed.
    pub verdict: Verdict<'p>,
    /// At most one warning; one about the arrival precedes one about the expiry date.
    pub warning: Option<ArticleWarning>,
}

/// A warning about an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArticleWarning {
    /// Its arrival date cannot be read; it is removed.
    ArrivalUnreadable,
    /// Its arrival is in the future; it is kept. A sign that the clock was set back.
    ArrivalInFuture,
    /// Its explicit expiry date cannot be read; the default applies (`-g`).
    ExpiresUnreadable,
    /// Its group is neither in the active table nor in any rule; it is kept.
    NoRule,
}

/// The cut-offs of a group at one time, so that articles in order of arrival can be
/// decided by binary search:
///
/// - `arrival < high`: removed;
/// - `high <= arrival < low` with an explicit expiry date: removed if and only
///   if `now` has reached the date;
/// - `arrival < default` without one: removed;
/// - otherwise kept.
///
/// Always `high <= default <= low`. The edge cases of the classic test (both ends
/// at 0, equal ends) are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutoffs {
    /// Articles that arrived before this are removed.
    pub high: i64,
    /// Articles that arrived before this are removed, unless they have an explicit expiry date.
    pub default: i64,
    /// Articles that arrived at this time or later are kept.
    pub low: i64,
}

impl Cutoffs {
    /// Cut-offs that keep everything.
    pub const KEEP: Self = Self {
        high: i64::MIN,
        default: i64::MIN,
        low: i64::MIN,
    };

    /// The cut-offs of dates at a time.
    pub fn new(dates: &Dates, now: i64) -> Self {
        let low = dates.low().before(now);
        // "At or before now - high" as "before the second after it".
        let high = dates.high().before(now).saturating_add(1).min(low);
        // At most `low`, because the lives are in order.
        let default = dates.default().before(now).max(high);
        Self { high, default, low }
    }

    /// Whether an article is removed. `expires` is its explicit expiry date, if readable.
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
    /// moderation match. Warns of each line that rules no group.
    ///
    /// # Errors
    /// [`Error::Uncovered`] if a group has no ruling line.
    pub fn compile(list: Explist, active: &Active) -> Result<(Self, Vec<Warning>), Error> {
        let Explist {
            file,
            rules,
            expired,
            are_tables,
        } = list;
        let mut policy = Self {
            rule_index: RuleIndex::new(&rules),
            rules: rules
                .into_iter()
                .map(|rule| Compiled {
                    pattern: Pattern::parse(&rule.patterns),
                    rule,
                })
                .collect(),
            ruling: vec![NO_RULE; active.id_end()],
            expired,
            are_tables,
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
                are_tables,
            });
        }
        let mut warnings: Vec<Warning> = policy
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
        warnings.extend(policy.crowded_archives(&file, active));
        Ok((policy, warnings))
    }

    /// A warning for each flat archive of more than one group.
    fn crowded_archives(&self, file: &str, active: &Active) -> Vec<Warning> {
        let mut crowds: HashMap<&Archive, (usize, usize)> = HashMap::new();
        for rule in active.ids().filter_map(|id| self.rule(id)) {
            let flat = rule.archive.as_ref();
            if let Some(archive) = flat.filter(|archive| archive.layout == Layout::Flat) {
                let (line, groups) = crowds.entry(archive).or_insert((rule.line, 0));
                *line = rule.line.min(*line);
                *groups += 1;
            }
        }
        let crowded = crowds.into_iter().filter(|(_, (_, groups))| *groups > 1);
        let mut crowded: Vec<_> = crowded.collect();
        crowded.sort_unstable_by_key(|(_, (line, _))| *line);
        let warning = |(archive, (line, groups)): (&Archive, (usize, usize))| Warning::Flat {
            file: file.to_owned(),
            line,
            directory: shown(&archive.path),
            groups,
        };
        crowded.into_iter().map(warning).collect()
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
    /// table. Those count as unmoderated. Costs a search; callers cache the result.
    pub fn rule_of_name(&self, name: &[u8], moderated: bool) -> Option<&Rule> {
        let index = self.search(name, moderated)?;
        self.rules
            .get(index as usize)
            .map(|compiled| &compiled.rule)
    }

    /// The rules in order.
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
                warning: Some(ArticleWarning::NoRule),
            },
        }
    }

    /// The cut-offs of a group at a time; [`Cutoffs::KEEP`] without a ruling line.
    pub fn cutoffs(&self, group: GroupId, now: i64) -> Cutoffs {
        self.rule(group)
            .map_or(Cutoffs::KEEP, |rule| self.cutoffs_of(rule, now))
    }

    /// The cut-offs of a line at a time, with its lives shortened to the fraction that is left when space is short.
    pub fn cutoffs_of(&self, rule: &Rule, now: i64) -> Cutoffs {
        Cutoffs::new(&rule.dates.shortened(self.share), now)
    }

    /// Shortens the lives behind [`Policy::cutoffs`] to this fraction ([`Dates::shortened`]) from now on.
    pub fn shorten(&mut self, share: Share) {
        self.share = share;
    }

    /// The lines that rule at least one group, in order.
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

    /// The time before which history forgets: a history line without an article (expired,
    /// refused, cancelled in advance) is dropped if its arrival is earlier.
    ///
    /// `/expired/` counts from the expiry of the article. A history line has only the arrival, so
    /// the longest default life of the policy is added, at most [`LIFE_REMEMBERED_DAYS_MAX`].
    /// Without an `/expired/` line, every such line is dropped.
    pub fn forget_before(&self, now: i64) -> i64 {
        let Some(life) = self.expired else {
            return i64::MAX;
        };
        let longest = self.longest_life_seconds();
        life.before(now.saturating_sub(longest))
    }

    /// The longest default life that ends, seconds, as [`Policy::forget_before`] counts it.
    fn longest_life_seconds(&self) -> i64 {
        let lives = self.rules().filter_map(|rule| match rule.dates.default() {
            Lifetime::Seconds(seconds) => Some(seconds),
            Lifetime::Never => None,
        });
        let most = u64::from(LIFE_REMEMBERED_DAYS_MAX) * DAY_SECONDS;
        let longest = lives.max().unwrap_or(0).min(most);
        i64::try_from(longest).unwrap_or(i64::MAX)
    }

    /// Reasons why expired articles can come back, one sentence each, for `broadsheet check`.
    pub fn returns(&self, file: &str) -> Vec<String> {
        if self.expired.is_none() {
            let (missing, advice) = if self.are_tables {
                (
                    "expired_days of [expiry] is not set",
                    "set `expired_days = 14' there",
                )
            } else {
                (
                    "there is no /expired/ line",
                    "add a line such as `/expired/ x 14 -'",
                )
            };
            return vec![format!(
                "{file}: {missing}, so ids are forgotten when their articles expire, and the articles can come back; {advice}"
            )];
        }
        let most = Lifetime::days(LIFE_REMEMBERED_DAYS_MAX);
        let long = self.rules().filter(|rule| {
            let life = rule.dates.default();
            life > most && life != Lifetime::Never
        });
        long.map(|rule| {
            format!(
                "{file}:{}: a life of more than {LIFE_REMEMBERED_DAYS_MAX} days: ids are remembered as if it were {LIFE_REMEMBERED_DAYS_MAX} days, so these \
                 articles can come back after they expire; set limits.article_age_days_max to refuse old articles",
                rule.line
            )
        })
        .collect()
    }

    fn search(&self, name: &[u8], moderated: bool) -> Option<u32> {
        self.rule_index.rules(name).iter().copied().find(|index| {
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
        let warning = if arrival < 0 {
            Some(ArticleWarning::ArrivalUnreadable)
        } else if arrival > now {
            Some(ArticleWarning::ArrivalInFuture)
        } else if facts.expires_unreadable {
            Some(ArticleWarning::ExpiresUnreadable)
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
        Decision { verdict, warning }
    }
}
