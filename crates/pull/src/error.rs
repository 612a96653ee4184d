//! Why pulling stopped.

use std::io;
use std::path::PathBuf;

use feed::{ConnectionError, RemoteError};
use nntp::client::PeerError;
use thiserror::Error;

impl Error {
    /// Whether the server, or the network, ended the connection without a word.
    pub(crate) fn is_break(&self) -> bool {
        use ConnectionError::{Closed, Io, Silent};
        matches!(self, Error::Connection(Closed | Io(..) | Silent(..)))
    }

    /// The error of a connection that broke at this article, for the `count`th time in succession; others stay as they are.
    pub(crate) fn at(self, id: &[u8], count: u64) -> Error {
        match self {
            Error::Connection(error) => Error::Broken {
                error,
                id: id.into(),
                count,
            },
            other => other,
        }
    }
}

impl From<PeerError> for Error {
    fn from(error: PeerError) -> Error {
        Error::Connection(error.into())
    }
}

/// Why pulling from a server stopped. What was filed before stays, and the next run goes on there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings of the server cannot be used.
    #[error("{0}")]
    Remote(#[from] RemoteError),
    /// The connection.
    #[error("{0}")]
    Connection(#[from] ConnectionError),
    /// The connection broke at an article, or at a post.
    #[error("{error}, at {} (connections in succession that broke there: {count}; to pass over it, raise the number of its group in pull/NAME, or for a post the position)", id.escape_ascii())]
    Broken {
        /// The cause.
        error: ConnectionError,
        /// Its message-id.
        id: Box<[u8]>,
        /// How many connections in succession broke at it.
        count: u64,
    },
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
    /// The server refused groups or articles; everything else was fetched.
    #[error(
        "the server refuses some of it (groups: {groups}, articles: {articles}); the next run asks again"
    )]
    Refused {
        /// Number of groups.
        groups: u64,
        /// Number of articles.
        articles: u64,
    },
    /// The server says that a group has more articles than it shows; everything else was fetched.
    #[error("some groups are not read to their end; the next run goes on there")]
    Unread,
    /// The server refused posts; everything else was fetched.
    #[error("the server refuses posts made here: {0}; they are not sent again")]
    PostsRefused(u64),
    /// The server does not end a reply.
    #[error("the server does not end its {0}")]
    Endless(String),
    /// The store.
    #[error("{0}")]
    Store(#[from] store::Error),
}
