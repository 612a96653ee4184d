//! `broadsheet cluster reseed`

use std::io::Write;

use anyhow::bail;
use cluster::jetstream::find;
use cluster::log::{LogIdentity, LogOptions};
use groups::size;
use store::AppliedEntry;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::joining;
use crate::reseed::{Wanted, is_unfinished, reseed, stage};

/// The node to fetch from.
pub const FROM: Flag = Flag::new(
    "from",
    "Fetch the segments of this node; of several, those of the furthest. Default: of all nodes that run.",
)
.value("NODE");
/// How fast.
pub const RATE: Flag = Flag::new(
    "rate",
    "Fetch at most so many bytes a second. Default: as fast as the node answers.",
)
.value("SIZE");

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "reseed"],
    also: &[],
    summary: "put the articles of another node in the place of those here",
    about: "\
For a node that was away for longer than the log reaches back, or whose disk is damaged: fetches the
segments of a node whose daemon runs, into the directory `reseed' in the news directory, checks them,
and puts them in the place of those here, with everything that is derived from them. Settings, users,
keys, waiting batches and the sites' files stay. Until the copy is whole nothing here changes, so the
disk needs room for both; it says for how much. An interrupted run goes on with the next.

The daemon here may run while segments are fetched; stop it for the last step. If the directory has
articles and is no node of this cluster, they are lost: that needs --discard. With --stage the last
step is left to the next start of the daemon (or the next run without --stage).",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        FROM,
        RATE,
        Flag::new(
            "stage",
            "Fetch and check only. The daemon puts the copy in its place when it starts the next time.",
        ),
        Flag::new("discard", "Also if articles here are not in the cluster."),
    ],
    exits: &[Meaning {
        status: Status::OK,
        when: "the directory has the articles of the cluster",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let root = directory.root();
    let (options, _) = joining::node_settings(&directory)?;
    let log = find(&options)?;
    let is_of_log = AppliedEntry::read(root)?.log == log.name;
    let may_go = is_of_log || given.has("discard") || is_unfinished(root);
    if !may_go && has_articles(root) {
        bail!(
            "{} has articles that the cluster may not have: move them there first, or say with --discard that they may go",
            root.display()
        );
    }
    let wanted = wanted(given, &directory, (&options, &log))?;
    let reseeded = match given.has("stage") {
        true => stage(&wanted)?,
        false => reseed(&wanted)?,
    };
    given.print(&reseeded, out)?;
    Ok(Status::OK)
}

/// Whether there are articles; also if that cannot be known.
fn has_articles(root: &std::path::Path) -> bool {
    joining::base_of(root).map_or(true, |base| base == joining::COPY)
}

/// What the flags ask for.
///
/// # Errors
/// A flag has a bad value, or the settings cannot be read.
pub fn wanted<'a>(
    given: &Given,
    directory: &'a NewsDirectory,
    (options, log): (&'a LogOptions, &'a LogIdentity),
) -> anyhow::Result<Wanted<'a>> {
    let from = given.values("from");
    let rate = given.value("rate").map(|text| {
        let rate = size::parse(&text.to_string_lossy());
        rate.filter(|rate| *rate > 0)
            .ok_or_else(|| given.usage("--rate: a size such as `50 MiB'".to_owned()))
    });
    let settings = directory.settings()?.settings;
    let parts = settings.deciding_parts(directory)?.into_iter();
    Ok(Wanted {
        root: directory.root(),
        options,
        log,
        parts: parts
            .map(|part| (part.name, format!("{:016x}", part.hash)))
            .collect(),
        headers_only: settings.headers_only,
        from: from
            .map(|node| node.to_string_lossy().into_owned())
            .collect(),
        rate: rate.transpose()?,
    })
}
