//! The start of a feed in the log.

use store::{Position, Snapshot};

use crate::error::Error;

pub use groups::sites::Start;

/// The position of a start.
///
/// # Errors
/// The store cannot be read.
pub fn position(snapshot: &Snapshot, start: Start) -> Result<Position, Error> {
    let time = match start {
        Start::Now => return Ok(snapshot.end()),
        Start::Oldest => return Ok(snapshot.oldest()),
        Start::Date(time) => time,
    };
    for &base in snapshot.segments() {
        if let Some(boundary) = snapshot.survey(base)?.boundary(time) {
            return Ok(Position(base + boundary.record));
        }
    }
    Ok(snapshot.end())
}
