//! Articles as bytes: headers, ids, Path, Xref, old formats, native and wire form.
//!
//! Everything here works on borrowed bytes and does no I/O. Nothing assumes
//! UTF-8, nothing allocates for an ordinary article, and no input panics.

pub mod batch;
pub mod date;
pub mod decimal;
pub mod header;
pub mod message_id;
pub mod newsgroups;
pub mod old;
pub mod parse;
pub mod path;
pub mod scan;
pub mod syntax;
pub mod wire;
pub mod wrap;
pub mod xref;

pub use header::Header;
pub use parse::{Article, Fault, Form};
