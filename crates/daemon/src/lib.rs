//! The daemon behind `broadsheet serve`: it keeps the spool open, so that a batch is filed immediately, and starts scheduled
//! commands.
//!
//! | file | contents |
//! |---|---|
//! | `serve` | [`Daemon`]: from the start to the end |
//! | `journal` | the log on standard error, with a severity for the journal |
//! | `syslog` | the log in syslog, where standard error belongs to the client |
//! | `daemon_status` | the figures of `status` and the metrics |
//! | `system_status` | the state of the news system for `status`: the store, the queues, the feeds and the daemon |
//! | `metrics` | the metrics for Prometheus, over HTTP |
//! | `event` | the events that the main thread waits for |
//! | `writer` | the thread that owns the filer: one job after the other |
//! | `writer_handle` | the handle of the writer for other threads, which submit jobs |
//! | `lock` | taking a mutex |
//! | `socket` | `control.sock`: permissions and requests |
//! | `connection` | one client of `control.sock` |
//! | `request` | requests and answers |
//! | `client` | the client's side: a command sends a request |
//! | `incoming` | batches that arrive in in.coming/ |
//! | `schedule` | starts expire, sendbatches and pull by their schedules |
//! | `recorder` | records figures for the daily report |
//! | `readers` | the groups that readers ask for, which may rest otherwise |
//! | `other_files` | the files that only the start and a reload look at |
//! | `feeds` | wakes the feeds after articles were filed |
//! | `feeders` | a thread for each feed that sends articles immediately |
//! | `nntp_service` | the NNTP server |
//! | `alone` | one session without a daemon |
//! | `memory` | the allocator returns large buffers to the system |
//! | `filing` | filing without a daemon |
//! | `sandbox` | confines threads |
//! | `fetching` | fetches articles from an object store for a mount |
//! | `intake_queue` | the articles that arrived over NNTP and wait for the writer |
//! | `file_batches` | the writer files the article batches of the queue, in groups with one commit each |
//! | `feed_lease` | which node of a cluster feeds, and the feeds of that node |
//! | `node` | a node of a cluster: appends to its log, and applies it |
//! | `posts` | posts of readers become articles or mails |
//! | `signals` | SIGTERM, SIGINT, SIGHUP |
//! | `notify` | notifies systemd |
//!
//! *Architecture invariant:* the daemon holds the lock, and lends it to any program that asks (`store::Lock`). Commands do not need to know about
//! the daemon. Between two jobs every thread sleeps in the kernel, without a timeout.

mod alarms;
mod alone;
pub mod client;
mod connection;
mod daemon_status;
mod event;
mod failure;
mod feed_lease;
mod feeders;
mod feeds;
mod fetching;
mod file_batches;
mod filing;
mod incoming;
mod intake_queue;
mod journal;
mod lock;
mod mails;
mod memory;
mod metrics;
mod nntp_service;
mod node;
mod notify;
mod other_files;
mod posts;
mod readers;
mod recorder;
mod request;
mod sandbox;
mod schedule;
mod serve;
mod signals;
mod socket;
mod syslog;
mod system_status;
mod writer;
mod writer_handle;

pub use alone::serve_one;
pub use daemon_status::{DaemonStatus, Entry, FedPeer, Intake, Nntp};
pub use failure::{is_of_settings, text_of};
pub use feed_lease::{ClusterFeeds, TOLD_DEFERRED_MAX};
pub use feeders::{END_SECONDS_MAX, FEEDERS_MAX};
pub use fetching::fetch_unconfined;
pub use file_batches::{approved_by, queued_for};
pub use filing::{FEEDS_SECONDS_MAX, after_filing, open_filer};
pub use intake_queue::{REASON_BYTES_MAX, reopens_at};
pub use journal::{LINES_AT_ONCE_MAX, say, warn};
pub use mails::{MAILS_MAX, RETRY_SECONDS_MAX};
pub use metrics::table::{Metric, MetricKind, metrics};
pub use metrics::{
    CLIENTS_MAX as METRICS_CLIENTS_MAX, REQUEST_BYTES_MAX as METRICS_REQUEST_BYTES_MAX,
};
pub use nntp_service::Listen;
pub use node::copying::{COPY_HOURS_MIN, note_taken};
pub use node::freshness::BEHIND_SECONDS_MAX;
pub use node::health::ClusterNode;
pub use node::{ENTRY_ARTICLES_MAX, FLYING_BYTES_MAX, FLYING_ENTRIES_MAX, GRANTS_MAX};
pub use notify::notify;
pub use recorder::RECORD_SECONDS_MAX;
pub use request::REQUEST_BYTES_MAX;
pub use sandbox::{Role, Sandbox};
pub use schedule::RUNNING_MAX;
pub use serve::{Daemon, Ended, Options, Stopper};
pub use socket::CLIENTS_MAX;
pub use syslog::take_over_stderr;
pub use system_status::{
    DaemonState, FailingFeed, FeedBehind, FeedsStatus, SystemStatus, system_status,
};
pub use writer_handle::JOBS_MAX;
