//! Commands on a node of a cluster: what they change goes to the log, and all nodes apply it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cluster::decisions;
use cluster::entry::{ENTRY_BYTES_MAX, Entry, HEADER_BYTES, Kind};
use cluster::expiry::{self, Line};
use cluster::group_change::{self, Change};
use cluster::jetstream::append;
use cluster::log::LogOptions;
use cluster::removal::{self, Removal};
use expire::run_error::RunError;
use groups::Active;
use settings::in_force::copy_of;
use store::{AppliedEntry, ExpiryDecision};

use crate::directory::NewsDirectory;
use crate::joining;

/// Bytes of the content of one entry.
const PAYLOAD_BYTES: usize = 256 << 10;
/// Bytes of an entry besides its payload.
const ENTRY_ADDED_BYTES: usize = HEADER_BYTES + 4;
/// Longest wait until the daemon of this node has applied an expire.
const EXPIRE_PATIENCE: Duration = Duration::from_secs(120);
/// Longest wait until it has applied a change by another command.
pub const COMMAND_PATIENCE: Duration = Duration::from_secs(10);
/// Longest wait for a daemon that does not run here, or does not answer. `cluster reseed` waits for an expire meanwhile.
const ABSENCE: Duration = Duration::from_secs(5);
/// Interval between looks at the daemon.
const DAEMON_LOOK: Duration = Duration::from_secs(1);
/// Interval between looks.
pub const LOOK: Duration = Duration::from_millis(50);

/// Refuses a command that would change a news directory without the log of its cluster; `instead` tells the administrator what to do.
///
/// # Errors
/// The directory is a node.
pub fn refuse_node(directory: &NewsDirectory, instead: &str) -> anyhow::Result<()> {
    let place = AppliedEntry::read(directory.root())?;
    anyhow::ensure!(
        place.log.is_empty(),
        "{} belongs to a cluster, and changes only by its log: {instead}",
        directory.root().display()
    );
    Ok(())
}

/// The log of the cluster of a node.
pub struct ClusterLog<'a> {
    directory: &'a NewsDirectory,
    options: LogOptions,
    rules: u64,
}

impl ClusterLog<'_> {
    /// `None` for a news directory that belongs to no cluster.
    ///
    /// # Errors
    /// The settings of a node cannot be used.
    pub fn of(directory: &NewsDirectory) -> anyhow::Result<Option<ClusterLog<'_>>> {
        let place = AppliedEntry::read(directory.root())?;
        if place.log.is_empty() {
            return Ok(None);
        }
        let (options, rules) = joining::node_settings(directory)?;
        Ok(Some(ClusterLog {
            directory,
            options: LogOptions {
                log: place.log,
                ..options
            },
            rules,
        }))
    }

    /// The hash of the settings of this node.
    pub fn rules(&self) -> u64 {
        self.rules
    }

    /// The way to it.
    pub fn options(&self) -> &LogOptions {
        &self.options
    }

    /// Bytes of the payload of an entry, at most.
    pub fn payload_bytes_max(&self) -> usize {
        self.options.entry_bytes_max.min(ENTRY_BYTES_MAX) - ENTRY_ADDED_BYTES
    }

    /// Waits until the daemon here has applied an entry. Returns false, and reports it, if that takes too long.
    ///
    /// # Errors
    /// The place of the node cannot be read.
    pub fn wait_until_applied(&self, entry: u64) -> anyhow::Result<bool> {
        let root = self.directory.root();
        self.wait_for(entry, || Ok(AppliedEntry::read(root)?.sequence >= entry))
    }

    /// Appends an entry with each of these contents. Returns the sequence number of the last one.
    ///
    /// # Errors
    /// The servers do not answer or do not meet the demands.
    pub fn append(&self, kind: Kind, payloads: &[Vec<u8>]) -> anyhow::Result<u64> {
        let in_force = AppliedEntry::read(self.directory.root())?.rules;
        let rules = match kind {
            Kind::Rules | Kind::Settings => self.rules,
            // The settings stay as they are.
            Kind::Decisions => 0,
            _ if in_force == 0 || in_force == self.rules => self.rules,
            // The files have changes that are not in force yet; the daemon goes on by the others.
            _ if copy_of(self.directory, in_force).is_some() => in_force,
            _ => anyhow::bail!(
                "this node decides by other settings than its cluster; `broadsheet cluster status' on each node shows which"
            ),
        };
        let name = joining::random_name()?;
        let origin = u64::from_str_radix(name.get(..16).unwrap_or_default(), 16)?;
        let arrival = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
        let entry = |(payload, counter): (&Vec<u8>, u64)| {
            let entry = Entry {
                kind,
                origin,
                counter,
                arrival: i64::try_from(arrival).unwrap_or(i64::MAX),
                rules,
                payload,
            };
            (format!("{name}-{counter}"), entry.to_bytes().into())
        };
        let entries = payloads.iter().zip(1..).map(entry).collect();
        Ok(append(&self.options, entries)?)
    }

    /// Puts a version of the decisions into force. Returns the number of the entry.
    ///
    /// # Errors
    /// The servers do not answer.
    pub fn begin_decisions(&self, version: u16) -> anyhow::Result<u64> {
        self.append(Kind::Decisions, &[decisions::payload(version)])
    }

    /// Lets all nodes remove what a run of expire has decided, and waits until this one has.
    ///
    /// # Errors
    /// The servers do not answer, or the daemon of this node has not applied it in time.
    pub fn expire(&self, decision: &ExpiryDecision) -> Result<(), RunError> {
        let told = |text: String| RunError::Cluster(text);
        let payloads = payloads_of(decision);
        let last = self.append(Kind::Expire, &payloads).map_err(|error| {
            told(format!(
                "{error:#}; what is not removed now, the next run of expire removes"
            ))
        })?;
        let root = self.directory.root();
        let until = Instant::now() + EXPIRE_PATIENCE;
        let (mut answered, mut looked) = (Instant::now(), Instant::now());
        while AppliedEntry::read(root)?.sequence < last {
            if looked.elapsed() >= DAEMON_LOOK {
                if daemon::client::status_within(root, DAEMON_LOOK).is_some() {
                    answered = Instant::now();
                }
                looked = Instant::now();
            }
            if Instant::now() >= until || answered.elapsed() >= ABSENCE {
                return Err(told(format!(
                    "the articles go by entry {last} of the log, which the daemon here has not applied yet (`broadsheet cluster status'); \
                     the next run of expire returns the space"
                )));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Lets all nodes change groups, and waits until this one has: `is_done` looks at its active file.
    ///
    /// # Errors
    /// The servers do not answer.
    pub fn change_groups(
        &self,
        changes: &[Change<'_>],
        is_done: impl Fn(&Active) -> bool,
    ) -> anyhow::Result<()> {
        let mut payload = Vec::new();
        changes
            .iter()
            .for_each(|change| group_change::push(&mut payload, change));
        let last = self.append(Kind::Groups, &[payload])?;
        self.wait_for(last, || Ok(is_done(&self.directory.active()?)))?;
        Ok(())
    }

    /// Lets all nodes remove or restore articles, and waits until this one has. Returns false if it has not in time, which is reported.
    ///
    /// # Errors
    /// The servers do not answer.
    pub fn remove(&self, removals: &[Removal<'_>]) -> anyhow::Result<bool> {
        if removals.is_empty() {
            return Ok(true);
        }
        let last = self.append(Kind::Removal, &payloads(removals, removal::push))?;
        self.wait_until_applied(last)
    }

    /// Waits until the daemon here has applied an entry. Returns false, and reports it, if that takes too long.
    fn wait_for(
        &self,
        last: u64,
        is_done: impl Fn() -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        let until = Instant::now() + COMMAND_PATIENCE;
        while !is_done()? {
            if Instant::now() >= until {
                eprintln!(
                    "broadsheet: the change is entry {last} of the log, which the daemon here has not applied yet (`broadsheet cluster status')"
                );
                return Ok(false);
            }
            std::thread::sleep(LOOK);
        }
        Ok(true)
    }
}

/// The contents of the entries for a decision, in the order in which nothing goes that should stay.
fn payloads_of(decision: &ExpiryDecision) -> Vec<Vec<u8>> {
    let kept = decision.survivors.iter();
    let kept = kept.map(|(group, number)| Line::Keep(group, *number));
    let cut = decision.cuts.iter();
    let cut = cut.map(|(group, number)| Line::Cut(group, *number));
    let gone = decision.gone.iter();
    let gone = gone.map(|(group, number)| Line::Gone(group, *number));
    let forget = decision.forget_before.map(Line::Forget);
    payloads(
        kept.chain(cut).chain(gone).chain(forget),
        |payload, line| {
            expiry::push(payload, &line);
        },
    )
}

/// The contents of entries with these lines, in order: none is longer than [`PAYLOAD_BYTES`] and a line.
fn payloads<L>(lines: impl IntoIterator<Item = L>, push: impl Fn(&mut Vec<u8>, L)) -> Vec<Vec<u8>> {
    let mut payloads: Vec<Vec<u8>> = Vec::new();
    for line in lines {
        match payloads.last_mut() {
            Some(payload) if payload.len() < PAYLOAD_BYTES => push(payload, line),
            _ => {
                let mut payload = Vec::new();
                push(&mut payload, line);
                payloads.push(payload);
            }
        }
    }
    payloads
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn thousands_of_removals_make_several_entries_in_order() {
        let ids: Vec<Vec<u8>> = (0..5_000)
            .map(|number| format!("<{number}@a.example>").into_bytes())
            .collect();
        let reason = [b'x'; store::REMOVAL_TEXT_BYTES_MAX];
        let removals = ids.iter().map(|id| Removal::Remove {
            until: 9,
            id,
            reason: &reason,
        });
        let removals: Vec<Removal<'_>> = removals.collect();
        let made = payloads(&removals, removal::push);
        assert_eq!(made.len(), 11);
        let line = 600;
        assert!(made.iter().all(|one| one.len() < PAYLOAD_BYTES + line));
        let whole = made.concat();
        let read: Option<Vec<Removal<'_>>> = removal::removals(&whole).collect();
        assert_eq!(read, Some(removals));
        assert!(payloads(&[], removal::push).is_empty());
    }

    #[test]
    fn a_long_decision_makes_several_entries_in_order() {
        let gone = (1..60_000).map(|number| (b"comp.test".to_vec(), number));
        let decision = ExpiryDecision {
            survivors: vec![(b"comp.a".to_vec(), 5)],
            cuts: vec![(b"comp.a".to_vec(), 7)],
            gone: gone.collect(),
            forget_before: Some(9),
            ..ExpiryDecision::default()
        };
        let payloads = payloads_of(&decision);
        assert!(payloads.len() > 2);
        assert!(
            payloads
                .iter()
                .all(|payload| payload.len() < PAYLOAD_BYTES + 100)
        );
        let whole = payloads.concat();
        assert!(whole.starts_with(b"+ comp.a/5\ncomp.a 7\n- comp.test/1\n"));
        assert!(whole.ends_with(b"- comp.test/59999\n= 9\n"));
        assert_eq!(expiry::lines(&whole).flatten().count(), 60_002);
        assert!(payloads_of(&ExpiryDecision::default()).is_empty());
    }
}
