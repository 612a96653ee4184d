//! The part of a segment that expire reads: its groups, the place of a cut-off, and the lines to decide individually. It opens no
//! article, and does not read the rows of articles that stay.

use std::collections::HashSet;

use crate::Error;
use crate::expiry::state::ExpiryState;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::io::disk::{MapRef, Open};
use crate::log::position::{Position, SegmentRange};
use crate::log::record::Kind;
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};
use crate::overview::{self, GroupRows};

/// The derived files of one segment, mapped.
#[derive(Debug)]
pub struct Survey {
    segments: Segments,
    pub(crate) base: u64,
    range: SegmentRange,
    pub(crate) his: MapRef,
    pub(crate) his_end: usize,
    pub(crate) ovr: MapRef,
    pub(crate) exp: MapRef,
    /// Positions of lines that break the order of arrival.
    pub(crate) unordered: HashSet<u64>,
    /// Offsets of the records of late articles, which break the order of numbers.
    late: HashSet<u64>,
}

/// The place of a cut-off in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary {
    /// The offset of the first record that did not arrive before it.
    pub record: u64,
    /// The arrival of that record, epoch seconds.
    pub arrival: i64,
}

impl Survey {
    /// Whether an object store has the articles: then they take no space here. One whose header cannot be read counts as here.
    pub fn is_in_object_store(&self) -> bool {
        let header = self.segments.header(self.base);
        matches!(header, Ok(Some(header)) if header.object.is_some())
    }

    /// The position of the segment's first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The first article, in order, that arrived at or after `time`; `None` if all arrived before.
    /// Exceptions ([`Survey::exceptions`]) are skipped.
    pub fn boundary(&self, time: i64) -> Option<Boundary> {
        self.first(|line| line.arrival >= time)
    }

    /// The offset after the last article in history: later rows belong to articles filed since, whose
    /// arrival is unknown.
    pub fn end(&self) -> u64 {
        let text = History::of(self.history()).text();
        let last = text
            .rsplit(|&b| b == b'\n')
            .find_map(|line| self.offset_of(line));
        last.map_or(0, |offset| offset + 1)
    }

    /// Whether the record at an offset is of a late article: its numbers are not in the order of the log.
    pub fn is_late(&self, record: u64) -> bool {
        // Usually there is none.
        !self.late.is_empty() && self.late.contains(&record)
    }

    /// Checks that each visible article with an Expires, and each late one, is among the exceptions.
    ///
    /// # Errors
    /// One is missing: `.exp` is damaged, and the article would expire by the default of its group.
    pub fn check_exceptions(&self, expired: &ExpiryState) -> Result<(), Error> {
        match self.has_its_exceptions(expired) {
            true => Ok(()),
            false => Err(Error::Damaged {
                path: self.segments.path(self.base, SegmentFile::Exp),
                offset: 0,
                what: "it does not list all articles with an Expires, and all late ones",
            }),
        }
    }

    fn has_its_exceptions(&self, expired: &ExpiryState) -> bool {
        let known: HashSet<u64> = self
            .exceptions()
            .filter_map(|line| Some(line.position?.0))
            .collect();
        self.history_lines()
            .filter(|(_, text)| may_be_exception(text))
            .filter_map(|(_, text)| HistoryLine::parse(text))
            .filter(|line| line.is_late || !line.expires.is_absent())
            .all(|line| {
                let position = line.position.map_or(0, |position| position.0);
                known.contains(&position) || line.position.is_none() || !expired.keeps_any(&line)
            })
    }

    /// The arrival of the last article in history, epoch seconds.
    pub fn last_arrival(&self) -> Option<i64> {
        let text = History::of(self.history()).text();
        text.rsplit(|&b| b == b'\n')
            .find_map(|line| HistoryLine::parse(line)?.arrival)
    }

    /// The arrival of the article whose record starts at an offset, epoch seconds; `None` if there is no such article, or it is an
    /// exception.
    pub fn arrival_at(&self, record: u64) -> Option<i64> {
        let found = self.first(|line| line.record >= record)?;
        (found.record == record).then_some(found.arrival)
    }

    /// The first line that is not an exception and for which `reached` is true, if it stays true from there on.
    fn first(&self, reached: impl Fn(&Boundary) -> bool) -> Option<Boundary> {
        let text = History::of(self.history()).text();
        let (mut low, mut high) = (0, text.len());
        let mut found = None;
        while low < high {
            let middle = low + (high - low) / 2;
            let before = text.get(low..middle).unwrap_or_default();
            let start = memchr::memrchr(b'\n', before).map_or(low, |at| low + at + 1);
            match self.ordered_line(text, start, high) {
                None => high = start,
                Some((_, boundary)) if reached(&boundary) => {
                    found = Some(boundary);
                    high = start;
                }
                Some((end, _)) => low = end,
            }
        }
        found
    }

    /// The first line of `start..stop` that is in order, and its end.
    fn ordered_line(&self, text: &[u8], start: usize, stop: usize) -> Option<(usize, Boundary)> {
        let mut at = start;
        while at < stop {
            let rest = text.get(at..stop)?;
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let line = rest.get(..length).and_then(HistoryLine::parse);
            let line_start = at;
            at += length;
            if let Some(line) = line
                && line.expires.is_absent()
                && let (Some(arrival), Some(position)) = (line.arrival, line.position)
                && !self.unordered.contains(&position.0)
            {
                let record = self.record_at_most(text, (line_start, at), position);
                return Some((at, Boundary { record, arrival }));
            }
        }
        None
    }

    /// The offset in the segment that a history line names.
    fn offset_of(&self, line: &[u8]) -> Option<u64> {
        self.range.offset(HistoryLine::parse(line)?.position?)
    }

    /// The offset of the record of a line. Lines are in the order of their records: where the position in this one lies behind that in the next, or in
    /// another segment, it is damaged, and the offset behind the line before stands for it, so that no more expires than should.
    fn record_at_most(&self, text: &[u8], line: (usize, usize), position: Position) -> u64 {
        let (before, behind) = (text.get(..line.0), text.get(line.1..));
        let mut behind = crate::history::lines(behind.unwrap_or_default());
        let next = behind.find_map(|(_, line)| self.offset_of(line));
        let next = next.unwrap_or(u64::MAX);
        match self.range.offset(position).filter(|offset| *offset < next) {
            Some(offset) => offset,
            None => {
                let mut before = before.unwrap_or_default().rsplit(|&byte| byte == b'\n');
                let last = before.find_map(|line| self.offset_of(line));
                last.map_or(0, |last| last + 1).min(next)
            }
        }
    }

    /// The groups with their rows; a group may occur more than once, with increasing numbers.
    pub fn groups(&self) -> impl Iterator<Item = GroupRows<'_>> {
        overview::blocks(self.ovr.bytes()).flat_map(|block| block.groups())
    }

    /// The groups of one hierarchy, the part of their names before the first dot. Others are not read.
    pub fn groups_of(&self, hierarchy: &[u8]) -> impl Iterator<Item = GroupRows<'_>> {
        let own = hierarchy.to_vec();
        let below = [hierarchy, b"."].concat();
        overview::blocks(self.ovr.bytes()).flat_map(move |block| {
            let below = below.clone();
            let others = block.groups_from(&below);
            let own = block.find(&own).into_iter();
            own.chain(others.take_while(move |rows| rows.name.starts_with(&below)))
        })
    }

    /// Call it after everything was read: decisions by missing lines and rows, or by damaged numbers of rows, must not be applied.
    ///
    /// # Errors
    /// The disk could not read a part of the files; or a checksum of the tables of rows is wrong.
    pub fn was_readable(&self) -> Result<(), Error> {
        let views = [
            (SegmentFile::His, &self.his),
            (SegmentFile::Ovr, &self.ovr),
            (SegmentFile::Exp, &self.exp),
        ];
        for (view, map) in views {
            if let Some(offset) = map.unreadable_from() {
                let path = self.segments.path(self.base, view);
                return Err(Error::unreadable(&path, offset));
            }
        }
        match overview::has_sound_tables(self.ovr.bytes()) {
            true => Ok(()),
            false => Err(overview::damaged(&self.segments, self.base)),
        }
    }

    /// Whether the file of rows consists of complete blocks with valid checksums.
    pub(crate) fn is_whole(&self) -> bool {
        let mut length = 0;
        overview::blocks(self.ovr.bytes()).all(|block| {
            length += block.bytes.len();
            block.is_sound()
        }) && length == self.ovr.bytes().len()
    }

    /// Whether the rows are in one block.
    pub(crate) fn is_merged(&self) -> bool {
        overview::blocks(self.ovr.bytes()).nth(1).is_none()
    }

    pub(crate) fn is_compacted(&self) -> bool {
        History::of(self.history()).is_compacted()
    }

    /// Whether the segment has an article, visible or not.
    pub(crate) fn has_articles(&self) -> Result<bool, Error> {
        let path = self.segments.path(self.base, SegmentFile::Art);
        let at = |source| Error::io("read", &path, source);
        let file = self
            .segments
            .open(self.base, SegmentFile::Art, Open::Read)
            .map_err(at)?;
        let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
        while let Some(step) = walk.next().map_err(at)? {
            if matches!(step, Step::Record(_, record) if record.head.kind == Kind::Article) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Total number of rows.
    pub fn rows(&self) -> u64 {
        overview::blocks(self.ovr.bytes())
            .map(|block| block.rows())
            .sum()
    }

    /// The articles that are decided individually: with an Expires, or out of the order of arrival.
    pub fn exceptions(&self) -> impl Iterator<Item = HistoryLine<'_>> {
        self.exception_lines().map(|(_, line)| line)
    }

    /// The same with their text.
    pub(crate) fn exception_lines(&self) -> impl Iterator<Item = (&[u8], HistoryLine<'_>)> {
        crate::history::lines(self.exp.bytes())
            .filter_map(|(_, text)| Some((text, HistoryLine::parse(text)?)))
    }

    /// All remaining history lines of the segment.
    pub fn lines(&self) -> impl Iterator<Item = HistoryLine<'_>> {
        self.history_lines()
            .filter_map(|(_, line)| HistoryLine::parse(line))
    }

    /// Their text, each with its offset in the whole history.
    pub(crate) fn history_lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        History::of(self.history()).lines()
    }

    fn history(&self) -> &[u8] {
        self.his.bytes().get(..self.his_end).unwrap_or_default()
    }

    pub(crate) fn new(
        segments: &Segments,
        base: u64,
        (his, his_end): (MapRef, usize),
        ovr: MapRef,
        exp: MapRef,
    ) -> Survey {
        let mut survey = Survey {
            segments: segments.clone(),
            base,
            range: segments.range_before(base, None),
            his,
            his_end,
            ovr,
            exp,
            unordered: HashSet::new(),
            late: HashSet::new(),
        };
        survey.unordered = survey
            .exceptions()
            .filter(|line| line.expires.is_absent())
            .filter_map(|line| Some(line.position?.0))
            .collect();
        survey.late = survey
            .exceptions()
            .filter(|line| line.is_late)
            .filter_map(|line| line.position?.0.checked_sub(base))
            .collect();
        survey
    }
}

/// False for most lines that are neither late nor have an Expires, without parsing them: a `-` stands behind the arrival, and a digit
/// before the links.
fn may_be_exception(line: &[u8]) -> bool {
    let tab = memchr::memchr(b'\t', line).unwrap_or(line.len());
    let field = line.get(tab..).unwrap_or_default();
    let tilde = memchr::memchr(b'~', field).unwrap_or(field.len());
    let expires = field.get(tilde..).unwrap_or_default();
    let end = memchr::memchr(b'\t', expires).unwrap_or(expires.len());
    !expires.starts_with(b"~-~")
        || expires
            .get(..end)
            .is_some_and(|dates| dates.ends_with(b"e"))
}
