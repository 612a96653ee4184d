//! What a server is started with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use access::Access;
use nntp::{Capabilities, Intake};
use store::Published;

use crate::article_batch::ArticleBatch;
use crate::certificates::Certificates;
use crate::event::Event;
use crate::socket::Listener;
use crate::worker_pool::Spawn;

/// Where articles are filed: one thread of the program, or the program itself.
pub trait ArticleSink: Send + Sync {
    /// Takes articles. Each batch goes back to its sender, in the order in which they came.
    fn file(&self, batch: ArticleBatch);

    /// Whether articles are taken.
    fn intake(&self) -> Intake;

    /// Something the administrator may want to know.
    fn tell(&self, event: &Event<'_>) {
        let _ = event;
    }

    /// A network thread is about to look at the store. Where others write it, this is the time to see that.
    fn before_work(&self) {}
}

/// How long what may take.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// From one command to the next (RFC 3977, 3.1 asks for three minutes at least).
    pub idle: Duration,
    /// From the connection to the end of the TLS handshake and the first command.
    pub first: Duration,
}

/// What a server needs.
pub struct Plan {
    /// The news directory.
    pub dir: PathBuf,
    /// What the writer tells.
    pub published: Arc<Published>,
    /// Where articles go.
    pub sink: Arc<dyn ArticleSink>,
    /// Where to listen.
    pub listeners: Vec<Listener>,
    /// Network threads; at least one.
    pub threads: usize,
    /// Starts threads that run programs of the administrator.
    pub spawn: Spawn,
    /// Called by each network thread before anything else: it may confine itself.
    pub begin: Arc<dyn Fn() + Send + Sync>,
    /// What it goes by at first.
    pub config: ConfigSnapshot,
}

/// What a server goes by; it may be replaced as a whole while the server runs.
#[derive(Clone)]
pub struct ConfigSnapshot {
    /// Who may do what.
    pub access: Arc<Access>,
    /// What is offered.
    pub capabilities: Arc<Capabilities>,
    /// For TLS.
    pub certificates: Option<Arc<Certificates>>,
    /// Time limits.
    pub times: Times,
    /// Connections at most.
    pub connections_max: usize,
    /// Connections from one address at most.
    pub connections_per_address_max: usize,
}
