//! Why pulling stopped.

use std::io;
use std::path::PathBuf;

use feed::RemoteError;
use layers::LayersError;
use nntp::client::PeerError;
use thiserror::Error;

/// Why pulling from a server stopped. What was filed before stays, and the next run goes on there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings of the server cannot be used.
    #[error("{0}")]
    Remote(#[from] RemoteError),
    /// The network.
    #[error("cannot {0}: {1}")]
    Io(&'static str, io::Error),
    /// TLS or compression.
    #[error("{0}")]
    Layers(#[from] LayersError),
    /// The server.
    #[error("{0}")]
    Peer(#[from] PeerError),
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server sent nothing for so many seconds.
    #[error("the server sent nothing for {0} seconds")]
    Silent(u64),
    /// The articles cannot be filed.
    #[error("{0}")]
    Filing(String),
    /// The file of the marks, or `pull.interest`, cannot be read or written.
    #[error("{}: {error}", path.display())]
    Marks {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A line of the file of the marks is damaged.
    #[error("{} line {line}: not a mark; correct the line, or remove it: its group then begins anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A line of `pull.interest` is damaged.
    #[error("{} line {line}: not a group with the times when it was asked for; correct the line or remove it", path.display())]
    DamagedInterest {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The store.
    #[error("{0}")]
    Store(#[from] store::Error),
}
