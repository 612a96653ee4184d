//! Commands that feed sites, on a node of a cluster: only the node that feeds may, and only as long as it does.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use cluster::jetstream::feeder;
use daemon::{ClusterFeeds, client};
use feed::permit::{self, Permit};
use settings::Settings;

use crate::directory::NewsDirectory;
use crate::exit::Status;

/// The time that the daemon has for its first word.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time that the process has to kill its commands after its permission.
const GRACE: Duration = Duration::from_millis(500);

/// Which node feeds; `None` without a cluster.
///
/// # Errors
/// The logins for the servers cannot be read.
pub fn look(
    directory: &NewsDirectory,
    settings: &Settings,
) -> anyhow::Result<Option<ClusterFeeds>> {
    if !settings.is_node() {
        return Ok(None);
    }
    let daemon = client::status(directory.root());
    if let Some(feeds) = daemon.and_then(|daemon| daemon.status.cluster_feeds) {
        return Ok(Some(feeds));
    }
    let claim = feeder(&settings.log_options(directory)?).ok();
    let claim = claim
        .and_then(|(claim, _)| claim)
        .filter(|claim| !claim.is_released);
    Ok(Some(ClusterFeeds {
        holder: claim.map_or_else(String::new, |claim| claim.node),
        why: "no daemon serves it".to_owned(),
        ..ClusterFeeds::default()
    }))
}

/// Refuses a command that belongs on the node that feeds.
///
/// # Errors
/// Another node feeds, or none.
pub fn must_be_here(directory: &NewsDirectory, settings: &Settings) -> anyhow::Result<()> {
    match look(directory, settings)? {
        Some(feeds) if !feeds.is_here => anyhow::bail!(
            "{}; run this command on the node that feeds (`broadsheet cluster status' shows it)",
            feeds.sentence()
        ),
        _ => Ok(()),
    }
}

/// Lets this process feed, if this node does. The permission, which commands and connections need, ends with that of the node, and soon after it
/// the process: what is in flight is sent again. `None` without a cluster.
///
/// # Errors
/// Another node feeds, or none.
pub fn may_feed(
    directory: &NewsDirectory,
    settings: &Settings,
) -> anyhow::Result<Option<Arc<Permit>>> {
    must_be_here(directory, settings)?;
    if !settings.is_node() {
        return Ok(None);
    }
    let mut watch = client::watch_permit(directory.root())?;
    let mut feeds = watch.next(PATIENCE)?;
    let permit = Permit::never();
    let lent = permit.clone();
    let (sender, is_set) = mpsc::channel();
    std::thread::Builder::new()
        .name("permit".to_owned())
        .spawn(move || {
            while feeds.is_here {
                let end = Duration::from_millis(feeds.until_ms);
                lent.set(end, end);
                let _ = sender.send(());
                let left = end.saturating_sub(permit::clock());
                match watch.next(left) {
                    // A word that was on its way when the time was over comes too late.
                    Ok(next) if !left.is_zero() => feeds = next,
                    _ => break,
                }
            }
            lent.set(Duration::ZERO, Duration::ZERO);
            // The commands that run are killed meanwhile.
            std::thread::sleep(GRACE);
            eprintln!("broadsheet: this node does not feed any more: ended");
            std::process::exit(i32::from(Status::ATTENTION.code()));
        })?;
    // Without an answer the thread has ended, and the permission is over.
    let _ = is_set.recv();
    Ok(Some(permit))
}
