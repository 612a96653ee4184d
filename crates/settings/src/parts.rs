//! The parts of a file that belong to one crate each, for tests and fuzzing.

use crate::{Faults, access_entries, read};

/// Reads `accept` and `[[site]]` of a text, and ignores its other keys.
///
/// # Errors
/// All errors together.
pub fn sites(text: &str) -> Result<groups::Tables, Faults> {
    read::part(text, crate::sites::read)
}

/// Reads `[[access]]` of a text, and ignores its other keys.
///
/// # Errors
/// All errors together.
pub fn access(text: &str) -> Result<access::Tables, Faults> {
    read::part(text, access_entries::read)
}

/// Reads `[expiry]` and `[[expire]]` of a text, and ignores its other keys.
///
/// # Errors
/// All errors together.
pub fn expiry(text: &str) -> Result<expire::Tables, Faults> {
    read::part(text, crate::expiry::read)
}
