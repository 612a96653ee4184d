//! The state shared by the network threads.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use access::{Access, Rights};
use nntp::Capabilities;

use crate::counts::Counts;
use crate::plan::{ArticleSink, ConfigSnapshot, Plan};
use crate::reservations::Reservations;
use crate::shares::Shares;
use crate::socket::Listener;
use crate::token::Token;
use crate::waiting_posts::WaitingPosts;
use crate::worker_pool::WorkerPool;

/// Articles of peers that wait for their commit, of all connections, bytes: 64 MiB. Above it, peers are not read.
pub const IN_FLIGHT_ALL_BYTES_MAX: usize = 64 << 20;
/// Incomplete articles and commands of all connections, bytes: 256 MiB.
pub const HELD_BYTES_MAX: usize = 256 << 20;
/// Share of these that each address is sure of, bytes: 8 MiB.
pub const HELD_SHARE_BYTES_MAX: usize = 8 << 20;
/// Incomplete TLS handshakes of all connections, bytes: 32 MiB.
pub const HANDSHAKE_BYTES_MAX: usize = 32 << 20;
/// Share of these that each address is sure of, bytes: 512 KiB.
pub const HANDSHAKE_SHARE_BYTES_MAX: usize = 512 << 10;

/// Threads that fetch articles from the object store, at most.
pub const FETCH_THREADS_MAX: usize = 8;
/// Idle time after which such a thread ends.
const FETCH_IDLE: Duration = Duration::from_secs(30);

/// The state shared by the network threads.
pub(crate) struct Shared {
    pub sink: Arc<dyn ArticleSink>,
    pub reservations: Reservations,
    pub counts: Arc<Counts>,
    pub workers: WorkerPool,
    /// For articles in the object store.
    pub fetchers: WorkerPool,
    /// The object store did not answer the last time.
    pub is_object_store_down: AtomicBool,
    /// Bytes of articles of peers that wait for their commit.
    pub in_flight: AtomicUsize,
    /// Posts that wait for their commit.
    pub posts: Arc<WaitingPosts>,
    /// Incomplete articles and commands.
    pub held: Shares,
    /// Incomplete TLS handshakes.
    pub handshakes: Shares,
    pub floods: Mutex<access::Floods>,
    pub failed_logins: Mutex<access::Floods>,
    config: RwLock<Arc<ConfigSnapshot>>,
    addresses: Mutex<HashMap<IpAddr, usize>>,
    /// Logged damage of the store: files and offsets.
    damage: Mutex<HashSet<(PathBuf, u64)>>,
}

/// Damaged positions remembered, so that each is logged once; above it, all are forgotten.
pub const DAMAGE_REMEMBERED_MAX: usize = 1024;

impl Shared {
    /// The settings in force.
    pub fn config(&self) -> Arc<ConfigSnapshot> {
        let config = self.config.read();
        config.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn access(&self) -> Arc<Access> {
        self.config().access.clone()
    }

    /// Removes the incomplete input of a connection from the bound.
    pub fn let_go_held(&self, token: Token) {
        if self.held.let_go(token) {
            self.sink.input_freed();
        }
    }

    /// Replaces the settings.
    pub fn reload(&self, config: ConfigSnapshot) {
        let now = self.config.write();
        *now.unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }

    pub fn capabilities(&self) -> Arc<Capabilities> {
        self.config().capabilities.clone()
    }

    /// The capabilities offered to clients with these rights.
    pub fn capabilities_for(&self, rights: &Rights) -> Arc<Capabilities> {
        let capabilities = self.capabilities();
        let without = &rights.entry().without;
        if without.is_empty() {
            return capabilities;
        }
        let mut capabilities = Capabilities::clone(&capabilities);
        let off = without.iter().map(|feature| feature.capability());
        capabilities.disabled.extend(off);
        Arc::new(capabilities)
    }

    pub fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        let config = self.config();
        let certificates = config.certificates.as_ref();
        certificates.map(|certificates| certificates.config().clone())
    }

    /// Counts a connection of an address (of IPv6, its /64 network). Returns false if it has `most` already.
    pub fn enter(&self, address: IpAddr, most: usize) -> bool {
        let mut addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let address = access::counted(address);
        let count = addresses.get(&address).copied().unwrap_or(0);
        if count >= most {
            return false;
        }
        addresses.insert(address, count + 1);
        true
    }

    /// Number of connections of an address.
    pub fn count(&self, address: IpAddr) -> usize {
        let addresses = self.addresses.lock();
        let addresses = addresses.unwrap_or_else(PoisonError::into_inner);
        let count = addresses.get(&access::counted(address));
        count.copied().unwrap_or(0)
    }

    pub fn leave(&self, address: IpAddr) {
        let mut addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let address = access::counted(address);
        if let Some(count) = addresses.get_mut(&address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                addresses.remove(&address);
            }
        }
    }

    /// Notes damage at an offset of a file. Returns false if it was noted before.
    pub fn note_damage(&self, path: &Path, offset: u64) -> bool {
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        if damage.len() >= DAMAGE_REMEMBERED_MAX {
            damage.clear();
        }
        damage.insert((path.to_owned(), offset))
    }

    /// Whether so many articles of peers wait for their commit that peers are not read.
    pub fn is_full(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) >= IN_FLIGHT_ALL_BYTES_MAX
    }
}

/// Makes the shared state and the listeners of a server.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn share(plan: Plan) -> std::io::Result<(Arc<Shared>, Arc<Vec<Listener>>)> {
    let shared = Arc::new(Shared {
        sink: plan.sink,
        reservations: Reservations::default(),
        counts: Arc::default(),
        workers: WorkerPool::new(plan.spawn.clone()),
        fetchers: WorkerPool::with(FETCH_THREADS_MAX, FETCH_IDLE, plan.spawn),
        is_object_store_down: AtomicBool::new(false),
        in_flight: AtomicUsize::new(0),
        posts: Arc::default(),
        held: Shares::new(HELD_BYTES_MAX, HELD_SHARE_BYTES_MAX),
        handshakes: Shares::new(HANDSHAKE_BYTES_MAX, HANDSHAKE_SHARE_BYTES_MAX),
        floods: Mutex::new(access::Floods::new()),
        failed_logins: Mutex::new(access::Floods::new()),
        config: RwLock::new(Arc::new(plan.config)),
        addresses: Mutex::default(),
        damage: Mutex::default(),
    });
    Ok((shared, Arc::new(plan.listeners)))
}
