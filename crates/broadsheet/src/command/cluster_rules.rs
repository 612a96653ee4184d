//! `broadsheet cluster rules`

use std::io::Write;

use anyhow::Context;
use cluster::entry::Kind;

use crate::cluster_log::ClusterLog;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "rules"],
    also: &[],
    summary: "let the cluster decide by the settings of this node from now on",
    about: "\
All nodes of a cluster decide about articles by the same settings: the limits, the sites, control.ctl,
controlperm, the trusted keys and a few more, which `broadsheet cluster status' lists. `broadsheet cluster
apply' changes most of them without a stop. To change headers_only or seen.hashes, wait until all nodes
are at the same entry (`broadsheet cluster status'), stop them, change it on all of them, run this command
on one, and start them again. A node with other settings stops at this point of the log, and says so.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::OK,
        when: "the log has the new settings",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let log = ClusterLog::of(&directory)?
        .with_context(|| format!("{} is no node of a cluster", directory.root().display()))?;
    log.append(Kind::Rules, &[Vec::new()])?;
    writeln!(
        out,
        "all nodes decide by the settings {:016x} from now on",
        log.rules()
    )?;
    Ok(Status::OK)
}
