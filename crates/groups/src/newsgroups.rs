//! The `newsgroups` file: the description of each group, one line per group,
//! `group<TABs>description`.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use memchr::memchr_iter;
use thiserror::Error;

use crate::name;

/// Largest `newsgroups` file, bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 30;

/// Longest description that is written, bytes; longer ones are cut.
pub const DESCRIPTION_BYTES_MAX: usize = 512;

/// Most bad lines that are kept for messages; further ones are only counted.
pub const BAD_LINES_MAX: usize = 100;

/// The error of reading or changing a `newsgroups` file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NewsgroupsError {
    /// Over [`TEXT_BYTES_MAX`].
    #[error(
        "newsgroups has {0} bytes, more than the limit of {TEXT_BYTES_MAX}; check that it is the right file"
    )]
    TooLarge(usize),
    /// The name is not [safe](name::is_safe).
    #[error("group name `{0}' is not allowed")]
    UnsafeName(String),
}

/// The descriptions of groups: the text of the file, and the positions of its lines.
#[derive(Debug, Default)]
pub struct Newsgroups {
    text: Vec<u8>,
    lines: Vec<Line>,
    by_name: HashTable<u32>,
    hasher: DefaultHashBuilder,
    bad_lines: Vec<usize>,
    bad_line_count: usize,
}

/// Offsets into the text: the start of the line, its description, and its end
/// without blanks and newline.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: u32,
    name_len: u16,
    description: u32,
    end: u32,
}

impl Line {
    fn name(&self) -> Range<usize> {
        let start = self.start as usize;
        start..start + usize::from(self.name_len)
    }

    fn description(&self) -> Range<usize> {
        self.description as usize..self.end as usize
    }
}

impl Newsgroups {
    /// Parses the file's text. A repeated group keeps its first line;
    /// lines that do not begin with a safe group name are skipped, see
    /// [`bad_lines`](Self::bad_lines). Blank lines and comments (`#`) are skipped.
    ///
    /// # Errors
    /// The text is larger than [`TEXT_BYTES_MAX`].
    pub fn parse(mut text: Vec<u8>) -> Result<Self, NewsgroupsError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(NewsgroupsError::TooLarge(text.len()));
        }
        if text.last().is_some_and(|&byte| byte != b'\n') {
            text.push(b'\n');
        }
        let count = memchr_iter(b'\n', &text).count();
        let mut newsgroups = Self {
            text: Vec::new(),
            lines: Vec::with_capacity(count),
            by_name: HashTable::with_capacity(count),
            hasher: DefaultHashBuilder::default(),
            bad_lines: Vec::new(),
            bad_line_count: 0,
        };
        let mut start = 0usize;
        for (index, end) in memchr_iter(b'\n', &text).enumerate() {
            newsgroups.add_line(&text, start..end, index + 1);
            start = end + 1;
        }
        newsgroups.text = text;
        Ok(newsgroups)
    }

    /// The description of a group: `None` if the group has no line, empty if its line contains
    /// only the name.
    pub fn description(&self, group: &[u8]) -> Option<&[u8]> {
        let line = self.find(group)?;
        self.text.get(line.description())
    }

    /// Every group with its description, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.lines.iter().filter_map(|line| {
            Some((
                self.text.get(line.name())?,
                self.text.get(line.description())?,
            ))
        })
    }

    /// The text of the file, with all changes.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The first [`BAD_LINES_MAX`] line numbers, from 1, of lines without a usable group
    /// or with a repeated one.
    pub fn bad_lines(&self) -> &[usize] {
        &self.bad_lines
    }

    /// Number of all such lines.
    pub fn bad_line_count(&self) -> usize {
        self.bad_line_count
    }

    /// Sets a group's description, in its line or in a new one at the end.
    /// Line ends and other controls become blanks, and the description is cut to
    /// [`DESCRIPTION_BYTES_MAX`].
    ///
    /// # Errors
    /// The name is unsafe, or the text would be too large.
    pub fn set(&mut self, group: &[u8], description: &[u8]) -> Result<(), NewsgroupsError> {
        if !name::is_safe(group) {
            let shown = group.iter().take(80).copied().collect::<Vec<u8>>();
            return Err(NewsgroupsError::UnsafeName(
                shown.escape_ascii().to_string(),
            ));
        }
        let end = self.text.len();
        let range = self
            .find(group)
            .map_or(end..end, |line| self.line_range(line));
        let mut line = group.to_vec();
        // Up to the third tab stop, as in classic files.
        line.resize(group.len() + 3 - (group.len() / 8).min(2), b'\t');
        let description = description.trim_ascii();
        let description = match description.split_at_checked(DESCRIPTION_BYTES_MAX) {
            None => description,
            // Cuts between UTF-8 characters: the first byte after the cut must not be a continuation byte.
            Some((kept, rest)) => {
                let continues = |byte: &&u8| **byte & 0xC0 == 0x80;
                let torn = kept.iter().rev().take(3).take_while(continues).count();
                match rest.first().filter(|byte| continues(byte)) {
                    Some(_) => kept.get(..kept.len() - torn - 1).unwrap_or_default(),
                    None => kept,
                }
            }
        };
        let plain = |&byte: &u8| if byte.is_ascii_control() { b' ' } else { byte };
        line.extend(description.iter().map(plain));
        line.push(b'\n');
        self.replace(range, &line)
    }

    /// Removes a group's line and repeated lines of it; returns `false` if it has none.
    ///
    /// # Errors
    /// None in practice: the text only becomes shorter.
    pub fn remove(&mut self, group: &[u8]) -> Result<bool, NewsgroupsError> {
        let mut found = false;
        while let Some(line) = self.find(group) {
            self.replace(self.line_range(line), b"")?;
            found = true;
        }
        Ok(found)
    }

    /// The range of a line from its name to its newline, with blanks after the description.
    fn line_range(&self, line: Line) -> Range<usize> {
        let rest = self.text.get(line.end as usize..).unwrap_or(b"");
        let blanks = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        line.start as usize..line.end as usize + blanks
    }

    /// Replaces a range and parses the text again; changes are rare (control messages).
    fn replace(&mut self, range: Range<usize>, line: &[u8]) -> Result<(), NewsgroupsError> {
        let size = self.text.len() + line.len();
        if size > TEXT_BYTES_MAX {
            return Err(NewsgroupsError::TooLarge(size));
        }
        let mut text = std::mem::take(&mut self.text);
        text.splice(range, line.iter().copied());
        *self = Self::parse(text)?;
        Ok(())
    }

    fn find(&self, group: &[u8]) -> Option<Line> {
        let same = |&index: &u32| {
            let line = self.lines.get(index as usize);
            line.and_then(|line| self.text.get(line.name())) == Some(group)
        };
        let index = *self.by_name.find(hash(&self.hasher, group), same)?;
        self.lines.get(index as usize).copied()
    }

    fn add_line(&mut self, text: &[u8], range: Range<usize>, number: usize) {
        let line = text.get(range.clone()).unwrap_or(b"");
        if line.trim_ascii().is_empty() || line.first() == Some(&b'#') {
            return;
        }
        let name_len = line
            .iter()
            .take_while(|byte| !byte.is_ascii_whitespace())
            .count();
        let (name, rest) = line.split_at_checked(name_len).unwrap_or((line, b""));
        let description = range.end - rest.trim_ascii_start().len();
        // Offsets are below 2^30, and a safe name is short.
        let new = Line {
            start: range.start as u32,
            name_len: name_len as u16,
            description: description as u32,
            end: (description + rest.trim_ascii().len()) as u32,
        };
        let Self {
            lines,
            by_name,
            hasher,
            ..
        } = self;
        let name_of = |index: &u32| {
            let line = lines.get(*index as usize);
            line.and_then(|line| text.get(line.name())).unwrap_or(b"")
        };
        if name::is_safe(name)
            && let Entry::Vacant(slot) = by_name.entry(
                hash(hasher, name),
                |index| name_of(index) == name,
                |index| hash(hasher, name_of(index)),
            )
        {
            slot.insert(lines.len() as u32);
            lines.push(new);
            return;
        }
        self.bad_line_count += 1;
        if self.bad_lines.len() < BAD_LINES_MAX {
            self.bad_lines.push(number);
        }
    }
}

fn hash(hasher: &DefaultHashBuilder, name: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(name);
    state.finish()
}
