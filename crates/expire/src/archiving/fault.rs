//! Why an article could not be archived.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a copy failed. The article stays.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyFault {
    /// The system refused. `doing` is a verb phrase.
    #[error("cannot {doing} {}: {fault}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        fault: io::Error,
    },
    /// There is another file.
    #[error("{} is in the way and is something else: move it away", .0.display())]
    InTheWay(PathBuf),
    /// The group's name cannot be a path.
    #[error("the group's name cannot be a path")]
    Name,
    /// The archive's news directory refused, or the article cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The archive's news directory could not be made.
    #[error("cannot make the news directory {}: {fault}", path.display())]
    Make {
        /// Where.
        path: PathBuf,
        /// Why not.
        fault: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The archive has seen its id, but has no article under it.
    #[error("the archive refuses its id, which it knows without an article")]
    IdKnown,
    /// The record's history line cannot be read.
    #[error("its history line cannot be read; run `broadsheet fsck --repair`")]
    Line,
    /// Its number is beyond what a group may have.
    #[error("its number is too large for a group")]
    Number,
}

impl CopyFault {
    pub(crate) fn io(doing: &'static str, path: &Path, fault: io::Error) -> CopyFault {
        CopyFault::Io {
            doing,
            path: path.to_owned(),
            fault,
        }
    }
}
