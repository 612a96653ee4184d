//! `bench index`: bytes an id and time a look-up with ten million ids.
//!
//! Measures the store's own library rather than the binary, because a process
//! started for each look-up would measure the starting.

use anyhow::Result;

/// How many ids the row in docs/performance.md is about.
pub const IDS: u64 = 10_000_000;

/// The rows to print, or why there are none.
///
/// # Errors
/// Those of the store.
pub fn rows(ids: u64) -> Result<String> {
    // The store's index is to be filled with `mix(0..ids)` as hashes here, then
    // 1,000,000 present and 1,000,000 absent ids looked up in mixed order.
    Ok(format!(
        "index, {ids} ids: skipped: the bench does not call the store's index yet\n"
    ))
}
