//! Decide and file: what C News called relaynews.
//!
//! [`log`] is the classic log of what was decided.

pub mod log;
