//! What a session sends without a copy.

use std::os::fd::{AsFd, BorrowedFd};

use nntp::SharedBytes;
use store::{Run, Stretch};

/// Overview rows, sent from their map.
#[derive(Debug)]
pub struct SharedRows(pub Run);

impl SharedBytes for SharedRows {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn file(&self) -> Option<(BorrowedFd<'_>, u64)> {
        None
    }

    fn is_valid(&self) -> bool {
        self.0.is_readable()
    }
}

/// A large article, sent from its file.
#[derive(Debug)]
pub struct SharedRange(pub Stretch);

impl SharedBytes for SharedRange {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn file(&self) -> Option<(BorrowedFd<'_>, u64)> {
        Some((self.0.as_fd(), self.0.offset))
    }

    fn is_valid(&self) -> bool {
        self.0.is_still_there()
    }
}
