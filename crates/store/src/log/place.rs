//! An offset in a segment.

/// An offset in the `.art` file of a segment. Places compare in the order of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPlace {
    /// The base of the segment.
    pub base: u64,
    /// Bytes from the start of the file.
    pub offset: u64,
}
