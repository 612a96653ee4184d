//! Reading without the lock: articles, overview rows, history lines, and the log itself.

mod caches;
mod entries;
pub(crate) mod entry_places;
pub(crate) mod follow;
mod group_index;
pub mod histogram;
mod log_view;
pub(crate) mod low_marks;
pub(crate) mod numbered;
pub(crate) mod open_segments;
pub(crate) mod published;
pub(crate) mod removed_since;
mod search;
mod since;
pub(crate) mod snapshot;
pub(crate) mod stretch;
pub(crate) mod visible_rows;
