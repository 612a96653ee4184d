//! Batches that arrive in in.coming/: inotify wakes the writer, which files them.

use std::io;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::Arc;

use relay::Error;
use relay::bad_batches::TEMPORARY;
use relay::incoming::{Drain, INCOMING, Name, STOP};
use relay::outlet::Outlet;
use relay::rnews::Watch;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

use super::feeds::Feeds;
use super::warn;
use super::writer_handle::WriterHandle;

/// Buffer for the events of one wake-up.
const EVENTS_BYTES: usize = 16 << 10;

/// Watches in.coming/ in a thread. Batches that are there already are filed immediately.
///
/// # Errors
/// The directory cannot be watched.
pub fn start(dir: &Path, writer: Arc<WriterHandle>) -> io::Result<()> {
    let watched = dir.join(INCOMING);
    store::make_directories(&watched, 0o777)?;
    let events = init(CreateFlags::CLOEXEC)?;
    // ATTRIB: an unreadable file may have become readable.
    let wanted = WatchFlags::CLOSE_WRITE
        | WatchFlags::MOVED_TO
        | WatchFlags::ATTRIB
        | WatchFlags::DELETE
        | WatchFlags::ONLYDIR;
    add_watch(&events, &watched, wanted)?;
    let thread = std::thread::Builder::new().name("in.coming".to_owned());
    thread.spawn(move || {
        let mut space = [MaybeUninit::uninit(); EVENTS_BYTES];
        let mut events = Reader::new(events, &mut space);
        writer.drain();
        let mut is_due = false;
        loop {
            let told = events.next().map(|event| {
                let name = event.file_name().map_or(&b""[..], |name| name.to_bytes());
                if !event.events().contains(ReadFlags::DELETE)
                    && let Some(name) = Name::parse(name)
                {
                    writer.is_fresh(name);
                }
                is_batch(event.events(), name)
            });
            match told {
                Ok(is_batch) => is_due |= is_batch,
                Err(Errno::INTR) => {}
                Err(error) => {
                    warn(&format!("in.coming/ is no longer watched: {error}"));
                    return;
                }
            }
            // One check for all events of a wake-up.
            if is_due && events.is_buffer_empty() {
                is_due = false;
                writer.drain();
            }
        }
    })?;
    Ok(())
}

/// Whether an event may mean a new batch. A batch is written under a temporary name and then linked to
/// its own: it is complete when the first name is removed. `newsrunning on` removes the stop file.
fn is_batch(events: ReadFlags, name: &[u8]) -> bool {
    let is_temporary = name.starts_with(TEMPORARY.as_bytes());
    if events.contains(ReadFlags::DELETE) {
        return is_temporary || name == STOP.as_bytes();
    }
    !is_temporary
}

/// The state of in.coming/ after a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// No untried batch waits.
    No,
    /// Batches may wait, but the writer has other work.
    ForUs,
    /// Another drain runs.
    ForAnother,
}

/// Files the waiting batches, unless another drain runs: some files at least, and then more until `is_over`.
///
/// # Errors
/// in.coming/ cannot be read.
pub fn drain(
    drain: &mut Drain,
    outlet: &mut dyn Outlet,
    feeds: &Feeds,
    is_over: &dyn Fn() -> bool,
) -> Result<Waits, Error> {
    while !drain.is_over() && drain.is_waiting()? {
        let Some(lock) = drain.take_lock()? else {
            return Ok(Waits::ForAnother);
        };
        drain.run(&lock, outlet, &mut Journal { feeds, is_over })?;
        feeds.tell();
        if is_over() {
            return Ok(Waits::ForUs);
        }
    }
    Ok(Waits::No)
}

/// Reports files in in.coming/ with names that no batch has.
///
/// # Errors
/// in.coming/ cannot be read.
pub fn report_others(drain: &mut Drain, feeds: &Feeds) -> Result<(), Error> {
    let is_over = &|| false;
    drain.report_others(&mut Journal { feeds, is_over })
}

/// Sends messages to the journal.
struct Journal<'a> {
    feeds: &'a Feeds,
    is_over: &'a dyn Fn() -> bool,
}

impl Watch for Journal<'_> {
    fn message(&mut self, text: &str) {
        warn(text);
    }

    fn progress(&mut self, _bytes: u64, _articles: u64) {
        self.feeds.tell();
    }

    fn is_over(&self) -> bool {
        (self.is_over)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_written_is_no_batch_yet() {
        assert!(!is_batch(ReadFlags::CLOSE_WRITE, b"nspool.7"));
        assert!(is_batch(ReadFlags::DELETE, b"nspool.7"));
        assert!(is_batch(ReadFlags::MOVED_TO, b"700000000.7.t"));
        assert!(is_batch(ReadFlags::CLOSE_WRITE, b"700000000.7.t"));
        assert!(is_batch(ReadFlags::DELETE, b"stop"));
        // What a drain removes.
        assert!(!is_batch(ReadFlags::DELETE, b"700000000.7.t"));
    }
}
