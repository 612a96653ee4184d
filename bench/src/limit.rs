//! The time that the machine needs to make bytes durable: the reference for real time.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::measure::{Usages, own_times};

/// Bytes between two `fdatasync` calls.
pub const PIECE_BYTES: usize = 8 << 20;

/// Writes `bytes` to a new file in pieces, with `fdatasync` after each. Creating the
/// file and reading the bytes are not measured.
///
/// # Errors
/// Those of the file system.
pub fn write_and_sync(file: &Path, bytes: &[u8]) -> Result<Usages> {
    let mut out = File::create_new(file).with_context(|| format!("making {}", file.display()))?;
    let (user, system) = own_times()?;
    let begin = Instant::now();
    for piece in bytes.chunks(PIECE_BYTES) {
        out.write_all(piece)?;
        out.sync_data()?;
    }
    let real = begin.elapsed();
    let (user_after, system_after) = own_times()?;
    Ok(Usages {
        real,
        user: user_after.saturating_sub(user),
        system: system_after.saturating_sub(system),
        resident_kib: 0,
    })
}
