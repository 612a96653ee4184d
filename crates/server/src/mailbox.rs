//! Messages from other threads to a network thread, which they wake.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd as make_eventfd};

use store::Position;

use crate::Token;
use crate::article_batch::{ArticleBatch, BatchOwner};
use crate::connection_status::ConnectionStatus;
use crate::reader_counts::ReaderCounts;

/// A message.
#[derive(Debug)]
pub enum Message {
    /// A batch of its articles with their results.
    BatchDone(ArticleBatch),
    /// The result of a login.
    LoginDone(Token, access::Outcome),
    /// The end of the fetch of an article from the object store.
    FetchDone(Token, Position, Result<(), store::Error>),
    /// The fetch had to make room for those of other addresses.
    FetchDisplaced(Token, Position),
    /// The settings were reloaded: permissions are evaluated again.
    Reloaded,
    /// A connection has to discard its incomplete input.
    Discard(Token),
    /// [`crate::Server::ping`]: the thread drops it.
    Ping(Sender<()>),
    /// [`crate::Server::connections`]: the thread sends the state of its connections.
    Connections(Sender<Vec<ConnectionStatus>>),
    /// [`crate::Server::close`]: the thread closes its connections with these numbers, and sends the numbers of those.
    Close(Arc<[u64]>, Sender<Vec<u64>>),
    /// [`crate::Server::close_all`]: the thread closes all its connections after this line.
    CloseAll(&'static [u8]),
    /// [`crate::Server::take_readers`]: the thread sends its counts of readers, and begins anew.
    TakeReaders(Sender<Vec<ReaderCounts>>),
    /// The server stops.
    Stop,
}

/// The message queue of a network thread.
#[derive(Debug)]
pub struct Mailbox {
    messages: Mutex<Vec<Message>>,
    eventfd: OwnedFd,
}

impl Mailbox {
    /// Makes an empty queue.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new() -> std::io::Result<Mailbox> {
        Ok(Mailbox {
            messages: Mutex::default(),
            eventfd: make_eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Appends a message.
    pub fn put(&self, message: Message) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = messages.is_empty();
        messages.push(message);
        drop(messages);
        if was_empty {
            // Fails only if the counter is full: then the thread wakes anyway.
            let _ = rustix::io::write(&self.eventfd, &1u64.to_ne_bytes());
        }
    }

    /// Takes all messages.
    pub fn take_all(&self) -> Vec<Message> {
        let _ = rustix::io::read(&self.eventfd, &mut [0; 8]);
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *messages)
    }
}

impl BatchOwner for Mailbox {
    fn take_back(&self, batch: ArticleBatch) {
        self.put(Message::BatchDone(batch));
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }
}
