//! The state of a news system, running or not.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use feed::{feeds, site_state};
use groups::Sites;
use groups::sites::Via;
use mount::counters::Mounted;
use relay::incoming::{Name, is_stopped};
use report::failed_tasks::{self, FailedTask};
use serde::Serialize;
use settings::NewsDirectory;
use store::Snapshot;

use crate::client::{self, RunningDaemon};
use crate::feed_lease::ClusterFeeds;
use crate::journal::say;

/// The state of a news system.
#[derive(Serialize)]
pub struct SystemStatus {
    /// Number of groups.
    pub groups: usize,
    /// Number of ids in history.
    pub ids: u64,
    /// Number of segments.
    pub segments: usize,
    /// Size of the log, bytes.
    pub log_bytes: u64,
    /// Arrival of the newest article, epoch seconds.
    pub newest_arrival: Option<i64>,
    /// Number of batches that wait in in.coming/; `None`: it cannot be read.
    pub in_coming: Option<usize>,
    /// Whether newsrun files them; `false` after `broadsheet newsrunning off`.
    pub newsrunning: bool,
    /// Number of unreadable batches in bad/; `None`: it cannot be read.
    pub bad: Option<usize>,
    /// Number of mails that wait for the mail program.
    pub mail_queue: usize,
    /// The scheduled tasks whose last run failed.
    pub failed_tasks: Vec<FailedTask>,
    /// `None`: they cannot be read.
    pub feeds: Option<FeedsStatus>,
    /// The mounts that tell of themselves.
    pub mounts: Vec<Mounted>,
    /// Whether a daemon runs.
    pub daemon_state: DaemonState,
    /// `None`: no daemon answers.
    pub daemon: Option<RunningDaemon>,
}

/// Whether a daemon serves the news directory.
#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum DaemonState {
    /// It has told its status.
    Running,
    /// It holds the lock of `serve`, but does not answer.
    Silent,
    /// None runs.
    None,
    /// This user may not ask.
    Unknown,
}

/// The feeds, and those for which articles wait.
#[derive(Serialize)]
pub struct FeedsStatus {
    /// Number of feeds.
    pub count: usize,
    /// On a node of a cluster that does not feed: which one does, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// The feeds for which articles wait.
    pub behind: Vec<FeedBehind>,
    /// The feeds that cannot be served, but not those that are paused.
    pub failing: Vec<FailingFeed>,
    /// The feeds whose files are damaged or lost.
    pub unreadable: Vec<String>,
}

/// A feed that cannot be served.
#[derive(Serialize)]
pub struct FailingFeed {
    /// Its site.
    pub site: String,
    /// Since when, epoch seconds.
    pub since: i64,
    /// The reason.
    pub why: String,
    /// Number of articles that wait.
    pub articles: u64,
    /// Their size, bytes.
    pub bytes: u64,
    /// Arrival of the oldest of them, epoch seconds.
    pub oldest_arrival: Option<i64>,
    /// What the administrator can do, a sentence without its end.
    pub remedy: String,
}

impl FailingFeed {
    /// Those of the feeds with these names that cannot be served.
    pub fn all(
        root: &Path,
        sites: &Sites,
        snapshot: &Snapshot,
        names: &[&[u8]],
    ) -> Vec<FailingFeed> {
        let failing = names.iter().copied();
        let failing = failing.filter(|name| site_state::failure(root, name).is_some());
        let (told, _) = feeds::backlogs(root, sites, snapshot, failing);
        let failing = told.iter().filter_map(|feed| FailingFeed::of(feed, sites));
        failing.collect()
    }

    fn of(feed: &feeds::FeedStatus<'_>, sites: &Sites) -> Option<FailingFeed> {
        let failure = feed.look.failure.as_ref();
        let failure = failure.filter(|_| feed.look.paused.is_none())?;
        let site = groups::shown(feed.name);
        let remedy = match sites.feed(feed.name).map(|site| &site.via) {
            Some(Via::Nntp(_)) => format!("`broadsheet peer test {site}' tells at which step"),
            Some(Via::Batch(_)) => format!("`broadsheet sendbatches {site}' tries again"),
            _ => format!("`broadsheet feed flush {site}' tries again"),
        };
        Some(FailingFeed {
            since: failure.since,
            why: failure.why.clone(),
            articles: feed.backlog.articles,
            bytes: feed.backlog.bytes,
            oldest_arrival: feed.backlog.oldest,
            remedy,
            site,
        })
    }

    /// Since when it fails and why, and how much waits.
    pub fn state(&self) -> String {
        let utc = |seconds| {
            let mut text = Vec::new();
            article::date::write_utc(&mut text, seconds);
            String::from_utf8_lossy(&text).into_owned()
        };
        let waiting = match self.articles {
            1 => "1 article waits".to_owned(),
            count => format!("{count} articles wait"),
        };
        let oldest = self.oldest_arrival.map_or_else(String::new, |arrival| {
            format!(", the oldest from {}", utc(arrival))
        });
        let (since, bytes) = (utc(self.since), groups::size::rough_bytes(self.bytes));
        format!("{} since {since}; {waiting}, {bytes}{oldest}", self.why)
    }
}

/// A feed for which articles wait.
#[derive(Serialize)]
pub struct FeedBehind {
    /// Its site.
    pub site: String,
    /// Number of articles that wait.
    pub articles: u64,
    /// Their size, bytes.
    pub bytes: u64,
    /// Arrival of the oldest of them, epoch seconds.
    pub oldest_arrival: Option<i64>,
    /// Number of articles that it deferred: they are offered again, and do not count as waiting.
    pub deferred: u64,
    /// Whether it is paused.
    pub paused: bool,
}

/// Reads the state of a news system, and the error that kept it from reading the feeds.
///
/// # Errors
/// The store or the mail queue cannot be read.
pub fn system_status(
    directory: &NewsDirectory,
) -> anyhow::Result<(SystemStatus, Option<anyhow::Error>)> {
    let root = directory.root();
    let snapshot = Snapshot::open(root)?;
    for notice in snapshot.notices() {
        say(notice);
    }
    let (daemon_state, daemon) = match client::owners_status(root) {
        Ok(Some(daemon)) => (DaemonState::Running, Some(daemon)),
        Ok(None) if client::is_served(root) => (DaemonState::Silent, None),
        Ok(None) => (DaemonState::None, None),
        Err(_) => (DaemonState::Unknown, None),
    };
    let cluster_feeds = daemon
        .as_ref()
        .and_then(|daemon| daemon.status.cluster_feeds.clone());
    let feeds = FeedsStatus::read(directory, &snapshot, cluster_feeds);
    let is_batch = |name: &[u8]| Name::parse(name).is_some();
    let (feeds, error) = match feeds {
        Ok(feeds) => (Some(feeds), None),
        Err(error) => (None, Some(error)),
    };
    let status = SystemStatus {
        groups: snapshot.active().len(),
        ids: snapshot.ids(),
        segments: snapshot.segments().len(),
        log_bytes: snapshot.log_bytes(),
        newest_arrival: snapshot.newest_arrival()?,
        in_coming: files_in(&directory.file("in.coming"), is_batch),
        newsrunning: !is_stopped(root),
        bad: files_in(&directory.file("bad"), |_| true),
        mail_queue: inject::mail_queue::list(root)?.len(),
        failed_tasks: failed_tasks::read(root),
        feeds,
        mounts: mount::counters::read(root),
        daemon_state,
        daemon,
    };
    Ok((status, error))
}

impl FeedsStatus {
    pub(crate) fn read(
        directory: &NewsDirectory,
        snapshot: &Snapshot,
        cluster_feeds: Option<ClusterFeeds>,
    ) -> anyhow::Result<FeedsStatus> {
        let sites = directory.sys(&directory.settings()?.settings)?;
        let names = feeds::names(&sites);
        let is_here = cluster_feeds.as_ref().is_none_or(|feeds| feeds.is_here);
        let (told, untold) =
            // On the other nodes of a cluster the cursors are old.
            feeds::backlogs(directory.root(), &sites, snapshot, names.iter().copied().filter(|_| is_here));
        let behind = told.iter().filter(|feed| !feed.has_all());
        let behind = behind.map(|feed| FeedBehind {
            site: groups::shown(feed.name),
            articles: feed.backlog.articles,
            bytes: feed.backlog.bytes,
            oldest_arrival: feed.backlog.oldest,
            deferred: feed.look.deferred.len() as u64,
            paused: feed.look.paused.is_some(),
        });
        let failing = told.iter().filter_map(|feed| FailingFeed::of(feed, &sites));
        let unreadable = untold.iter().map(|(name, _)| groups::shown(name));
        Ok(FeedsStatus {
            count: names.len(),
            elsewhere: cluster_feeds
                .filter(|_| !is_here)
                .map(|feeds| feeds.sentence()),
            behind: behind.collect(),
            failing: failing.collect(),
            unreadable: unreadable.collect(),
        })
    }
}

/// Number of files with such names; 0 without the directory, `None` if it cannot be read.
fn files_in(path: &Path, counts: impl Fn(&[u8]) -> bool) -> Option<usize> {
    match std::fs::read_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(0),
        Err(_) => None,
        Ok(entries) => {
            let names = entries.flatten().map(|entry| entry.file_name());
            Some(names.filter(|name| counts(name.as_bytes())).count())
        }
    }
}
