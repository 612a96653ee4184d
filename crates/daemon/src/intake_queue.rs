//! Articles that come over NNTP wait here for the writer, and here is decided whether more are taken.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use server::{ArticleBatch, Intake, TransferOutcome};

use super::journal;
use super::lock::lock;

/// After filing was stopped it is tried again with what comes after a second, and after twice as long each time, at most a minute.
const TRY_AGAIN_FIRST: Duration = Duration::from_secs(1);
const TRY_AGAIN_LAST: Duration = Duration::from_secs(60);
/// While the disk is too full, so often is it looked whether it still is, when somebody asks.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Bytes of a reason for a pause: it has to fit in a reply (RFC 3977, 3.1), and is cut there.
pub const REASON_BYTES_MAX: usize = 200;

/// What waits, and whether more is taken.
#[derive(Debug, Default)]
pub struct IntakeQueue {
    batches: Mutex<VecDeque<ArticleBatch>>,
    came: Condvar,
    /// False only when nothing of `shut` is set: then nobody needs the lock, which CHECK would feel.
    may_be_shut: AtomicBool,
    shut: Mutex<Closures>,
}

#[derive(Debug, Default)]
struct Closures {
    /// What was last told of it.
    told: (IntakeState, Arc<str>),
    /// By an administrator, and why.
    paused: Option<Arc<str>>,
    /// By a fault: why, until when, and how long it was then.
    fault: Option<(Arc<str>, Instant, Duration)>,
    /// The disk is too full: why, and when that was seen.
    full: Option<(Arc<str>, Instant)>,
    /// Where to look, and how many bytes have to stay free.
    disk: Option<(PathBuf, u64)>,
}

/// Why articles are not taken, or that they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IntakeState {
    /// They are.
    #[default]
    Open,
    /// An administrator said so.
    Paused,
    /// Filing was stopped, by an error; it is tried again soon.
    Stopped,
    /// Too little of the disk is free.
    Full,
}

impl IntakeState {
    /// All of them.
    pub const ALL: [IntakeState; 4] = [
        IntakeState::Open,
        IntakeState::Paused,
        IntakeState::Stopped,
        IntakeState::Full,
    ];

    /// The word for it.
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
    /// Puts a batch in. True: the writer has to be told, since nothing waited before.
    pub fn put(&self, batch: ArticleBatch) -> bool {
        let mut batches = lock(&self.batches);
        let was_empty = batches.is_empty();
        batches.push_back(batch);
        self.came.notify_one();
        was_empty
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        lock(&self.batches).is_empty()
    }

    /// The oldest; waits so long for one.
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

    /// None of what waits is taken, for this reason.
    pub fn send_all_back(&self, why: &str) {
        let outcome = TransferOutcome::Deferred(why.as_bytes().to_vec());
        let waiting = std::mem::take(&mut *lock(&self.batches));
        for mut batch in waiting {
            batch.set_remaining(&outcome);
            batch.return_to_sender();
        }
    }

    /// Whether articles are taken.
    pub fn intake(&self) -> Intake {
        if !self.may_be_shut.load(Ordering::Acquire) {
            return Intake::Open;
        }
        match self.intake_state() {
            (IntakeState::Open, _) => Intake::Open,
            (_, why) => Intake::Closed(why),
        }
    }

    /// Whether articles are taken, and why not.
    pub fn intake_state(&self) -> (IntakeState, Arc<str>) {
        let mut shut = lock(&self.shut);
        if let Some((_, seen)) = &shut.full
            && seen.elapsed() >= LOOK_AGAIN
        {
            shut.look_at_disk();
        }
        self.settle(shut)
    }

    /// Filing was stopped, for this reason.
    pub fn stopped(&self, why: &str) {
        let mut shut = lock(&self.shut);
        let pause = match &shut.fault {
            Some((_, _, before)) => (*before * 2).min(TRY_AGAIN_LAST),
            None => TRY_AGAIN_FIRST,
        };
        shut.fault = Some((why.into(), Instant::now() + pause, pause));
        self.settle(shut);
    }

    /// Filing goes well.
    pub fn went_well(&self) {
        if self.may_be_shut.load(Ordering::Acquire) {
            let mut shut = lock(&self.shut);
            shut.fault = None;
            self.settle(shut);
        }
    }

    /// An administrator wants no articles taken, and says why; or wants them taken again.
    pub fn pause(&self, why: Option<&str>) {
        let mut shut = lock(&self.shut);
        shut.paused = why.map(|why| reason(why).into());
        self.settle(shut);
    }

    /// So many bytes have to stay free where `dir` is.
    pub fn watch_disk(&self, dir: &Path, keep_free: u64) {
        let mut shut = lock(&self.shut);
        shut.disk = Some((dir.to_owned(), keep_free));
        shut.full = None;
        shut.look_at_disk();
        self.settle(shut);
    }

    /// Looks how much is free: a system call, to be made where a commit is made anyway.
    pub fn look_at_disk(&self) {
        let mut shut = lock(&self.shut);
        shut.look_at_disk();
        self.settle(shut);
    }

    /// Says what it is now, to the journal too where that has changed.
    fn settle(&self, mut shut: MutexGuard<'_, Closures>) -> (IntakeState, Arc<str>) {
        let may_be_shut = shut.paused.is_some() || shut.fault.is_some() || shut.full.is_some();
        self.may_be_shut.store(may_be_shut, Ordering::Release);
        let (intake_state, why) = shut.intake_state();
        let before = std::mem::replace(&mut shut.told, (intake_state, why.clone()));
        drop(shut);
        // How full a disk is changes all the time, and is the same reason.
        let is_other_reason = intake_state == IntakeState::Paused && why != before.1;
        if intake_state != before.0 || is_other_reason {
            let mut fields: journal::Fields = vec![("state", intake_state.word().into())];
            if intake_state != IntakeState::Open {
                fields.push(("why", (&*why).into()));
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
        let Ok(told) = rustix::fs::statvfs(dir) else {
            return;
        };
        let free = told.f_bavail.saturating_mul(told.f_frsize);
        // Not open and shut at every other article.
        let least = match self.full {
            Some(_) => keep_free.saturating_add(keep_free / 16),
            None => *keep_free,
        };
        self.full = (free < least).then(|| {
            let why = format!(
                "The disk is too full: {} are free, and {} stay free",
                groups::size::rough_bytes(free),
                groups::size::rough_bytes(*keep_free)
            );
            (why.into(), Instant::now())
        });
    }
}

/// A reason as replies can have it: in one line, and not too long.
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
        intake_queue.watch_disk(&dir, 0);
        assert_eq!(intake_queue.intake(), Intake::Open);
    }
}
