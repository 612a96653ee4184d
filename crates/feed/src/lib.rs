//! Feeds: what each site has still to get.
//!
//! Which sites an article goes to was decided once, when it was filed; its record in the log names them. A feed is a cursor
//! into the log, not a copy: it goes along from there and picks the records that name its site.
//!
//! | file | idea |
//! |---|---|
//! | [`cursor`] | how far a site is, in a file of two slots |
//! | [`place`] | one site's directory: cursor, deferred articles, lock, pause |
//! | [`deferred`] | articles the other side did not want yet |
//! | [`roll`] | sites met for the first time get their cursor |
//! | [`start`] | where in the log a new site begins |
//! | [`waiting`] | one pass along the log for many sites |
//!
//! *Architecture Invariant:* a cursor passes an article only after the transport said yes; after a crash the articles in
//! flight go out again, and none is left out.

pub mod cursor;
pub mod deferred;
mod error;
pub mod place;
pub mod roll;
pub mod start;
pub mod waiting;

pub use cursor::Cursor;
pub use error::Error;
pub use place::{Place, Progress};
pub use waiting::{Item, Round, Waiting};
