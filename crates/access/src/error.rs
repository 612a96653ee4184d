//! Errors of the file of users.

use std::path::PathBuf;

/// An error that the administrator or the disk causes; no client can.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// An invalid line. The whole file is rejected.
    #[error("{}:{line}: {what}; correct or remove the line", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// The problem.
        what: String,
    },
    /// The file exceeds [`FILE_BYTES_MAX`](crate::users::FILE_BYTES_MAX).
    #[error("{} is too large to be a file of users", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file could not be replaced.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// There are no random numbers.
    #[error("cannot read random numbers: {0}")]
    Chance(std::io::Error),
    /// An invalid name or password.
    #[error("{0}")]
    Unfit(String),
}
