//! `broadsheet cluster leave`

use std::io::Write;

use cluster::jetstream::leave;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use crate::joining;

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "leave"],
    also: &[],
    summary: "let the log not wait for a node any more",
    about: "\
The log keeps every entry until all nodes have it on their disks. Takes a node out that will not come
back, by its name in `broadsheet cluster status'; stop its daemon first, which would put it in again.
If it comes back after all, it goes on if the log still reaches back so far; if not, it says so, and
`broadsheet cluster reseed' fetches what it lacks.",
    operands: Operands {
        shown: "NODE",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no node of this name",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let (options, _) = joining::node_settings(&directory)?;
    let Some(node) = given.operands.first() else {
        return Ok(Status::NO);
    };
    let node = node.to_string_lossy();
    if !leave(&options, &node)? {
        eprintln!("broadsheet: the cluster has no node of the name {node}");
        return Ok(Status::NO);
    }
    writeln!(out, "the log does not wait for {node} any more")?;
    Ok(Status::OK)
}
