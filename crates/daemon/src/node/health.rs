//! The state of a node of a cluster for other threads, which read it at any time, also while the writer is busy.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::freshness::{BEHIND_SECONDS_MAX, Freshness};
use crate::lock::lock;

/// Interval at which a node that is behind, or cut off from the log, looks whether it has to report that.
pub const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The node of a cluster, for `status` and the metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterNode {
    /// The last entry of the log that is applied here.
    pub applied: u64,
    /// The last entry of the log that this node knows of.
    pub last: u64,
    /// How far this node is behind the log, seconds.
    pub lag_seconds: u64,
    /// New clients get 400.
    pub is_stale: bool,
    /// No more entries are applied.
    pub is_stopped: bool,
    /// The reason, and what to do; empty unless the node has stopped.
    pub why_stopped: String,
    /// How long the log has not been reachable, seconds; 0 while it is.
    pub unreachable_seconds: u64,
    /// The reason; empty while it is reachable.
    pub why_unreachable: String,
}

impl ClusterNode {
    /// The state in words.
    pub fn sentence(&self) -> String {
        let ClusterNode { applied, last, .. } = self;
        let behind = match (self.is_stopped, self.lag_seconds) {
            (true, _) => {
                let why = &self.why_stopped;
                return format!("stopped behind entry {applied}, clients are sent away: {why}");
            }
            (false, _) if applied >= last => format!("has applied entry {applied}, the last one"),
            (false, seconds) => {
                format!("has applied entry {applied} of {last}, {seconds} s behind")
            }
        };
        let stale = if self.is_stale {
            "; new clients are sent away"
        } else {
            ""
        };
        let reach = match (self.unreachable_seconds, &self.why_unreachable) {
            (0, _) => String::new(),
            (seconds, why) => format!("; the log has not been reachable for {seconds} s: {why}"),
        };
        format!("{behind}{stale}{reach}")
    }
}

/// The state of a node.
#[derive(Debug)]
pub struct NodeHealth(Mutex<State>);

#[derive(Debug)]
struct State {
    freshness: Freshness,
    /// The node still applies entries that the log had when it was opened.
    catches_up: bool,
    /// Why no more entries are applied.
    stopped: Option<String>,
    /// Since when, and why, the log is not reachable.
    unreachable: Option<(Instant, String)>,
}

impl State {
    fn lag(&self, now: Instant) -> Duration {
        self.freshness.lag(self.catches_up, seconds(), now)
    }

    fn is_stale(&self, now: Instant) -> bool {
        let is_behind = self.freshness.is_stale(self.catches_up, seconds(), now);
        self.stopped.is_some() || is_behind
    }
}

/// The clock, seconds since 1970.
fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

impl NodeHealth {
    /// A node that has applied entries up to one, and does not reach the log yet.
    pub fn new(applied: u64, now: Instant) -> NodeHealth {
        NodeHealth(Mutex::new(State {
            freshness: Freshness::new(applied, now),
            catches_up: false,
            stopped: None,
            unreachable: Some((now, "no server has answered yet".to_owned())),
        }))
    }

    /// The log has entries up to this one.
    pub fn has_end(&self, end: u64, now: Instant) {
        lock(&self.0).freshness.has_end(end, now);
    }

    /// The node has applied and committed an entry, which arrived at this time, seconds since 1970.
    pub fn has_applied(&self, sequence: u64, arrival: i64, now: Instant) {
        lock(&self.0).freshness.has_applied(sequence, arrival, now);
    }

    /// The spool went back to an entry.
    pub fn goes_back_to(&self, sequence: u64) {
        lock(&self.0).freshness.goes_back_to(sequence);
    }

    /// Notes whether the node applies entries that the log had when it was opened.
    pub fn set_catching_up(&self, catches_up: bool) {
        lock(&self.0).catches_up = catches_up;
    }

    /// The log is not reachable, for this reason.
    pub fn is_down(&self, why: &str, now: Instant) {
        let mut state = lock(&self.0);
        let since = state.unreachable.as_ref().map_or(now, |(since, _)| *since);
        state.unreachable = Some((since, why.to_owned()));
    }

    /// The log is reachable.
    pub fn is_up(&self) {
        lock(&self.0).unreachable = None;
    }

    /// No more entries are applied, for this reason.
    pub fn stop(&self, why: &str) {
        let mut state = lock(&self.0);
        state.stopped = Some(why.to_owned());
        state.unreachable = None;
    }

    /// Whether no more entries are applied.
    pub fn is_stopped(&self) -> bool {
        lock(&self.0).stopped.is_some()
    }

    /// Whether the log has told of entries that are not applied.
    pub fn is_behind(&self) -> bool {
        lock(&self.0).freshness.is_behind()
    }

    /// Whether clients should use another node: this one has stopped, or is too far behind. A node that reaches no server does not know
    /// whether others have newer articles, and goes on serving.
    pub fn is_stale(&self, now: Instant) -> bool {
        lock(&self.0).is_stale(now)
    }

    /// Whether the log has not been reachable for so long that an administrator should know.
    pub fn is_cut_off(&self, now: Instant) -> bool {
        let limit = Duration::from_secs(BEHIND_SECONDS_MAX);
        let state = lock(&self.0);
        let since = state.unreachable.as_ref().map(|(since, _)| *since);
        since.is_some_and(|since| now.saturating_duration_since(since) > limit)
    }

    /// The time at which a message may be due without any event.
    pub fn look_at(&self, now: Instant) -> Option<Instant> {
        let state = lock(&self.0);
        let may_change = state.freshness.is_behind() || state.unreachable.is_some();
        (may_change && state.stopped.is_none()).then(|| now + LOOK_AGAIN)
    }

    /// The state for `status` and the metrics.
    pub fn told(&self, now: Instant) -> ClusterNode {
        let state = lock(&self.0);
        let unreachable = state.unreachable.as_ref();
        let since = unreachable.map(|(since, _)| now.saturating_duration_since(*since));
        ClusterNode {
            applied: state.freshness.applied(),
            last: state.freshness.end(),
            lag_seconds: state.lag(now).as_secs(),
            is_stale: state.is_stale(now),
            is_stopped: state.stopped.is_some(),
            why_stopped: state.stopped.clone().unwrap_or_default(),
            unreachable_seconds: since.map_or(0, |since| since.as_secs().max(1)),
            why_unreachable: unreachable.map_or_else(String::new, |(_, why)| why.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn a_node_that_has_stopped_is_stale_at_once() {
        let start = Instant::now();
        let node = NodeHealth::new(10, start);
        node.is_up();
        // It has applied everything, and most nodes contradict it.
        assert!(!node.is_stale(start));
        node.stop("it has filed otherwise");
        assert!(node.is_stale(start) && node.is_stopped());
        let told = node.told(start);
        assert_eq!(told.why_stopped, "it has filed otherwise");
        assert_eq!((told.applied, told.last, told.lag_seconds), (10, 10, 0));
        assert!(told.is_stale && told.is_stopped);
        assert!(told.sentence().starts_with("stopped behind entry 10"));
        assert_eq!(node.look_at(start), None);
    }

    #[test]
    fn a_node_that_is_cut_off_says_so_and_serves_on() {
        let start = Instant::now();
        let node = NodeHealth::new(10, start);
        assert_eq!(node.look_at(start), Some(start + LOOK_AGAIN));
        node.is_up();
        assert_eq!(node.look_at(start), None);
        node.is_down("timed out", later(start, 10));
        node.is_down("no route", later(start, 200));
        assert!(!node.is_cut_off(later(start, 310)));
        assert!(node.is_cut_off(later(start, 311)));
        assert!(!node.is_stale(later(start, 10_000)));
        let told = node.told(later(start, 311));
        assert_eq!((told.unreachable_seconds, told.is_stale), (301, false));
        assert_eq!(
            told.sentence(),
            "has applied entry 10, the last one; the log has not been reachable for 301 s: no route"
        );
        node.is_up();
        assert!(!node.is_cut_off(later(start, 10_000)));
        assert_eq!(node.told(later(start, 400)).unreachable_seconds, 0);
    }
}
