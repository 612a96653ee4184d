//! Newsgroups: their names, the `active` table, the pattern languages, the
//! sites of `sys` and `broadsheet.toml`, and the group × site matrix built from
//! them.
//!
//! This crate does no I/O: it parses text into tables, and returns changes
//! as text for the caller to write.

pub mod active;
pub mod command_line;
mod destination;
mod escaped;
pub mod matcher;
pub mod matrix;
pub mod name;
pub mod nearest;
pub mod newsgroups;
pub mod nntp_server;
pub mod pattern;
mod patterns;
mod site;
pub mod sites;
pub mod size;
pub mod sys;
pub mod text_position;
pub mod times;
mod via;
pub mod when;
pub mod wildmat;

pub use active::{Active, ActiveError, AddGroupError, Flag, GroupId};
pub use command_line::CommandLine;
pub use destination::{Destination, Sender};
pub use escaped::{escaped, is_terminal_control, push_for_terminal, push_hexadecimal, shown};
pub use matcher::Matcher;
pub use matrix::{Matrix, SiteSet};
pub use newsgroups::Newsgroups;
pub use pattern::Pattern;
pub use sites::{Site, Sites, SitesError, Tables};
pub use sys::SysError;
pub use text_position::TextPosition;
pub use when::When;
pub use wildmat::Wildmat;
