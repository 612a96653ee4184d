//! The words that the log and its user exchange: settings, news, errors. All of it exists in a build without [`crate::jetstream`], too.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use bytes::Bytes;

use crate::decisions::DecisionRange;
use crate::feeding::FeedCursors;
use crate::lease::Claim;
use crate::members::{Members, StopMark};

/// Most bytes of entries that the thread of the log has told and that are not yet applied; then the thread waits.
pub const WAITING_BYTES_MAX: usize = 32 << 20;

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
    #[cfg(feature = "jetstream")]
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

/// What the node that feeds is told.
#[derive(Debug)]
pub enum FeedNews {
    /// The last word about the lease.
    Lease {
        /// The value of the lease.
        claim: Option<Claim>,
        /// The end of the lease of this node, by the clock of [`Clock`], if it holds it.
        until: Option<Duration>,
    },
    /// The cursors, as they were asked for.
    Cursors(FeedCursors),
    /// The cursors are told.
    Told,
    /// The cursors were not told, or cannot be read, for this reason. True: another node has told its own since.
    Untold(String, bool),
}

/// The clock of the lease: the time since any moment, the same for all threads. It must run while the machine sleeps.
pub type Clock = fn() -> Duration;

/// The reason why the log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The log may be usable later.
    #[error("{0}")]
    Down(String),
    /// An administrator has to change something.
    #[error("{0}")]
    Stopped(String),
}

impl LogError {
    /// An error of the connection or of a request.
    pub fn down(doing: &str, error: impl std::error::Error) -> LogError {
        let mut text = format!("{doing}: {error}");
        let mut source = error.source();
        while let Some(inner) = source {
            let inner_text = inner.to_string();
            if !text.contains(&inner_text) {
                text = format!("{text}: {inner_text}");
            }
            source = inner.source();
        }
        LogError::Down(text)
    }
}

/// The identity of a log, which the stream keeps beside the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogIdentity {
    /// The random name of the log, without blanks: a stream that was made again is another log.
    pub name: String,
    /// The state that nodes must have before the first entry, without blanks.
    pub base: String,
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
