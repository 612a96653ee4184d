//! The limit of numbers in keys and signatures.

/// Longest number that is read, bits: verifying with a longer one would take seconds.
pub const BITS_MAX: usize = 8192;
