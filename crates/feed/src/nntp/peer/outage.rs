//! The outage of a peer: from the first attempt that fails without an answer, or from the last sign of life of a peer that is silent, until it
//! answers for an article. It is noted beside the cursor ([`site_state::note_failure`]), so that it outlasts the daemon and a reload.

use std::time::{Duration, Instant};

use super::super::connection::Connection;
use super::super::counts::Weight;
use super::{Context, Peer};
use crate::site_state;

/// How long a peer may say and take nothing while answers are expected of it, until that counts as an outage, seconds.
pub const SILENT_SECONDS_MAX: u64 = 30;
const SILENT: Duration = Duration::from_secs(SILENT_SECONDS_MAX);
/// Why articles wait for a peer that is silent.
const NO_ANSWER: &str = "no answer";

impl Peer {
    /// Since when no connection has had a sign of life. `None`: nothing is expected of the peer.
    fn silent_since(&self) -> Option<Instant> {
        let connections = self.connections.iter().flatten();
        connections.filter_map(Connection::silent_since).max()
    }

    /// Whether the peer has been silent for too long.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        let since = self.silent_since();
        since.is_some_and(|since| now.saturating_duration_since(since) >= SILENT)
    }

    /// When the peer will have been silent for too long. `None`: that is known, or nothing is expected of it.
    pub(super) fn silent_at(&self) -> Option<Instant> {
        let since = self.silent_since().filter(|_| self.outage.is_none())?;
        Some(since + SILENT)
    }

    /// An outage begins, unless there is one.
    pub(super) fn begin_outage(&mut self, context: &Context<'_>) {
        self.outage.get_or_insert(context.time);
    }

    /// Begins an outage when the peer has been silent for too long.
    pub(super) fn watch_silence(&mut self, context: &Context<'_>) {
        if self.outage.is_some() || !self.is_silent(context.now) {
            return;
        }
        let since = self.silent_since().unwrap_or(context.now);
        let ago = context.now.saturating_duration_since(since).as_secs();
        self.outage = Some(context.time.saturating_sub_unsigned(ago));
        NO_ANSWER.clone_into(&mut self.why);
    }

    /// An answer came.
    pub(super) fn end_outage(&mut self) {
        if self.outage.take().is_some() && self.why == NO_ANSWER {
            self.why.clear();
        }
    }

    /// Takes the outage of an earlier daemon, or of one with earlier settings.
    pub(super) fn resume_outage(&mut self, failure: Option<site_state::FeedFailure>) {
        if let (None, Some(failure)) = (self.outage, failure) {
            self.outage = Some(failure.since);
            self.noted_outage = Some((failure.since, failure.why));
        }
    }

    /// Notes and tells the beginning and the end of an outage. Returns whether it told the administrator of its beginning.
    pub(super) fn report_outage(&mut self, context: &Context<'_>) -> bool {
        let name = groups::shown(&self.plan.name);
        let note = |why: Option<&str>, since| {
            site_state::note_failure(&self.root, &self.plan.name, why, since);
        };
        match (self.outage, &self.noted_outage) {
            (Some(since), None) => {
                note(Some(&self.why), since);
                self.noted_outage = Some((since, self.why.clone()));
                let text = format!(
                    "{name}: articles cannot be sent: {}; `broadsheet peer test {name}' tells at which step",
                    self.why
                );
                (context.tell)(Weight::OutageBegins, &text);
                return true;
            }
            (Some(since), Some((_, noted))) if !self.why.is_empty() && *noted != self.why => {
                note(Some(&self.why), since);
                self.noted_outage = Some((since, self.why.clone()));
            }
            (None, Some((since, _))) => {
                note(None, context.time);
                let lasted = lasted(context.time.saturating_sub(*since));
                self.noted_outage = None;
                let text = format!("{name}: articles are sent again, after an outage of {lasted}");
                (context.tell)(Weight::OutageEnds, &text);
            }
            _ => {}
        }
        false
    }
}

/// A duration for people.
fn lasted(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}
