//! The state of a peer in words, and its counts, for other threads.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The state and the counts of a peer.
#[derive(Debug, Default)]
pub struct FeedCounts {
    /// Number of offered articles, repeated offers among them.
    pub offered: AtomicU64,
    /// Number of articles that the peer accepted (235, 239).
    pub accepted: AtomicU64,
    /// Number of articles that it did not want (435, 438).
    pub not_wanted: AtomicU64,
    /// Number of articles that it refused when it had them (437, 439).
    pub refused: AtomicU64,
    /// Number of answers that it wants an article later (431, 436).
    pub deferred: AtomicU64,
    /// Number of articles that were given up, since the peer deferred them too often.
    pub given_up: AtomicU64,
    /// Bytes sent to it.
    pub bytes: AtomicU64,
    /// Current number of connections.
    pub connections: AtomicU64,
    /// Current number of discovered articles without an answer.
    pub waiting: AtomicU64,
    /// Arrival of the oldest of them, seconds since 1970; 0 for none.
    pub oldest: AtomicI64,
    state: Mutex<PeerState>,
    refusals: Mutex<Vec<RefusalCount>>,
}

/// Most distinct reasons for which the refusals of a peer are counted.
pub const REFUSAL_REASONS_MAX: usize = 16;
/// Longest reason, bytes.
const REASON_BYTES: usize = 80;
/// The reason that counts all further ones.
const OTHER_REASONS: &str = "other";

/// Number of refusals for a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalCount {
    /// The answer.
    pub answer: RefusalAnswer,
    /// The peer's text, in printable ASCII, without message-ids and quoted text.
    pub reason: String,
    /// Number of articles.
    pub count: u64,
}

/// How a peer refuses an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalAnswer {
    /// It does not want the article (435, 438).
    NotWanted,
    /// It refused the article when it had it (437, 439), or its command by a general error (500, 501, 503, 504).
    Refused,
}

impl RefusalAnswer {
    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            RefusalAnswer::NotWanted => "not_wanted",
            RefusalAnswer::Refused => "refused",
        }
    }
}

/// The weight of a message about peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// The work goes on.
    Work,
    /// No article can be sent to a peer any more.
    OutageBegins,
    /// They are sent again.
    OutageEnds,
}

/// The state of a peer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerState {
    /// Its state.
    pub does: PeerDoes,
    /// The reason why articles wait; empty if nothing is wrong.
    pub why: String,
    /// Since when, seconds since 1970.
    pub since: i64,
    /// The next attempt, seconds since 1970.
    pub next: Option<i64>,
    /// Since when no article can be sent, also while another attempt goes on, seconds since 1970. `None`: some can, or nothing waits.
    pub failing_since: Option<i64>,
}

/// The state of a peer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PeerDoes {
    /// Nothing waits for it.
    #[default]
    Idle,
    /// A connection begins.
    Connecting,
    /// Articles are in flight.
    Sending,
    /// The last attempt failed.
    Failing,
    /// It is paused, or its hours have not come.
    Paused,
}

impl PeerDoes {
    /// A word for a person.
    pub fn word(self) -> &'static str {
        match self {
            PeerDoes::Idle => "idle",
            PeerDoes::Connecting => "connecting",
            PeerDoes::Sending => "sending",
            PeerDoes::Failing => "failing",
            PeerDoes::Paused => "paused",
        }
    }
}

impl FeedCounts {
    /// The state now.
    pub fn state(&self) -> PeerState {
        let state = self.state.lock();
        state.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of articles whose fate the peer told, but not those that it wants later.
    pub fn answered(&self) -> u64 {
        let counts = [&self.accepted, &self.not_wanted, &self.refused];
        counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum()
    }

    /// The refusals by reason, the most frequent first.
    pub fn refusals(&self) -> Vec<RefusalCount> {
        let refusals = self.refusals.lock();
        let mut refusals = refusals.unwrap_or_else(PoisonError::into_inner).clone();
        refusals.sort_by_key(|refusal| std::cmp::Reverse(refusal.count));
        refusals
    }

    /// Counts a refusal by its text; one without a text has no reason.
    pub(super) fn count_refusal(&self, answer: RefusalAnswer, text: &str) {
        let reason = reason(text);
        if reason.is_empty() {
            return;
        }
        let refusals = self.refusals.lock();
        let mut refusals = refusals.unwrap_or_else(PoisonError::into_inner);
        let is_full = refusals
            .iter()
            .filter(|refusal| refusal.reason != OTHER_REASONS)
            .count()
            >= REFUSAL_REASONS_MAX;
        let mut count_as = |reason: &str, may_add: bool| {
            let same =
                |refusal: &&mut RefusalCount| refusal.answer == answer && refusal.reason == reason;
            match refusals.iter_mut().find(same) {
                Some(refusal) => refusal.count += 1,
                None if may_add => refusals.push(RefusalCount {
                    answer,
                    reason: reason.to_owned(),
                    count: 1,
                }),
                None => return false,
            }
            true
        };
        if !count_as(&reason, !is_full) {
            count_as(OTHER_REASONS, true);
        }
    }

    /// Sets the gauges.
    pub(super) fn set_waiting(&self, connections: u64, waiting: usize, oldest: Option<i64>) {
        self.connections.store(connections, Ordering::Relaxed);
        self.waiting.store(waiting as u64, Ordering::Relaxed);
        self.oldest.store(oldest.unwrap_or(0), Ordering::Relaxed);
    }

    /// Sets the state; `now` counts only if it is another one. Returns whether the reason is another one.
    pub(super) fn set_state(
        &self,
        does: PeerDoes,
        why: &str,
        (now, next, failing_since): (i64, Option<i64>, Option<i64>),
    ) -> bool {
        let state = self.state.lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let is_new = state.why != why;
        if is_new {
            why.clone_into(&mut state.why);
        }
        if is_new || state.does != does {
            // A peer that fails and is tried again has failed since the first time.
            let goes_on = !is_new && !why.is_empty();
            if !goes_on {
                state.since = now;
            }
            state.does = does;
        }
        if let Some(since) = failing_since {
            state.since = since;
        }
        (state.next, state.failing_since) = (next, failing_since);
        is_new
    }
}

/// Adds to a count.
pub(super) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

/// The reason in a reply whose text is printable ASCII: message-ids and quoted text, such as the name of a group, are left out, since
/// each article has its own.
fn reason(text: &str) -> String {
    let text = text.replace("\\\"", "\"").replace("\\'", "'");
    let text = without_names(&text);
    let mut reason = String::new();
    for (at, part) in text.split('"').enumerate() {
        if at % 2 == 1 {
            reason.push_str("\"...\"");
            continue;
        }
        let is_id = |word: &&str| word.starts_with('<') && word.contains('@');
        for word in part.split_inclusive(' ').filter(|word| !is_id(word)) {
            reason.push_str(word);
        }
    }
    reason.truncate(REASON_BYTES);
    reason.trim().to_owned()
}

/// A text with `...' for each part in the quotation marks of C News, which this server has, too.
fn without_names(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`')
        && let Some((_, behind)) = after.split_once('\'')
    {
        out.push_str(before);
        out.push_str("`...'");
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_those_of_the_peer_without_what_each_article_has() {
        for (text, expected) in [
            ("", ""),
            ("<1@x>", ""),
            ("<1@x> Duplicate", "Duplicate"),
            (
                "Unwanted newsgroup \\\"alt.x\\\"",
                "Unwanted newsgroup \"...\"",
            ),
            ("<1@x> Too old -- \"Mon, 1 Jan", "Too old -- \"...\""),
            ("no <parent@x> here", "no here"),
            (
                "<1@x> no known groups in `alt.x,alt.y'",
                "no known groups in `...'",
            ),
            ("it's `a' and `b", "it's `...' and `b"),
        ] {
            assert_eq!(reason(text), expected);
        }
        assert_eq!(reason(&"x".repeat(500)).len(), REASON_BYTES);
    }

    #[test]
    fn reasons_are_bounded() {
        let counts = FeedCounts::default();
        for number in 0..100 {
            counts.count_refusal(
                RefusalAnswer::Refused,
                &format!("<{number}@x> reason {number}"),
            );
            counts.count_refusal(RefusalAnswer::NotWanted, "<1@x> Duplicate");
            counts.count_refusal(RefusalAnswer::NotWanted, "<1@x>");
        }
        let refusals = counts.refusals();
        let all: u64 = refusals.iter().map(|refusal| refusal.count).sum();
        assert_eq!((refusals.len(), all), (REFUSAL_REASONS_MAX + 1, 200));
        let of = |place: usize| {
            let refusal = &refusals[place];
            (refusal.answer, refusal.reason.as_str(), refusal.count)
        };
        assert_eq!(of(0), (RefusalAnswer::NotWanted, "Duplicate", 100));
        assert_eq!(of(1), (RefusalAnswer::Refused, "other", 85));
    }
}
