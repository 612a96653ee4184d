//! What stops a run. Nothing that concerns one article does.

use std::io;
use std::path::PathBuf;

/// An error of the relay: filing has stopped. The message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store cannot go on.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The log cannot be written. What it would have told of is durable all the same.
    #[error("cannot write {}: {source}; make room or mend it, then give the batch again", path.display())]
    Log {
        /// The log file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// A batch would leave too little of the disk free, so it is not spooled.
    #[error(
        "no room for a batch in {}: {free} bytes are free and [incoming] keep_free keeps {keep_free}; make room, then give it again",
        path.display()
    )]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// Bytes that are free.
        free: u64,
        /// Bytes that are to stay free.
        keep_free: u64,
    },
    /// A file that goes with active, or one of the control messages, cannot be read or written.
    #[error("cannot {doing} {}: {source}; mend it, then give the batch again", path.display())]
    GroupFile {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// A file that has to be there cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
}

impl Error {
    /// True when a log could not be written: what was filed is durable all the same.
    pub fn is_of_log(&self) -> bool {
        matches!(self, Error::Log { .. })
    }

    /// True when the disk (or quota) is full: after space returns the same batch files the rest.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Error::Store(error) => error.is_disk_full(),
            Error::NoRoom { .. } => true,
            Error::Log { source, .. }
            | Error::GroupFile { source, .. }
            | Error::Open { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ),
        }
    }
}
