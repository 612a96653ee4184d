//! What other threads tell a network thread: a message wakes it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use crate::Token;
use crate::article_batch::ArticleBatch;

/// A message.
#[derive(Debug)]
pub enum Message {
    /// Articles of its connections, and what became of them.
    Settled(ArticleBatch),
    /// What came of a password.
    LoggedIn(Token, access::Outcome),
    /// Settings are read again: who may do what is asked anew.
    Reloaded,
    /// A connection holds too much of something that is not whole.
    LetGo(Token),
    /// The end.
    Stop,
}

/// Where the messages wait.
#[derive(Debug)]
pub struct Mailbox {
    messages: Mutex<Vec<Message>>,
    bell: OwnedFd,
}

impl Mailbox {
    /// An empty one.
    ///
    /// # Errors
    /// The kernel has no descriptor left.
    pub fn new() -> std::io::Result<Mailbox> {
        Ok(Mailbox {
            messages: Mutex::default(),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Puts a message in.
    pub fn put(&self, message: Message) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = messages.is_empty();
        messages.push(message);
        drop(messages);
        if was_empty {
            // Fails only when the counter is full: then it rings anyway.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }

    /// All that are there.
    pub fn empty(&self) -> Vec<Message> {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *messages)
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
