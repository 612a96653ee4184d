//! The configuration of a server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use access::Access;
use article::date::LocalZone;
use nntp::{Capabilities, Intake};
use store::Published;

use crate::article_batch::ArticleBatch;
use crate::certificates::Certificates;
use crate::event::Event;
use crate::socket::Listener;
use crate::worker_pool::Spawn;

/// The receiver of article batches: the writer thread, or the program itself.
pub trait ArticleSink: Send + Sync {
    /// Receives a batch. Batches return to their senders in the order of the calls.
    fn file(&self, batch: ArticleBatch);

    /// Whether articles are accepted.
    fn intake(&self) -> Intake;

    /// Whether so many articles are missing here that new clients should use another server.
    fn is_stale(&self) -> bool {
        false
    }

    /// Logs an event.
    fn log(&self, event: &Event<'_>) {
        let _ = event;
    }

    /// Notes that a reader asks for a group. Called often; must not wait.
    fn group_asked(&self, group: &[u8], now: i64) {
        let _ = (group, now);
    }

    /// Called before a network thread reads the store. If other processes write the store, changes are published here.
    fn before_work(&self) {}

    /// Called after much incomplete input was freed: its memory may be given back to the system.
    fn input_freed(&self) {}
}

/// Time limits of connections.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Idle time between commands; RFC 3977, 3.1 demands three minutes at least.
    pub idle: Duration,
    /// Time from the connection to the first command, TLS handshake included.
    pub first: Duration,
}

/// The configuration and resources of a server.
pub struct Plan {
    /// The news directory.
    pub dir: PathBuf,
    /// The writer's published state.
    pub published: Arc<Published>,
    /// Receives the articles.
    pub sink: Arc<dyn ArticleSink>,
    /// The listening sockets.
    pub listeners: Vec<Listener>,
    /// Number of network threads; at least one.
    pub threads: usize,
    /// Starts threads that run the administrator's programs.
    pub spawn: Spawn,
    /// Called first in each network thread, which may confine itself there.
    pub begin: Arc<dyn Fn() + Send + Sync>,
    /// The initial settings.
    pub config: ConfigSnapshot,
}

/// The settings in force. A reload replaces them as a whole.
#[derive(Clone)]
pub struct ConfigSnapshot {
    /// The access rules.
    pub access: Arc<Access>,
    /// The server's time zone, for NEWNEWS and NEWGROUPS without GMT.
    pub zone: &'static dyn LocalZone,
    /// The capabilities.
    pub capabilities: Arc<Capabilities>,
    /// The certificate for TLS, if any.
    pub certificates: Option<Arc<Certificates>>,
    /// Time limits.
    pub times: Times,
    /// Maximum number of connections.
    pub connections_max: usize,
    /// Maximum number of connections from one address.
    pub connections_per_address_max: usize,
}
