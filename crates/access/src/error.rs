//! What can go wrong with the users.

use std::path::PathBuf;

/// Nobody's fault but the administrator's or the disk's; no client can cause one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A line that is none: nobody is let in or out by guess.
    #[error("{}:{line}: {what}; mend or remove the line", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// Larger than a file of users can be.
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
    /// A name or password that cannot be one.
    #[error("{0}")]
    Unfit(String),
}
