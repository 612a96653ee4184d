//! `broadsheet connections close`

use std::collections::BTreeSet;
use std::io::Write;

use super::connections;
use crate::asked;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use daemon::client;

/// Connections that one command closes at most.
pub const CLOSED_MAX: usize = 1000;

/// The table.
pub static COMMAND: Command = Command {
    words: &["connections", "close"],
    also: &[],
    summary: "close NNTP connections of the daemon",
    about: "\
Closes the connections with these numbers, as `connections' lists them. The client gets the reply
400. A peer sends an article again that it has no reply for. To keep a client out, change its entry
of [[access]] first, and reload.",
    operands: Operands {
        shown: "ID...",
        least: 1,
        most: CLOSED_MAX,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "no daemon runs, or one of the connections is not there any more",
    }],
    run,
};

fn run(given: &Given, _out: &mut dyn Write) -> anyhow::Result<Status> {
    let mut numbers = BTreeSet::new();
    for word in &given.operands {
        let number = word.to_str().and_then(|word| word.parse::<u64>().ok());
        numbers.insert(number.ok_or_else(|| {
            given.usage(format!(
                "`{}' is not the number of a connection: `broadsheet connections' lists them",
                word.to_string_lossy()
            ))
        })?);
    }
    let directory = NewsDirectory::meant(given)?;
    let wanted: Vec<u64> = numbers.iter().copied().collect();
    let Some((closed, is_whole)) = client::close_connections(directory.root(), &wanted)? else {
        return asked::told_none(directory.root(), false);
    };
    let missing: Vec<&u64> = wanted.iter().filter(|one| !closed.contains(one)).collect();
    for number in &missing {
        eprintln!("broadsheet: there is no connection {number} (any more)");
    }
    match (is_whole, missing.is_empty()) {
        (true, true) => Ok(Status::OK),
        (true, false) => Ok(Status::NO),
        (false, _) => Ok(connections::whole(false)),
    }
}
