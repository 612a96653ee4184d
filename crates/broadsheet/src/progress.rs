//! The progress of long work, on a terminal: done of all, the rate, and the time left. Where standard error is no terminal, nothing.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use store::progress::WorkProgress;

/// How often a bar is drawn, times a second.
const DRAWN_HZ: u8 = 4;
/// Work on fewer bytes ends before anybody has read a bar.
const SHOWN_BYTES: u64 = 1 << 20;
/// Bytes of all bytes.
const BYTES: &str = "{msg} {bytes}/{total_bytes} {wide_bar} {bytes_per_sec} {eta}";

/// The bar that is shown; messages go above it.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Long work. Without a terminal it shows nothing.
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// Begins work on so many bytes; `what`: its name, such as `copying`.
    pub fn of_bytes(what: &'static str, bytes: u64) -> Progress {
        let bar = (bytes >= SHOWN_BYTES).then(|| bar(BYTES)).flatten();
        if let Some(bar) = &bar {
            bar.set_length(bytes);
            bar.set_message(what);
            bar.tick();
            show(Some(bar.clone()));
        }
        Progress(bar)
    }

    /// Counts further bytes as done.
    pub fn advance(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.inc(bytes);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            show(None);
            bar.finish_and_clear();
        }
    }
}

/// A bar in this form. `None`: standard error is no terminal.
pub fn bar(template: &str) -> Option<ProgressBar> {
    let style = ProgressStyle::with_template(template).ok()?;
    io::stderr().is_terminal().then(|| {
        let target = ProgressDrawTarget::stderr_with_hz(DRAWN_HZ);
        let bar = ProgressBar::with_draw_target(Some(0), target);
        bar.set_style(style);
        bar
    })
}

/// Shows the progress of the store's work.
pub fn observe_store() {
    if io::stderr().is_terminal() {
        store::progress::observe(of_store);
    }
}

fn of_store(step: WorkProgress) {
    static WORK: Mutex<Option<Progress>> = Mutex::new(None);
    let mut work = WORK.lock().unwrap_or_else(PoisonError::into_inner);
    match step {
        WorkProgress::Begins(what, bytes) => {
            *work = None;
            *work = Some(Progress::of_bytes(what, bytes));
        }
        WorkProgress::Done(bytes) => {
            if let Some(Progress(Some(bar))) = &*work {
                bar.set_position(bytes);
            }
        }
        WorkProgress::Ends => *work = None,
    }
}

fn show(bar: Option<ProgressBar>) {
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Does something while no bar is on the terminal.
pub fn without_bar(act: impl FnOnce()) {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown {
        Some(bar) => bar.suspend(act),
        None => act(),
    }
}
