//! The directory `in.coming`: batches that wait for filing.
//!
//! | file | idea |
//! |---|---|
//! | [`name`] | the names of waiting batches, which give their order |
//! | [`spool`](mod@spool) | writes a batch durably |
//! | [`drain`] | files the batches in order |
//! | [`tries`] | the failed attempts at batches |
//! | `stop` | the file that suspends filing |
//!
//! docs/formats/incoming.md has the legal states.

pub mod drain;
pub mod name;
pub mod spool;
mod stop;
pub mod tries;

pub use crate::bad_batches::INCOMING;
pub use drain::{Drain, DrainOptions, Drained};
pub use name::{Grade, Grades, Name};
pub use spool::{SpoolOptions, Spooled, spool};
pub use stop::{STOP, is_stopped, set_stopped};
