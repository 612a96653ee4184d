//! Feeds: what each site has still to get.
//!
//! Which sites an article goes to was decided once, when it was filed; its record in the log names them. A feed is a cursor
//! into the log, not a copy: it goes along from there and picks the records that name its site.
//!
//! | file | idea |
//! |---|---|
//! | [`cursor`] | how far a site is, in a file of two slots |
//! | [`place`] | one site's directory: cursor, deferred articles, lock, pause |
//! | [`deferred`] | articles the other side did not want yet |
//! | [`roll`] | sites met for the first time get their cursor |
//! | [`start`] | where in the log a new site begins |
//! | [`waiting`] | one pass along the log for many sites |
//! | `batch` | articles as other sites want them, in batches of a size |
//! | `batchparms`, `pipeline` | how batches are made for a site, and the classic file that says it |
//! | [`sendbatches`] | a site's turn: made, compressed, handed over, passed |
//! | `transport`, `queue` | commands and directories that take batches, and how many wait there |
//! | `batch_log` | what became of them |
//!
//! *Architecture Invariant:* a cursor passes an article only after the transport said yes; after a crash the articles in
//! flight go out again, and none is left out.

mod batch;
mod batch_log;
mod batchparms;
pub mod cursor;
pub mod deferred;
mod error;
mod pipeline;
pub mod place;
mod queue;
pub mod roll;
pub mod sendbatches;
mod site_name;
pub mod start;
mod transport;
pub mod waiting;

pub use batch::{ARTICLE_LINE_BYTES_MAX, Batch, push_article};
pub use batch_log::{BatchLog, LOG_BYTES_MAX, Line, State};
pub use batchparms::{
    BATCH_BYTES_MAX, BATCHPARMS_BYTES_MAX, BatchParms, Batchparms, CLASS, RULES_MAX, Rule,
};
pub use cursor::Cursor;
pub use error::{BatchparmsFault, Error};
pub use place::{Place, Progress};
pub use queue::{QUEUE_FILES_MAX, UUCP_SPOOL, waiting_in_directory, waiting_in_uucp};
pub use sendbatches::{Sending, Sent, Stopped, Togo};
pub use site_name::{SITE_BYTES_MAX, is_site_name};
pub use transport::{COMMAND_SECONDS_MAX, COMPLAINT_BYTES_MAX, Transport};
pub use waiting::{Item, Round, Waiting};
