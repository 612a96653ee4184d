//! The derived files of the current segment, and what waits in them for the next commit.

use std::path::Path;

use crate::history::HistoryLine;
use crate::history::cancels::{CancelLine, Cancels};
use crate::history::exceptions::Exceptions;
use crate::index::watermark::Watermark;
use crate::io::append_file::AppendFile;
use crate::io::bytes::cut;
use crate::io::disk::{BLOCK_BYTES, Disk, Open};
use crate::io::map::MapRef;
use crate::log::place::LogPlace;
use crate::log::segment::SegmentHeader;
use crate::log::segments::{SegmentFile, Segments};
use crate::overview;
use crate::overview::merge::merge_file;
use crate::overview::rows::Rows;
use crate::{Error, Expires};

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
    /// The file `cancels` had a valid line at each place up to the mark.
    pub were_cancels_whole: bool,
    /// History lines that expire decides one by one.
    pub exp: AppendFile,
    exceptions: Exceptions,
}

/// The files of [`Derived`], each with its end.
#[derive(Debug)]
pub struct DerivedFiles {
    /// History lines.
    pub his: AppendFile,
    /// Overview rows.
    pub ovr: AppendFile,
    /// Cancelled articles.
    pub cancels: AppendFile,
    /// History lines that expire decides one by one.
    pub exp: AppendFile,
}

impl Derived {
    /// Opens the derived files of the segment at `mark.base`, and creates missing ones. They end at the mark.
    pub fn open(
        segments: &Segments,
        dir: &Path,
        header: SegmentHeader,
        mark: &Watermark,
    ) -> Result<Derived, Error> {
        let disk = &**segments.disk();
        let append = |file, end| segments.append(header.base, file, Open::Create, end);
        let files = DerivedFiles {
            his: append(SegmentFile::His, mark.his_end)?,
            ovr: append(SegmentFile::Ovr, mark.ovr_end)?,
            cancels: AppendFile::open(disk, dir.join("cancels"), Open::Create, mark.cancels_end)?,
            exp: append(SegmentFile::Exp, mark.exp_end)?,
        };
        Derived::of_files(files, header.span, mark)
    }

    /// The views of open files that end at a mark, of a segment with this span.
    pub fn of_files(files: DerivedFiles, span: u64, mark: &Watermark) -> Result<Derived, Error> {
        let DerivedFiles {
            his,
            ovr,
            cancels,
            exp,
        } = files;
        let his_map = his
            .file
            .map(span)
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
            were_cancels_whole: read as u64 == mark.cancels_end
                && Cancels::first_bad(&text).is_none(),
            exp,
            exceptions: Exceptions::after(mark.newest),
        })
    }

    /// Whether the last lines of `.his` and `.exp` are lines of articles of the segment, whose log ends at `end`. After a power cut a file
    /// system may show zeros, or blocks of another file, where it knew the length of a file and not its bytes (ext4 with `data=writeback`).
    /// Reads two blocks of each.
    ///
    /// # Errors
    /// The disk cannot read `.exp`.
    pub fn end_in_lines(&self, end: LogPlace) -> Result<bool, Error> {
        let his = self.his_map.bytes().get(..self.his.end as usize);
        let his = his.unwrap_or_default();
        let from = end_blocks(self.his.end);
        let span = (end.base, end.base.saturating_add(end.offset));
        if !are_lines(his.get(from as usize..).unwrap_or_default(), from, span) {
            return Ok(false);
        }
        let from = end_blocks(self.exp.end);
        let mut text = vec![0; (self.exp.end - from) as usize];
        let read = match text.is_empty() {
            true => Ok(0),
            false => self.exp.file.read_at(&mut text, from),
        };
        let read = read.map_err(|source| Error::io("read", &self.exp.path, source))?;
        Ok(read == text.len() && are_lines(&text, from, span))
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

    /// Adds the history line of an article (newline included) that arrived then, with that Expires, late or not.
    pub fn push_filed(
        &mut self,
        line: &[u8],
        arrival: i64,
        (expires, is_late): (Expires<'_>, bool),
    ) {
        self.push_line(line);
        self.exceptions.look_at(line, arrival, (expires, is_late));
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

    /// Adds a cancel or a restoration.
    pub fn push_cancel(&mut self, line: &CancelLine<'_>) {
        if self.cancelled.apply(line) {
            line.push(&mut self.cancels_pending);
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
        merge_file(disk, &self.ovr.path, self.ovr.end)?;
        let path = self.ovr.path.clone();
        self.ovr = AppendFile::open(disk, path, Open::Write, 0)?;
        self.ovr.end = self.ovr.length()?;
        Ok(())
    }
}

/// The offset of the last two blocks of a file that ends there.
fn end_blocks(end: u64) -> u64 {
    let block = BLOCK_BYTES as u64;
    (end.saturating_sub(1) / block).saturating_sub(1) * block
}

/// Lines at the end of a file that an opening checks.
const LINES_CHECKED: usize = 4;

/// Whether a text from an offset of a file on ends in whole history lines; those of filed articles with positions in the log of the segment.
fn are_lines(text: &[u8], from: u64, (base, end): (u64, u64)) -> bool {
    let rest = match from {
        0 => Some(text),
        // The rest of a line.
        _ => cut(text, b'\n').1,
    };
    let Some(rest) = rest else {
        return false;
    };
    let Some(lines) = rest.strip_suffix(b"\n") else {
        return rest.is_empty();
    };
    let mut last = lines.rsplit(|&byte| byte == b'\n').take(LINES_CHECKED);
    last.all(|line| {
        HistoryLine::parse(line).is_some_and(|line| match line.position {
            Some(position) => (base..end).contains(&position.0) && line.is_intact(),
            None => !line.is_filed(),
        })
    })
}
