//! The `newsgroups` file: what each group is about; a line a group,
//! `group<TABs>description`.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use memchr::memchr_iter;
use thiserror::Error;

use crate::name;

/// Largest `newsgroups` file, in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 30;

/// Longest description written, in bytes; longer ones are cut.
pub const DESCRIPTION_BYTES_MAX: usize = 512;

/// Bad lines that are named; more are only counted.
pub const FAULTS_KEPT_MAX: usize = 100;

/// Why a `newsgroups` file or a line for it cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NewsgroupsFault {
    /// Over [`TEXT_BYTES_MAX`].
    #[error(
        "newsgroups holds {0} bytes, more than the limit of {TEXT_BYTES_MAX}: is it the right file?"
    )]
    TooLarge(usize),
    /// The name could do harm in a table.
    #[error("group name `{0}' cannot be used")]
    UnsafeName(String),
}

/// The descriptions of groups: the text of the file, and where each line is.
#[derive(Debug)]
pub struct Newsgroups {
    text: Vec<u8>,
    lines: Vec<Line>,
    by_name: HashTable<u32>,
    hasher: DefaultHashBuilder,
    faults: Vec<usize>,
    fault_count: usize,
}

/// Offsets into the text: the line from its name on, the description, the end
/// without the newline.
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
    /// Reads the file's text. A group described twice keeps its first line;
    /// lines that begin with no safe group name are left out, see
    /// [`faults`](Self::faults). Blank lines and comments (`#`) are passed over.
    ///
    /// # Errors
    /// If the text is over [`TEXT_BYTES_MAX`].
    pub fn parse(mut text: Vec<u8>) -> Result<Self, NewsgroupsFault> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(NewsgroupsFault::TooLarge(text.len()));
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
            faults: Vec::new(),
            fault_count: 0,
        };
        let mut start = 0usize;
        for (index, end) in memchr_iter(b'\n', &text).enumerate() {
            newsgroups.take_line(&text, start..end, index + 1);
            start = end + 1;
        }
        newsgroups.text = text;
        Ok(newsgroups)
    }

    /// What a group is about; `None` if it has no line, empty if its line has
    /// nothing more than the name.
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

    /// The text of the file, as read or as changed.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Numbers of the lines that name no usable group, or one named before:
    /// the first [`FAULTS_KEPT_MAX`].
    pub fn faults(&self) -> &[usize] {
        &self.faults
    }

    /// Count of all such lines.
    pub fn fault_count(&self) -> usize {
        self.fault_count
    }

    /// Sets a group's description, in its line or in a new one at the end.
    /// Line ends and other controls in it become blanks, and it is cut to
    /// [`DESCRIPTION_BYTES_MAX`].
    ///
    /// # Errors
    /// If the name is unsafe or the text would be too large.
    pub fn set(&mut self, group: &[u8], description: &[u8]) -> Result<(), NewsgroupsFault> {
        if !name::is_safe(group) {
            let shown = group.iter().take(80).copied().collect::<Vec<u8>>();
            return Err(NewsgroupsFault::UnsafeName(
                shown.escape_ascii().to_string(),
            ));
        }
        let end = self.text.len();
        let place = self.find(group).map_or(end..end, |line| self.whole(line));
        let mut line = group.to_vec();
        // To the third tab stop, as the files of old are laid out.
        line.resize(group.len() + 3 - (group.len() / 8).min(2), b'\t');
        let description = description.trim_ascii();
        let description = match description.split_at_checked(DESCRIPTION_BYTES_MAX) {
            None => description,
            // Not in the middle of a character of UTF-8: what begins behind the cut is a byte that continues none.
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
        self.replace(place, &line)
    }

    /// Removes a group's line, and later ones that name it again; `false` if it has none.
    ///
    /// # Errors
    /// None in practice: the text only gets shorter.
    pub fn remove(&mut self, group: &[u8]) -> Result<bool, NewsgroupsFault> {
        let mut found = false;
        while let Some(line) = self.find(group) {
            self.replace(self.whole(line), b"")?;
            found = true;
        }
        Ok(found)
    }

    /// A line from its name to its newline, blanks after the description too.
    fn whole(&self, line: Line) -> Range<usize> {
        let rest = self.text.get(line.end as usize..).unwrap_or(b"");
        let blanks = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        line.start as usize..line.end as usize + blanks
    }

    /// Changes are rare (control messages), so the text is simply read again.
    fn replace(&mut self, place: Range<usize>, line: &[u8]) -> Result<(), NewsgroupsFault> {
        let size = self.text.len() + line.len();
        if size > TEXT_BYTES_MAX {
            return Err(NewsgroupsFault::TooLarge(size));
        }
        let mut text = std::mem::take(&mut self.text);
        text.splice(place, line.iter().copied());
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

    fn take_line(&mut self, text: &[u8], range: Range<usize>, number: usize) {
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
        // Offsets are under 2^30, and a safe name is short.
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
        self.fault_count += 1;
        if self.faults.len() < FAULTS_KEPT_MAX {
            self.faults.push(number);
        }
    }
}

fn hash(hasher: &DefaultHashBuilder, name: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(name);
    state.finish()
}
