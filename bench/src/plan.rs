//! The options of a bench.

use std::path::PathBuf;

/// The options of `bench run`.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The broadsheet binary to measure.
    pub binary: PathBuf,
    /// `bench start`: another binary to measure in turn.
    pub beside: Option<PathBuf>,
    /// The working directory on a disk; by default the checkout's target directory.
    pub dir: PathBuf,
    /// Number of rounds; each round measures every row once, so that rows alternate.
    pub rounds: u32,
    /// Fewer rounds, and a twelfth of the gigabyte.
    pub quick: bool,
    /// Omit INN.
    pub no_peer: bool,
    /// `bench expire`: also with ten million articles.
    pub large: bool,
    /// Keep the directories.
    pub keep: bool,
    /// `bench nntp`: only these rows.
    pub only: Option<String>,
    /// `bench nntp`: JSON output.
    pub json: bool,
}
