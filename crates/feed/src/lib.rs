//! Feeds: the delivery of articles to other sites.
//!
//! The filer decides once which sites get an article; its record in the log names them. A feed is a cursor into the log, not a copy: it
//! reads the log from there and selects the records that name its site.
//!
//! | file | idea |
//! |---|---|
//! | [`cursor`] | the position of a site in the log, in a file of two slots |
//! | [`site_state`] | the directory of a site: cursor, deferred articles, lock, pause |
//! | [`deferred`] | articles that a site did not want yet |
//! | [`answers`] | what a site answered about each article, for `article show` |
//! | [`enrolment`] | new sites get their cursor |
//! | [`start`] | the position in the log at which a new site begins |
//! | [`waiting`] | one pass along the log for many sites |
//! | `batch` | batches of articles in native form |
//! | `batchparms`, `pipeline` | the parameters of a site's batches, and the classic file for them |
//! | [`serving`] | serves a feed: delivers its waiting articles in the way of its site |
//! | [`feeds`] | all feeds, with their cursors and backlogs |
//! | [`sendbatches`] | makes, compresses and delivers a site's batches, and advances its cursor |
//! | [`ihave`] | batches of ihave and sendme messages, and of requested articles |
//! | [`togo`] | the waiting articles of one site |
//! | `transport`, `queue` | commands and directories that receive batches, and the batches that wait there |
//! | `batch_log` | the classic file `batchlog` |
//! | [`file_list`] | sites with a line for each article in a file |
//! | [`program`] | sites with a program that keeps running |
//! | [`each_article`] | sites with a command for each article |
//! | [`tree`] | sites with a directory tree that has a file for each article |
//! | [`nntp`](mod@nntp) | peers that get articles by NNTP |
//! | [`remote`] | trust, password and layers of a connection to another server |
//! | `blocking` | a blocking connection to another server |
//! | [`permit`] | the permission to feed, which is lent in a cluster |
//! | [`handover`] | the cursor of a site, for another node of a cluster |
//! | [`back_off`] | the interval before another attempt |
//!
//! *Architecture Invariant:* a cursor passes an article only after delivery; after a crash the articles in flight are sent again, and
//! none is lost.

pub mod answers;
pub mod back_off;
pub mod batch;
pub mod batch_log;
pub mod batchparms;
mod blocking;
mod builder;
pub mod cursor;
pub mod deferred;
pub mod each_article;
pub mod enrolment;
mod error;
pub mod feeds;
pub mod file_list;
pub mod handover;
pub mod ihave;
mod limit;
pub mod nntp;
pub mod permit;
mod pipeline;
mod process_group;
pub mod program;
pub mod queue;
pub mod remote;
pub mod sendbatches;
pub mod serving;
pub mod site_directory;
mod site_name;
pub mod site_state;
pub mod start;
pub mod togo;
pub mod transport;
pub mod tree;
pub mod waiting;

pub use batch::{Batch, push_article};
pub use batchparms::{BatchParms, Batchparms, CLASS, Rule};
pub use blocking::{BlockingConnection, ConnectionError};
pub use builder::Builder;
pub use cursor::Cursor;
pub use each_article::EachArticle;
pub use error::{BatchparmsError, Error};
pub use file_list::FileList;
pub use limit::Limit;
pub use permit::Permit;
pub use program::Program;
pub use queue::{UUCP_SPOOL, waiting_in_directory, waiting_in_uucp};
pub use remote::{Remote, RemoteError};
pub use sendbatches::{ArticleSource, Sending, Sent, Stopped};
pub use site_name::is_site_name;
pub use site_state::{Progress, SiteState};
pub use togo::FromCursor;
pub use transport::Transport;
pub use tree::Tree;
pub use waiting::{Item, Round, Waiting};
