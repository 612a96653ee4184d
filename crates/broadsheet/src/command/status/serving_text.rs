//! What a daemon does, in a few lines.

use std::io::{self, Write};

use server::Counter;

use crate::text;
use daemon::{DaemonStatus, Entry, Nntp};

/// Most entries of the access rules that the text shows; `--json` has all.
const ENTRIES_SHOWN: usize = 40;

/// Writes them.
pub fn write(daemon: &DaemonStatus, out: &mut dyn Write) -> io::Result<()> {
    let store = &daemon.store;
    if store.commits.count > 0 {
        let (commits, articles) = (store.commits.count, store.articles);
        writeln!(
            out,
            "{:16} {}, {} in {}; commit time {} (median), {} (99 %)",
            "filed",
            text::counted(articles, "article"),
            text::rough_bytes(store.bytes),
            text::counted(commits, "commit"),
            milliseconds(store.commits.p50_micros),
            milliseconds(store.commits.p99_micros),
        )?;
    }
    if let Some(free) = store.free_bytes {
        writeln!(out, "{:16} {}", "free disk space", text::rough_bytes(free))?;
    }
    writeln!(out, "{:16} {}", "intake", daemon.intake.sentence())?;
    // A daemon of before had none.
    if !daemon.sandbox.is_empty() {
        writeln!(out, "{:16} {}", "sandbox", daemon.sandbox)?;
    }
    if let Some(node) = &daemon.cluster_node {
        writeln!(out, "{:16} {}", "cluster node", node.sentence())?;
    }
    match &daemon.nntp {
        Some(nntp) => write_server(nntp, out),
        None => Ok(()),
    }
}

fn write_server(nntp: &Nntp, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:16} {} now: {} may read or post, {} may send, {} with TLS",
        "connections", nntp.connections, nntp.readers, nntp.peers, nntp.tls
    )?;
    writeln!(
        out,
        "{:16} {}, {} rejected, {} timed out; {} logins succeeded, {} failed",
        "so far",
        text::counted(nntp.connected, "connection"),
        nntp.rejected,
        nntp.timed_out,
        nntp.logins,
        nntp.logins_failed
    )?;
    if nntp.damaged > 0 {
        writeln!(
            out,
            "{:16} {} of the store; run `broadsheet fsck'",
            "damaged",
            text::counted(nntp.damaged, "place")
        )?;
    }
    if nntp.entries.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{:16} {:>5} {:>11} {:>11} {:>11} {:>9} {:>9} {:>9} {:>8} {:>9}",
        "[[access]]",
        "conn",
        "offered",
        "accepted",
        "duplicates",
        "refused",
        "deferred",
        "received",
        "sent",
        "latency"
    )?;
    for entry in nntp.entries.iter().take(ENTRIES_SHOWN) {
        write_entry(entry, out)?;
    }
    let more = nntp.entries.len().saturating_sub(ENTRIES_SHOWN);
    if more > 0 {
        writeln!(out, "and {more} more (--json lists all)")?;
    }
    Ok(())
}

fn write_entry(entry: &Entry, out: &mut dyn Write) -> io::Result<()> {
    let name = match entry.name.as_str() {
        "" => "(no entry)",
        name => name,
    };
    writeln!(
        out,
        "{name:16} {:>5} {:>11} {:>11} {:>11} {:>9} {:>9} {:>9} {:>8} {:>9}",
        entry.connections,
        entry.count(Counter::Offered),
        entry.count(Counter::Accepted) + entry.count(Counter::Posted),
        entry.count(Counter::Duplicates),
        entry.refused(),
        entry.count(Counter::Deferred),
        text::rough_bytes(entry.count(Counter::ReceivedBytes)),
        text::rough_bytes(entry.count(Counter::SentBytes)),
        match entry.latency.count {
            0 => "-".to_owned(),
            _ => milliseconds(entry.latency.p50_micros),
        },
    )
}

/// The end of a bucket.
fn milliseconds(micros: Option<u64>) -> String {
    match micros {
        None => "over 10 s".to_owned(),
        Some(micros) if micros < 1000 => format!("{micros} µs"),
        Some(micros) if micros % 1000 != 0 => {
            format!("{}.{} ms", micros / 1000, micros % 1000 / 100)
        }
        Some(micros) if micros < 1_000_000 => format!("{} ms", micros / 1000),
        Some(micros) => format!("{} s", micros / 1_000_000),
    }
}
