//! `broadsheet cluster status`

use std::io::{self, Write};

use serde_json::{Value, json};
use settings::cluster::{DecidingPart, hash_of_parts};
use store::AppliedEntry;

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "status"],
    also: &[],
    summary: "show the place of this node in the log of its cluster",
    about: "\
Prints the log, the last entry that this node has applied, the chain hash up to it (nodes at the same
entry have the same one), and the hashes of the settings by which all nodes must decide alike.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[Meaning {
        status: Status::NO,
        when: "the news directory belongs to no cluster",
    }],
    run,
};

struct NodeStatus {
    stream: String,
    place: AppliedEntry,
    rules: u64,
    parts: Vec<DecidingPart>,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::to_read(given)?;
    let settings = directory.settings()?.settings;
    let place = AppliedEntry::read(directory.root())?;
    if place.log.is_empty() {
        writeln!(out, "{} belongs to no cluster", directory.root().display())?;
        return Ok(Status::NO);
    }
    let parts = settings.deciding_parts(&directory)?;
    let status = NodeStatus {
        stream: settings.cluster.stream,
        place,
        rules: hash_of_parts(&parts),
        parts,
    };
    given.print(&status, out)?;
    Ok(Status::OK)
}

impl Answer for NodeStatus {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let place = &self.place;
        for (what, value) in [
            ("stream", self.stream.clone()),
            ("log", place.log.clone()),
            ("applied", format!("entry {}", place.sequence)),
            ("chain hash", place.chain.clone()),
            ("settings here", format!("{:016x}", self.rules)),
            (
                "of the cluster",
                match place.rules {
                    0 => "not told yet".to_owned(),
                    rules => format!("{rules:016x}"),
                },
            ),
        ] {
            writeln!(out, "{what:16} {value}")?;
        }
        for part in &self.parts {
            writeln!(out, "  {:016x} {}", part.hash, part.name)?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let parts = self.parts.iter();
        let parts: serde_json::Map<String, Value> = parts
            .map(|part| (part.name.clone(), format!("{:016x}", part.hash).into()))
            .collect();
        json!({
            "stream": self.stream,
            "log": self.place.log,
            "applied": self.place.sequence,
            "chain": self.place.chain,
            "rules": format!("{:016x}", self.rules),
            "rules_of_cluster": format!("{:016x}", self.place.rules),
            "parts": parts,
        })
    }
}
