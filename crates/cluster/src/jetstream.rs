//! The log in NATS JetStream, in a thread of its own: it appends entries, and tells all entries in their order.
//!
//! An entry that was given to [`Log::append`] is sent again until the servers acknowledge it; they drop repetitions by the id of the
//! message. It is then on the disks of most servers ([`crate::demands`]).

mod commands;
mod connection;
mod leases;
mod nodes;
mod run;
pub mod segments;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, oneshot};

pub use commands::{announce, announce_stop, append, begin, feeder, find, leave, members};
pub use connection::{new_login, public_key};

use crate::feeding::FeedCursors;
use crate::log::{Bytes, Clock, LogEvent, LogOptions, WAITING_BYTES_MAX};
use crate::members::Mark;

/// Time within which the servers drop repetitions of an entry. A node that repeats one later appends it twice; the second copy is refused
/// as duplicates by all nodes.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(600);
/// The unit of the semaphore that bounds waiting entries, bytes.
const UNIT_BYTES: usize = 1 << 10;

/// An entry on its way to the servers.
#[derive(Debug)]
struct Append {
    counter: u64,
    message_id: String,
    bytes: Bytes,
}

/// Work for the thread.
#[derive(Debug)]
enum Work {
    Append(Append),
    Mark(Mark),
}

/// Work for the part of the thread that serves the lease of the feeds.
#[derive(Debug)]
enum FeedWork {
    Want(bool),
    Read,
    /// True with the first cursors of a process, which may replace those of another one.
    Tell(FeedCursors, bool),
}

/// The way to the lease of the feeds and to the cursors. The answers come as [`LogEvent::Feeds`]. It does nothing after the log was dropped.
#[derive(Debug, Clone)]
pub struct FeedLease(UnboundedSender<FeedWork>);

impl FeedLease {
    /// Wants the lease from now on, or gives it back.
    pub fn want(&self, wants: bool) {
        let _ = self.0.send(FeedWork::Want(wants));
    }

    /// Asks for the cursors: [`FeedNews::Cursors`] or [`FeedNews::Untold`] follows. Call it before [`FeedLease::tell`].
    pub fn read(&self) {
        let _ = self.0.send(FeedWork::Read);
    }

    /// Tells the cursors, if no other process has told its own since they were read: [`FeedNews::Told`] or [`FeedNews::Untold`] follows.
    /// Only the first cursors of a process may replace those of another one.
    pub fn tell(&self, cursors: FeedCursors, is_first: bool) {
        let _ = self.0.send(FeedWork::Tell(cursors, is_first));
    }
}

/// The open log. Dropping it ends the thread.
#[derive(Debug)]
pub struct Log {
    work: UnboundedSender<Work>,
    feeds: FeedLease,
    room: Arc<Semaphore>,
    /// Dropping it ends the thread.
    _stop: oneshot::Sender<()>,
}

impl Log {
    /// Opens the log, to read it from the entry behind `after` on, in a thread that `spawn` starts. `tell` is called in the thread, and must
    /// not wait. `process` is the random number of this process, and `clock` counts the lease of the feeds.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn open(
        options: LogOptions,
        after: u64,
        (process, clock): (u64, Clock),
        tell: impl Fn(LogEvent) + Send + 'static,
        spawn: &dyn Fn(Box<dyn FnOnce() + Send>) -> io::Result<()>,
    ) -> io::Result<Log> {
        let (work, waiting) = unbounded_channel();
        let (feeds, waiting_feeds) = unbounded_channel();
        let leasing = run::Leasing {
            process,
            clock,
            work: waiting_feeds,
        };
        let room = Arc::new(Semaphore::new(WAITING_BYTES_MAX / UNIT_BYTES));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let bounds = room.clone();
        let (stop, is_stopped) = oneshot::channel();
        spawn(Box::new(move || {
            let serve = async {
                tokio::select! {
                    () = run::run(options, after, (waiting, leasing), bounds, tell) => {}
                    _ = is_stopped => {}
                }
            };
            runtime.block_on(tokio::task::LocalSet::new().run_until(serve));
        }))?;
        Ok(Log {
            work,
            feeds: FeedLease(feeds),
            room,
            _stop: stop,
        })
    }

    /// Appends an entry. `counter` comes back with its result. The same `message_id` never makes two entries within ten minutes.
    pub fn append(&self, counter: u64, message_id: String, bytes: Bytes) {
        // A thread that has ended said so ([`LogEvent::Stopped`]), and gives no result.
        let _ = self.work.send(Work::Append(Append {
            counter,
            message_id,
            bytes,
        }));
    }

    /// Puts a mark of this node among those of the others, which come back as [`LogEvent::Members`]; and trims the log, if it is more than
    /// half full. A mark that cannot be put is put again, unless there is a newer one.
    pub fn mark(&self, mark: Mark) {
        let _ = self.work.send(Work::Mark(mark));
    }

    /// The lease of the feeds.
    pub fn feeds(&self) -> FeedLease {
        self.feeds.clone()
    }

    /// Notes that an entry of so many bytes was applied, so that another may be told.
    pub fn applied(&self, bytes: usize) {
        self.room.add_permits(units(bytes));
    }
}

/// The units of an entry of so many bytes.
fn units(bytes: usize) -> usize {
    (bytes / UNIT_BYTES + 1).min(WAITING_BYTES_MAX / UNIT_BYTES)
}

/// The configuration of a stream that meets all demands. `bytes_max` bounds its size: then appending fails, and nothing falls out.
pub fn stream_config(stream: &str, subject: &str, replicas: usize, bytes_max: i64) -> Config {
    Config {
        name: stream.to_owned(),
        subjects: vec![subject.to_owned()],
        description: Some("The log of a Broadsheet cluster".to_owned()),
        max_bytes: bytes_max,
        discard: DiscardPolicy::New,
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        num_replicas: replicas,
        duplicate_window: DUPLICATE_WINDOW,
        deny_delete: true,
        ..Config::default()
    }
}
