//! What the network threads share.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use access::{Access, Rights};
use nntp::Capabilities;

use crate::counts::Counts;
use crate::plan::{ArticleSink, ConfigSnapshot, Plan};
use crate::reservations::Reservations;
use crate::shares::Shares;
use crate::socket::Listener;
use crate::worker_pool::WorkerPool;

/// Bytes of articles on their way to the disk in all; then nothing more is read from peers: 64 MiB.
pub const ON_THE_WAY_ALL_BYTES_MAX: usize = 64 << 20;
/// Bytes of articles (and commands) that are not whole, of all connections: 256 MiB.
pub const HELD_BYTES_MAX: usize = 256 << 20;
/// Bytes of these that an address may have before it counts as greedy: 8 MiB.
pub const HELD_SHARE_BYTES_MAX: usize = 8 << 20;
/// Bytes of TLS handshakes that are not over, of all connections: 32 MiB.
pub const HANDSHAKE_BYTES_MAX: usize = 32 << 20;
/// Bytes of these that an address may have before it counts as greedy: 512 KiB.
pub const HANDSHAKE_SHARE_BYTES_MAX: usize = 512 << 10;

/// What the network threads share.
pub(crate) struct Shared {
    pub sink: Arc<dyn ArticleSink>,
    pub reservations: Reservations,
    pub counts: Arc<Counts>,
    pub slow: WorkerPool,
    pub on_the_way: AtomicUsize,
    /// What is not whole: articles above all.
    pub held: Shares,
    /// TLS handshakes that are not over.
    pub handshakes: Shares,
    pub floods: Mutex<access::PostFloods>,
    config: RwLock<Arc<ConfigSnapshot>>,
    addresses: Mutex<HashMap<IpAddr, usize>>,
    /// Damage of the store that was told: files and offsets.
    damage: Mutex<HashSet<(PathBuf, u64)>>,
}

/// Damaged places of the store that are remembered, so that each is told once; beyond that all are told again.
pub const DAMAGE_TOLD_MAX: usize = 1024;

impl Shared {
    /// What it goes by now.
    pub fn config(&self) -> Arc<ConfigSnapshot> {
        let config = self.config.read();
        config.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn access(&self) -> Arc<Access> {
        self.config().access.clone()
    }

    /// Goes by something else from now on.
    pub fn reload(&self, config: ConfigSnapshot) {
        let now = self.config.write();
        *now.unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }

    pub fn capabilities(&self) -> Arc<Capabilities> {
        self.config().capabilities.clone()
    }

    /// What is offered to those with these rights.
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

    /// True when the address (of IPv6, its network of 64 bits) may have one connection more: then it has.
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

    /// How many connections an address has.
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

    /// True when the damage at a place of a file was not told before.
    pub fn note_damage(&self, path: &Path, offset: u64) -> bool {
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        if damage.len() >= DAMAGE_TOLD_MAX {
            damage.clear();
        }
        damage.insert((path.to_owned(), offset))
    }

    pub fn is_full(&self) -> bool {
        self.on_the_way.load(Ordering::Relaxed) >= ON_THE_WAY_ALL_BYTES_MAX
    }
}

/// What the threads of a server share, and its doors.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn share(plan: Plan) -> std::io::Result<(Arc<Shared>, Arc<Vec<Listener>>)> {
    let shared = Arc::new(Shared {
        sink: plan.sink,
        reservations: Reservations::new(store::random_hash_key()?),
        counts: Arc::default(),
        slow: WorkerPool::new(plan.spawn),
        on_the_way: AtomicUsize::new(0),
        held: Shares::new(HELD_BYTES_MAX, HELD_SHARE_BYTES_MAX),
        handshakes: Shares::new(HANDSHAKE_BYTES_MAX, HANDSHAKE_SHARE_BYTES_MAX),
        floods: Mutex::new(access::PostFloods::new()),
        config: RwLock::new(Arc::new(plan.config)),
        addresses: Mutex::default(),
        damage: Mutex::default(),
    });
    Ok((shared, Arc::new(plan.listeners)))
}
