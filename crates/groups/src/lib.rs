//! Newsgroups: their names, the `active` table, the pattern languages, the
//! `sys` file, and the group × site matrix made of them.
//!
//! Nothing here does I/O: text goes in, tables come out, and what changed goes
//! back as text for somebody else to write.

pub mod active;
pub mod name;

pub use active::{Active, ActiveFault, AddFault, Flag, GroupId};
