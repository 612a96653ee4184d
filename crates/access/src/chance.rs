//! Random bytes.

use std::fs::File;
use std::io::{self, Read};

/// Bytes that nobody can guess, from the system.
///
/// # Errors
/// Those of the file system.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
