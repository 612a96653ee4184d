//! The start of a feed in the log.

use store::{Position, Reader};

use crate::error::Error;

pub use groups::sites::Start;

/// The position of a start.
///
/// # Errors
/// The store cannot be read.
pub fn position(reader: &Reader, start: Start) -> Result<Position, Error> {
    let time = match start {
        Start::Now => return Ok(reader.end()),
        Start::Oldest => return Ok(reader.oldest()),
        Start::Date(time) => time,
    };
    for &base in reader.segments() {
        if let Some(boundary) = reader.survey(base)?.boundary(time) {
            return Ok(Position(base + boundary.record));
        }
    }
    Ok(reader.end())
}
