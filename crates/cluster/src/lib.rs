//! The log that the nodes of a cluster share. Each node appends what arrives there; all nodes apply all entries in the same order.
//!
//! | module | content |
//! |---|---|
//! | [`entry`] | entries of the log as bytes |
//! | [`articles_entry`] | the content of the usual entry: articles, with the permissions of their senders |
//! | [`chain`] | the hash that covers all entries up to one |
//! | [`members`] | the nodes, how far each is, and what of the log nobody needs any more |
//! | [`lease`] | the lease of the feeds: which node feeds |
//! | [`feeding`] | how far the sites are fed, for the next node that feeds |
//! | [`expiry`] | the content of entries of expire |
//! | [`group_change`] | the content of entries of commands that change groups |
//! | [`removal`] | the content of entries of `article remove` and `restore` |
//! | [`decisions`] | the versions of the decisions, and the content of entries that put one into force |
//! | [`settings_change`] | the content of entries that change the settings by which all nodes decide |
//! | [`reseed`] | how a node asks another one for its segments |
//! | [`login_secrets`] | secrets that all nodes derive from their login: the password by which the servers accept each other, and that of Cancel-Locks |
//! | [`log`] | what the log and its user tell each other: settings, news, errors |
//! | [`jetstream`] | the log in NATS JetStream, in a thread of its own (feature `jetstream`; without it, functions that fail) |
//! | `demands` | the settings of the servers and of the stream without which articles could be lost |
//!
//! *Architecture Invariant:* only [`jetstream`] does I/O. Nothing here knows the store.

pub mod articles_entry;
pub mod chain;
pub mod decisions;
#[cfg(feature = "jetstream")]
pub mod demands;
pub mod entry;
pub mod expiry;
pub mod feeding;
pub mod group_change;
#[cfg(feature = "jetstream")]
pub mod jetstream;
#[cfg(not(feature = "jetstream"))]
#[path = "jetstream_absent.rs"]
pub mod jetstream;
pub mod lease;
pub mod log;
pub mod login_secrets;
pub mod members;
pub mod removal;
pub mod reseed;
pub mod settings_change;

/// Whether this build has the log in NATS JetStream.
pub const IS_BUILT_IN: bool = cfg!(feature = "jetstream");
