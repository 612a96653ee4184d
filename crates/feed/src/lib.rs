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
//! | [`ihave`] | batches of ihave and sendme messages, and of the articles asked for |
//! | [`togo`] | what is to go to a site, from its cursor on |
//! | `transport`, `queue` | commands and directories that take batches, and how many wait there |
//! | `batch_log` | what became of them |
//! | [`file_list`] | sites that get a line for each article in a file |
//! | [`program`] | sites that a program is kept running for |
//! | [`each_article`] | sites whose command is run for each article |
//!
//! *Architecture Invariant:* a cursor passes an article only after the transport said yes; after a crash the articles in
//! flight go out again, and none is left out.

pub mod batch;
pub mod batch_log;
pub mod batchparms;
mod builder;
pub mod cursor;
pub mod deferred;
pub mod each_article;
pub mod enrolment;
mod error;
pub mod file_list;
pub mod ihave;
mod limit;
mod pipeline;
pub mod program;
pub mod queue;
pub mod sendbatches;
mod site_name;
pub mod site_state;
pub mod start;
pub mod togo;
pub mod transport;
pub mod waiting;

pub use batch::{Batch, push_article};
pub use batchparms::{BatchParms, Batchparms, CLASS, Rule};
pub use builder::Builder;
pub use cursor::Cursor;
pub use each_article::EachArticle;
pub use error::{BatchparmsFault, Error};
pub use file_list::FileList;
pub use limit::Limit;
pub use program::Program;
pub use queue::{UUCP_SPOOL, waiting_in_directory, waiting_in_uucp};
pub use sendbatches::{Sending, Sent, Stopped, Togo};
pub use site_name::is_site_name;
pub use site_state::{Progress, SiteState};
pub use togo::FromCursor;
pub use transport::Transport;
pub use waiting::{Item, Round, Waiting};
