//! `broadsheet cluster apply`

use std::io::{self, Write};

use anyhow::Context;
use cluster::entry::Kind;
use cluster::log::SettingsGuard;
use cluster::settings_change::{Origin, SETTINGS_BYTES_MAX};
use relay::Keyring;
use relay::control::policy::Policy;
use serde_json::{Value, json};
use settings::cluster::hash_of_parts;
use settings::in_force::{self, DecidingFiles, copy_of};
use store::AppliedEntry;

use crate::answer::Answer;
use crate::cluster_log::ClusterLog;
use crate::deciding_changes::{self, InForce};
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "apply"],
    also: &[],
    summary: "put the settings of this node into force on all nodes",
    about: "\
All nodes of a cluster decide about articles by the same settings: the limits, the sites, sys,
blocks, control.ctl, control.ctl.local, controlperm, the trusted keys and a few more, which `broadsheet cluster
status' lists. Edit them on one node and run this command there: the settings go to all nodes by an
entry of the log. From this entry on each decides by them, without a restart, and writes them into its
own files; listening addresses, [[access]], the schedule and all else there stay. A node that is away
does so when it comes back.

Settings with errors are refused, and nothing changes. Files that a [[site]] names, such as a
password_file, must be on each node before. headers_only never changes in a cluster, and seen.hashes
changes by `broadsheet cluster rules'.

  broadsheet cluster apply --dry-run
  broadsheet cluster apply",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag::new("dry-run", "Print what would change, and change nothing."),
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "the settings are in force on this node and in the log, or were so before",
        },
        Meaning {
            status: Status::NO,
            when: "another change came first, and nothing was changed; or the daemon here has not applied the entry in time",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let read = directory.settings()?;
    let files = DecidingFiles::of(&directory)?;
    let log = ClusterLog::of(&directory)?
        .with_context(|| format!("{} is no node of a cluster", directory.root().display()))?;
    let place = AppliedEntry::read(directory.root())?;
    let (before, new) = (place.rules, log.rules());
    let mut applied = Changes {
        lines: Vec::new(),
        hashes: (before, new),
        entry: None,
    };
    let options = read.settings.log_options(&directory)?;
    if options.settings_guard() == SettingsGuard::Missing {
        anyhow::bail!(
            "the settings name programs and files, so nodes take them only with a login (keys/cluster.login, by `broadsheet cluster \
             nats-config'), from servers that they reach by TLS, or from servers on the same machine"
        );
    }
    if before == 0 {
        anyhow::bail!(
            "the log has no entry yet that tells the settings in force: change the files on all nodes, and restart them"
        );
    }
    if new == before {
        given.print(&applied, out)?;
        return Ok(Status::OK);
    }
    // Their errors name the files of the administrator.
    directory.sys(&read.settings)?;
    Policy::read(directory.root())?;
    Keyring::read(directory.root())?;
    in_force::check(&directory, &files, new)?;
    let copy = copy_of(&directory, before).with_context(|| {
        "this node has no copy of the settings in force yet: take the change back, start the daemon, and edit the files then"
    })?;
    let old = InForce::of(&directory, &copy)?;
    let parts = read.settings.deciding_parts(&directory)?;
    old.refuse_fixed(&parts)?;
    if directory.file("seen.hashes").exists() && hash_of_parts(&old.parts) != before {
        anyhow::bail!(
            "seen.hashes has changed: stop all nodes, change it on all of them, run `broadsheet cluster rules' on one, and start them again"
        );
    }
    applied.lines = old.changes(&read.settings, &files);
    if given.has("dry-run") {
        given.print(&applied, out)?;
        return Ok(Status::OK);
    }
    let bytes_max = SETTINGS_BYTES_MAX.min(log.payload_bytes_max());
    let origin = Origin {
        login: options.login.as_deref().unwrap_or_default(),
        log: &place.log,
        rules: new,
    };
    let payload = deciding_changes::payload(&origin, &place, &files, bytes_max)?;
    let entry = log.append(Kind::Settings, &[payload])?;
    applied.entry = Some(entry);
    let is_applied = log.wait_until_applied(entry)?;
    let rules = AppliedEntry::read(directory.root())?.rules;
    if is_applied && rules != new {
        let why = match rules == before {
            true => "the log went on for too long before the change arrived: run this again",
            false => "another change of the settings came first: --dry-run shows what differs now",
        };
        eprintln!("broadsheet: nothing was changed: {why}");
        return Ok(Status::NO);
    }
    given.print(&applied, out)?;
    Ok(match is_applied {
        true => Status::OK,
        false => Status::NO,
    })
}

/// The changes from the settings in force to those of the files.
struct Changes {
    lines: Vec<String>,
    /// Of the settings in force, and of those here.
    hashes: (u64, u64),
    /// The entry that changes it.
    entry: Option<u64>,
}

impl Answer for Changes {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in &self.lines {
            writeln!(out, "{line}")?;
        }
        let (before, new) = self.hashes;
        match self.entry {
            Some(entry) => writeln!(
                out,
                "all nodes decide by these settings ({new:016x}) from entry {entry} on"
            ),
            None if before == new => {
                writeln!(out, "the settings here are in force already ({new:016x})")
            }
            None => writeln!(
                out,
                "not in force: `broadsheet cluster apply' puts these settings ({new:016x}) in the place of {before:016x}"
            ),
        }
    }

    fn json(&self) -> Value {
        json!({
            "changes": self.lines,
            "before": format!("{:016x}", self.hashes.0),
            "settings": format!("{:016x}", self.hashes.1),
            "entry": self.entry,
        })
    }
}
