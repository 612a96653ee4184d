//! What a bench is asked to do.

use std::path::PathBuf;

/// What `bench run` was asked to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The broadsheet to time.
    pub binary: PathBuf,
    /// Where to work on a disk; the checkout's target directory by default.
    pub dir: PathBuf,
    /// How many rounds; each does every row once, so that rows alternate.
    pub rounds: u32,
    /// Fewer rounds, and a twelfth of the gigabyte.
    pub quick: bool,
    /// Leave INN out.
    pub no_peer: bool,
    /// `bench expire` with ten million articles, too.
    pub large: bool,
    /// Leave the directories behind.
    pub keep: bool,
    /// `bench nntp`: these rows alone.
    pub only: Option<String>,
    /// `bench nntp`: for a machine.
    pub json: bool,
}
