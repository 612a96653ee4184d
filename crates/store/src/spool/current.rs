//! The current segment: its three files, and what waits for the next commit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::history::cancels::Cancels;
use crate::history::exceptions::Exceptions;
use crate::index::watermark::Watermark;
use crate::io::disk::{BLOCK_BYTES, Disk, File, Open};
use crate::io::map::MapRef;
use crate::io::replace::{replace, replace_unsynced};
use crate::log::pending::{Pending, split_at_block};
use crate::log::position::{SegmentFile, segment_path};
use crate::log::record::{HEADER_BYTES, Head, Record};
use crate::log::segment::SegmentHeader;
use crate::overview::{self, Rows};
use crate::read::stored_record::{StoredRecord, read_record_at};
use crate::{Error, Expires, Position};

/// Bytes copied, or written again, at once.
const COPY_BYTES: usize = 1 << 20;

/// One file that grows at its end.
#[derive(Debug)]
pub struct AppendFile {
    /// Its path, for messages.
    pub path: PathBuf,
    /// The open file.
    pub file: Box<dyn File>,
    /// Where the next byte goes.
    pub end: u64,
}

impl AppendFile {
    /// Opens a file of ours that grows; what lies beyond `end` is not ours and is cut off.
    pub fn open(disk: &dyn Disk, path: PathBuf, how: Open, end: u64) -> Result<AppendFile, Error> {
        let file = disk
            .open(&path, how)
            .map_err(|source| Error::io("open", &path, source))?;
        Ok(AppendFile { path, file, end })
    }

    /// The file's own length.
    pub fn length(&self) -> Result<u64, Error> {
        self.file
            .length()
            .map_err(|source| Error::io("read the length of", &self.path, source))
    }

    /// Writes at the end. After an error the file is cut back, so that nothing half-written stays.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_behind(bytes, 0, false)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Writes `skip` bytes behind the end, which stays where it is; `direct`: most of it past the page cache where
    /// the file system can (a large commit is read again later or never, and the copy would cost more than all
    /// else that is done to an article). After an error the file is cut back to the end.
    pub fn write_behind(&self, bytes: &[u8], skip: u64, direct: bool) -> Result<(), Error> {
        let at = self.end + skip;
        let written = match split_at_block(bytes, at).filter(|_| direct) {
            None => self.write(bytes, at),
            Some((head, rest)) => self.write(head, at).and_then(|()| {
                let at = at + head.len() as u64;
                if self.file.write_direct(rest, at)? {
                    Ok(())
                } else {
                    self.write(rest, at)
                }
            }),
        };
        written.map_err(|source| {
            // If even this fails, recovery does it at the next start.
            let _ = self.file.set_length(self.end);
            Error::io("write", &self.path, source)
        })
    }

    fn write(&self, bytes: &[u8], at: u64) -> std::io::Result<()> {
        if bytes.is_empty() {
            Ok(())
        } else {
            self.file.write_at(bytes, at)
        }
    }

    /// Makes `end` the file's end.
    pub fn cut(&mut self, end: u64) -> Result<(), Error> {
        self.end = end;
        self.file
            .set_length(end)
            .map_err(|source| Error::io("cut", &self.path, source))
    }

    /// Waits until what was written is on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        self.file
            .sync()
            .map_err(|source| Error::io("sync", &self.path, source))
    }

    /// Writes what lies behind `from` again, past the page cache, as far as `end`, where the file ends then; returns when the disk
    /// has it and gave it back. A sync of it may have failed: then the pages may read well while the disk has nothing, and what is
    /// written to them never gets there, though the next sync succeeds.
    ///
    /// # Errors
    /// The disk does not take it, or gives something else back.
    pub fn write_again(&mut self, from: u64, end: u64) -> Result<(), Error> {
        let from = from - from % BLOCK_BYTES as u64;
        let mut block = Blocks::new();
        let told = self.each_piece(&mut block, (from, end), |file, piece, length, at| {
            let written = piece.get(..length).unwrap_or_default();
            let sum = crc32c::crc32c(written);
            if !file.write_direct(piece, at)? {
                // The best there is where a file system has no other way.
                file.write_at(written, at)?;
            }
            Ok(sum)
        })?;
        // The last block reaches beyond it.
        self.cut(end)?;
        self.sync()?;
        let found = self.each_piece(&mut block, (from, end), |file, piece, length, at| {
            Ok(match file.read_direct(piece, at)? {
                Some(got) => crc32c::crc32c(piece.get(..length.min(got)).unwrap_or_default()),
                None => crc32c::crc32c(piece.get(..length).unwrap_or_default()),
            })
        })?;
        if told == found {
            return Ok(());
        }
        let lost = std::io::Error::other("the disk does not give back what was written to it");
        Err(Error::io("write again", &self.path, lost))
    }

    /// Hands on a stretch of the file that begins with a block, in pieces of whole blocks, the last filled up with zeros; with each
    /// its length and its offset. Returns what was made of them.
    fn each_piece(
        &self,
        blocks: &mut Blocks,
        (from, end): (u64, u64),
        mut each: impl FnMut(&dyn File, &mut [u8], usize, u64) -> std::io::Result<u32>,
    ) -> Result<Vec<u32>, Error> {
        let at = |source| Error::io("write again", &self.path, source);
        let mut told = Vec::new();
        let mut next = from;
        while next < end {
            let length = (end - next).min(COPY_BYTES as u64) as usize;
            let piece = blocks.of(length);
            let wanted = piece.get_mut(..length).unwrap_or_default();
            if self.file.read_at(wanted, next).map_err(at)? < length {
                return Err(at(std::io::ErrorKind::UnexpectedEof.into()));
            }
            told.push(each(&*self.file, piece, length, next).map_err(at)?);
            next += length as u64;
        }
        Ok(told)
    }
}

/// A buffer that begins where a block may.
struct Blocks {
    bytes: Vec<u8>,
    lead: usize,
}

impl Blocks {
    fn new() -> Blocks {
        let bytes = vec![0; COPY_BYTES + BLOCK_BYTES];
        let over = bytes.as_ptr() as usize % BLOCK_BYTES;
        Blocks {
            bytes,
            lead: (BLOCK_BYTES - over) % BLOCK_BYTES,
        }
    }

    /// Zeros: as many whole blocks as so many bytes need.
    fn of(&mut self, length: usize) -> &mut [u8] {
        let end = self.lead + length.next_multiple_of(BLOCK_BYTES);
        let blocks = self.bytes.get_mut(self.lead..end).unwrap_or_default();
        blocks.fill(0);
        blocks
    }
}

/// Puts a copy of the first bytes of a file, up to `end`, in its place: who has mapped the old one goes on looking at that, and
/// nothing is written to pages of which a sync failed. The directory is not synced.
pub fn renew(disk: &dyn Disk, path: &Path, end: u64) -> Result<(), Error> {
    let at = |source| Error::io("copy", path, source);
    let old = match disk.open(path, Open::Read) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        old => old.map_err(at)?,
    };
    if old.length().map_err(at)? == 0 {
        return Ok(());
    }
    replace_unsynced(disk, path, |fresh| {
        let mut piece = vec![0; COPY_BYTES.min(end as usize)];
        let mut done = 0;
        while done < end {
            let wanted = (end - done).min(COPY_BYTES as u64) as usize;
            let got = old.read_at(piece.get_mut(..wanted).unwrap_or_default(), done)?;
            if got == 0 {
                break;
            }
            fresh.write_at(piece.get(..got).unwrap_or_default(), done)?;
            done += got as u64;
        }
        Ok(())
    })
}

/// The views derived from `.art`: written at each commit, synced only at a checkpoint.
#[derive(Debug)]
pub struct Derived {
    /// History lines.
    pub his: AppendFile,
    his_map: MapRef,
    his_pending: Vec<u8>,
    /// Overview rows.
    pub ovr: AppendFile,
    /// Rows of the next block.
    pub rows: Rows,
    block: Vec<u8>,
    /// Cancelled articles.
    pub cancels: AppendFile,
    cancels_pending: Vec<u8>,
    /// The same, in core.
    pub cancelled: Cancels,
    /// History lines that expire decides one by one.
    pub exp: AppendFile,
    exceptions: Exceptions,
}

impl Derived {
    /// Opens the views of the segment at `mark.base` and cuts them to the mark.
    pub fn open(
        disk: &dyn Disk,
        dir: &Path,
        header: SegmentHeader,
        mark: &Watermark,
    ) -> Result<Derived, Error> {
        let segments = dir.join("segments");
        let view = |view| segment_path(&segments, header.base, view);
        let his = AppendFile::open(disk, view(SegmentFile::His), Open::Create, mark.his_end)?;
        let ovr = AppendFile::open(disk, view(SegmentFile::Ovr), Open::Create, mark.ovr_end)?;
        let cancels = AppendFile::open(disk, dir.join("cancels"), Open::Create, mark.cancels_end)?;
        let exp = AppendFile::open(disk, view(SegmentFile::Exp), Open::Create, mark.exp_end)?;
        let his_map = his
            .file
            .map(header.span)
            .map_err(|source| Error::io("map", &his.path, source))?;
        let mut text = vec![0; mark.cancels_end as usize];
        let read = cancels
            .file
            .read_at(&mut text, 0)
            .map_err(|source| Error::io("read", &cancels.path, source))?;
        text.truncate(read);
        Ok(Derived {
            his,
            his_map,
            his_pending: Vec::new(),
            ovr,
            rows: Rows::default(),
            block: Vec::new(),
            cancels,
            cancels_pending: Vec::new(),
            cancelled: Cancels::parse(&text),
            exp,
            exceptions: Exceptions::after(mark.newest),
        })
    }

    /// Cuts off what lies beyond the ends.
    pub fn cut(&mut self) -> Result<(), Error> {
        for append in [
            &mut self.his,
            &mut self.ovr,
            &mut self.cancels,
            &mut self.exp,
        ] {
            if append.length()? != append.end {
                let end = append.end;
                append.cut(end)?;
            }
        }
        Ok(())
    }

    /// Offset in `.his` of the next line.
    pub fn next_line(&self) -> u64 {
        self.his.end + self.his_pending.len() as u64
    }

    /// Adds a history line (newline included).
    pub fn push_line(&mut self, line: &[u8]) {
        self.his_pending.extend_from_slice(line);
    }

    /// Adds the history line of an article (newline included) that arrived then, with that Expires.
    pub fn push_filed(&mut self, line: &[u8], arrival: i64, expires: Expires<'_>) {
        self.push_line(line);
        self.exceptions.look_at(line, arrival, expires);
    }

    /// The latest arrival among the articles without Expires, as the mark keeps it.
    pub fn newest(&self) -> u64 {
        self.exceptions.newest()
    }

    /// The text from an offset in `.his` on, written or still waiting. `None`: beyond the end.
    pub fn text_at(&self, offset: u64) -> Option<&[u8]> {
        match offset.checked_sub(self.his.end) {
            None => self
                .his_map
                .bytes()
                .get(offset as usize..self.his.end as usize),
            Some(waiting) => self.his_pending.get(waiting as usize..),
        }
    }

    /// Every history line of this segment, waiting ones included, with its offset.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let written = self
            .his_map
            .bytes()
            .get(..self.his.end as usize)
            .unwrap_or_default();
        let start = self.his.end;
        let waiting = crate::history::lines(&self.his_pending)
            .map(move |(offset, line)| (start + offset, line));
        crate::history::lines(written).chain(waiting)
    }

    /// Adds a cancel.
    pub fn push_cancel(&mut self, position: Position, id: &[u8]) {
        if self.cancelled.insert(position) {
            Cancels::push_line(&mut self.cancels_pending, position, id);
        }
    }

    /// Takes up a file of cancels that was put in the place of the old one. None may wait.
    pub fn adopt_cancels(&mut self, disk: &dyn Disk, text: &[u8]) -> Result<(), Error> {
        let path = self.cancels.path.clone();
        self.cancels = AppendFile::open(disk, path, Open::Write, text.len() as u64)?;
        self.cancelled = Cancels::parse(text);
        Ok(())
    }

    /// Writes everything that waits: a write a file, no sync.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.his.append(&self.his_pending)?;
        self.his_pending.clear();
        if !self.rows.is_empty() {
            self.block.clear();
            self.rows.build(&mut self.block);
            self.ovr.append(&self.block)?;
        }
        self.cancels.append(&self.cancels_pending)?;
        self.cancels_pending.clear();
        self.exp.append(self.exceptions.lines())?;
        self.exceptions.clear();
        Ok(())
    }

    /// Bytes waiting.
    pub fn pending_bytes(&self) -> usize {
        self.his_pending.len() + self.rows.bytes()
    }

    /// Waits until all that was written is on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        self.his.sync()?;
        self.ovr.sync()?;
        self.exp.sync()?;
        self.cancels.sync()
    }

    /// True when whole blocks fill `.ovr` up to `end`. (They do not when the blocks were merged and the program
    /// was killed before that was marked.)
    pub fn overview_ends_at(&self, end: u64) -> Result<bool, Error> {
        if self.ovr.length()? < end {
            return Ok(false);
        }
        let map = self
            .ovr
            .file
            .map(end)
            .map_err(|source| Error::io("map", &self.ovr.path, source))?;
        Ok(overview::blocks(map.bytes())
            .map(|block| block.bytes.len() as u64)
            .sum::<u64>()
            == end)
    }

    /// Merges the blocks of `.ovr` into one, in place of the old file.
    pub fn merge_overview(&mut self, disk: &dyn Disk) -> Result<(), Error> {
        merge_overview(disk, &self.ovr.path, self.ovr.end)?;
        let path = self.ovr.path.clone();
        self.ovr = AppendFile::open(disk, path, Open::Write, 0)?;
        self.ovr.end = self.ovr.length()?;
        Ok(())
    }
}

/// Merges the blocks of an `.ovr` file into one, under a temporary name first, durably.
pub fn merge_overview(disk: &dyn Disk, path: &Path, end: u64) -> Result<(), Error> {
    let at = |doing| move |source| Error::io(doing, path, source);
    let old = disk.open(path, Open::Read).map_err(at("open"))?;
    let map = old.map(end).map_err(at("map"))?;
    if overview::blocks(map.bytes()).nth(1).is_none() {
        return Ok(());
    }
    let mut sound = 0;
    overview::blocks(map.bytes())
        .take_while(|block| block.is_sound())
        .for_each(|block| sound += block.bytes.len() as u64);
    if sound != end {
        // What is damaged stays as it is, so that checksums tell, and fsck makes the file again from .art.
        return Ok(());
    }
    replace(disk, path, |fresh| {
        overview::merge(map.bytes(), |offset, piece| fresh.write_at(piece, offset)).map(drop)
    })
}

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
    pub fn open(disk: &Arc<dyn Disk>, segments: &Path, base: u64, end: u64) -> Result<Art, Error> {
        let path = segment_path(segments, base, SegmentFile::Art);
        let append = AppendFile::open(&**disk, path, Open::Write, end)?;
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
