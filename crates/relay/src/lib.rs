//! Decide and file: what C News called relaynews.
//!
//! | file | idea |
//! |---|---|
//! | [`decide`] | whether an article is accepted and where it goes; pure |
//! | [`reason`] | why it is refused, in C News's words |
//! | [`rules`] | the limits |
//! | [`sites`] | which sites get it |
//! | [`compose`] | the article as filed: Xref, Path |
//! | [`control`] | what a control message asks for, who may, and doing it |
//! | [`group_files`] | `newsgroups` and `active.times`, which go with `active` |
//! | [`signed`], [`keyring`], [`verify`](mod@verify) | whether a control message comes from whom its groups trust |
//! | [`cancel_lock`] | who may withdraw an article: Cancel-Lock and Cancel-Key |
//! | [`file`](mod@file) | numbers, the spool, the log, cancels |
//! | [`mirror`] | numbers taken from another site's Xref |
//! | [`rnews`] | a run over batches |
//! | [`kept`], [`tee`] | bad batches are kept |
//! | [`incoming`] | batches that wait in `in.coming` |
//! | [`explain`](mod@explain) | what would be done, and why |
//! | [`permit`] | what the sender of an article may do |
//! | [`log`] | the classic log |
//!
//! *Architecture Invariant:* only [`file`](mod@file) changes anything ([`keyring`] its keys, when asked), and only [`rnews`] reads
//! batches; a socket can hand articles to a [`Filer`] as well.

pub mod cancel_lock;
pub mod compose;
pub mod control;
pub mod decide;
mod error;
pub mod explain;
pub mod file;
pub mod group_files;
mod handed;
pub mod incoming;
mod input;
pub mod kept;
pub mod keyring;
pub mod log;
pub mod mirror;
pub mod permit;
pub mod reason;
pub mod rnews;
pub mod rules;
mod short;
pub mod signed;
pub mod sites;
pub mod tee;
pub mod verify;

pub use decide::{Arrival, Decision, State, decide};
pub use error::Error;
pub use explain::{Explanation, explain};
pub use file::{CancelPolicy, Filer, FilerOptions, Refusal, Verdict};
pub use keyring::{Keyring, TrustedKey};
pub use log::Now;
pub use permit::permitted;
pub use rules::Rules;
pub use verify::verify;
