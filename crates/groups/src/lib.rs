//! Newsgroups: their names, the `active` table, the pattern languages, the
//! `sys` file, and the group × site matrix made of them.
//!
//! Nothing here does I/O: text goes in, tables come out, and what changed goes
//! back as text for somebody else to write.

pub mod active;
pub mod matcher;
pub mod matrix;
pub mod name;
pub mod newsgroups;
pub mod pattern;
pub mod sys;
pub mod times;
pub mod wildmat;

pub use active::{Active, ActiveFault, AddFault, Flag, GroupId};
pub use matcher::Matcher;
pub use matrix::{Bits, Matrix};
pub use newsgroups::Newsgroups;
pub use pattern::Pattern;
pub use sys::{Site, Sys, SysFault};
pub use wildmat::Wildmat;
