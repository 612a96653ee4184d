//! The errors of a run.

use crate::Error;

/// The reason why expire removed nothing.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The policy is unusable.
    #[error(transparent)]
    Policy(#[from] Error),
    /// The store returned an error.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The index lines of archived articles (`-p`) cannot be written.
    #[error(
        "cannot print the index of archived articles: {0}; nothing was removed, and the next run finds the copies"
    )]
    Index(#[source] std::io::Error),
    /// The decision could not be put into the log of the cluster, or was not applied here.
    #[error("{0}")]
    Cluster(String),
    /// The run would remove more than one run may.
    #[error(
        "{going} of {live} links would be removed{why}, more than {max_percent:.0} %; check with `broadsheet expire -n', then use --force"
    )]
    TooMuch {
        /// Links that would be removed.
        going: u64,
        /// Links that exist.
        live: u64,
        /// The limit, percent.
        max_percent: f64,
        /// A reason besides the dates, or empty.
        why: &'static str,
    },
    /// A group has an invalid line in active. It may be moderated or not, so its rule is unknown.
    #[error("{0}; correct it, or run `broadsheet fsck --repair'; nothing is removed before that")]
    Active(String),
    /// The system did not report the free space of the disk.
    #[error("cannot determine the free disk space: {0}")]
    FreeSpace(std::io::Error),
}
