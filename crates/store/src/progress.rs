//! The progress of long work on the store: told to an observer, such as a bar on a terminal.

use std::sync::OnceLock;

/// The observer of this process.
static OBSERVER: OnceLock<fn(WorkProgress)> = OnceLock::new();
/// Bytes that are told at once, so that a record costs nothing.
const TOLD_BYTES: u64 = 1 << 20;

/// A step of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkProgress {
    /// Work on so many bytes begins: its name, such as `checking`.
    Begins(&'static str, u64),
    /// The bytes that are done in all.
    Done(u64),
    /// It ends.
    Ends,
}

/// Tells an observer of all long work that begins from now on. Only the first call has an effect.
pub fn observe(observer: fn(WorkProgress)) {
    let _ = OBSERVER.set(observer);
}

/// Long work; its end is told when it goes.
#[derive(Debug, Default)]
pub(crate) struct Work {
    observer: Option<fn(WorkProgress)>,
    done: u64,
    told: u64,
}

impl Work {
    /// Begins work on so many bytes.
    pub fn begin(what: &'static str, bytes: impl FnOnce() -> u64) -> Work {
        let observer = OBSERVER.get().copied();
        if let Some(observer) = observer {
            observer(WorkProgress::Begins(what, bytes()));
        }
        Work {
            observer,
            ..Work::default()
        }
    }

    /// Counts further bytes as done.
    pub fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        if let Some(observer) = self.observer
            && self.done - self.told >= TOLD_BYTES
        {
            self.told = self.done;
            observer(WorkProgress::Done(self.done));
        }
    }

    /// So many bytes are done in all.
    pub fn advance_to(&mut self, done: u64) {
        self.advance(done.saturating_sub(self.done));
    }

    /// The bytes that are done.
    pub fn done(&self) -> u64 {
        self.done
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(observer) = self.observer {
            observer(WorkProgress::Ends);
        }
    }
}
