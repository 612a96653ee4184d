//! NNTP without I/O: commands, replies, sessions (RFC 3977 and its kin).
//!
//! A [`Session`] reads the client's bytes, looks things up through a [`Backend`], and writes replies to an [`OutBuffer`]. It uses no
//! sockets, threads or clocks, so that it can be tested and fuzzed without them.

mod backend;
mod capabilities;
pub mod client;
mod command;
mod command_table;
mod line;
mod out;
mod range;
mod session;

pub use backend::{
    Article, ArticlePosition, AskedNumber, Backend, BackendError, ControlFile, Credentials, Found,
    IdStatus, Intake, Marks, ReceivedArticle, RowsWritten, SaslStep, TransferKind, TransferOutcome,
};
pub use capabilities::{Capabilities, Permissions};
pub use command::{
    ArticleArgument, Command, CommandError, ListKeyword, ParsedCommand, Part, RangeArgument, parse,
};
pub use command_table::{COMMANDS, Needs, NntpCommand};
pub use line::{Line, first_line};
pub use out::{OutBuffer, Piece, SharedBytes};
pub use range::Range;
pub use session::{Activity, Doing, LoginResult, Next, Processed, Session};

/// Longest command line, CRLF included, bytes (RFC 3977, 3.1).
pub const COMMAND_BYTES_MAX: usize = 512;
/// Longest response to a SASL challenge, CRLF included, bytes (RFC 4643, 2.4.2).
pub const SASL_BYTES_MAX: usize = 12_288;
/// Failed logins before the connection is closed.
pub const LOGINS_FAILED_MAX: u32 = 5;
/// Pending output above which no further command is read, bytes: 256 KiB.
pub const OUT_BYTES_MAX: usize = 256 << 10;
