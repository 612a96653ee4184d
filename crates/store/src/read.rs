//! Reading without the lock: articles, overview rows, history lines, and the log itself.

pub(crate) mod entries;
pub(crate) mod follow;
pub(crate) mod group_index;
pub mod histogram;
pub(crate) mod lender;
pub(crate) mod live_reader;
pub(crate) mod low_marks;
pub(crate) mod numbers;
pub(crate) mod published;
pub(crate) mod reader;
pub(crate) mod record_reader;
pub(crate) mod since;
pub(crate) mod stored_record;
pub(crate) mod stretch;
pub(crate) mod visible_rows;
