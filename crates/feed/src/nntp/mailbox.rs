//! Messages from other threads to a loop over peers, which they wake.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

/// A message.
#[derive(Debug)]
pub(super) enum Message {
    /// Articles were filed.
    Filed,
    /// Somebody asks for a pass of the feed with this name, or of all: look at what may have changed, and try again what failed.
    Call(Option<Box<[u8]>>),
    /// The addresses of a peer's host, for the look-up with this number.
    Resolved(u64, std::io::Result<Vec<SocketAddr>>),
    /// Settle what is in flight, and end.
    Stop,
}

/// The messages of a loop.
#[derive(Debug)]
pub struct Mailbox {
    messages: Mutex<Vec<Message>>,
    eventfd: OwnedFd,
}

impl Mailbox {
    /// No messages.
    ///
    /// # Errors
    /// No descriptor is left.
    pub(super) fn new() -> std::io::Result<Mailbox> {
        Ok(Mailbox {
            messages: Mutex::default(),
            eventfd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Articles were filed.
    pub fn filed(&self) {
        self.put(Message::Filed);
    }

    /// Asks the feed with this name, or all feeds, to try again at once what failed, and to read again what others may have changed.
    pub fn call(&self, name: Option<&[u8]>) {
        self.put(Message::Call(name.map(Box::from)));
    }

    pub(super) fn put(&self, message: Message) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = messages.is_empty();
        let last = messages.last();
        if !matches!((&message, last), (Message::Filed, Some(Message::Filed))) {
            messages.push(message);
        }
        drop(messages);
        if was_empty {
            // Fails only if the counter is full: then the loop wakes anyway.
            let _ = rustix::io::write(&self.eventfd, &1u64.to_ne_bytes());
        }
    }

    pub(super) fn take_all(&self) -> Vec<Message> {
        let _ = rustix::io::read(&self.eventfd, &mut [0; 8]);
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *messages)
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }
}
