//! NNTP without I/O: commands, replies, sessions (RFC 3977 and its kin).
//!
//! A [`Session`] is given the bytes that came, looks things up through a [`Backend`], and writes what is to be sent to an [`Out`]. It
//! knows no sockets, no threads and no clock, so it can be tested and fuzzed without them.

mod article_end;
mod backend;
mod capabilities;
mod command;
mod line;
mod out;
mod range;
mod session;

pub use article_end::{ArticleEnd, Ending};
pub use backend::{
    Article, ArticlePosition, Backend, BackendError, ControlFile, Credentials, Found, Intake, Kind,
    Marks, Outcome, ReceivedArticle, Rows, SaslStep, Seen,
};
pub use capabilities::{Capabilities, Permissions};
pub use command::{Articles, Command, Fault, List, Part, Which, parse};
pub use line::{Line, first_line};
pub use out::{Out, Piece, SharedBytes};
pub use range::Range;
pub use session::{LoggedIn, Next, Session, Taken};

/// Longest command line, CRLF included (RFC 3977, 3.1).
pub const COMMAND_BYTES_MAX: usize = 512;
/// Longest line that answers a SASL challenge, CRLF included (RFC 4643, 2.4.2).
pub const SASL_BYTES_MAX: usize = 12_288;
/// After so many wrong passwords (or the like) a connection ends.
pub const LOGINS_FAILED_MAX: u32 = 5;
/// While so many bytes wait to be sent, no further command is read: 256 KiB.
pub const OUT_BYTES_MAX: usize = 256 << 10;
