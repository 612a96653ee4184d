//! In a cluster one node feeds at a time: the lease of the feeds as other threads see it, and the thread that keeps it.
//!
//! *Invariant:* feeds are served only while [`Permit`] says so. Its times come from the lease of the servers (`cluster::lease`), and the thread of
//! the log moves them, whatever the other threads do.

mod keeper;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::cluster::jetstream::FeedLease;
use ::cluster::lease::{REST_BEFORE_END, SILENT_BEFORE_END};
use ::cluster::log::FeedNews;
use feed::Permit;
use groups::Sites;
use serde::{Deserialize, Serialize};

pub use self::keeper::{Keeper, TOLD_DEFERRED_MAX};
use crate::lock::lock;

/// Longest wait until the feeds have ended and the lease is given back: longer than a lease lasts makes no sense.
const END_PATIENCE: Duration = Duration::from_secs(12);

/// The feeds of a node of a cluster, for `status` and for commands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterFeeds {
    /// Whether this node feeds.
    pub is_here: bool,
    /// The node that holds the lease, by its last word; empty: none, or it is not known.
    pub holder: String,
    /// Why this node does not feed; empty if it does.
    pub why: String,
    /// Counts the changes of the holder.
    pub term: u64,
    /// Since when this node feeds, or fed last, ms of the clock of the system that runs from its start on; 0: never.
    pub since_ms: u64,
    /// Up to when it may feed, or might, on the same clock.
    pub until_ms: u64,
}

impl ClusterFeeds {
    /// Which node feeds, in words.
    pub fn sentence(&self) -> String {
        let ClusterFeeds { holder, why, .. } = self;
        match (self.is_here, holder.as_str()) {
            (true, _) => format!("this node, {holder}, feeds the sites of the cluster"),
            (false, "") => format!(
                "this node does not feed the sites ({why}), and it is not known here which node does"
            ),
            (false, _) => format!(
                "this node does not feed the sites ({why}); by the last word {holder} has the lease of the feeds"
            ),
        }
    }
}

/// A message to the thread.
pub enum Message {
    /// News of the lease.
    News(FeedNews),
    /// The log was opened: the way to the lease, and the number of this process.
    Log(FeedLease, u64),
    /// The spool went back to an earlier place, or was opened again.
    WentBack,
    /// The sites were read, and whether this node may feed.
    Sites(Box<Sites>, bool),
    /// End the feeds, and give the lease back.
    End(SyncSender<()>),
}

/// The lease for other threads.
pub struct FeedHolder {
    messages: Sender<Message>,
    permit: Arc<Permit>,
    state: Mutex<State>,
    /// The last entry whose commit is published.
    applied: AtomicU64,
    /// The node applies what the log tells, and has caught up with it.
    is_fit: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Feeds are served: the permission follows the lease.
    is_feeding: bool,
    /// The end of the lease, if this node holds it.
    until: Option<Duration>,
    told: ClusterFeeds,
}

impl FeedHolder {
    /// The lease, and the messages for its thread.
    pub fn new() -> (Arc<FeedHolder>, Receiver<Message>) {
        let (messages, waiting) = channel();
        let holder = FeedHolder {
            messages,
            permit: Permit::never(),
            state: Mutex::default(),
            applied: AtomicU64::new(0),
            is_fit: AtomicBool::new(false),
        };
        (Arc::new(holder), waiting)
    }

    /// The permission to feed.
    pub fn permit(&self) -> &Arc<Permit> {
        &self.permit
    }

    /// Sends a message to the thread.
    pub fn put(&self, message: Message) {
        // The thread ends with the daemon.
        let _ = self.messages.send(message);
    }

    /// Takes news of the lease, in the thread of the log. The permission is moved at once.
    pub fn news(&self, news: FeedNews) {
        if let FeedNews::Lease { until, .. } = &news {
            let mut state = lock(&self.state);
            state.until = *until;
            self.move_permit(&mut state);
        }
        self.put(Message::News(news));
    }

    fn move_permit(&self, state: &mut State) {
        match state.until.filter(|_| state.is_feeding) {
            Some(end) => {
                let silent_at = end.saturating_sub(SILENT_BEFORE_END);
                self.permit
                    .set(end.saturating_sub(REST_BEFORE_END), silent_at);
                state.told.until_ms = millis(silent_at);
            }
            None => self.permit.set(Duration::ZERO, Duration::ZERO),
        }
    }

    /// Begins or ends the permission, as far as the lease goes.
    fn set_feeding(&self, is_feeding: bool) {
        let mut state = lock(&self.state);
        let was_feeding = std::mem::replace(&mut state.is_feeding, is_feeding);
        if is_feeding && !was_feeding {
            state.told.since_ms = millis(feed::permit::clock());
        } else if was_feeding && !is_feeding {
            let now = millis(feed::permit::clock());
            state.told.until_ms = state.told.until_ms.min(now);
        }
        self.move_permit(&mut state);
    }

    /// Notes the last entry whose commit is published.
    pub fn set_applied(&self, sequence: u64) {
        self.applied.store(sequence, Ordering::SeqCst);
    }

    /// The last entry whose commit is published.
    pub fn applied(&self) -> u64 {
        self.applied.load(Ordering::SeqCst)
    }

    /// Notes whether the node applies what the log tells, and has caught up with it.
    pub fn set_fit(&self, is_fit: bool) {
        self.is_fit.store(is_fit, Ordering::SeqCst);
    }

    fn is_fit(&self) -> bool {
        self.is_fit.load(Ordering::SeqCst)
    }

    /// The state, for `status` and for commands.
    pub fn told(&self) -> ClusterFeeds {
        let mut told = lock(&self.state).told.clone();
        told.is_here = told.is_here && self.permit.may_begin();
        told
    }

    fn tell(&self, is_here: bool, holder: &str, term: u64, why: &str) {
        let told = &mut lock(&self.state).told;
        told.is_here = is_here;
        told.term = term;
        holder.clone_into(&mut told.holder);
        why.clone_into(&mut told.why);
    }

    /// Ends the feeds and gives the lease back; waits for a limited time.
    pub fn end(&self) {
        let (sender, ended) = sync_channel(1);
        self.put(Message::End(sender));
        let _ = ended.recv_timeout(END_PATIENCE);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_without_news_of_the_lease_does_not_deny_that_another_feeds() {
        let told = ClusterFeeds::default().sentence();
        assert!(told.contains("it is not known"), "{told}");
    }
}
