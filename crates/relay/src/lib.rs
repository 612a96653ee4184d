//! Decides on articles and files them, as relaynews of C News did.
//!
//! | file | idea |
//! |---|---|
//! | [`decide`] | the decision on an article: accepted or refused, its groups and sites; pure |
//! | [`reason`] | the reasons for refusing an article, with C News's texts |
//! | [`rules`] | the limits |
//! | [`sites`] | selects the sites that get an article |
//! | [`compose`] | the article as filed: Xref, Path |
//! | [`control`] | control messages: parsing, permissions, effects |
//! | [`group_files`] | the descriptions of groups |
//! | [`signed`], [`keyring`], [`verify`](mod@verify) | the signatures of control messages, and the trusted keys |
//! | [`cancel_lock`] | the permission to cancel an article: Cancel-Lock and Cancel-Key |
//! | [`file`](mod@file) | numbers, the spool, the log, cancels |
//! | [`headers_only`] | news directories whose articles lack their bodies |
//! | [`mirror`] | copies numbers from another site's Xref |
//! | [`rnews`] | a run over batches |
//! | [`outlet`] | where rnews files articles |
//! | [`verified`] | expands compressed batches to their checksum before they are filed |
//! | [`bad_batches`] | save bad batches |
//! | [`incoming`] | the batches that wait in `in.coming` |
//! | [`explain`](mod@explain) | explains the decision on an article |
//! | [`program_file`] | the file of a program that a setting names, and whether it gains rights |
//! | [`blocks`] | senders whose articles are refused |
//! | [`permit`] | the permissions of an article's sender |
//! | [`log`] | the classic log |
//!
//! *Architecture Invariant:* only [`file`](mod@file) changes the store ([`keyring`] changes its keys on request), and only [`rnews`]
//! reads batches; a server passes its articles to a [`Filer`] directly.

pub mod bad_batches;
pub mod blocks;
pub mod cancel_lock;
pub mod compose;
pub mod control;
pub mod decide;
pub mod error;
pub mod explain;
pub mod file;
mod free_space;
pub mod group_files;
mod handed;
pub mod headers_only;
pub mod incoming;
mod input;

pub mod keyring;
pub mod log;
pub mod mirror;
pub mod outlet;
pub mod permit;
pub mod program_file;
pub mod reason;
pub mod rnews;
pub mod rules;
mod short;
pub mod signed;
pub mod sites;
pub mod verified;
pub mod verify;

pub use blocks::Blocks;
pub use decide::{Arrival, CONTROL, Decision, State, decide};
pub use error::Error;
pub use explain::{Explanation, explain};
pub use file::{CancelPolicy, Filer, FilerOptions, Refusal, Verdict};
pub use input::StandardInput;
pub use keyring::{Keyring, TrustedKey};
pub use log::Now;
pub use permit::permitted;
pub use rules::Rules;
pub use verify::verify;
