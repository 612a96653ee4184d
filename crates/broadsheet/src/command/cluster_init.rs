//! `broadsheet cluster init`

use std::io::Write;

use anyhow::{Context, bail};
use cluster::decisions::FIRST;
use cluster::entry::ENTRY_BYTES_MAX;
use cluster::jetstream::begin;
use cluster::log::LogIdentity;
use groups::size;

use crate::cluster_log::ClusterLog;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands};
use crate::joining;

/// Size of the log if nothing else is said: some hours of a busy site.
const LOG_BYTES: u64 = 8 << 30;

/// Smallest log, bytes: while nodes have applied no more than half of it, a further entry fits.
const LOG_BYTES_MIN: u64 = 2 * ENTRY_BYTES_MAX as u64;

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "init"],
    also: &[],
    summary: "make this news directory the first node of a cluster",
    about: "\
Creates the log of a cluster, a stream of the NATS servers in [cluster], and makes this news
directory its first node, with the articles that it has. From then on only `broadsheet serve' changes
the directory, by the log. Other nodes join with `broadsheet cluster join'.

The servers must acknowledge nothing that is not on their disks (sync_interval: always); others are
refused. `broadsheet cluster nats-config' prints a configuration.",
    operands: Operands::NONE,
    flags: &[
        DIR,
        Flag::new(
            "log-bytes",
            "Size of the log, 18 MiB at least; when it is full, no articles are taken until nodes have applied it (8 GiB).",
        )
        .value("SIZE"),
    ],
    exits: &[Meaning {
        status: Status::OK,
        when: "the directory is the first node",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let root = directory.root();
    let bytes = match given.value("log-bytes") {
        None => LOG_BYTES,
        Some(text) => size::parse(&text.to_string_lossy())
            .ok_or_else(|| given.usage("--log-bytes: a size such as `8 GiB'".to_owned()))?,
    };
    if bytes < LOG_BYTES_MIN {
        let least = size::bytes(LOG_BYTES_MIN);
        let what = format!(
            "--log-bytes is at least {least}: a smaller log cannot have two of the largest entries"
        );
        return Err(given.usage(what).into());
    }
    let (options, _) = joining::node_settings(&directory)?;
    let new = LogIdentity {
        name: joining::random_name()?,
        base: joining::base_of(root)?,
    };
    let (log, is_new) = begin(&options, i64::try_from(bytes).unwrap_or(i64::MAX), &new)?;
    if !is_new {
        bail!(
            "the stream {} is the log of a cluster already: use `broadsheet cluster join', or name another in cluster.stream",
            options.stream
        );
    }
    joining::follow(root, &log)?;
    joining::announce_here(&options);
    begin_decisions(&directory);
    writeln!(
        out,
        "{} is the first node of the cluster {}",
        root.display(),
        options.stream
    )?;
    Ok(Status::OK)
}

/// A new cluster decides by the newest version.
fn begin_decisions(directory: &NewsDirectory) {
    let begun = ClusterLog::of(directory).and_then(|log| {
        let log = log.context("it is no node")?;
        match log.options().decisions.newest {
            FIRST => Ok(()),
            newest => log.begin_decisions(newest).map(drop),
        }
    });
    if let Err(error) = begun {
        eprintln!(
            "broadsheet: the cluster decides by an old version for now, as {error:#}; run `broadsheet cluster rules' when all nodes run"
        );
    }
}
