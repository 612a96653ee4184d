//! The store: segments as the one truth, and everything derived from them.
//!
//! Everything that arrives is appended to the current segment's `.art`; `.his`, `.ovr`, the index, `active` and
//! `cancels` hold nothing that cannot be made again from there. See docs/formats/.

mod active_file;
mod alive;
mod bytes;
mod cancels;
mod current;
pub mod disk;
mod error;
mod exceptions;
mod expired;
mod expiry;
mod filing;
pub mod fsck;
mod given;
pub mod history;
mod index;
mod lock;
mod low_marks;
mod map;
mod mark;
mod mend;
mod moved;
mod older;
mod overview;
mod pending;
mod position;
mod punch;
mod reader;
mod rebuild;
mod reclaim;
mod record;
mod recover;
mod repack;
mod replace;
mod row;
mod segment;
mod shrink;
mod spool;
mod survey;
mod thinned;
mod unreclaimed;
mod views;

pub use cancels::Cancels;
pub use current::PAD_BYTES_MAX;
pub use error::Error;
pub use expired::Expired;
pub use expiry::Expiry;
pub use filing::{Filing, Piece};
pub use fsck::fsck;
pub use history::HistoryLine;
pub use index::{LOAD_PERCENT_MAX as INDEX_LOAD_PERCENT_MAX, PROBES_MAX as INDEX_PROBES_MAX};
pub use lock::Lock;
pub use low_marks::LowMark;
pub use map::MapRef;
pub use overview::{GroupRows, Row};
pub use position::{POSITION_MAX, Position};
pub use reader::{Reader, Stored};
pub use rebuild::{Rebuilt, rebuild};
pub use reclaim::{Eagerness, Reclaimed, SEAL_BYTES_MIN, is_unreclaimed, reclaim, reclaim_on};
pub use record::{Head, Kind, Record};
pub use row::OverviewFields;
pub use spool::{Committed, Durability, Options, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, Spool};
pub use survey::{Boundary, Survey};
