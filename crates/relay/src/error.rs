//! Errors that stop a run. A single article never does.

use std::io;
use std::path::PathBuf;

/// An error that stops filing. The message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The log cannot be written. The articles of its lines are durable.
    #[error("cannot write {}: {source}; correct this error, then run rnews on the batch again", path.display())]
    Log {
        /// The log file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// The batch or the article is neither filed nor spooled, since too little of the disk would stay free.
    #[error(
        "no space in {}: {free} bytes are free and [incoming] keep_free is {keep_free}; {room}, then file it again",
        path.display(),
        room = store::MAKE_ROOM
    )]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// Free space, bytes.
        free: u64,
        /// Space that has to stay free, bytes.
        keep_free: u64,
    },
    /// A compressed batch needs more of the disk than there is, so its own size is the cause.
    #[error(
        "no space in {} for the batch when it is expanded, and for its articles: {free} bytes are free beside what is expanded already, and [incoming] keep_free is {keep_free}; {room}, then run rnews on the batch again",
        path.display(),
        room = store::MAKE_ROOM
    )]
    NoRoomToExpand {
        /// The directory.
        path: PathBuf,
        /// Free space, bytes.
        free: u64,
        /// Space that has to stay free, bytes.
        keep_free: u64,
    },
    /// A file beside active, or of the control messages, cannot be read or written.
    #[error("cannot {doing} {}: {source}; correct this error, then run rnews on the batch again", path.display())]
    GroupFile {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// The settings and the news directory do not agree about articles without their bodies.
    #[error("{}: {what}", dir.display())]
    HeadersOnly {
        /// The news directory.
        dir: PathBuf,
        /// The disagreement, and what to do.
        what: &'static str,
    },
    /// The log of the cluster takes nothing.
    #[error("the log of the cluster took only a part: {0}; run rnews on the batch again later")]
    Cluster(String),
    /// A required file cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
}

impl Error {
    /// True if only a log could not be written: all filed articles are durable.
    pub fn is_of_log(&self) -> bool {
        matches!(self, Error::Log { .. })
    }

    /// True if the log of the cluster takes nothing: that is the fault of no batch.
    pub fn is_of_cluster(&self) -> bool {
        matches!(self, Error::Cluster(_))
    }

    /// Converts [`Error::NoRoom`] to [`Error::NoRoomToExpand`].
    pub(crate) fn of_expansion(self) -> Error {
        match self {
            Error::NoRoom {
                path,
                free,
                keep_free,
            } => Error::NoRoomToExpand {
                path,
                free,
                keep_free,
            },
            error => error,
        }
    }

    /// True if the disk or quota is full: with new space, the same batch files the rest.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Error::Store(error) => error.is_disk_full(),
            Error::NoRoom { .. } => true,
            Error::HeadersOnly { .. } | Error::Cluster(_) | Error::NoRoomToExpand { .. } => false,
            Error::Log { source, .. }
            | Error::GroupFile { source, .. }
            | Error::Open { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ),
        }
    }
}
