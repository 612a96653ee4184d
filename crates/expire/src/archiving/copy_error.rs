//! The errors of archiving an article.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The error of a copy. The article is kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyError {
    /// A system call failed. `doing` is a verb phrase.
    #[error("cannot {doing} {}: {error}", path.display())]
    Io {
        /// The failed action.
        doing: &'static str,
        /// Its file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Another file has this name.
    #[error("{} exists and is not this article: move it away", .0.display())]
    InTheWay(PathBuf),
    /// The archive's news directory has another article with this number.
    #[error(
        "{} has another article as {group}/{number}: archive to another directory; numbers repeat when a new spool begins beside an old archive",
        path.display()
    )]
    NumberTaken {
        /// The news directory.
        path: PathBuf,
        /// The group.
        group: String,
        /// The number.
        number: u64,
    },
    /// The group's name is not a valid path.
    #[error("the group's name is not a valid path")]
    Name,
    /// The archive's news directory returned an error, or the article cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The archive's news directory cannot be created.
    #[error("cannot create the news directory {}: {error}", path.display())]
    Make {
        /// The path of the news directory.
        path: PathBuf,
        /// The reason.
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The archive's history has the id without an article.
    #[error(
        "the history of {} has its id, but not the article: see `broadsheet fsck --dir {}'; to remove the original all the same, use `article remove'",
        .0.display(), .0.display()
    )]
    IdKnown(PathBuf),
    /// The archive's news directory has another article with this id.
    #[error(
        "{} has another article with its id, or the same one in fewer groups; to remove this one all the same, use `article remove'",
        .0.display()
    )]
    IdTaken(PathBuf),
    /// The archive's news directory has its id, and that article is in an object store.
    #[error(
        "the article with its id in {} is in an object store, so they cannot be compared; to remove this one all the same, use `article remove'",
        .0.display()
    )]
    NotCompared(PathBuf),
    /// The record's history line cannot be read.
    #[error("its history line cannot be read; run `broadsheet fsck --repair`")]
    Line,
    /// The number is larger than article numbers can be.
    #[error("its number is too large for an article number")]
    Number,
}

impl CopyError {
    /// Whether the archive works, and only has another article with this id. Senders choose ids: such articles must not end the archiving of the
    /// others.
    pub(crate) fn is_id_conflict(&self) -> bool {
        matches!(self, CopyError::IdTaken(_) | CopyError::NotCompared(_))
    }

    pub(crate) fn io(doing: &'static str, path: &Path, error: io::Error) -> CopyError {
        CopyError::Io {
            doing,
            path: path.to_owned(),
            error,
        }
    }
}
