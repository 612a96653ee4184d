//! The `active` table: every group with its numbers and its flag.
//!
//! The text of the file is the table itself. Names are ranges of the text; numbers are
//! read and written in place, zero-padded to the width that they have
//! (as in C News), so [`Active::image`] is always the current content of the
//! file. Loading is one pass; a look-up costs one hash and one comparison.
//!
//! Group ids follow the order of the lines. They never change while the table
//! exists, and the id of a removed group is not used again.

mod checksum;
mod edit;
mod line;

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::{DefaultHashBuilder, HashTable};
use memchr::memchr_iter;
use thiserror::Error;

pub use edit::AddGroupError;
pub use line::{ActiveLineError, DIGITS_MAX, Flag, NUMBER_MAX, READABLE_NUMBER_MAX};

use line::Fields;

/// Largest `active` file, bytes.
pub const IMAGE_BYTES_MAX: usize = 1 << 30;

/// Most alias hops; a longer chain counts as a loop (C News).
pub const ALIAS_HOPS_MAX: usize = 100;

/// U+FEFF at the beginning of a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Most bad lines that are kept for messages; further ones are only counted.
pub const BAD_LINES_MAX: usize = 100;

/// Width of a number field after a number no longer fitted, digits.
pub const WIDENED_DIGITS: u8 = 10;

/// The id of a group in one [`Active`] table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// The error that makes a whole `active` file unusable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ActiveError {
    /// Over [`IMAGE_BYTES_MAX`].
    #[error(
        "active has {bytes} bytes, more than the limit of {IMAGE_BYTES_MAX}; check that it is the right file"
    )]
    TooLarge {
        /// Size of the file, bytes.
        bytes: usize,
    },
}

/// A line of `active` that is ignored, and the reason. The line stays in the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("active line {line} {error}")]
pub struct BadLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// The error in the line.
    pub error: ActiveLineError,
}

/// The start of a group's line in the image, and the lengths of its fields.
/// 12 bytes per group; the numbers stay in the text.
#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    /// The flag is [`REMOVED`] once the group is removed.
    fields: Fields,
}

/// The flag of a removed group.
const REMOVED: u8 = 0;

/// The groups of a news system. A clone has the same ids.
#[derive(Debug, Clone)]
pub struct Active {
    image: Vec<u8>,
    /// In the order of the image, as are the ids.
    entries: Vec<Entry>,
    by_name: HashTable<u32>,
    hasher: DefaultHashBuilder,
    removed: usize,
    bad_lines: Vec<BadLine>,
    bad_line_count: usize,
    dirty: Option<Range<usize>>,
    layout_changed: bool,
    generation: u64,
    /// See [`checksum`](Self::checksum).
    checksum: u64,
}

impl Active {
    /// Parses the text of an `active` file. Bad lines are skipped and reported
    /// by [`bad_lines`](Self::bad_lines); a repeated group keeps its first line.
    /// Lines with irregular spacing or without a final newline are normalised,
    /// which sets [`layout_changed`](Self::layout_changed).
    ///
    /// # Errors
    /// The file is larger than [`IMAGE_BYTES_MAX`].
    pub fn parse(text: Vec<u8>) -> Result<Self, ActiveError> {
        if text.len() > IMAGE_BYTES_MAX {
            return Err(ActiveError::TooLarge { bytes: text.len() });
        }
        if text.is_empty() || text.ends_with(b"\n") {
            let (active, irregular) = Self::load(text);
            if !irregular {
                return Ok(active);
            }
            return Ok(Self::load_normalised(&active.image));
        }
        Ok(Self::load_normalised(&text))
    }

    /// Makes a table without groups.
    pub fn empty() -> Self {
        Self::load(Vec::new()).0
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.entries.len() - self.removed
    }

    /// Whether the table has no group.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the highest id in use so far: the size of a table indexed by id.
    pub fn id_end(&self) -> usize {
        self.entries.len()
    }

    /// The ids of all groups, in the order of the file.
    pub fn ids(&self) -> impl Iterator<Item = GroupId> + '_ {
        (0u32..)
            .zip(&self.entries)
            .filter(|(_, entry)| entry.fields.flag != REMOVED)
            .map(|(id, _)| GroupId(id))
    }

    /// A number that no other table of this process has, except clones. Data indexed
    /// by [`GroupId`] stays valid as long as the generation is the same.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The first [`BAD_LINES_MAX`] bad lines.
    pub fn bad_lines(&self) -> &[BadLine] {
        &self.bad_lines
    }

    /// Number of all bad lines.
    pub fn bad_line_count(&self) -> usize {
        self.bad_line_count
    }

    /// Finds a group by name, without following an alias.
    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<GroupId> {
        self.by_name
            .find(hash(&self.hasher, name), |&id| {
                self.name(GroupId(id)) == name
            })
            .map(|&id| GroupId(id))
    }

    /// The aliases, each with the name that it leads to.
    pub fn aliases(&self) -> impl Iterator<Item = (GroupId, &[u8])> + '_ {
        self.ids().filter_map(|id| match self.flag(id) {
            Flag::Alias(target) => Some((id, target)),
            _ => None,
        })
    }

    /// The aliases that name a group as theirs, for a message: `a.b`, or `a.b and 2 more`. `None` without any.
    pub fn aliases_shown(&self, group: &[u8]) -> Option<String> {
        let mut own = self.aliases().filter(|(_, target)| *target == group);
        let first = crate::escaped(self.name(own.next()?.0));
        Some(match own.count() {
            0 => first,
            more => format!("{first} and {more} more"),
        })
    }

    /// The names of the aliases that lead nowhere: to an unknown group, or in a loop.
    pub fn dangling_aliases(&self) -> impl Iterator<Item = &[u8]> + '_ {
        let aliases = self.aliases().map(|(id, _)| id);
        aliases
            .filter(|id| self.resolve(*id).is_none())
            .map(|id| self.name(id))
    }

    /// Whether it has a group for articles of a subject: others than those of control messages, of junk, and of `to.SITE`.
    pub fn has_ordinary_groups(&self) -> bool {
        let is_special = |name: &[u8]| {
            let top = name.split(|&byte| byte == b'.').next().unwrap_or(name);
            matches!(top, b"control" | b"to") || name == b"junk"
        };
        self.ids().any(|id| !is_special(self.name(id)))
    }

    /// Returns the group in which articles for `id` are filed: follows `=alias`,
    /// at most [`ALIAS_HOPS_MAX`] hops. `None` for a loop or an unknown group.
    #[inline]
    pub fn resolve(&self, id: GroupId) -> Option<GroupId> {
        let mut id = id;
        for _ in 0..=ALIAS_HOPS_MAX {
            let (_, fields) = self.fields(id)?;
            if fields.flag != b'=' {
                return Some(id);
            }
            if let Flag::Alias(target) = self.flag(id) {
                id = self.find(target)?;
            }
        }
        None
    }

    /// The name of a group; empty for a removed group.
    #[inline]
    pub fn name(&self, id: GroupId) -> &[u8] {
        self.fields(id).map_or(b"", |(start, fields)| {
            self.text(start..start + usize::from(fields.name_len))
        })
    }

    /// Highest article number in use so far; 0 for a removed group.
    pub fn high(&self, id: GroupId) -> u64 {
        self.number(id, Fields::high)
    }

    /// Lowest article number that may still exist; 0 for a removed group.
    pub fn low(&self, id: GroupId) -> u64 {
        self.number(id, Fields::low)
    }

    /// The flag of a group; `Excluded` for a removed group.
    #[inline]
    pub fn flag(&self, id: GroupId) -> Flag<'_> {
        self.flag_if(id).unwrap_or(Flag::Excluded)
    }

    /// The current text of the file.
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// The checksum of the current text: different texts have different checksums with high probability.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Returns the range of bytes changed since the last call; the whole image if
    /// lines have moved. Writing this range (or, after
    /// [`layout_changed`](Self::layout_changed), the whole file) brings
    /// the file up to date.
    pub fn take_dirty(&mut self) -> Option<Range<usize>> {
        self.dirty.take()
    }

    /// Whether lines have moved, so that the whole file must be rewritten
    /// instead of patched. Stays true until [`layout_saved`](Self::layout_saved).
    pub fn layout_changed(&self) -> bool {
        self.layout_changed
    }

    /// Records that the whole image has been written to the file.
    pub fn layout_saved(&mut self) {
        self.layout_changed = false;
        self.dirty = None;
    }

    #[inline]
    fn fields(&self, id: GroupId) -> Option<(usize, Fields)> {
        let entry = self.entries.get(id.0 as usize)?;
        (entry.fields.flag != REMOVED).then_some((entry.start as usize, entry.fields))
    }

    #[inline]
    fn text(&self, range: Range<usize>) -> &[u8] {
        self.image.get(range).unwrap_or(b"")
    }

    fn number(&self, id: GroupId, field: fn(&Fields) -> Range<usize>) -> u64 {
        self.fields(id).map_or(0, |(start, fields)| {
            let range = field(&fields);
            article::decimal::value_of(self.text(start + range.start..start + range.end))
        })
    }

    #[inline]
    fn flag_if(&self, id: GroupId) -> Option<Flag<'_>> {
        let (start, fields) = self.fields(id)?;
        match fields.flag {
            b'y' => Some(Flag::Open),
            b'm' => Some(Flag::Moderated),
            _ => {
                let range = fields.flag_text();
                Flag::parse(self.text(start + range.start..start + range.end))
            }
        }
    }

    /// Parses the text in one pass. Also returns whether a valid line has an
    /// irregular layout.
    fn load(image: Vec<u8>) -> (Self, bool) {
        static GENERATION: AtomicU64 = AtomicU64::new(1);
        let lines = memchr_iter(b'\n', &image).count();
        let hasher = DefaultHashBuilder::default();
        let mut entries: Vec<Entry> = Vec::with_capacity(lines);
        let mut by_name: HashTable<u32> = HashTable::with_capacity(lines);
        let mut bad_lines = Vec::new();
        let mut bad_line_count = 0usize;
        let mut irregular = false;
        let mut start = 0usize;
        for (index, end) in memchr_iter(b'\n', &image).enumerate() {
            let line = image.get(start..end).unwrap_or(b"");
            let mut error = None;
            if index == 0 && line.starts_with(BYTE_ORDER_MARK) {
                error = Some(ActiveLineError::ByteOrderMark);
            } else if let Some(fields) = line::strict(line) {
                let name = line.get(..usize::from(fields.name_len)).unwrap_or(b"");
                let slot = by_name.entry(
                    hash(&hasher, name),
                    |&id| name_in(&image, &entries, id) == name,
                    |&id| hash(&hasher, name_in(&image, &entries, id)),
                );
                match slot {
                    hashbrown::hash_table::Entry::Vacant(slot) => {
                        // Under 2^30 lines in an image of 2^30 bytes.
                        slot.insert(entries.len() as u32);
                        entries.push(Entry {
                            start: start as u32,
                            fields,
                        });
                    }
                    hashbrown::hash_table::Entry::Occupied(slot) => {
                        let kept = bad_lines.len() < BAD_LINES_MAX;
                        let before = entries.get(*slot.get() as usize).filter(|_| kept);
                        let before = before.and_then(|first| image.get(..first.start as usize));
                        error = Some(ActiveLineError::Twice {
                            name: line::shown(name),
                            first: 1 + memchr_iter(b'\n', before.unwrap_or(b"")).count(),
                        });
                    }
                }
            } else if !line.is_empty() {
                match line::loose(line) {
                    Ok(_) => irregular = true,
                    Err(found) => error = Some(found),
                }
            }
            if let Some(error) = error {
                bad_line_count += 1;
                if bad_lines.len() < BAD_LINES_MAX {
                    bad_lines.push(BadLine {
                        line: index + 1,
                        error,
                    });
                }
            }
            start = end + 1;
        }
        let active = Self {
            checksum: checksum::of(&image),
            image,
            entries,
            by_name,
            hasher,
            removed: 0,
            bad_lines,
            bad_line_count,
            dirty: None,
            layout_changed: false,
            generation: GENERATION.fetch_add(1, Ordering::Relaxed),
        };
        (active, irregular)
    }

    /// Loads a text in which valid lines have irregular spacing, or whose last
    /// line has no newline. Line numbers stay the same.
    fn load_normalised(text: &[u8]) -> Self {
        let mut ordered = Vec::with_capacity(text.len() + 1);
        for line in text
            .strip_suffix(b"\n")
            .unwrap_or(text)
            .split(|&b| b == b'\n')
        {
            match line::loose(line) {
                Ok(fields) => ordered.extend_from_slice(&fields.join(&b' ')),
                Err(_) => ordered.extend_from_slice(line),
            }
            ordered.push(b'\n');
        }
        let mut active = Self::load(ordered).0;
        active.layout_changed = true;
        active.dirty = Some(0..active.image.len());
        active
    }
}

impl Fields {
    #[inline]
    fn high(&self) -> Range<usize> {
        let start = usize::from(self.name_len) + 1;
        start..start + usize::from(self.high_len)
    }

    #[inline]
    fn low(&self) -> Range<usize> {
        let start = self.high().end + 1;
        start..start + usize::from(self.low_len)
    }

    #[inline]
    fn flag_text(&self) -> Range<usize> {
        let start = self.low().end + 1;
        start..start + usize::from(self.flag_len)
    }
}

#[inline]
fn hash(hasher: &DefaultHashBuilder, name: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(name);
    state.finish()
}

fn name_in<'a>(image: &'a [u8], entries: &[Entry], id: u32) -> &'a [u8] {
    entries
        .get(id as usize)
        .and_then(|entry| {
            let start = entry.start as usize;
            image.get(start..start + usize::from(entry.fields.name_len))
        })
        .unwrap_or(b"")
}
