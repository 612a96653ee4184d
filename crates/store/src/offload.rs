//! Sealed segments whose articles are in an object store: docs/formats/offload.md.
//!
//! The header of a segment's `.art` names the object that has its bytes. The file keeps its length, and is the cache: bytes in it that belong to a
//! record with a right checksum are there, and all others are fetched. No other file tells what is in the cache.

pub(crate) mod cache;
pub(crate) mod cancel_locks;
pub(crate) mod fetch;
pub(crate) mod object_name;
pub(crate) mod objects;
pub(crate) mod offloaded_file;
mod owner;
mod run;
pub(crate) mod unnamed;

pub use cache::{FETCH_BYTES_MIN, UNCHECKED_RECORD_BYTES_MAX, cached_bytes};
pub use cancel_locks::CANCEL_LOCK_BYTES_MAX;
pub use fetch::{Fetch, fetch_by};
pub use objects::{Connection, Health, Objects, connect, connect_by, health, reconnect};
pub(crate) use run::recall;
pub use run::{
    Offloaded, SegmentPlace, Wanted, bring_back, bring_back_on, check, count_undeleted,
    lacks_cancel_locks, list, move_away, move_away_on, place_of_copy,
};

use crate::Error;
use crate::log::segments::Segments;

/// Deletes the objects that no segment names any more. One run at a time (`lock.expire`).
pub(crate) fn delete_unnamed(segments: &Segments) -> Result<(), Error> {
    if unnamed::read(segments)?.is_empty() {
        return Ok(());
    }
    let store = objects::of(segments.directory())?;
    unnamed::sweep(segments, &store)
}
