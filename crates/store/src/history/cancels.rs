//! The cancelled and removed articles: a file of lines, derived from the log.
//!
//! A line is `position TAB id`, which may continue with `TAB time TAB until TAB how TAB text`; or `-position TAB id`: restored.
//! The last line of a position counts.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use article::decimal;

use crate::io::disk::{Disk, Open};
use crate::log::record::Kind;
use crate::log::segments::Segments;
use crate::{Error, Position};

/// Longest text of a removal (the reason, or the id of a cancel message), bytes. A longer one is truncated.
pub const REMOVAL_TEXT_BYTES_MAX: usize = 500;

/// The positions that were cancelled.
#[derive(Debug, Default, Clone)]
pub struct Cancels {
    /// With the time until which the article can be restored, seconds since 1970; its space stays as long.
    positions: BTreeMap<u64, i64>,
}

/// How an article was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedBy {
    /// By a cancel or Supersedes message; the text is its id.
    Cancel,
    /// By the administrator; the text is the reason.
    Hand,
    /// By the administrator, who also had its bytes erased; the text is the reason.
    Erasure,
}

/// Why and when an article was removed, and until when it can be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovalNote<'a> {
    /// The time of the removal, seconds since 1970.
    pub seconds: i64,
    /// The time until which it can be restored, seconds since 1970.
    pub until: i64,
    /// How it was removed.
    pub by: RemovedBy,
    /// The reason, or the id of the cancel message.
    pub text: &'a [u8],
}

/// One line of the file of cancels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelLine<'a> {
    /// The position of the article.
    pub position: Position,
    /// Its message-id.
    pub id: &'a [u8],
    /// The article was restored.
    pub is_restored: bool,
    /// When and why it was removed, if that is known.
    pub note: Option<RemovalNote<'a>>,
}

impl RemovedBy {
    fn letter(self) -> u8 {
        match self {
            RemovedBy::Cancel => b'c',
            RemovedBy::Hand => b'r',
            RemovedBy::Erasure => b'e',
        }
    }

    /// The word for programs.
    pub fn word(self) -> &'static str {
        match self {
            RemovedBy::Cancel => "cancel",
            RemovedBy::Hand => "removed",
            RemovedBy::Erasure => "erased",
        }
    }
}

impl<'a> CancelLine<'a> {
    /// Parses a line without its newline.
    pub fn parse(line: &'a [u8]) -> Option<CancelLine<'a>> {
        let mut fields = line.splitn(6, |&byte| byte == b'\t');
        let place = fields.next()?;
        let (place, is_restored) = match place.strip_prefix(b"-") {
            Some(place) => (place, true),
            None => (place, false),
        };
        let position = Position(decimal::parse(place)?);
        let id = fields.next()?;
        let note = match (fields.next(), fields.next(), fields.next(), fields.next()) {
            (Some(seconds), Some(until), Some(how), Some(text)) => {
                let by = match how {
                    b"c" => RemovedBy::Cancel,
                    b"e" => RemovedBy::Erasure,
                    _ => RemovedBy::Hand,
                };
                Some(RemovalNote {
                    seconds: decimal::parse_signed(seconds)?,
                    until: decimal::parse_signed(until)?,
                    by,
                    text,
                })
            }
            _ => None,
        };
        Some(CancelLine {
            position,
            id,
            is_restored,
            note,
        })
    }

    /// Appends the line with its newline.
    pub fn push(&self, out: &mut Vec<u8>) {
        if self.is_restored {
            out.push(b'-');
        }
        decimal::push(out, self.position.0);
        out.push(b'\t');
        push_clean(out, self.id);
        if let Some(note) = &self.note {
            out.push(b'\t');
            decimal::push_signed(out, note.seconds);
            out.push(b'\t');
            decimal::push_signed(out, note.until);
            out.extend_from_slice(&[b'\t', note.by.letter(), b'\t']);
            let end = note.text.len().min(REMOVAL_TEXT_BYTES_MAX);
            push_clean(out, note.text.get(..end).unwrap_or_default());
        }
        out.push(b'\n');
    }

    /// The time until which the article can be restored.
    fn until(&self) -> i64 {
        self.note.map_or(i64::MIN, |note| note.until)
    }
}

/// A tab or newline would end the field.
fn push_clean(out: &mut Vec<u8>, text: &[u8]) {
    let clean = |&byte: &u8| if byte.is_ascii_control() { b' ' } else { byte };
    out.extend(text.iter().map(clean));
}

impl Cancels {
    /// Reads the cancels up to `end` of their file.
    ///
    /// # Errors
    /// The file cannot be read; [`Error::Damaged`] if it is missing, shorter, or has an invalid line: without all cancels, articles that were
    /// removed would be shown.
    pub(crate) fn read(disk: &dyn Disk, dir: &Path, end: u64) -> Result<Cancels, Error> {
        let path = dir.join("cancels");
        if end == 0 {
            return Ok(Cancels::default());
        }
        let at = |source| Error::io("read", &path, source);
        let mut text = Vec::new();
        match disk.open(&path, Open::Read) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => {
                let file = opened.map_err(at)?;
                text.resize(file.length().map_err(at)?.min(end) as usize, 0);
                let got = file.read_at(&mut text, 0).map_err(at)?;
                text.truncate(got);
            }
        }
        Cancels::check(&path, &text, end)?;
        Ok(Cancels::parse(&text))
    }

    /// Checks the text of the file, which has lines up to `end`.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it is shorter, or has an invalid line.
    pub(crate) fn check(path: &Path, text: &[u8], end: u64) -> Result<(), Error> {
        let length = text.len() as u64;
        let is_short = length < end;
        match Cancels::first_bad(text).or(is_short.then_some(length)) {
            None => Ok(()),
            Some(offset) => Err(Error::Damaged {
                path: path.to_owned(),
                offset,
                what: "it does not name all removed articles",
            }),
        }
    }

    /// Calls `each` for every removal and restoration of the log, in order.
    pub fn each_of_log(
        segments: &Segments,
        mut each: impl FnMut(CancelLine<'_>),
    ) -> Result<(), Error> {
        for base in segments.bases()? {
            Cancels::each_of_segment(segments, base, &mut each)?;
        }
        Ok(())
    }

    /// As [`Cancels::each_of_log`], of one segment.
    pub fn each_of_segment(
        segments: &Segments,
        base: u64,
        mut each: impl FnMut(CancelLine<'_>),
    ) -> Result<(), Error> {
        segments.each_record(base, |_, record| {
            let line = record.line().strip_suffix(b"\n").unwrap_or_default();
            if record.head.kind == Kind::Cancel
                && let Some(line) = CancelLine::parse(line)
            {
                each(line);
            }
        })
    }

    /// The removals of a log of which some segments cannot be read: `older` are the lines before the last of these, `newer` those behind it, and
    /// `known` is the whole file. Of each position the last line stays.
    pub(crate) fn of_parts(older: &[u8], known: &[u8], newer: &[u8]) -> Vec<u8> {
        // The line in the file may be of a segment that cannot be read, and a later one.
        let mut last: BTreeMap<u64, CancelLine<'_>> = BTreeMap::new();
        for text in [older, known, newer] {
            let lines = super::lines(text);
            let lines = lines.filter_map(|(_, line)| CancelLine::parse(line));
            last.extend(lines.map(|line| (line.position.0, line)));
        }
        let mut text = Vec::new();
        last.values().for_each(|line| line.push(&mut text));
        text
    }

    /// Reads the file's text; a line that cannot be read is passed over (the log has it).
    pub fn parse(text: &[u8]) -> Cancels {
        let mut cancels = Cancels::default();
        cancels.add(text);
        cancels
    }

    /// Applies a line. Returns false if it changes nothing.
    pub fn apply(&mut self, line: &CancelLine<'_>) -> bool {
        let position = line.position.0;
        match line.is_restored {
            true => self.positions.remove(&position).is_some(),
            false => self.positions.insert(position, line.until()) != Some(line.until()),
        }
    }

    /// Whether a line would change anything.
    pub fn is_changed_by(&self, line: &CancelLine<'_>) -> bool {
        let known = self.positions.get(&line.position.0).copied();
        match line.is_restored {
            true => known.is_some(),
            false => known != Some(line.until()),
        }
    }

    /// The time until which the article at a position can be restored, if it was removed.
    pub fn until(&self, position: Position) -> Option<i64> {
        self.positions.get(&position.0).copied()
    }

    /// Without those that can still be restored at this time: their space must stay.
    pub(crate) fn without_restorable(&self, now: i64) -> Cancels {
        let is_due = |(_, until): &(&u64, &i64)| **until <= now;
        let due = self.positions.iter().filter(is_due);
        Cancels {
            positions: due.map(|(position, until)| (*position, *until)).collect(),
        }
    }

    /// The positions of those that can still be restored at this time, ascending.
    pub(crate) fn restorable(&self, now: i64) -> impl Iterator<Item = u64> {
        let positions = self.positions.iter();
        positions
            .filter(move |(_, until)| **until > now)
            .map(|(position, _)| *position)
    }

    /// Number of cancelled articles at a position or later.
    pub fn count_from(&self, position: u64) -> usize {
        self.positions.range(position..).count()
    }

    /// The offset of the first line that is not as [`CancelLine::push`] writes it. A write that the disk refused may have left zeros, which
    /// nothing else reports once the file system was mounted again.
    pub fn first_bad(text: &[u8]) -> Option<u64> {
        let mut written = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            written.clear();
            if let Some(parsed) = CancelLine::parse(line.strip_suffix(b"\n").unwrap_or(line)) {
                parsed.push(&mut written);
            }
            if written != line {
                return Some(offset);
            }
            offset += line.len() as u64;
        }
        None
    }

    /// True when the article there was cancelled.
    pub fn contains(&self, position: Position) -> bool {
        self.positions.contains_key(&position.0)
    }

    /// The first one at a position or behind it: who asks about many knows of all in front of it at once.
    pub fn next_from(&self, position: Position) -> Option<Position> {
        let mut behind = self.positions.range(position.0..);
        behind.next().map(|(position, _)| Position(*position))
    }

    /// Applies lines that were added to the file.
    pub fn add(&mut self, text: &[u8]) {
        for line in text.split(|&b| b == b'\n') {
            if let Some(line) = CancelLine::parse(line) {
                self.apply(&line);
            }
        }
    }

    /// All of them, ascending.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        self.positions.keys().copied().map(Position)
    }

    /// Those from one position up to another, which is not included; ascending.
    pub(crate) fn between(&self, from: u64, to: u64) -> impl Iterator<Item = Position> {
        let range = self.positions.range(from..to.max(from));
        range.map(|(position, _)| Position(*position))
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }
}
