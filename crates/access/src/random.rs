//! Random bytes.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Bytes that nobody can guess, from the system.
///
/// # Errors
/// The system's.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    // The system returns up to 256 bytes whole or not at all (getrandom(2)).
    const { assert!(N <= 256) };
    let mut bytes = [0; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}
