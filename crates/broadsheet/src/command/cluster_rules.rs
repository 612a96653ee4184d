//! `broadsheet cluster rules`

use std::io::{self, Write};

use anyhow::{Context, bail};
use cluster::entry::Kind;
use cluster::jetstream::members;
use cluster::members::{CommonDecisions, Members};
use daemon::client;
use serde_json::{Value, json};
use settings::in_force::copy_of;
use store::AppliedEntry;

use crate::answer::Answer;
use crate::cluster_log::ClusterLog;
use crate::deciding_changes::InForce;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "rules"],
    also: &[],
    summary: "begin the decisions of a new build, once all nodes have it",
    about: "\
A build that decides otherwise about articles than the one before has a new version of the decisions, and
goes on by the version in force. This command puts the newest version that all nodes can apply into
force, by an entry of the log; it names the nodes that hold a newer one back. Run it after all nodes run
the new build. From then on a node with an earlier build stops, and says so.

To change seen.hashes, wait until all nodes are at the same entry (`broadsheet cluster status'), stop
them, change it on all of them, run this command on one, and start them again. While no daemon runs here,
it puts the settings of this node into force. A node with other settings stops at this point of the log,
and says so. All other settings change by `broadsheet cluster apply', without a stop.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "the newest version that a node knows is in force",
        },
        Meaning {
            status: Status::NO,
            when: "a node holds a newer version back, or the daemon here has not applied the entry in time",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let log = ClusterLog::of(&directory)?
        .with_context(|| format!("{} is no node of a cluster", directory.root().display()))?;
    let is_served = client::status(directory.root()).is_some();
    let place = AppliedEntry::read(directory.root())?;
    let (list, _) = members(log.options())?;
    let common = common(&list)?;
    let before = place.decisions_in_force();
    let mut begun = Begun {
        settings: None,
        before,
        entry: None,
        common,
    };
    if log.rules() != place.rules {
        match is_served {
            true => eprintln!(
                "broadsheet: settings have changed here, and are not put into force: `broadsheet cluster apply' does that"
            ),
            false => {
                refuse_fixed(&directory, place.rules)?;
                log.append(Kind::Rules, &[Vec::new()])?;
                begun.settings = Some(log.rules());
            }
        }
    }
    let mut is_applied = true;
    if begun.common.version > before {
        let entry = log.begin_decisions(begun.common.version)?;
        begun.entry = Some(entry);
        is_applied = !is_served || log.wait_until_applied(entry)?;
    }
    given.print(&begun, out)?;
    Ok(match is_applied && begun.common.held_by.is_empty() {
        true => Status::OK,
        false => Status::NO,
    })
}

/// Refuses settings that differ from those in force in what a cluster never changes.
fn refuse_fixed(directory: &NewsDirectory, in_force: u64) -> anyhow::Result<()> {
    let Some(copy) = copy_of(directory, in_force) else {
        return Ok(());
    };
    let settings = directory.settings()?.settings;
    InForce::of(directory, &copy)?.refuse_fixed(&settings.deciding_parts(directory)?)
}

/// The version that all nodes can begin.
fn common(list: &Members) -> anyhow::Result<CommonDecisions> {
    if list.begun != 0 {
        bail!(
            "the list of the nodes was lost, and not all nodes may be back in it: run this again in ten minutes"
        );
    }
    let common = list
        .common_decisions()
        .context("no node is in the list of the nodes yet: start the daemons")?;
    if !common.too_new.is_empty() {
        bail!(
            "no version of the decisions suits the builds of all nodes: {} can apply version {} no more (`broadsheet cluster status')",
            common.too_new.join(", "),
            common.version
        );
    }
    Ok(common)
}

/// The settings and the version that the command put into force.
struct Begun {
    /// The hash of the settings.
    settings: Option<u64>,
    /// The version of the decisions that was in force.
    before: u16,
    /// The entry with the new one.
    entry: Option<u64>,
    common: CommonDecisions,
}

impl Begun {
    fn version(&self) -> u16 {
        self.before.max(self.common.version)
    }
}

impl Answer for Begun {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(rules) = self.settings {
            writeln!(
                out,
                "all nodes decide by the settings {rules:016x} from now on"
            )?;
        }
        let version = self.version();
        match self.entry {
            Some(entry) => writeln!(
                out,
                "all nodes decide by version {version} of the decisions from entry {entry} on"
            )?,
            None => writeln!(out, "version {version} of the decisions is in force")?,
        }
        if !self.common.held_by.is_empty() {
            writeln!(
                out,
                "a newer version waits for {}: install the new build there and restart it, or take a node that will not come back out \
                 (`broadsheet cluster leave')",
                self.common.held_by.join(", ")
            )?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "settings": self.settings.map(|rules| format!("{rules:016x}")),
            "decisions": self.version(),
            "entry": self.entry,
            "held_by": self.common.held_by,
        })
    }
}
