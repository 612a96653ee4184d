//! The limits of numbers in keys and signatures.

/// The longest number that is read, in bits: verifying with a longer one would take seconds.
pub const BITS_MAX: usize = 8192;
