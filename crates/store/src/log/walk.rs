//! A walk over the records of an `.art` file.

use std::path::Path;

use crate::history::HistoryLine;
use crate::io::disk::{BLOCK_BYTES, File};
use crate::log::record::{ALIGN, HEADER_BYTES, Head, Kind, MAGIC_BYTES, Record};
use crate::log::relocation::Relocation;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};

/// Bytes of the file that a walk reads at once.
const WINDOW_BYTES: usize = 1 << 20;
/// Shortest hole of a file that a walk passes without reading it, bytes.
const HOLE_BYTES_MIN: u64 = BLOCK_BYTES as u64;

/// What a walk meets.
#[derive(Debug)]
pub enum Step<'a> {
    /// A record, and its position in the segment, which is its offset in the file where that was not repacked.
    Record(u64, Record<'a>),
    /// Bytes `from..to` of the file are not records; the walk goes on behind them.
    Gap {
        /// First byte that is not understood.
        from: u64,
        /// The next record, the end of the file, or a hole of the file behind other bytes.
        to: u64,
        /// All zero: never written, or punched by expire.
        empty: bool,
    },
}

/// A walk over the records of an `.art` file, in order. Memory: a window of 1 MiB, more only for a larger record.
#[derive(Debug)]
pub struct Walk<'f> {
    file: &'f dyn File,
    window: Vec<u8>,
    /// Offset in the file of the window's first byte.
    start: u64,
    /// The walk stands here, offset in the file.
    at: u64,
    end: u64,
    table: Table,
}

/// How the walk tells positions.
#[derive(Debug)]
enum Table {
    /// As they lie in the file.
    Plain,
    /// As the table of a repacked segment says.
    Relocation(Relocation),
    /// The table is damaged: articles tell their own, within the segment of this base; others follow the one before.
    Lost { base: u64, next: u64 },
}

impl<'f> Walk<'f> {
    /// Walks from `from` to the file's end or `to`, whichever comes first. From the first record on, a repacked segment's
    /// records tell the positions they had before.
    pub fn new(file: &'f dyn File, from: u64, to: u64) -> std::io::Result<Walk<'f>> {
        // A segment that is still being filed into is never repacked.
        match from <= SEGMENT_HEADER_BYTES {
            true => Walk::from_within(file, from, to),
            false => Walk::as_it_lies(file, from, to),
        }
    }

    /// As [`Walk::new`], also where a walk through a repacked segment begins behind its first record.
    pub fn from_within(file: &'f dyn File, from: u64, to: u64) -> std::io::Result<Walk<'f>> {
        let mut walk = Walk::as_it_lies(file, from, to)?;
        if let Ok(header) = SegmentHeader::read(file, Path::new(""))
            && header.moved_at != 0
        {
            walk.end = walk.end.min(header.moved_at);
            walk.table = match Relocation::read(file, header.moved_at)? {
                Some(moved) => Table::Relocation(moved),
                None => Table::Lost {
                    base: header.base,
                    next: from.max(SEGMENT_HEADER_BYTES),
                },
            };
        }
        Ok(walk)
    }

    /// As [`Walk::new`], but records tell where they lie in the file.
    pub fn as_it_lies(file: &'f dyn File, from: u64, to: u64) -> std::io::Result<Walk<'f>> {
        Ok(Walk {
            file,
            window: Vec::new(),
            start: from,
            at: from.max(SEGMENT_HEADER_BYTES),
            end: file.length()?.min(to),
            table: Table::Plain,
        })
    }

    /// True when the table of a repacked segment is damaged.
    pub fn lost_its_table(&self) -> bool {
        matches!(self.table, Table::Lost { .. })
    }

    /// The positions, within the segment, of bytes of the file.
    pub fn positions(&self, (from, to): (u64, u64)) -> (u64, u64) {
        match &self.table {
            Table::Relocation(moved) if to >= self.end => (moved.position(from), u64::MAX),
            Table::Relocation(moved) => (moved.position(from), moved.position(to)),
            Table::Plain | Table::Lost { .. } => (from, to),
        }
    }

    /// The next step; `None` at the end.
    pub fn next(&mut self) -> std::io::Result<Option<Step<'_>>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let at = self.at;
        if let Some(head) = self.head_of_record(at)? {
            self.at = at + u64::from(head.length);
            let begin = (at - self.start) as usize;
            let bytes = self.window.get(begin..);
            let record = bytes.and_then(|bytes| Record::with_head(head, bytes));
            let table = &mut self.table;
            return Ok(record.map(|record| Step::Record(table.position(at, &record), record)));
        }
        if let Some(to) = self.behind_damage(at)? {
            self.at = to;
            return Ok(Some(Step::Gap {
                from: at,
                to,
                empty: false,
            }));
        }
        let (to, empty) = self.gap_end(at)?;
        self.at = to;
        Ok(Some(Step::Gap {
            from: at,
            to,
            empty,
        }))
    }

    /// Where the gap ends that begins at `at`: at the next record, at the end, or at a hole of the file behind other bytes. Holes are passed without
    /// reading them. Returns whether all of the gap is zero, too.
    fn gap_end(&mut self, at: u64) -> std::io::Result<(u64, bool)> {
        let (mut to, mut empty) = (at, true);
        while to < self.end {
            let data = self.file.next_data(to)?.min(self.end);
            if data.saturating_sub(to) >= HOLE_BYTES_MIN {
                if !empty {
                    break;
                }
                to += match data == self.end {
                    true => data - to,
                    false => (data - to) / ALIGN as u64 * ALIGN as u64,
                };
            }
            let window = self.fill(to, ALIGN)?;
            if window.is_empty() {
                // The file became shorter meanwhile.
                to = self.end;
                break;
            }
            let skip = if to == at { ALIGN } else { 0 };
            let window = self.rest_of_window(to);
            let found = next_magic(window, skip);
            let step = found.unwrap_or(window.len().next_multiple_of(ALIGN));
            let passed = window.get(..step).unwrap_or(window);
            empty = empty && passed.iter().all(|&byte| byte == 0);
            to = (to + step as u64).min(self.end);
            if found.is_some() {
                if self.head_of_record(to)?.is_some() {
                    break;
                }
                empty = false;
                to = (to + ALIGN as u64).min(self.end);
            }
        }
        Ok((to, empty))
    }

    /// The bytes of the window from an offset on: whole units of [`ALIGN`] bytes, except at the end.
    fn rest_of_window(&self, at: u64) -> &[u8] {
        let begin = at.saturating_sub(self.start) as usize;
        let rest = self.window.get(begin..).unwrap_or_default();
        let is_last = at + rest.len() as u64 >= self.end;
        let whole = rest.len() / ALIGN * ALIGN;
        match is_last || whole == 0 {
            true => rest,
            false => rest.get(..whole).unwrap_or(rest),
        }
    }

    /// Where a damaged record ends, if its header can still be believed: a sound record, or the end, lies there. What an
    /// article says inside is then not looked at, whatever it looks like.
    fn behind_damage(&mut self, at: u64) -> std::io::Result<Option<u64>> {
        let Some(head) = Head::parse(self.fill(at, HEADER_BYTES)?) else {
            return Ok(None);
        };
        let to = at + u64::from(head.length);
        let believed =
            to > at && (to == self.end || (to < self.end && self.head_of_record(to)?.is_some()));
        Ok(believed.then_some(to))
    }

    /// The header of the record at `at` if that is whole and right.
    fn head_of_record(&mut self, at: u64) -> std::io::Result<Option<Head>> {
        let Some(head) = Head::parse(self.fill(at, HEADER_BYTES)?) else {
            return Ok(None);
        };
        if at + u64::from(head.length) > self.end {
            return Ok(None);
        }
        let whole = self.fill(at, head.covered())?;
        Ok(Record::check(head, whole).map(|record| record.head))
    }

    /// Up to `length` bytes at `at`, fewer only at the end.
    fn fill(&mut self, at: u64, length: usize) -> std::io::Result<&[u8]> {
        let have = self.start + self.window.len() as u64;
        let wanted = (at + length as u64).min(self.end);
        if at < self.start || wanted > have {
            let bytes = (length.max(WINDOW_BYTES) as u64).min(self.end - at) as usize;
            self.window.resize(bytes, 0);
            let got = self.file.read_at(&mut self.window, at)?;
            self.window.truncate(got);
            self.start = at;
        }
        let begin = (at - self.start) as usize;
        let stop = (begin + length).min(self.window.len());
        Ok(self.window.get(begin..stop).unwrap_or_default())
    }
}

/// The first place of `bytes`, at `from` or behind it, where a record may begin.
fn next_magic(bytes: &[u8], from: usize) -> Option<usize> {
    let found = memchr::memmem::find_iter(bytes.get(from..)?, MAGIC_BYTES);
    found
        .map(|at| from + at)
        .find(|at| at.is_multiple_of(ALIGN))
}

impl Table {
    fn position(&mut self, at: u64, record: &Record<'_>) -> u64 {
        match self {
            Table::Plain => at,
            Table::Relocation(moved) => moved.position(at),
            Table::Lost { base, next } => {
                let told = HistoryLine::parse(record.line())
                    .filter(|_| record.head.kind == Kind::Article)
                    .and_then(|line| line.position?.0.checked_sub(*base));
                let position = told.unwrap_or(*next);
                *next = position + u64::from(record.head.length);
                position
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk::{Disk, Open, RealDisk};
    use crate::log::record::{Commit, push_text};
    use crate::log::segment::FIRST_BASE;

    /// A hole is one step, however large it is; a gap in front of it is another.
    #[test]
    fn holes_are_passed_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("art");
        let commit = Commit {
            commit_sequence: 1,
            start: 0,
        };
        let mut record = Vec::new();
        push_text(&mut record, Kind::Seen, commit, b"<1@x>\t1~-\n");
        let (head, length) = (SegmentHeader::plain(FIRST_BASE, 4096), record.len() as u64);
        let behind = 2_700 << 30;
        let file = RealDisk.open(&path, Open::Truncate).unwrap();
        file.write_at(&head.to_bytes(), 0).unwrap();
        file.write_at(&record, 64).unwrap();
        file.write_at(b"damage", 64 + length).unwrap();
        if file.write_at(&record, behind).is_err() {
            println!("skipped: the file system has no files of 2.7 TB");
            return;
        }
        file.set_length(2 * behind).unwrap();
        if file.next_data(1 << 30).unwrap() == 1 << 30 {
            println!("skipped: the file system does not tell where holes are");
            return;
        }
        let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).unwrap();
        let mut met = Vec::new();
        while let Some(step) = walk.next().unwrap() {
            met.push(match step {
                Step::Record(at, _) => (at, at + length, None),
                Step::Gap { from, to, empty } => (from, to, Some(empty)),
            });
        }
        let (end, damaged_end) = (64 + length, met[1].1);
        assert!(damaged_end - end <= 2 * WINDOW_BYTES as u64, "{met:?}");
        let wanted = [
            (64, end, None),
            (end, damaged_end, Some(false)),
            (damaged_end, behind, Some(true)),
            (behind, behind + length, None),
            (behind + length, 2 * behind, Some(true)),
        ];
        assert_eq!(met, wanted);
    }

    /// An article may hold what looks like a record. Damage in front of it must not make it one.
    #[test]
    fn what_an_article_says_is_never_a_record() {
        let commit = |start| Commit {
            commit_sequence: 1,
            start,
        };
        let mut forged = Vec::new();
        push_text(&mut forged, Kind::LowMarks, commit(0), b"a.b 90000 90000\n");
        let mut bytes = SegmentHeader::plain(FIRST_BASE, 4096).to_bytes().to_vec();
        let start = bytes.len();
        // A text that begins eight bytes behind the record's header, so that the forgery is aligned.
        push_text(
            &mut bytes,
            Kind::Seen,
            commit(start),
            &[&[b'x'; 8], &forged[..]].concat(),
        );
        let end = bytes.len();
        push_text(&mut bytes, Kind::Seen, commit(start), b"<2@x>\t1~-\n");
        bytes[start + 50] ^= 1;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("art");
        std::fs::write(&path, &bytes).unwrap();
        let file = RealDisk.open(&path, Open::Read).unwrap();
        let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).unwrap();
        let mut met = Vec::new();
        while let Some(step) = walk.next().unwrap() {
            met.push(match step {
                Step::Record(at, record) => (at as usize, Some(record.head.kind)),
                Step::Gap { from, .. } => (from as usize, None),
            });
        }
        assert_eq!(met, [(start, None), (end, Some(Kind::Seen))]);
    }
}
