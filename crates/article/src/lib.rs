//! Articles as bytes: headers, ids, Path, Xref, old formats, native and wire form.
//!
//! All functions work on borrowed bytes and do no I/O. They do not assume
//! UTF-8, do not allocate for an ordinary article, and do not panic on any input.

pub mod article_end;
pub mod batch;
mod convert;
mod counting;
pub mod crlf;
pub mod date;
pub mod decimal;
pub mod header;
mod identity;
pub mod left_out;
pub mod message_id;
pub mod newsgroups;
pub mod old;
pub mod parse;
pub mod path;
pub mod scan;
pub mod shape;
mod simd;
pub mod syntax;
pub mod wire;
pub mod wire_facts;
pub mod wrap;
pub mod xref;

pub use header::Header;
pub use identity::Identity;
pub use left_out::LeftOut;
pub use parse::{Article, Form, HeaderError};
pub use simd::crc32c;
