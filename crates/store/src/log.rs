//! The log: segments of records, each record at a position that never changes.

pub(crate) mod art;
pub(crate) mod known_bases;
pub(crate) mod pending;
pub(crate) mod place;
pub(crate) mod position;
pub(crate) mod record;
pub(crate) mod relocation;
pub(crate) mod relocation_cache;
pub(crate) mod repack_reserve;
pub(crate) mod segment;
pub(crate) mod segments;
pub(crate) mod walk;
