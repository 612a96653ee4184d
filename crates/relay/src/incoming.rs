//! The directory `in.coming`: batches that wait to be filed.
//!
//! | file | idea |
//! |---|---|
//! | [`name`] | what a waiting batch is called, which says when its turn is |
//! | [`spool`](mod@spool) | putting one there, durably |
//! | [`drain`] | filing them, in turn |
//! | [`tries`] | which of them filing stopped at, and how often |
//! | `stop` | holding that up |
//!
//! docs/formats/incoming.md has the legal states.

pub mod drain;
pub mod name;
pub mod spool;
mod stop;
pub mod tries;

pub use crate::kept::INCOMING;
pub use drain::{Drain, DrainOptions, Drained};
pub use name::{Grade, Grades, Name};
pub use spool::{SpoolOptions, Spooled, spool};
pub use stop::{STOP, is_stopped, set_stopped};
