//! `broadsheet cluster join`

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::bail;
use cluster::jetstream::{find, members};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::command::cluster_reseed::{FROM, RATE, wanted};
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::joining;
use crate::reseed::{is_unfinished, reseed};

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "join"],
    also: &[],
    summary: "make this news directory a further node of a cluster",
    about: "\
Makes this news directory follow the log of the cluster in [cluster]. The directory must have no
articles: `broadsheet init' makes one. If the log still has its first entry, and the groups here are
those that the first node had then, `broadsheet serve' applies the log from there. If not, and with
--from, this command fetches the segments of a node whose daemon runs, checks them, and takes the
groups, too, from there; an interrupted run goes on with the next.

The settings by which nodes decide must be those of the cluster; the command names others.",
    operands: Operands::NONE,
    flags: &[DIR, JSON, FROM, RATE],
    exits: &[Meaning {
        status: Status::OK,
        when: "the directory is a node",
    }],
    run,
};

struct Joined {
    root: PathBuf,
    stream: String,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let root = directory.root();
    let (options, _) = joining::node_settings(&directory)?;
    let log = find(&options)?;
    if is_unfinished(root) {
        let reseeded = reseed(&wanted(given, &directory, (&options, &log))?)?;
        given.print(&reseeded, out)?;
        return Ok(Status::OK);
    }
    let base = joining::base_of(root)?;
    if base == joining::COPY {
        bail!(
            "{} has articles, so it cannot begin where the log begins: `broadsheet cluster reseed' puts those of the cluster in their place",
            root.display()
        );
    }
    let (_, extent) = members(&options)?;
    let has_begin = log.base == base && extent.first <= 1;
    if has_begin && !given.has("from") {
        joining::follow(root, &log)?;
        joining::announce_here(&options);
        let joined = Joined {
            root: root.to_owned(),
            stream: options.stream,
        };
        given.print(&joined, out)?;
        return Ok(Status::OK);
    }
    let reseeded = reseed(&wanted(given, &directory, (&options, &log))?)?;
    given.print(&reseeded, out)?;
    Ok(Status::OK)
}

impl Answer for Joined {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let root = self.root.display();
        writeln!(out, "{root} is a node of the cluster {}", self.stream)
    }

    fn json(&self) -> Value {
        json!({"stream": self.stream, "applied": 0})
    }
}
