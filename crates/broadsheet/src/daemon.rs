//! The daemon, `broadsheet serve`: it keeps the spool open, so that a batch is filed at once, and does by itself what cron
//! did.
//!
//! | file | idea |
//! |---|---|
//! | `serve` | from the start to the end |
//! | `journal` | what it says on standard error |
//! | `syslog` | or there, where that is the client's |
//! | `watched` | what status and metrics tell |
//! | `metrics` | Prometheus asks, over HTTP |
//! | `event` | what the main thread waits for |
//! | `writer` | the thread that owns the filer: one job after the other |
//! | `room` | what others see of it: they bring jobs |
//! | `lock` | what threads lock |
//! | `socket` | who may ask over control.sock, and for what |
//! | `connection` | who is told what came of it |
//! | `request` | what is said there |
//! | `client` | the other end: a command asks |
//! | `incoming` | batches that come into in.coming/ |
//! | `schedule` | expire and sendbatches at their time |
//! | `feeds` | who waits for news to be filed |
//! | `feeders` | feeds that get their articles at once |
//! | `door` | the NNTP server in front |
//! | `alone` | one session without a daemon |
//! | `sandbox` | threads confine themselves |
//! | `tray` | articles that came over NNTP wait for the writer |
//! | `wire` | it files them |
//! | `silo` | how many in one commit |
//! | `posts` | what readers post becomes an article, or a mail |
//! | `signals` | SIGTERM, SIGINT, SIGHUP |
//! | `notify` | telling systemd |
//!
//! *Architecture invariant:* the daemon holds the lock, and lends it to whoever asks (`store::Lock`). Commands need not
//! know of it. Between two jobs every thread sleeps in the kernel, without a time-out.

mod alone;
pub mod client;
mod connection;
mod daemon_status;
mod event;
mod feeders;
mod feeds;
mod group_commit;
mod incoming;
mod intake_queue;
mod journal;
mod lock;
mod metrics;
mod nntp_service;
mod notify;
mod posts;
mod request;
mod sandbox;
mod schedule;
mod serve;
mod signals;
mod socket;
mod syslog;
mod wire;
mod writer;
mod writer_handle;

pub use alone::serve_one;
pub use daemon_status::{DaemonStatus, Entry, Intake, Nntp};
pub use feeders::{END_SECONDS_MAX, FEEDERS_MAX};
pub use intake_queue::REASON_BYTES_MAX;
pub use journal::{LINES_AT_ONCE_MAX, say};
pub use metrics::REQUEST_BYTES_MAX as METRICS_REQUEST_BYTES_MAX;
pub use nntp_service::Listen;
pub use posts::MAILS_MAX;
pub use request::REQUEST_BYTES_MAX;
pub use schedule::RUNNING_MAX;
pub use serve::serve;
pub use socket::CLIENTS_MAX;
pub use syslog::take_over_stderr;
pub use writer_handle::JOBS_MAX;
