//! The `.art` file of the current segment, and the records that wait for the next commit.

use crate::io::append_file::AppendFile;
use crate::io::disk::{BLOCK_BYTES, Open};
use crate::log::pending::Pending;
use crate::log::record::{HEADER_BYTES, Head, Record};
use crate::log::segment::SegmentHeader;
use crate::log::segments::{SegmentFile, Segments};
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
        let append = segments.append(base, SegmentFile::Art, Open::Write, end)?;
        let header = SegmentHeader::read(&*append.file, &append.path)?;
        header.check_base(base, &append.path)?;
        Ok(Art {
            append,
            header,
            pending: Pending::default(),
        })
    }

    /// Copies the record at an offset behind the last commit into a buffer. `None`: there is none.
    pub fn waiting_record<'b>(
        &self,
        offset: u64,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<Record<'b>>, Error> {
        self.copy_waiting(offset, HEADER_BYTES, buffer)?;
        let Some(head) = Head::parse(buffer) else {
            return Ok(None);
        };
        self.copy_waiting(offset, head.length as usize, buffer)?;
        Ok(Record::parse(buffer))
    }

    /// Copies bytes behind the last commit; some may have been written ahead of the next one.
    fn copy_waiting(&self, offset: u64, length: usize, copy: &mut Vec<u8>) -> Result<(), Error> {
        let written = self.append.end + self.pending.spilled();
        copy.clear();
        copy.resize(
            written.saturating_sub(offset).min(length as u64) as usize,
            0,
        );
        let got = self.append.file.read_at(copy, offset);
        let got = got.map_err(|source| Error::io("read", &self.append.path, source))?;
        copy.truncate(got);
        let from = offset.saturating_sub(written) as usize;
        let rest = self.pending.bytes().get(from..).unwrap_or_default();
        copy.extend(rest.iter().take(length - copy.len()));
        Ok(())
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

    /// True when a record of at most `bytes` still fits in a segment of `segment_bytes`.
    pub fn has_room(&self, bytes: u64, segment_bytes: u64) -> bool {
        self.next() + bytes + PAD_BYTES_MAX <= self.header.span.min(segment_bytes)
    }
}
