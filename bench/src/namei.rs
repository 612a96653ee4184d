//! `bench namei`: the experiment of section 4 of "Measuring and Improving the Performance of 4.2BSD" again: `ls -l` of a directory of 600
//! files, a scan of 20 such directories, and the look-ups of a day, with and without the directory offset cache and the name cache; in
//! directories that are searched one entry after the other, as in 4.3BSD, and in ours, which have an index.
//!
//! Needs the feature `namei`, so that users who only generate batches need not build a file system.

#[cfg(feature = "namei")]
mod day;
#[cfg(feature = "namei")]
mod tables;
#[cfg(feature = "namei")]
mod through_mount;
#[cfg(feature = "namei")]
mod through_tree;
#[cfg(feature = "namei")]
mod way;

use anyhow::Result;

use crate::site::Site;

/// Runs all modes in each round, and returns the tables.
///
/// # Errors
/// The binary is missing or fails, or a name is not found.
#[cfg(feature = "namei")]
pub fn rows(site: &mut Site, rounds: u32) -> Result<String> {
    tables::rows(site, rounds)
}

/// Returns the reason why there are no tables.
///
/// # Errors
/// None.
#[cfg(not(feature = "namei"))]
pub fn rows(_: &mut Site, _: u32) -> Result<String> {
    Ok("namei: this bench was built without its feature `namei': skipped\n".to_owned())
}
