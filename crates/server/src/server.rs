//! The server as a whole: its threads and what they share.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use access::{Access, Rights};
use nntp::{Intake, Terms};
use store::{Board, Stacks};

use crate::certificates::Certificates;
use crate::counts::Counts;
use crate::event::Event;
use crate::library::Library;
use crate::mailbox::{Letter, Mailbox};
use crate::network::Network;
use crate::offers::Offers;
use crate::parcel::Parcel;
use crate::slow::Slow;
use crate::socket::Listening;

/// Bytes of articles on their way to the disk in all; then nothing more is read from peers: 64 MiB.
pub const ON_THE_WAY_ALL_BYTES_MAX: usize = 64 << 20;

/// Where articles are filed: one thread of the program, or the program itself.
pub trait Newsroom: Send + Sync {
    /// Takes articles. Each parcel goes back to its sender, in the order in which they came.
    fn file(&self, parcel: Parcel);

    /// Whether articles are taken.
    fn intake(&self) -> Intake;

    /// Something the administrator may want to know.
    fn tell(&self, event: &Event<'_>) {
        let _ = event;
    }

    /// A network thread is about to look at the store. Where others write it, this is the time to see that.
    fn before_turn(&self) {}
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
    pub board: Arc<Board>,
    /// Where articles go.
    pub newsroom: Arc<dyn Newsroom>,
    /// Who may do what.
    pub access: Arc<Access>,
    /// What is offered.
    pub terms: Terms,
    /// Where to listen.
    pub doors: Vec<Listening>,
    /// For TLS.
    pub certificates: Option<Arc<Certificates>>,
    /// Time limits.
    pub times: Times,
    /// Network threads; at least one.
    pub threads: usize,
    /// Connections at most.
    pub connections_max: usize,
    /// Connections from one address at most.
    pub connections_per_address_max: usize,
}

/// What the network threads share.
pub(crate) struct Shared {
    pub newsroom: Arc<dyn Newsroom>,
    pub offers: Offers,
    pub counts: Arc<Counts>,
    pub slow: Slow,
    pub times: Times,
    pub connections_max: usize,
    pub connections_per_address_max: usize,
    pub on_the_way: AtomicUsize,
    /// Bytes of articles that are not whole.
    pub held: AtomicUsize,
    pub floods: Mutex<access::PostFloods>,
    terms: RwLock<Arc<Terms>>,
    access: RwLock<Arc<Access>>,
    certificates: Option<Arc<Certificates>>,
    addresses: Mutex<HashMap<IpAddr, usize>>,
}

impl Shared {
    pub fn access(&self) -> Arc<Access> {
        let access = self.access.read().unwrap_or_else(PoisonError::into_inner);
        access.clone()
    }

    pub fn terms(&self) -> Arc<Terms> {
        let terms = self.terms.read().unwrap_or_else(PoisonError::into_inner);
        terms.clone()
    }

    /// What is offered to those with these rights.
    pub fn terms_for(&self, rights: &Rights) -> Arc<Terms> {
        let terms = self.terms();
        let without = &rights.entry().without;
        if without.is_empty() {
            return terms;
        }
        let mut terms = Terms::clone(&terms);
        let words = access::Feature::ALL.iter();
        let off = words.filter(|(_, feature)| without.contains(feature));
        terms
            .switched_off
            .extend(off.map(|(word, _)| word.to_ascii_uppercase()));
        Arc::new(terms)
    }

    pub fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        self.certificates
            .as_ref()
            .map(|certificates| certificates.config().clone())
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

    pub fn is_full(&self) -> bool {
        self.on_the_way.load(Ordering::Relaxed) >= ON_THE_WAY_ALL_BYTES_MAX
    }
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The news directory cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// No threads, or no descriptors.
    #[error("the server cannot start: {0}")]
    System(#[from] std::io::Error),
}

/// A running server. Dropped, it ends.
pub struct Server {
    shared: Arc<Shared>,
    mailboxes: Vec<Arc<Mailbox>>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts the threads.
    ///
    /// # Errors
    /// A thread cannot be made, or the store cannot be read.
    pub fn start(plan: Plan) -> Result<Server, Error> {
        let (dir, board, threads) = (plan.dir.clone(), plan.board.clone(), plan.threads);
        let (shared, doors) = share(plan);
        let mut server = Server {
            shared: shared.clone(),
            mailboxes: Vec::new(),
            threads: Vec::new(),
        };
        for number in 0..threads.max(1) {
            let stacks = Stacks::open(&dir, board.clone())?;
            let library = Library::new(&dir, stacks);
            let mailbox = Arc::new(Mailbox::new()?);
            let number = u16::try_from(number).unwrap_or(u16::MAX);
            let ours = (shared.clone(), mailbox.clone(), doors.clone());
            let mut network = Network::new(number, library, ours)?;
            let thread = std::thread::Builder::new().name(format!("network {number}"));
            server.threads.push(thread.spawn(move || network.run())?);
            server.mailboxes.push(mailbox);
        }
        Ok(server)
    }

    /// What was counted.
    pub fn counts(&self) -> &Arc<Counts> {
        &self.shared.counts
    }

    /// Network threads.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Bytes of articles on their way to the disk.
    pub fn on_the_way_bytes(&self) -> usize {
        self.shared.on_the_way.load(Ordering::Relaxed)
    }

    /// True where there is a certificate.
    pub fn has_tls(&self) -> bool {
        self.shared.tls().is_some()
    }

    /// Goes by other rules from now on; connections are asked anew.
    pub fn reload(&self, access: Arc<Access>, terms: Terms) {
        let mut place = self
            .shared
            .access
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *place = access;
        drop(place);
        let mut place = self
            .shared
            .terms
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *place = Arc::new(terms);
        drop(place);
        for mailbox in &self.mailboxes {
            mailbox.put(Letter::Reloaded);
        }
    }

    /// Ends all connections and waits for the threads.
    pub fn stop(&mut self) {
        for mailbox in &self.mailboxes {
            mailbox.put(Letter::Stop);
        }
        for thread in self.threads.drain(..) {
            // It panics never; if it did, there is nothing to save.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the threads of a server share, and its doors.
fn share(plan: Plan) -> (Arc<Shared>, Arc<Vec<Listening>>) {
    let shared = Arc::new(Shared {
        newsroom: plan.newsroom,
        offers: Offers::default(),
        counts: Arc::default(),
        slow: Slow::new(),
        times: plan.times,
        connections_max: plan.connections_max,
        connections_per_address_max: plan.connections_per_address_max,
        on_the_way: AtomicUsize::new(0),
        held: AtomicUsize::new(0),
        floods: Mutex::new(access::PostFloods::new()),
        terms: RwLock::new(Arc::new(plan.terms)),
        access: RwLock::new(plan.access),
        certificates: plan.certificates,
        addresses: Mutex::default(),
    });
    (shared, Arc::new(plan.doors))
}

/// Serves one connection, in this thread, to its end: for inetd and the like. `address`: where it comes from; `None`: this machine.
///
/// # Errors
/// The store cannot be read.
pub fn serve_one(plan: Plan, socket: OwnedFd, address: Option<SocketAddr>) -> Result<(), Error> {
    let stacks = Stacks::open(&plan.dir, plan.board.clone())?;
    let library = Library::new(&plan.dir, stacks);
    let mailbox = Arc::new(Mailbox::new()?);
    let (shared, doors) = share(plan);
    Network::new(0, library, (shared, mailbox, doors))?.run_for(socket, address);
    Ok(())
}
