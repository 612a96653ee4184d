//! What the findings of `broadsheet check` in the control files share: reading a file, and the text of its faults.

use std::io;

use crate::directory::NewsDirectory;
use crate::text;

/// Most faults of one file that `check` prints; it counts the others.
pub(crate) const FAULTS_TOLD_MAX: usize = 10;

/// Groups without which nothing can be filed: control messages go to one, and what is taken but
/// belongs nowhere to the other.
pub const NEEDED: &[&str] = &["control", "junk"];

/// Reads one of the files.
pub fn read(directory: &NewsDirectory, file: &str) -> Result<Vec<u8>, String> {
    store::regular::read(&directory.file(file)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "is missing".to_owned(),
        _ => format!("cannot be read: {error}"),
    })
}

/// The faults, at most [`FAULTS_TOLD_MAX`] and the number of the others; without any, what `told` says.
pub fn told_or_faults(
    faults: Vec<String>,
    untold: usize,
    told: impl Fn() -> String,
) -> Result<String, String> {
    if faults.is_empty() {
        return Ok(told());
    }
    let more = faults
        .len()
        .saturating_sub(FAULTS_TOLD_MAX)
        .saturating_add(untold);
    let mut lines: Vec<String> = faults.into_iter().take(FAULTS_TOLD_MAX).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    Err(lines.join("\n    "))
}

/// A number of things.
pub fn counted(count: usize, what: &str) -> String {
    text::counted(count as u64, what)
}
