//! The server as a whole: its threads.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use store::LiveReader;

use crate::counts::Counts;
use crate::mailbox::{Mailbox, Message};
use crate::network::Network;
use crate::plan::{ConfigSnapshot, Plan};
use crate::shared::{Shared, share};
use crate::thread_store::ThreadStore;

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
        let (dir, published, threads) = (plan.dir.clone(), plan.published.clone(), plan.threads);
        let begin = plan.begin.clone();
        let (shared, listeners) = share(plan)?;
        let mut server = Server {
            shared: shared.clone(),
            mailboxes: Vec::new(),
            threads: Vec::new(),
        };
        for number in 0..threads.max(1) {
            let live_reader = LiveReader::open(&dir, published.clone())?;
            let store = ThreadStore::new(&dir, live_reader);
            let mailbox = Arc::new(Mailbox::new()?);
            let number = u16::try_from(number).unwrap_or(u16::MAX);
            let ours = (shared.clone(), mailbox.clone(), listeners.clone());
            let mut network = Network::new(number, store, ours)?;
            let thread = std::thread::Builder::new().name(format!("network {number}"));
            let begin = begin.clone();
            let run = move || {
                begin();
                network.run();
            };
            server.threads.push(thread.spawn(run)?);
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

    /// Goes by something else from now on; connections are asked anew.
    pub fn reload(&self, config: ConfigSnapshot) {
        self.shared.reload(config);
        for mailbox in &self.mailboxes {
            mailbox.put(Message::Reloaded);
        }
    }

    /// Ends all connections and waits for the threads.
    pub fn stop(&mut self) {
        for mailbox in &self.mailboxes {
            mailbox.put(Message::Stop);
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

/// Serves one connection, in this thread, to its end: for inetd and the like. `address`: where it comes from; `None`: this machine.
///
/// # Errors
/// The store cannot be read.
pub fn serve_one(plan: Plan, socket: OwnedFd, address: Option<SocketAddr>) -> Result<(), Error> {
    let live_reader = LiveReader::open(&plan.dir, plan.published.clone())?;
    let store = ThreadStore::new(&plan.dir, live_reader);
    let mailbox = Arc::new(Mailbox::new()?);
    (plan.begin)();
    let (shared, listeners) = share(plan)?;
    Network::new(0, store, (shared, mailbox, listeners))?.run_for(socket, address);
    Ok(())
}
