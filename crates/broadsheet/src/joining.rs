//! A news directory becomes a node of a cluster.

use std::path::Path;

use cluster::jetstream::announce;
use cluster::log::{LogIdentity, LogOptions};
use cluster::members::Mark;
use settings::cluster::hash_of_parts;
use sha2::{Digest, Sha256};
use store::{AppliedEntry, Durability, Options, Snapshot, Spool};

use crate::directory::NewsDirectory;

/// The base of a log whose first node had articles: other nodes fetch the segments of a node.
pub const COPY: &str = "copy";

/// The settings of a node: the options of its log, and the hash of the settings by which it decides.
///
/// # Errors
/// The settings have errors, or name no servers.
pub fn node_settings(directory: &NewsDirectory) -> anyhow::Result<(LogOptions, u64)> {
    let settings = directory.settings()?.settings;
    if !settings.is_node() {
        anyhow::bail!(
            "there is no cluster in {}: name its NATS servers in [cluster], servers",
            directory.file(settings::FILE).display()
        );
    }
    let options = settings.log_options(directory)?;
    let rules = hash_of_parts(&settings.deciding_parts(directory)?);
    Ok((options, rules))
}

/// The state of a news directory before the first entry of a log: without articles, its groups; else [`COPY`].
///
/// # Errors
/// The store cannot be read, or lacks Cancel-Locks of articles that are in the object store.
pub fn base_of(root: &Path) -> anyhow::Result<String> {
    let snapshot = Snapshot::open(root)?;
    let mut is_empty = true;
    snapshot.each_history_line(|_| {
        is_empty = false;
        Ok(())
    })?;
    if !is_empty {
        if store::offload::lacks_cancel_locks(&snapshot)? {
            anyhow::bail!(
                "Cancel-Locks of articles in the object store are missing, by which all nodes must decide: run `broadsheet segments \
                 offload' before, which writes them again"
            );
        }
        return Ok(COPY.to_owned());
    }
    let digest = Sha256::digest(snapshot.active().image());
    let digits: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(format!("empty-{digits}"))
}

/// Makes a news directory follow a log from its first entry on.
///
/// # Errors
/// The store cannot be opened, or follows a log already.
pub fn follow(root: &Path, log: &LogIdentity) -> anyhow::Result<()> {
    let options = Options {
        durability: Durability::Commit,
        follows_log: true,
        ..Options::default()
    };
    let mut spool = Spool::open(root, options)?;
    let known = spool.applied_entry()?;
    if !known.log.is_empty() {
        anyhow::bail!("{} follows the log {} already", root.display(), known.log);
    }
    spool.follow_from(&AppliedEntry {
        log: log.name.clone(),
        ..AppliedEntry::default()
    })?;
    Ok(())
}

/// Lets the log keep from now on what this new node lacks.
pub fn announce_here(options: &LogOptions) {
    if let Err(error) = announce(options, &Mark::default()) {
        eprintln!("broadsheet: {error}; the log does not wait for this node until its daemon runs");
    }
}

/// A random name.
///
/// # Errors
/// The system has no random numbers.
pub fn random_name() -> anyhow::Result<String> {
    let mut random = [0; 12];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
