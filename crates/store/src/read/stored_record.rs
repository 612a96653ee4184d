//! One record of the log, read by its position.

use std::path::Path;

use crate::error::is_unreadable;
use crate::io::disk::{Disk, File, Open};
use crate::log::position::{SegmentFile, segment_path};
use crate::log::record::{HEADER_BYTES, Head, Kind, Record};
use crate::log::relocation_cache::Tables;
use crate::{Error, Position};

/// One record read from the log.
#[derive(Debug, Clone)]
pub struct StoredRecord {
    bytes: Vec<u8>,
}

impl StoredRecord {
    /// The record.
    pub fn record(&self) -> Record<'_> {
        // The constructor looked at it; an empty record stands for the impossible.
        Record::trust(&self.bytes).unwrap_or_default()
    }

    /// A copy of a record.
    pub fn of(record: &Record<'_>) -> StoredRecord {
        let bytes = record.bytes().to_vec();
        StoredRecord { bytes }
    }
}

/// The record of an article at a position in one of these segments.
pub fn read_record(
    disk: &dyn Disk,
    segments: &Path,
    bases: &[u64],
    tables: &Tables,
    position: Position,
) -> Result<StoredRecord, Error> {
    let place = bases.partition_point(|&base| base <= position.0);
    let base = place
        .checked_sub(1)
        .and_then(|place| bases.get(place))
        .ok_or(Error::NoArticle(position))?;
    let path = segment_path(segments, *base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let file = match disk.open(&path, Open::Read) {
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NoArticle(position));
        }
        opened => opened.map_err(at)?,
    };
    let offset = tables
        .in_file(&*file, &path, position.0 - base)?
        .ok_or(Error::NoArticle(position))?;
    read_record_at(&*file, &path, offset, position)
}

/// The record at an offset of an `.art` file, whose position is this.
pub fn read_record_at(
    file: &dyn File,
    path: &Path,
    offset: u64,
    position: Position,
) -> Result<StoredRecord, Error> {
    let at = |source| Error::io("read", path, source);
    let mut bytes = vec![0; HEADER_BYTES];
    // A bad sector is damage of this one article.
    let at = |source| match is_unreadable(&source) {
        true => Error::unreadable(path, offset),
        false => at(source),
    };
    let got = file.read_at(&mut bytes, offset).map_err(at)?;
    if got < HEADER_BYTES || bytes.iter().all(|&b| b == 0) {
        return Err(Error::NoArticle(position));
    }
    let damaged = || Error::Damaged {
        path: path.to_owned(),
        offset,
        what: "the checksum of the article is wrong",
    };
    let head = Head::parse(&bytes).ok_or_else(damaged)?;
    if head.kind == Kind::Hole {
        return Err(Error::NoArticle(position));
    }
    bytes.resize(head.length as usize, 0);
    file.read_at(&mut bytes, offset).map_err(at)?;
    Record::parse(&bytes).ok_or_else(damaged)?;
    Ok(StoredRecord { bytes })
}
