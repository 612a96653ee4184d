//! Positions in the log.

/// The place of a record in the log, in bytes from its beginning. It names an article for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// Positions stop here: the index keeps 48 bits of an address (256 TiB of log).
pub const POSITION_MAX: u64 = (1 << 48) - 1;
