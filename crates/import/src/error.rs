//! An error that ends an import.

use std::io;
use std::path::{Path, PathBuf};

/// An error that ends the import; what was committed stays.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The failed action.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Too little of the disk would stay free.
    #[error(
        "{free} bytes are free in {}, and [incoming] keep_free is {keep_free}: {room}, then run the import again",
        path.display(),
        room = store::MAKE_ROOM
    )]
    NoRoom {
        /// The news directory.
        path: PathBuf,
        /// Free space, bytes.
        free: u64,
        /// Space that has to stay free, bytes.
        keep_free: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A feed's cursor could not be moved.
    #[error(transparent)]
    Feed(#[from] feed::Error),
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    }
}
