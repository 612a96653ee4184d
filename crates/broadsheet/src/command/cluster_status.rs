//! `broadsheet cluster status`

use std::io::{self, Write};

use cluster::decisions::DecisionRange;
use cluster::jetstream::{feeder, members};
use cluster::lease::Claim;
use cluster::members::{Extent, Mark, Members};
use daemon::{ClusterFeeds, ClusterNode, client};
use groups::size;
use serde_json::{Value, json};
use settings::cluster::{DecidingPart, hash_of_parts};
use store::AppliedEntry;

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["cluster", "status"],
    also: &[],
    summary: "show the place of this node in the log of its cluster, and the other nodes",
    about: "\
Prints the log, the node that feeds the sites, the last entry that is applied here, the chain hash up to it (nodes at
the same entry have the same one), and the hashes of the settings by which all nodes must decide
alike, and the version of the decisions. If the NATS servers answer, the extent of the log follows, and each node: the last entry on its
disk, how many the log has after it, and when the node said so; and why it has stopped, if it
has.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[Meaning {
        status: Status::NO,
        when: "the news directory belongs to no cluster",
    }],
    run,
};

struct NodeStatus {
    node: String,
    /// The nodes and the log, if the servers answer.
    others: Option<(Members, Extent)>,
    stream: String,
    place: AppliedEntry,
    /// The versions of the decisions that this build can apply.
    decisions: DecisionRange,
    rules: u64,
    parts: Vec<DecidingPart>,
    /// The node that has the lease of the feeds by its last word, and what this node says about feeding.
    feeder: Option<Claim>,
    feeds: Option<ClusterFeeds>,
    /// The report of the daemon about this node.
    daemon: Option<ClusterNode>,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let place = AppliedEntry::read(directory.root())?;
    if place.log.is_empty() {
        given.print(&NoCluster(&directory), out)?;
        return Ok(Status::NO);
    }
    let parts = settings.deciding_parts(&directory)?;
    let options = settings.log_options(&directory)?;
    let others = match members(&options) {
        Ok(others) => Some(others),
        Err(error) => {
            eprintln!("broadsheet: the other nodes are not known: {error}");
            None
        }
    };
    let feeder = others.is_some().then(|| feeder(&options));
    let feeder = feeder.and_then(Result::ok).and_then(|(claim, _)| claim);
    let daemon = client::status(directory.root()).map(|daemon| daemon.status);
    let (feeds, daemon) = daemon.map_or((None, None), |status| {
        (status.cluster_feeds, status.cluster_node)
    });
    let status = NodeStatus {
        feeder: feeder.filter(|claim| !claim.is_released),
        feeds,
        daemon,
        decisions: options.decisions,
        node: options.node,
        others,
        stream: settings.cluster.stream,
        place,
        rules: hash_of_parts(&parts),
        parts,
    };
    given.print(&status, out)?;
    Ok(Status::OK)
}

/// A news directory that belongs to no cluster.
struct NoCluster<'a>(&'a NewsDirectory);

impl Answer for NoCluster<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} belongs to no cluster", self.0.root().display())
    }

    fn json(&self) -> Value {
        json!({ "directory": self.0.root().to_string_lossy(), "node": null })
    }
}

impl Answer for NodeStatus {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let place = &self.place;
        for (what, value) in [
            ("node", self.node.clone()),
            ("stream", self.stream.clone()),
            ("log", place.log.clone()),
            ("applied", format!("entry {}", place.sequence)),
            ("chain hash", place.chain.clone()),
            ("settings here", format!("{:016x}", self.rules)),
            (
                "of the cluster",
                match place.rules {
                    0 => "unknown".to_owned(),
                    rules => format!("{rules:016x}"),
                },
            ),
            (
                "decisions",
                format!(
                    "version {} in force, this build can apply {}",
                    place.decisions_in_force(),
                    self.decisions
                ),
            ),
        ] {
            writeln!(out, "{what:16} {value}")?;
        }
        if place.rules != 0 && place.rules != self.rules {
            writeln!(
                out,
                "{:16} the files here were edited: `broadsheet cluster apply' puts them in force (--dry-run: shows what changes)",
                "not in force"
            )?;
        }
        for part in &self.parts {
            writeln!(out, "  {:016x} {}", part.hash, part.name)?;
        }
        if let Some(daemon) = &self.daemon {
            writeln!(out, "{:16} {}", "daemon", daemon.sentence())?;
        }
        match (&self.feeds, &self.feeder) {
            (Some(feeds), _) => writeln!(out, "{:16} {}", "feeds", feeds.sentence())?,
            (None, Some(claim)) => writeln!(
                out,
                "{:16} no daemon serves this node; by the last word {} feeds the sites",
                "feeds", claim.node
            )?,
            (None, None) => writeln!(out, "{:16} no node is known to feed the sites", "feeds")?,
        }
        let Some((members, log)) = &self.others else {
            return Ok(());
        };
        let (bytes, bytes_max) = (size::bytes(log.bytes), size::bytes(log.bytes_max));
        writeln!(
            out,
            "{:16} entries {} to {}, {bytes} of {bytes_max}",
            "the log", log.first, log.last
        )?;
        for (name, mark) in &members.nodes {
            let behind = log.last.saturating_sub(mark.durable);
            let told = match mark.time {
                0 => "has said nothing yet".to_owned(),
                time => format!("at {}", text::utc(time)),
            };
            writeln!(
                out,
                "  {name:14} entry {}, {behind} behind, {told}",
                mark.durable
            )?;
            if mark.decisions != self.decisions {
                writeln!(
                    out,
                    "  {:14} its build can apply {} of the decisions",
                    "", mark.decisions
                )?;
            }
            if let Some(stop) = &mark.stopped {
                let at = text::utc(stop.time);
                writeln!(out, "  {:14} stopped at {at}: {}", "", stop.why)?;
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let parts = self.parts.iter();
        let parts: serde_json::Map<String, Value> = parts
            .map(|part| (part.name.clone(), format!("{:016x}", part.hash).into()))
            .collect();
        let others = self.others.as_ref().map(|(members, log)| {
            let node = |(name, mark): (&String, &Mark)| {
                json!({
                    "node": name,
                    "durable": mark.durable,
                    "behind": log.last.saturating_sub(mark.durable),
                    "time": mark.time,
                    "stopped": mark.stopped,
                    "decisions": mark.decisions,
                })
            };
            json!({
                "first": log.first,
                "last": log.last,
                "bytes": log.bytes,
                "bytes_max": log.bytes_max,
                "nodes": members.nodes.iter().map(node).collect::<Vec<_>>(),
            })
        });
        json!({
            "node": self.node,
            "feeder": self.feeder.as_ref().map(|claim| &claim.node),
            "feeds": self.feeds,
            "daemon": self.daemon,
            "log_extent": others,
            "stream": self.stream,
            "log": self.place.log,
            "applied": self.place.sequence,
            "chain": self.place.chain,
            "rules": format!("{:016x}", self.rules),
            "decisions": {"in_force": self.place.decisions_in_force(), "here": self.decisions},
            "rules_of_cluster": format!("{:016x}", self.place.rules),
            "parts": parts,
        })
    }
}
