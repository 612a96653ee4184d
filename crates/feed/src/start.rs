//! Where in the log a feed begins.

use store::{Position, Reader};

use crate::error::Error;

/// Where a feed begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// With what is filed from now on, as in C News.
    #[default]
    Now,
    /// With the oldest article there is.
    Oldest,
    /// With the first that arrived at or after this, epoch seconds.
    Date(i64),
}

/// The position it stands for.
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
