//! The `.art` file of the current segment, and the records that wait for the next commit.

use crate::io::append_file::AppendFile;
use crate::io::disk::{BLOCK_BYTES, Open};
use crate::log::pending::Pending;
use crate::log::record::{HEADER_BYTES, Head, Record};
use crate::log::segment::SegmentHeader;
use crate::log::segments::{SegmentFile, Segments};
use crate::read::stored_record::{StoredRecord, read_record_at};
use crate::{Error, Position};

/// Commits of at least this many bytes go past the page cache.
pub const DIRECT_BYTES_MIN: usize = 256 << 10;
/// Kept free at the end of a segment for the pad of its last commit.
pub const PAD_BYTES_MAX: u64 = 2 * BLOCK_BYTES as u64;

/// The articles' own file of the current segment.
#[derive(Debug)]
pub struct Art {
    /// The file.
    pub append: AppendFile,
    /// Base and span.
    pub header: SegmentHeader,
    /// Records that wait for the commit.
    pub pending: Pending,
}

impl Art {
    /// Opens the `.art` file at `base`.
    pub fn open(segments: &Segments, base: u64, end: u64) -> Result<Art, Error> {
        let path = segments.path(base, SegmentFile::Art);
        let append = AppendFile::open(&**segments.disk(), path, Open::Write, end)?;
        let header = SegmentHeader::read(&*append.file, &append.path)?;
        if header.base != base {
            return Err(Error::Damaged {
                path: append.path,
                offset: 16,
                what: "its header names another segment",
            });
        }
        Ok(Art {
            append,
            header,
            pending: Pending::default(),
        })
    }

    /// The record at an offset of the file, also one that waits for the commit.
    pub fn record_at(&self, offset: u64) -> Result<StoredRecord, Error> {
        let position = Position(self.header.base + offset);
        if offset < self.append.end {
            return read_record_at(&*self.append.file, &self.append.path, offset, position);
        }
        let head = Head::parse(&self.waiting(offset, HEADER_BYTES)?);
        let head = head.ok_or(Error::NoArticle(position))?;
        let bytes = self.waiting(offset, head.length as usize)?;
        let record = Record::parse(&bytes).ok_or(Error::NoArticle(position))?;
        Ok(StoredRecord::of(&record))
    }

    /// Bytes behind the last commit: they may have been written out ahead of the next.
    fn waiting(&self, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        let written = self.append.end + self.pending.spilled();
        let mut bytes = vec![0; written.saturating_sub(offset).min(length as u64) as usize];
        let got = self.append.file.read_at(&mut bytes, offset);
        let got = got.map_err(|source| Error::io("read", &self.append.path, source))?;
        bytes.truncate(got);
        let from = offset.saturating_sub(written) as usize;
        let rest = self.pending.bytes().get(from..).unwrap_or_default();
        bytes.extend(rest.iter().take(length - bytes.len()));
        Ok(bytes)
    }

    /// The offset in the file of the next record.
    pub fn next(&self) -> u64 {
        self.append.end + self.pending.spilled() + self.pending.len() as u64
    }

    /// Writes whole blocks out ahead of the commit. Until the commit they count for nothing: a crash leaves a torn
    /// commit, as it would in the middle of one large write.
    pub fn spill(&mut self, direct: bool) -> Result<(), Error> {
        let spilled = self.pending.spilled();
        let length = self.pending.block_bytes(self.append.end + spilled);
        let blocks = self.pending.bytes().get(..length).unwrap_or_default();
        self.append.write_behind(blocks, spilled, direct)?;
        self.pending.drop_written(length);
        Ok(())
    }

    /// Writes all that waits; returns when the system has it.
    pub fn write_pending(&mut self, direct: bool, commit_sequence: u64) -> Result<(), Error> {
        let spilled = self.pending.spilled();
        let direct = direct && (spilled > 0 || self.pending.len() >= DIRECT_BYTES_MIN);
        if direct {
            self.pending.pad(self.append.end + spilled, commit_sequence);
        }
        self.append
            .write_behind(self.pending.bytes(), spilled, direct)?;
        self.append.end += spilled + self.pending.len() as u64;
        self.pending.restart(self.append.end);
        Ok(())
    }

    /// The position of the next record.
    pub fn next_position(&self) -> Position {
        Position(self.header.base + self.next())
    }

    /// True when a record of at most `bytes` still fits.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.next() + bytes + PAD_BYTES_MAX <= self.header.span
    }
}
