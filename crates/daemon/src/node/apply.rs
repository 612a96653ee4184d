//! Applies one entry: every node does the same with it.

use std::collections::HashMap;

use ::cluster::articles_entry::{self, Item, Source};
use ::cluster::chain::Chain;
use ::cluster::decisions::{self, DecisionRange};
use ::cluster::entry::{Entry, Kind};
use ::cluster::log::SettingsGuard;
use access::Grant;
use article::Form;
use article::wire_facts::WireFacts;
use groups::Sender;
use relay::file::Filer;
use relay::{Now, Rules};
use settings::NewsDirectory;
use store::AppliedEntry;

use super::changes::{self, Change};
use super::new_settings::{self, NewSettings};
use super::outcomes::Outcomes;
use super::{DECIDES_OTHERWISE, Told, chain_of};

/// Bytes of records that an article adds besides twice its own, as [`store::Spool::surely_takes`] has it.
const ARTICLE_ADDED_BYTES: usize = 64 << 10;
/// Remembered permissions of senders; beyond them all are forgotten.
pub const GRANTS_MAX: usize = 1000;

/// Applies entries, and knows the place in the log.
pub struct Appliance {
    place: AppliedEntry,
    chain: Chain,
    outcomes: Outcomes,
    /// The hash of the settings of this node.
    rules: u64,
    guard: SettingsGuard,
    /// The versions of the decisions that this build can apply.
    decisions: DecisionRange,
    directory: NewsDirectory,
    grants: HashMap<(bool, bool, Vec<u8>), Grant>,
}

/// The result of an entry.
pub struct EntryResult {
    /// The process that appended it.
    pub origin: u64,
    /// Its number among those of that process.
    pub counter: u64,
    /// Its arrival, seconds since 1970.
    pub seconds: i64,
    /// The results of its articles.
    pub results: Vec<Told>,
    /// Behind it, other settings are in force.
    pub has_new_settings: bool,
}

/// Whether an entry was applied.
pub enum Applied {
    /// The entry is applied, with these results.
    Done(EntryResult),
    /// The entry must not be applied, for this reason.
    Stop(String),
}

impl Appliance {
    pub fn new(
        directory: NewsDirectory,
        place: AppliedEntry,
        (rules, guard, decisions): (u64, SettingsGuard, DecisionRange),
    ) -> Appliance {
        Appliance {
            chain: chain_of(&place.chain),
            outcomes: Outcomes::at(chain_of(&place.outcome)),
            place,
            rules,
            guard,
            decisions,
            directory,
            grants: HashMap::new(),
        }
    }

    pub fn place(&self) -> &AppliedEntry {
        &self.place
    }

    pub fn rules(&self) -> u64 {
        self.rules
    }

    /// From here on this node decides by the settings with this hash.
    pub fn decide_by(&mut self, rules: u64) {
        self.rules = rules;
    }

    /// Whether the last applied entry was filed by other settings than those of this node.
    pub fn decides_otherwise(&self) -> bool {
        self.place.rules != 0 && self.place.rules != self.rules
    }

    pub fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    pub fn go_back_to(&mut self, place: AppliedEntry) {
        self.chain = chain_of(&place.chain);
        let outcome = chain_of(&place.outcome);
        self.outcomes.go_back_to(place.sequence, outcome);
        self.place = place;
    }

    /// Applies the entry with this sequence number. Its records wait for the next commit.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn apply(
        &mut self,
        sequence: u64,
        bytes: &[u8],
        filer: &mut Filer,
    ) -> anyhow::Result<Applied> {
        let entry = match Entry::parse(bytes) {
            Ok(entry) => entry,
            Err(error) => {
                return Ok(Applied::Stop(format!(
                    "entry {sequence} of the log: {error}"
                )));
            }
        };
        if sequence != self.place.sequence + 1 {
            let expected = self.place.sequence + 1;
            return Ok(Applied::Stop(format!(
                "the log returned entry {sequence}, expected {expected}"
            )));
        }
        let in_force = self.place.rules;
        let is_change = match entry.kind {
            Kind::Rules => entry.rules != self.rules,
            Kind::Settings => entry.rules != in_force,
            _ => false,
        };
        let made = is_change
            .then(|| new_settings::make(&self.directory, &entry, &self.place, &self.guard));
        let made = made.transpose()?;
        let has_new_settings = matches!(made, Some(NewSettings::Made));
        let rules = match (made, entry.kind) {
            (Some(NewSettings::Impossible(why)), _) => {
                return Ok(Applied::Stop(format!("entry {sequence} of the log {why}")));
            }
            (Some(NewSettings::Overtaken), _) => in_force,
            (Some(NewSettings::Made | NewSettings::Missing), _) | (None, Kind::Rules) => {
                entry.rules
            }
            (None, _) if in_force == 0 => entry.rules,
            (None, _) => in_force,
        };
        if rules != self.rules && rules != 0 && !has_new_settings {
            return Ok(Applied::Stop(format!(
                "from entry {sequence} on {DECIDES_OTHERWISE}"
            )));
        }
        let mut decisions = self.place.decisions;
        if entry.kind == Kind::Decisions {
            let Some(version) = decisions::parse(entry.payload) else {
                return Ok(Applied::Stop(damaged(sequence)));
            };
            if let Some(why) = self.decisions.refusal(version) {
                return Ok(Applied::Stop(format!("from entry {sequence} on {why}")));
            }
            // A command that knew an older list of the nodes takes nothing back.
            decisions = decisions.max(version);
        }
        // What a commit or a reopened spool did in between is none of this entry.
        filer.take_changes();
        let results = match entry.kind {
            Kind::Rules | Kind::Settings | Kind::Decisions => Some(Vec::new()),
            Kind::Articles => self.file(&entry, filer)?,
            Kind::Expire | Kind::Groups | Kind::Removal => match changes::apply(&entry, filer)? {
                Change::Done => Some(Vec::new()),
                Change::Damaged => None,
                Change::Impossible(why) => {
                    return Ok(Applied::Stop(format!("entry {sequence} of the log {why}")));
                }
            },
        };
        let Some(results) = results else {
            return Ok(Applied::Stop(damaged(sequence)));
        };
        let changes = filer.take_changes();
        let active = filer.spool().active();
        self.outcomes.add(sequence, &results, changes, active);
        self.chain = self.chain.with_entry(sequence, bytes);
        self.place = AppliedEntry {
            log: self.place.log.clone(),
            sequence,
            chain: self.chain.to_string(),
            rules,
            outcome: self.outcomes.hash().to_string(),
            decisions,
        };
        filer.set_applied_entry(&self.place)?;
        Ok(Applied::Done(EntryResult {
            origin: entry.origin,
            counter: entry.counter,
            seconds: entry.seconds(),
            results,
            has_new_settings,
        }))
    }

    /// Files the articles of an entry. `None`: its payload is damaged, and nothing was filed.
    fn file(&mut self, entry: &Entry<'_>, filer: &mut Filer) -> anyhow::Result<Option<Vec<Told>>> {
        let Ok(items) = articles_entry::items(entry.payload).collect::<Result<Vec<Item<'_>>, _>>()
        else {
            return Ok(None);
        };
        if entry.rules != self.rules {
            // Appended by other settings, before their sender knew of the present ones.
            let why = "The settings of the cluster have just changed; try again later";
            return Ok(Some(items.iter().map(|_| Told::Deferred(why)).collect()));
        }
        let bytes = 2 * entry.payload.len() + items.len() * ARTICLE_ADDED_BYTES;
        filer.reserve(bytes as u64)?;
        let now = Now {
            seconds: entry.seconds(),
            millis: (entry.arrival.rem_euclid(1_000_000) / 1000) as u16,
        };
        let mut results = Vec::with_capacity(items.len());
        for item in items {
            let grant = item.rights.map(|rights| self.grant(&rights));
            let sender = grant.as_ref().map(|grant| grant as &dyn Sender);
            let usual = item.age_days_max.map(|days| {
                let usual = filer.rules().clone();
                filer.set_rules(Rules {
                    age_seconds_max: (days > 0).then(|| i64::from(days) * 86_400),
                    ..usual.clone()
                });
                usual
            });
            let verdict = match (item.source, sender) {
                (Source::Announced(id), sender) => {
                    let facts = WireFacts::of(item.article);
                    filer.file_announced(sender, id, (item.article, facts), now)?
                }
                (Source::Native, Some(sender)) => filer.file_for(sender, item.article, now)?,
                (Source::Native, None) => filer.file(item.article, Form::Native, now)?,
            };
            if let Some(rules) = usual {
                filer.set_rules(rules);
            }
            results.push(Told::Verdict(verdict));
        }
        Ok(Some(results))
    }

    fn grant(&mut self, rights: &articles_entry::ItemRights<'_>) -> Grant {
        let key = (rights.is_post, rights.may_approve, rights.groups.to_vec());
        if self.grants.len() >= GRANTS_MAX {
            self.grants.clear();
        }
        let made = self
            .grants
            .entry(key)
            .or_insert_with_key(|(is_post, may_approve, groups)| {
                Grant::of_parts(*is_post, *may_approve, &String::from_utf8_lossy(groups))
            });
        made.clone()
    }
}

/// The reason to stop at an entry with a payload that is none of its kind.
fn damaged(sequence: u64) -> String {
    format!("entry {sequence} of the log is damaged")
}
