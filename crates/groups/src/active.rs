//! The `active` table: every group, its numbers and its flag.
//!
//! The file's text itself is the table. Names are ranges of it, numbers are
//! read from and written to it in place, zero-padded at the width they have
//! (as C News does it), so [`Active::image`] is always what the file should
//! hold. Loading is one pass; a look-up is one hash and one comparison.
//!
//! Group ids are given in the order of the lines, never change while the table
//! lives, and are not used again after a removal.

mod edit;
mod line;
mod sum;

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::{DefaultHashBuilder, HashTable};
use memchr::memchr_iter;
use thiserror::Error;

pub use edit::AddFault;
pub use line::{DIGITS_MAX, Flag, LineFault, NUMBER_MAX};

use line::Fields;

/// Largest `active` file, in bytes.
pub const IMAGE_BYTES_MAX: usize = 1 << 30;

/// Hops that an alias is followed before it counts as a loop (C News).
pub const ALIAS_HOPS_MAX: usize = 100;

/// Bad lines that are described; more are only counted.
pub const FAULTS_KEPT_MAX: usize = 100;

/// Digits that a field is widened to when a number does not fit it any more.
pub const WIDENED_DIGITS: u8 = 10;

/// A group of one [`Active`] table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// Why an `active` file cannot be used at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ActiveFault {
    /// Over [`IMAGE_BYTES_MAX`].
    #[error(
        "active holds {bytes} bytes, more than the limit of {IMAGE_BYTES_MAX}: is it the right file?"
    )]
    TooLarge {
        /// Size of the file.
        bytes: usize,
    },
}

/// A line of `active` that is not used, and why. It stays in the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("active line {line} {fault}")]
pub struct BadLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: LineFault,
}

/// Where a group's line begins in the image and how long its fields are.
/// Twelve bytes a group; the numbers stay in the text.
#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    /// The flag is 0 once the group is removed.
    fields: Fields,
}

/// Stands for the flag of a group that is gone.
const REMOVED: u8 = 0;

/// The groups of a news system. A clone has the same ids.
#[derive(Debug, Clone)]
pub struct Active {
    image: Vec<u8>,
    /// In the order of the image, so ids are too.
    entries: Vec<Entry>,
    by_name: HashTable<u32>,
    hasher: DefaultHashBuilder,
    removed: usize,
    faults: Vec<BadLine>,
    fault_count: usize,
    dirty: Option<Range<usize>>,
    layout_changed: bool,
    generation: u64,
    /// See [`sum`](Self::sum).
    sum: u64,
}

impl Active {
    /// Reads the text of an `active` file. Bad lines are left out and reported
    /// by [`faults`](Self::faults); a group named twice keeps its first line.
    /// Lines with odd spacing or without a final newline are put in order,
    /// which sets [`layout_changed`](Self::layout_changed).
    ///
    /// # Errors
    /// If the file is over [`IMAGE_BYTES_MAX`].
    pub fn parse(text: Vec<u8>) -> Result<Self, ActiveFault> {
        if text.len() > IMAGE_BYTES_MAX {
            return Err(ActiveFault::TooLarge { bytes: text.len() });
        }
        if text.is_empty() || text.ends_with(b"\n") {
            let (active, loose_lines) = Self::load(text);
            if !loose_lines {
                return Ok(active);
            }
            return Ok(Self::load_put_in_order(&active.image));
        }
        Ok(Self::load_put_in_order(&text))
    }

    /// A table without groups.
    pub fn empty() -> Self {
        Self::load(Vec::new()).0
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.entries.len() - self.removed
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the highest id given so far: the size for a table by id.
    pub fn id_end(&self) -> usize {
        self.entries.len()
    }

    /// Every group, in the order of the file.
    pub fn ids(&self) -> impl Iterator<Item = GroupId> + '_ {
        (0u32..)
            .zip(&self.entries)
            .filter(|(_, entry)| entry.fields.flag != REMOVED)
            .map(|(id, _)| GroupId(id))
    }

    /// A number that no other table of this process has, but for clones: what was
    /// worked out by [`GroupId`] is good for as long as this stays the same.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Bad lines, the first [`FAULTS_KEPT_MAX`] of them.
    pub fn faults(&self) -> &[BadLine] {
        &self.faults
    }

    /// Count of all bad lines.
    pub fn fault_count(&self) -> usize {
        self.fault_count
    }

    /// The group of that name, an alias not followed.
    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<GroupId> {
        self.by_name
            .find(hash(&self.hasher, name), |&id| {
                self.name(GroupId(id)) == name
            })
            .map(|&id| GroupId(id))
    }

    /// The group that articles for this one are filed in: follows `=alias`, at
    /// most [`ALIAS_HOPS_MAX`] hops. `None` for a loop or an unknown group.
    #[inline]
    pub fn resolve(&self, id: GroupId) -> Option<GroupId> {
        let mut id = id;
        for _ in 0..=ALIAS_HOPS_MAX {
            match self.flag_if(id)? {
                Flag::Alias(target) => id = self.find(target)?,
                _ => return Some(id),
            }
        }
        None
    }

    /// The group's name; empty for a removed group.
    #[inline]
    pub fn name(&self, id: GroupId) -> &[u8] {
        self.fields(id).map_or(b"", |(start, fields)| {
            self.text(start..start + usize::from(fields.name_len))
        })
    }

    /// Highest article number given out; 0 for a removed group.
    pub fn high(&self, id: GroupId) -> u64 {
        self.number(id, Fields::high)
    }

    /// Lowest article number that may still be there; 0 for a removed group.
    pub fn low(&self, id: GroupId) -> u64 {
        self.number(id, Fields::low)
    }

    /// The group's flag; `Excluded` for a removed group.
    #[inline]
    pub fn flag(&self, id: GroupId) -> Flag<'_> {
        self.flag_if(id).unwrap_or(Flag::Excluded)
    }

    /// The text of the file, always current.
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// A sum of the text of the file, always current: another text has another one, but for chance.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The bytes of the image changed since the last call; the whole image if
    /// lines have moved. Writing that range (or, where
    /// [`layout_changed`](Self::layout_changed), the whole file anew) brings
    /// the file up to date.
    pub fn take_dirty(&mut self) -> Option<Range<usize>> {
        self.dirty.take()
    }

    /// Whether lines have moved, so that the file must be written anew rather
    /// than patched. Stays true until [`layout_saved`](Self::layout_saved).
    pub fn layout_changed(&self) -> bool {
        self.layout_changed
    }

    /// Says that the whole image has been written to the file.
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
            line::value_of(self.text(start + range.start..start + range.end))
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

    /// One pass over the text. Also says whether a good line was found that is
    /// not laid out as it should be.
    fn load(image: Vec<u8>) -> (Self, bool) {
        static GENERATION: AtomicU64 = AtomicU64::new(1);
        let lines = memchr_iter(b'\n', &image).count();
        let hasher = DefaultHashBuilder::default();
        let mut entries: Vec<Entry> = Vec::with_capacity(lines);
        let mut by_name: HashTable<u32> = HashTable::with_capacity(lines);
        let mut faults = Vec::new();
        let mut fault_count = 0usize;
        let mut loose_lines = false;
        let mut start = 0usize;
        for (index, end) in memchr_iter(b'\n', &image).enumerate() {
            let line = image.get(start..end).unwrap_or(b"");
            let mut fault = None;
            if let Some(fields) = line::strict(line) {
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
                        let kept = faults.len() < FAULTS_KEPT_MAX;
                        let before = entries.get(*slot.get() as usize).filter(|_| kept);
                        let before = before.and_then(|first| image.get(..first.start as usize));
                        fault = Some(LineFault::Twice {
                            name: line::shown(name),
                            first: 1 + memchr_iter(b'\n', before.unwrap_or(b"")).count(),
                        });
                    }
                }
            } else if !line.is_empty() {
                match line::loose(line) {
                    Ok(_) => loose_lines = true,
                    Err(found) => fault = Some(found),
                }
            }
            if let Some(fault) = fault {
                fault_count += 1;
                if faults.len() < FAULTS_KEPT_MAX {
                    faults.push(BadLine {
                        line: index + 1,
                        fault,
                    });
                }
            }
            start = end + 1;
        }
        let active = Self {
            sum: sum::of(&image),
            image,
            entries,
            by_name,
            hasher,
            removed: 0,
            faults,
            fault_count,
            dirty: None,
            layout_changed: false,
            generation: GENERATION.fetch_add(1, Ordering::Relaxed),
        };
        (active, loose_lines)
    }

    /// Loads a text some of whose good lines have odd spacing, or whose last
    /// line has no newline. Line numbers stay what they were.
    fn load_put_in_order(text: &[u8]) -> Self {
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
