//! Random bytes.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Unpredictable random bytes from the operating system.
///
/// # Errors
/// An error of the operating system.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    // getrandom(2) returns up to 256 bytes completely or fails.
    const { assert!(N <= 256) };
    let mut bytes = [0; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}
