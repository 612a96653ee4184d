//! Why expire did not run.

use crate::Error;

/// Why expire did not run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The policy.
    #[error(transparent)]
    Policy(#[from] Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The index lines of what is archived (`-p`).
    #[error(
        "cannot print what is archived: {0}; nothing was removed, what was copied is found again by the next run"
    )]
    Index(#[source] std::io::Error),
    /// More would go than one run may remove.
    #[error(
        "{going} of {live} links would be removed{why}, more than {max_percent:.0} %; check with `broadsheet expire -n', then add --force"
    )]
    TooMuch {
        /// Links that would go.
        going: u64,
        /// Links there are.
        live: u64,
        /// The limit, percent.
        max_percent: f64,
        /// What else asked for it than dates.
        why: &'static str,
    },
    /// A group whose line in active cannot be read may be moderated or not, so no rule is sure to be its.
    #[error("{0}: mend it, or run `broadsheet fsck --repair`; nothing goes before")]
    Active(String),
    /// The disk.
    #[error("cannot learn how much of the disk is free: {0}")]
    Room(std::io::Error),
}
