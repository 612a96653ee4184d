//! A server to pull from.

use groups::When;
use groups::nntp_server::NntpServer;

/// Default of [`Source::first`].
pub const FIRST_ARTICLES: u64 = 100;
/// Default of [`Source::timeout_seconds`].
pub const TIMEOUT_SECONDS: u64 = 300;
/// Most `[[pull]]` tables.
pub const SOURCES_MAX: usize = 100;

/// A server to pull from: a `[[pull]]` table of broadsheet.toml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name, for commands and the file of its marks.
    pub name: String,
    /// The server.
    pub server: NntpServer,
    /// Wildmat of the groups; only those of our `active` are read.
    pub groups: String,
    /// Articles of a group to fetch when it is read for the first time.
    pub first: u64,
    /// Most bytes a second.
    pub rate: Option<u64>,
    /// When the daemon pulls.
    pub schedule: When,
    /// Whether posts made here go to the server.
    pub post: bool,
    /// Whether to ask for all new articles at once (NEWNEWS), where the server allows it.
    pub newnews: bool,
    /// Days after which a group rests that no reader asks for; `None`: no group rests.
    pub rest_days: Option<u32>,
    /// How long the server may send and take nothing, seconds.
    pub timeout_seconds: u64,
}
