//! What can go wrong with a feed.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a feed. The message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The operating system refused. `doing` is a verb phrase.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file it was done to.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// Neither slot of a cursor can be read.
    #[error(
        "{} cannot be read: nobody knows how far the site is; say `broadsheet feed reset SITE --to WHERE`, oldest if in doubt: what it has already is refused as duplicate",
        .0.display()
    )]
    Cursor(PathBuf),
    /// The site has no cursor.
    #[error(
        "no feed `{0}'; `broadsheet feed list` shows all of them, `broadsheet check` the sites"
    )]
    Unknown(String),
    /// Another program serves the site now.
    #[error("{0} is being served by another program; wait for it to end")]
    Busy(String),
    /// A site's name cannot be the name of a directory.
    #[error("site `{0}' cannot have a feed: its name is no file name")]
    Name(String),
    /// More articles are deferred than are kept.
    #[error(
        "more than {limit} articles for {site} are deferred; the feed stops there until they are taken"
    )]
    TooManyDeferred {
        /// The site.
        site: String,
        /// The most that are kept.
        limit: usize,
    },
}

impl Error {
    /// Wraps a system error with what was being done to which file.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    }
}
