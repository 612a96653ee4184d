//! The queue of articles that arrived over NNTP and wait for the writer. It decides whether more articles are accepted.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use server::{ArticleBatch, Intake, TransferOutcome};

use super::journal;
use super::lock::lock;

/// Longest interval before articles are accepted again after filing stopped. It starts at a second and doubles each time, a minute at most.
const TRY_AGAIN_FIRST: Duration = Duration::from_secs(1);
const TRY_AGAIN_LAST: Duration = Duration::from_secs(60);
/// Interval between checks of the free space while the disk is too full.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Longest reason for a pause, bytes: it has to fit in a reply (RFC 3977, 3.1), and is truncated.
pub const REASON_BYTES_MAX: usize = 200;

/// The waiting batches, and the state of the intake.
#[derive(Debug, Default)]
pub struct IntakeQueue {
    batches: Mutex<VecDeque<ArticleBatch>>,
    came: Condvar,
    /// False only if `shut` is empty: then CHECK does not need the lock.
    may_be_shut: AtomicBool,
    shut: Mutex<Closures>,
}

#[derive(Debug, Default)]
struct Closures {
    /// The last reported state.
    told: (IntakeState, Arc<str>),
    /// The reason of a pause by the administrator.
    paused: Option<Arc<str>>,
    /// The reason of a stop by an error, its end, and its interval.
    fault: Option<(Arc<str>, Instant, Duration)>,
    /// The reason that the disk is too full, and the time of the check.
    full: Option<(Arc<str>, Instant)>,
    /// The reason that the log of the cluster takes nothing.
    log: Option<Arc<str>>,
    /// The directory to check, and the bytes that have to stay free.
    disk: Option<(PathBuf, u64)>,
}

/// Whether articles are accepted, or why not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IntakeState {
    /// Articles are accepted.
    #[default]
    Open,
    /// The administrator has paused it.
    Paused,
    /// An error has stopped filing; the next attempt follows soon.
    Stopped,
    /// The disk has too little free space.
    Full,
}

impl IntakeState {
    /// All states.
    pub const ALL: [IntakeState; 4] = [
        IntakeState::Open,
        IntakeState::Paused,
        IntakeState::Stopped,
        IntakeState::Full,
    ];

    /// The name of the state.
    pub fn word(self) -> &'static str {
        match self {
            IntakeState::Open => "open",
            IntakeState::Paused => "paused",
            IntakeState::Stopped => "stopped",
            IntakeState::Full => "full",
        }
    }
}

impl IntakeQueue {
    /// Adds a batch. Returns true if the writer has to be woken, because the queue was empty.
    pub fn put(&self, batch: ArticleBatch) -> bool {
        let mut batches = lock(&self.batches);
        let was_empty = batches.is_empty();
        batches.push_back(batch);
        self.came.notify_one();
        was_empty
    }

    /// True if no batch waits.
    pub fn is_empty(&self) -> bool {
        lock(&self.batches).is_empty()
    }

    /// Removes the oldest batch; waits up to this time for one.
    pub fn take(&self, patience: Duration) -> Option<ArticleBatch> {
        let mut batches = lock(&self.batches);
        if batches.is_empty() && !patience.is_zero() {
            let waited = self
                .came
                .wait_timeout_while(batches, patience, |batches| batches.is_empty());
            batches = waited.map_or_else(|error| error.into_inner().0, |(batches, _)| batches);
        }
        batches.pop_front()
    }

    /// Rejects all waiting batches for this reason.
    pub fn send_all_back(&self, why: &str) {
        let outcome = TransferOutcome::Deferred(why.as_bytes().to_vec());
        let waiting = std::mem::take(&mut *lock(&self.batches));
        for mut batch in waiting {
            batch.set_remaining(&outcome);
            batch.return_to_sender();
        }
    }

    /// Whether articles are accepted.
    pub fn intake(&self) -> Intake {
        if !self.may_be_shut.load(Ordering::Acquire) {
            return Intake::Open;
        }
        match self.intake_state() {
            (IntakeState::Open, _) => Intake::Open,
            (_, why) => Intake::Closed(why),
        }
    }

    /// Whether articles are accepted, and why not.
    pub fn intake_state(&self) -> (IntakeState, Arc<str>) {
        let mut shut = lock(&self.shut);
        if let Some((_, seen)) = &shut.full
            && seen.elapsed() >= LOOK_AGAIN
        {
            shut.look_at_disk();
        }
        self.settle(shut)
    }

    /// As [`IntakeQueue::intake_state`], after a look at the free space: while no articles come, nothing else reads it.
    pub fn intake_state_now(&self) -> (IntakeState, Arc<str>) {
        let mut shut = lock(&self.shut);
        shut.look_at_disk();
        self.settle(shut)
    }

    /// Stops the intake after an error of filing.
    pub fn stopped(&self, why: &str) {
        let mut shut = lock(&self.shut);
        let pause = match &shut.fault {
            Some((_, _, before)) => (*before * 2).min(TRY_AGAIN_LAST),
            None => TRY_AGAIN_FIRST,
        };
        shut.fault = Some((why.into(), Instant::now() + pause, pause));
        self.settle(shut);
    }

    /// Resets the intake after successful filing, or a reload.
    pub fn went_well(&self) {
        if self.may_be_shut.load(Ordering::Acquire) {
            let mut shut = lock(&self.shut);
            shut.fault = None;
            self.settle(shut);
        }
    }

    /// Pauses the intake for a reason of the administrator, or resumes it.
    pub fn pause(&self, why: Option<&str>) {
        let mut shut = lock(&self.shut);
        shut.paused = why.map(|why| reason(why).into());
        self.settle(shut);
    }

    /// Stops the intake while the log of the cluster takes nothing, for this reason; `None`: it does.
    pub fn set_log_fault(&self, why: Option<&str>) {
        let mut shut = lock(&self.shut);
        shut.log = why.map(Arc::from);
        self.settle(shut);
    }

    /// Sets the bytes that have to stay free on the file system of `dir`.
    pub fn watch_disk(&self, dir: &Path, keep_free: u64) {
        let mut shut = lock(&self.shut);
        shut.disk = Some((dir.to_owned(), keep_free));
        shut.full = None;
        shut.look_at_disk();
        self.settle(shut);
    }

    /// Checks the free space: a system call, made together with a commit.
    pub fn look_at_disk(&self) {
        let mut shut = lock(&self.shut);
        shut.look_at_disk();
        self.settle(shut);
    }

    /// Updates the state, and reports a change to the journal.
    fn settle(&self, mut shut: MutexGuard<'_, Closures>) -> (IntakeState, Arc<str>) {
        let may_be_shut = shut.paused.is_some()
            || shut.fault.is_some()
            || shut.full.is_some()
            || shut.log.is_some();
        self.may_be_shut.store(may_be_shut, Ordering::Release);
        let (intake_state, why) = shut.intake_state();
        let before = std::mem::replace(&mut shut.told, (intake_state, why.clone()));
        drop(shut);
        // The amount of free space changes all the time, but the reason stays the same.
        let is_other_reason = intake_state == IntakeState::Paused && why != before.1;
        if intake_state != before.0 || is_other_reason {
            let mut fields: journal::Fields = vec![("state", intake_state.word().into())];
            if intake_state != IntakeState::Open {
                fields.push(("why", (&*why).into()));
            }
            if intake_state == IntakeState::Full {
                fields.push(("remedy", store::MAKE_ROOM.into()));
            }
            journal::note("intake", fields);
        }
        (intake_state, why)
    }
}

impl Closures {
    fn intake_state(&self) -> (IntakeState, Arc<str>) {
        match self {
            Closures {
                paused: Some(why), ..
            } => (IntakeState::Paused, why.clone()),
            Closures {
                full: Some((why, _)),
                ..
            } => (IntakeState::Full, why.clone()),
            Closures { log: Some(why), .. } => (IntakeState::Stopped, why.clone()),
            Closures {
                fault: Some((why, until, _)),
                ..
            } if Instant::now() < *until => (IntakeState::Stopped, why.clone()),
            _ => (IntakeState::Open, "".into()),
        }
    }

    fn look_at_disk(&mut self) {
        let Some((dir, keep_free)) = &self.disk else {
            return;
        };
        let Ok(free) = store::free_bytes(dir) else {
            return;
        };
        // Avoids opening and closing the intake with every other article.
        let least = match self.full {
            Some(_) => reopens_at(*keep_free),
            None => *keep_free,
        };
        self.full = free.filter(|free| *free < least).map(|free| {
            let why = format!(
                "The disk is too full: {} are free, {} must stay free",
                groups::size::rough_bytes(free),
                groups::size::rough_bytes(least)
            );
            (why.into(), Instant::now())
        });
    }
}

/// The free space at which an intake opens again that closed below `keep_free`, bytes.
pub fn reopens_at(keep_free: u64) -> u64 {
    keep_free.saturating_add(keep_free / 16)
}

/// Shortens a reason to the form of a reply: one line of limited length.
fn reason(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut reason = String::new();
    for c in clean {
        if reason.len() + c.len_utf8() > REASON_BYTES_MAX {
            break;
        }
        reason.push(c);
    }
    match reason.trim() {
        "" => "Paused by the administrator".to_owned(),
        reason => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_and_short() {
        assert_eq!(reason(" no\r\n200 room "), "no  200 room");
        assert_eq!(reason("\n"), "Paused by the administrator");
        let long = reason(&"é".repeat(1000));
        assert_eq!(long.len(), REASON_BYTES_MAX);
    }

    #[test]
    fn the_gate_opens_when_all_reasons_are_gone() {
        let intake_queue = IntakeQueue::default();
        assert_eq!(intake_queue.intake(), Intake::Open);
        intake_queue.pause(Some("backup"));
        intake_queue.stopped("EIO");
        assert_eq!(intake_queue.intake_state().0, IntakeState::Paused);
        intake_queue.pause(None);
        assert_eq!(
            intake_queue.intake_state(),
            (IntakeState::Stopped, "EIO".into())
        );
        intake_queue.went_well();
        assert_eq!(intake_queue.intake(), Intake::Open);
    }

    #[test]
    fn a_full_disk_shuts_it_and_room_opens_it() {
        let intake_queue = IntakeQueue::default();
        let dir = std::env::temp_dir();
        intake_queue.watch_disk(&dir, u64::MAX);
        assert_eq!(intake_queue.intake_state().0, IntakeState::Full);
        assert_eq!(intake_queue.intake_state_now().0, IntakeState::Full);
        assert_eq!(reopens_at(128 << 20), 136 << 20);
        intake_queue.watch_disk(&dir, 0);
        assert_eq!(intake_queue.intake(), Intake::Open);
    }
}
