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
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, oneshot};

pub use bytes::Bytes;
pub use commands::{announce, announce_stop, append, begin, feeder, find, leave, members};
pub use connection::{LogError, LogIdentity, new_login, public_key};
pub use leases::{Clock, FeedNews};

use crate::decisions::DecisionRange;
use crate::feeding::FeedCursors;
use crate::members::{Mark, Members, StopMark};

/// Most bytes of entries that the thread has told and that are not yet applied; then the thread waits.
pub const WAITING_BYTES_MAX: usize = 32 << 20;
/// Time within which the servers drop repetitions of an entry. A node that repeats one later appends it twice; the second copy is refused
/// as duplicates by all nodes.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(600);
/// The unit of the semaphore that bounds waiting entries, bytes.
const UNIT_BYTES: usize = 1 << 10;

/// The servers and the stream of a log, and the way to them.
#[derive(Debug, Clone, Default)]
pub struct LogOptions {
    /// Addresses of the servers: `nats://HOST:PORT`, `tls://HOST:PORT`.
    pub servers: Vec<String>,
    /// The stream.
    pub stream: String,
    /// The subject of its messages.
    pub subject: String,
    /// The name of this node, by which the others know it.
    pub node: String,
    /// The key (an NKEY seed, `SU...`) of a user who may use the stream. It signs, and does not go over the network.
    pub login: Option<String>,
    /// The key of a user of the system account, who may ask the servers for their settings.
    pub system_login: Option<String>,
    /// Certificates of CAs, in addition to those of the system.
    pub ca: Option<PathBuf>,
    /// The name of the log that the stream must be; empty: any.
    pub log: String,
    /// Replicas that the stream must have.
    pub replicas: usize,
    /// The largest entry, bytes.
    pub entry_bytes_max: usize,
    /// The versions of the decisions that this build can apply: each mark of this node tells them.
    pub decisions: DecisionRange,
}

/// The reason for which a node takes settings from an entry of the log: they name programs and files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsGuard {
    /// They were made with the login of the nodes.
    Login(String),
    /// The nodes have no login, but nobody on a network can pose as the servers.
    Servers,
    /// There is none: it takes no settings.
    Missing,
}

impl LogOptions {
    /// The reason for which a node takes settings from an entry.
    pub fn settings_guard(&self) -> SettingsGuard {
        match &self.login {
            Some(login) => SettingsGuard::Login(login.clone()),
            None if self.is_guarded() => SettingsGuard::Servers,
            None => SettingsGuard::Missing,
        }
    }

    /// Whether nobody on a network can pose as the servers: all are reached by TLS, or are on this machine.
    fn is_guarded(&self) -> bool {
        let mut servers = self.servers.iter();
        !self.servers.is_empty() && servers.all(|server| is_tls(server) || is_here(server))
    }

    /// Whether all servers are reached by TLS.
    pub(crate) fn needs_tls(&self) -> bool {
        !self.servers.is_empty() && self.servers.iter().all(|server| is_tls(server))
    }
}

fn is_tls(server: &str) -> bool {
    server.starts_with("tls://")
}

/// Whether an address, `nats://HOST:PORT` or `HOST:PORT`, is one of this machine.
fn is_here(server: &str) -> bool {
    let rest = server.strip_prefix("nats://").unwrap_or(server);
    // A login, whose end the client decides.
    if rest.contains('@') {
        return false;
    }
    let host = match rest.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or_default(),
        None => rest.split([':', '/']).next().unwrap_or_default(),
    };
    host.parse::<IpAddr>()
        .is_ok_and(|address| address.is_loopback())
}

/// News of the log.
#[derive(Debug)]
pub enum LogEvent {
    /// The servers answer, and meet all demands. The log ends at this sequence number.
    Ready(u64),
    /// The log ends with this entry now. The thread looks at times, however many entries it has told that are not applied.
    End(u64),
    /// The next entry: its sequence number, and its bytes. The numbers follow each other without a gap.
    Entry(u64, Bytes),
    /// The entry with this counter is on the disks.
    Appended(u64),
    /// The entry with this counter is not in the log and never will be, for this reason.
    Refused(u64, String),
    /// A mark was put among those of the other nodes.
    Members(Members),
    /// News of the lease of the feeds, or of the cursors.
    Feeds(FeedNews),
    /// An administrator should know this.
    Warning(String),
    /// The log is not reachable, for this reason; the thread tries again.
    Down(String),
    /// The thread has ended: in an earlier process this node has filed otherwise than most others, as its mark says.
    Outvoted(StopMark),
    /// The thread has ended: going on would lose or change articles. The reason says what to do.
    Stopped(String),
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_guarded_by_tls_or_on_this_machine() {
        let is_guarded = |servers: &[&str]| {
            let servers = servers.iter().map(|server| (*server).to_owned()).collect();
            LogOptions {
                servers,
                ..LogOptions::default()
            }
            .is_guarded()
        };
        for guarded in [
            "tls://nats.example.org:4222",
            "nats://127.0.0.1:4222",
            "nats://[::1]:4222",
            "127.0.0.2:4222",
        ] {
            assert!(is_guarded(&[guarded]), "{guarded}");
            assert!(!is_guarded(&[guarded, "nats://192.0.2.1:4222"]));
        }
        // A name may lead anywhere, and what stands before an `@' is no host.
        for open in [
            "nats://192.0.2.1:4222",
            "nats.example.org:4222",
            "nats://localhost:4222",
            "nats://127.0.0.1:x@192.0.2.1:4222",
            "nats://127.0.0.1@192.0.2.1:4222",
            "ws://127.0.0.1",
            "",
        ] {
            assert!(!is_guarded(&[open]), "{open}");
        }
        assert!(!is_guarded(&[]));
    }

    #[test]
    fn a_login_guards_settings_on_any_way() {
        let mut options = LogOptions {
            servers: vec!["nats://192.0.2.1:4222".to_owned()],
            ..LogOptions::default()
        };
        assert_eq!(options.settings_guard(), SettingsGuard::Missing);
        options.login = Some("SUA".to_owned());
        let guard = SettingsGuard::Login("SUA".to_owned());
        assert_eq!(options.settings_guard(), guard);
        options.servers = vec!["tls://192.0.2.1:4222".to_owned()];
        assert_eq!(options.settings_guard(), guard);
        options.login = None;
        assert_eq!(options.settings_guard(), SettingsGuard::Servers);
    }
}
