//! The server and its threads.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use store::Snapshot;

use crate::connection_status::ConnectionStatus;
use crate::counts::Counts;
use crate::mailbox::{Mailbox, Message};
use crate::network::Network;
use crate::plan::{ConfigSnapshot, Plan};
use crate::reader_counts::ReaderCounts;
use crate::shared::{Shared, share};
use crate::thread_store::ThreadStore;

/// The server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The news directory cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// No threads, or no descriptors.
    #[error("the server cannot start: {0}")]
    System(#[from] std::io::Error),
}

/// A running server. It stops when dropped.
pub struct Server {
    shared: Arc<Shared>,
    mailboxes: Vec<Arc<Mailbox>>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts the threads.
    ///
    /// # Errors
    /// A thread cannot be started, or the store cannot be read.
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
            let snapshot = Snapshot::open_live(&dir, published.clone())?;
            let store = ThreadStore::new(&dir, snapshot);
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

    /// The counters.
    pub fn counts(&self) -> &Arc<Counts> {
        &self.shared.counts
    }

    /// Number of network threads.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Bytes of articles that wait for their commit.
    pub fn in_flight_bytes(&self) -> usize {
        self.shared.in_flight.load(Ordering::Relaxed) + self.shared.posts.bytes()
    }

    /// Replaces the settings; the permissions of all connections are evaluated again.
    pub fn reload(&self, config: ConfigSnapshot) {
        self.shared.reload(config);
        for mailbox in &self.mailboxes {
            mailbox.put(Message::Reloaded);
        }
    }

    /// Asks all network threads whether they still handle messages: the channel is closed when all have answered.
    pub fn ping(&self) -> Receiver<()> {
        let (answer, answers) = channel();
        for mailbox in &self.mailboxes {
            mailbox.put(Message::Ping(answer.clone()));
        }
        answers
    }

    /// Asks all network threads for the state of their connections: one list from each.
    pub fn connections(&self) -> Receiver<Vec<ConnectionStatus>> {
        let (answer, answers) = channel();
        for mailbox in &self.mailboxes {
            mailbox.put(Message::Connections(answer.clone()));
        }
        answers
    }

    /// Closes the connections with these numbers. Each network thread sends the numbers of those that it closed.
    pub fn close(&self, numbers: &[u64]) -> Receiver<Vec<u64>> {
        let (answer, answers) = channel();
        let numbers: Arc<[u64]> = numbers.into();
        for mailbox in &self.mailboxes {
            mailbox.put(Message::Close(numbers.clone(), answer.clone()));
        }
        answers
    }

    /// Closes all connections after this line; new ones are accepted as before. Does not wait.
    pub fn close_all(&self, line: &'static [u8]) {
        for mailbox in &self.mailboxes {
            mailbox.put(Message::CloseAll(line));
        }
    }

    /// Asks all network threads for their counts of readers since the last call.
    pub fn take_readers(&self) -> Receiver<Vec<ReaderCounts>> {
        let (answer, answers) = channel();
        for mailbox in &self.mailboxes {
            mailbox.put(Message::TakeReaders(answer.clone()));
        }
        answers
    }

    /// Closes all connections and joins the threads.
    pub fn stop(&mut self) {
        for mailbox in &self.mailboxes {
            mailbox.put(Message::Stop);
        }
        for thread in self.threads.drain(..) {
            // A thread never panics; if it did, there would be nothing to save.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Serves one connection to its end in this thread, for inetd and the like. `address` is the client's; `None` for this machine. Returns
/// whether it ended within an article, which is then lost.
///
/// # Errors
/// The store cannot be read.
pub fn serve_one(plan: Plan, socket: OwnedFd, address: Option<SocketAddr>) -> Result<bool, Error> {
    let snapshot = Snapshot::open_live(&plan.dir, plan.published.clone())?;
    let store = ThreadStore::new(&plan.dir, snapshot);
    let mailbox = Arc::new(Mailbox::new()?);
    (plan.begin)();
    let (shared, listeners) = share(plan)?;
    Ok(Network::new(0, store, (shared, mailbox, listeners))?.serve_one(socket, address))
}
