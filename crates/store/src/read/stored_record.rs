//! One record of the log, read by its position.

use std::path::Path;

use crate::error::is_unreadable;
use crate::io::disk::{File, Open};
use crate::log::record::{HEADER_BYTES, Head, Kind, Record};
use crate::log::relocation_cache::Tables;
use crate::log::segments::{SegmentFile, Segments, base_of};
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
    segments: &Segments,
    bases: &[u64],
    tables: &Tables,
    position: Position,
) -> Result<StoredRecord, Error> {
    let base = base_of(bases, position.0).ok_or(Error::NoArticle(position))?;
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let file = match segments.open(base, SegmentFile::Art, Open::Read) {
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

/// The record at an offset of an `.art` file, which lies at this position of the log.
pub fn read_record_at(
    file: &dyn File,
    path: &Path,
    offset: u64,
    position: Position,
) -> Result<StoredRecord, Error> {
    let mut bytes = vec![0; HEADER_BYTES];
    // A bad sector is damage of this one article.
    let at = |source| match is_unreadable(&source) {
        true => Error::unreadable(path, offset),
        false => Error::io("read", path, source),
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
