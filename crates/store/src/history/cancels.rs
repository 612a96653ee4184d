//! The cancelled articles: a file of `position TAB id` lines, derived from the log.

use std::collections::BTreeSet;
use std::path::Path;

use article::decimal;

use crate::io::disk::{Disk, Open};
use crate::log::record::Kind;
use crate::log::segments::Segments;
use crate::{Error, Position};

/// The positions that were cancelled.
#[derive(Debug, Default, Clone)]
pub struct Cancels {
    positions: BTreeSet<u64>,
}

impl Cancels {
    /// Reads the cancels up to `end` of their file.
    pub(crate) fn read(disk: &dyn Disk, dir: &Path, end: u64) -> Result<Cancels, Error> {
        let path = dir.join("cancels");
        if end == 0 {
            return Ok(Cancels::default());
        }
        let at = |source| Error::io("read", &path, source);
        let file = disk.open(&path, Open::Read).map_err(at)?;
        let mut text = vec![0; file.length().map_err(at)?.min(end) as usize];
        let got = file.read_at(&mut text, 0).map_err(at)?;
        text.truncate(got);
        Ok(Cancels::parse(&text))
    }

    /// Calls `each` for every cancel of the log.
    pub fn each_of_log(
        segments: &Segments,
        mut each: impl FnMut(Position, &[u8]),
    ) -> Result<(), Error> {
        for base in segments.bases()? {
            segments.each_record(base, |_, record| {
                let line = record.line().strip_suffix(b"\n").unwrap_or_default();
                if record.head.kind == Kind::Cancel
                    && let Some((position, id)) = Cancels::parse_line(line)
                {
                    each(Position(position), id);
                }
            })?;
        }
        Ok(())
    }

    /// Reads the file's text; a line that cannot be read is passed over (the log has it).
    pub fn parse(text: &[u8]) -> Cancels {
        let positions = text
            .split(|&b| b == b'\n')
            .filter_map(|line| Some(Cancels::parse_line(line)?.0))
            .collect();
        Cancels { positions }
    }

    /// Number of cancelled articles at a position or later.
    pub fn count_from(&self, position: u64) -> usize {
        self.positions.range(position..).count()
    }

    /// Returns whether every line is valid. A write that the disk refused may have left zeros, which nothing else reports once the file
    /// system was mounted again.
    pub fn is_whole(text: &[u8]) -> bool {
        crate::history::lines(text).all(|(_, line)| Cancels::parse_line(line).is_some())
            && (text.is_empty() || text.ends_with(b"\n"))
    }

    /// The position and the id of one line.
    pub fn parse_line(line: &[u8]) -> Option<(u64, &[u8])> {
        let tab = memchr::memchr(b'\t', line)?;
        let (position, id) = line.split_at_checked(tab)?;
        Some((decimal::parse(position)?, id.get(1..)?))
    }

    /// Appends one line.
    pub fn push_line(out: &mut Vec<u8>, position: Position, id: &[u8]) {
        decimal::push(out, position.0);
        out.push(b'\t');
        out.extend(id.iter().map(|&b| if b == b'\n' { b' ' } else { b }));
        out.push(b'\n');
    }

    /// True when the article there was cancelled.
    pub fn contains(&self, position: Position) -> bool {
        self.positions.contains(&position.0)
    }

    /// Adds one; false when it was there.
    pub fn insert(&mut self, position: Position) -> bool {
        self.positions.insert(position.0)
    }

    /// The first one at a position or behind it: who asks about many knows of all in front of it at once.
    pub fn next_from(&self, position: Position) -> Option<Position> {
        let mut behind = self.positions.range(position.0..);
        behind.next().copied().map(Position)
    }

    /// Adds those of lines that were added to the file.
    pub fn add(&mut self, text: &[u8]) {
        let lines = text.split(|&b| b == b'\n');
        let positions = lines.filter_map(|line| Some(Cancels::parse_line(line)?.0));
        self.positions.extend(positions);
    }

    /// All of them, ascending.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        self.positions.iter().copied().map(Position)
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
