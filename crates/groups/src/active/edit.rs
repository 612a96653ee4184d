//! Changes to the `active` table: numbers in place, groups by new lines.

use std::ops::Range;

use thiserror::Error;

use super::line::{self, Fields, Flag, NUMBER_MAX};
use super::{Active, Entry, GroupId, IMAGE_BYTES_MAX, REMOVED, WIDENED_DIGITS, hash, name_in, sum};
use crate::name;

/// Widths of a new group's two numbers (C News: `0000000000 00001`).
const NEW_HIGH_DIGITS: usize = 10;
const NEW_LOW_DIGITS: usize = 5;

/// Why a line cannot be added or changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddFault {
    /// There is a group of this name.
    #[error("group `{0}' is in active already")]
    Exists(String),
    /// The name could do harm in a path or a table.
    #[error("group name `{0}' cannot be used")]
    UnsafeName(String),
    /// No such group (any more).
    #[error("group is not in active")]
    Unknown,
    /// The file would get too large, or a number too high.
    #[error("active would be over its limits")]
    TooLarge,
}

impl Active {
    /// The group's next article number; the image is patched at once. `None`
    /// if the group is gone or has had [`NUMBER_MAX`] articles. A field that
    /// gets too narrow is widened, see [`layout_changed`](Self::layout_changed).
    #[inline]
    pub fn take_number(&mut self, id: GroupId) -> Option<u64> {
        let (start, fields) = self.fields(id)?;
        let field = fields.high();
        let range = start + field.start..start + field.end;
        let number = line::value_of(self.text(range.clone())).checked_add(1)?;
        // Usually only the last digit changes.
        if let Some(last) = self.image.get_mut(range.end - 1)
            && *last != b'9'
        {
            if number > NUMBER_MAX {
                return None;
            }
            *last += 1;
            self.sum = self.sum.wrapping_add(sum::part(&[1], range.end - 1));
            self.mark(range);
            return Some(number);
        }
        self.set_high(id, number).then_some(number)
    }

    /// Sets the highest number given out. `false` if the group is gone or the
    /// number is above [`NUMBER_MAX`].
    pub fn set_high(&mut self, id: GroupId, number: u64) -> bool {
        self.set_number(id, number, Fields::high)
    }

    /// Sets the lowest number that may still be there; fails as
    /// [`set_high`](Self::set_high) does.
    pub fn set_low(&mut self, id: GroupId, number: u64) -> bool {
        self.set_number(id, number, Fields::low)
    }

    /// Sets the group's flag.
    ///
    /// # Errors
    /// If the group is gone, or an alias names an unsafe group.
    pub fn set_flag(&mut self, id: GroupId, flag: Flag<'_>) -> Result<(), AddFault> {
        let (start, mut fields) = self.fields(id).ok_or(AddFault::Unknown)?;
        let text = flag_text(flag)?;
        let old = fields.flag_text();
        let range = start + old.start..start + old.end;
        if text.len() == range.len() {
            if let Some(place) = self.image.get_mut(range.clone()) {
                let before = sum::part(place, range.start);
                place.copy_from_slice(&text);
                let added = sum::part(place, range.start).wrapping_sub(before);
                self.sum = self.sum.wrapping_add(added);
            }
            self.mark(range);
        } else {
            self.splice(range, &text, id.0 as usize + 1)?;
        }
        fields.flag = flag.letter();
        fields.flag_len = u16::try_from(text.len()).map_err(|_| AddFault::TooLarge)?;
        if let Some(entry) = self.entries.get_mut(id.0 as usize) {
            entry.fields = fields;
        }
        Ok(())
    }

    /// Adds a group without articles, as the last line: `name 0000000000 00001
    /// flag`.
    ///
    /// # Errors
    /// If the group exists or a name is unsafe; the table is then unchanged.
    pub fn add(&mut self, name: &[u8], flag: Flag<'_>) -> Result<GroupId, AddFault> {
        self.add_numbered(name, 0, 1, flag)
    }

    /// Adds a group with its numbers, as the last line. With
    /// [`empty`](Self::empty), this makes a whole file from scratch.
    ///
    /// # Errors
    /// As [`add`](Self::add), or if a number is above [`NUMBER_MAX`].
    pub fn add_numbered(
        &mut self,
        name: &[u8],
        high: u64,
        low: u64,
        flag: Flag<'_>,
    ) -> Result<GroupId, AddFault> {
        if !name::is_safe(name) {
            return Err(AddFault::UnsafeName(line::shown(name)));
        }
        if self.find(name).is_some() {
            return Err(AddFault::Exists(line::shown(name)));
        }
        let flag_bytes = flag_text(flag)?;
        let high_len = line::digits_of(high).max(NEW_HIGH_DIGITS);
        let low_len = line::digits_of(low).max(NEW_LOW_DIGITS);
        let line_len = name.len() + high_len + low_len + flag_bytes.len() + 4;
        if high.max(low) > NUMBER_MAX || self.image.len() + line_len > IMAGE_BYTES_MAX {
            return Err(AddFault::TooLarge);
        }
        let too_large = |_| AddFault::TooLarge;
        let fields = Fields {
            name_len: u16::try_from(name.len()).map_err(too_large)?,
            high_len: u8::try_from(high_len).map_err(too_large)?,
            low_len: u8::try_from(low_len).map_err(too_large)?,
            flag_len: u16::try_from(flag_bytes.len()).map_err(too_large)?,
            flag: flag.letter(),
        };
        let start = self.image.len();
        self.image.extend_from_slice(name);
        for (number, len) in [(high, high_len), (low, low_len)] {
            self.image.push(b' ');
            push_padded(&mut self.image, number, len);
        }
        self.image.push(b' ');
        self.image.extend_from_slice(&flag_bytes);
        self.image.push(b'\n');
        // An image under 2^30 bytes has offsets and lines that fit u32.
        let id = self.entries.len() as u32;
        self.entries.push(Entry {
            start: start as u32,
            fields,
        });
        let Self {
            image,
            entries,
            by_name,
            hasher,
            ..
        } = self;
        by_name.insert_unique(hash(hasher, name), id, |&id| {
            hash(hasher, name_in(image, entries, id))
        });
        self.layout_changed = true;
        let added = sum::part(self.image.get(start..).unwrap_or_default(), start);
        self.sum = self.sum.wrapping_add(added);
        self.mark(start..self.image.len());
        Ok(GroupId(id))
    }

    /// The group of that name, added with flag `n` if it is missing: for
    /// `control` and `junk`, which a news system must have.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn ensure(&mut self, name: &[u8]) -> Result<GroupId, AddFault> {
        match self.find(name) {
            Some(id) => Ok(id),
            None => self.add(name, Flag::NoPosting),
        }
    }

    /// Removes a group's line. Its id is never used again. If lines that could not be taken name the group too,
    /// all such lines go: one would bring the group back when the file is next read.
    ///
    /// # Errors
    /// If the group is gone already.
    pub fn remove(&mut self, id: GroupId) -> Result<(), AddFault> {
        if self.fields(id).is_none() {
            return Err(AddFault::Unknown);
        }
        if self.fault_count > 0 && self.is_named_twice(id) {
            self.drop_faults();
        }
        let (start, fields) = self.fields(id).ok_or(AddFault::Unknown)?;
        let name_hash = hash(&self.hasher, self.name(id));
        if let Ok(found) = self.by_name.find_entry(name_hash, |&other| other == id.0) {
            found.remove();
        }
        if let Some(entry) = self.entries.get_mut(id.0 as usize) {
            entry.fields.flag = REMOVED;
        }
        self.removed += 1;
        let end = start + fields.flag_text().end + 1;
        self.splice(start..end, b"", id.0 as usize + 1)
    }

    /// Whether a second line begins with a group's name.
    fn is_named_twice(&self, id: GroupId) -> bool {
        let name = self.name(id);
        let names_it = |line: &&[u8]| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
        };
        let lines = self.image.split(|&byte| byte == b'\n');
        lines.filter(names_it).nth(1).is_some()
    }

    /// Throws out the lines that could not be read; they stay in the file
    /// otherwise. For repairs.
    pub fn drop_faults(&mut self) {
        if self.fault_count > 0 {
            self.lay_out(0, 0, false);
            self.faults.clear();
            self.fault_count = 0;
        }
    }

    #[inline]
    fn mark(&mut self, range: Range<usize>) {
        self.dirty = Some(match self.dirty.take() {
            Some(old) => old.start.min(range.start)..old.end.max(range.end),
            None => range,
        });
    }

    fn mark_all(&mut self) {
        self.layout_changed = true;
        self.dirty = Some(0..self.image.len());
        self.sum = sum::of(&self.image);
    }

    fn set_number(&mut self, id: GroupId, number: u64, field: fn(&Fields) -> Range<usize>) -> bool {
        if number > NUMBER_MAX {
            return false;
        }
        // Twice at most: after widening, the number fits.
        for _ in 0..2 {
            let Some((start, fields)) = self.fields(id) else {
                return false;
            };
            let place = field(&fields);
            let range = start + place.start..start + place.end;
            let Some(digits) = self.image.get_mut(range.clone()) else {
                return false;
            };
            let before = sum::part(digits, range.start);
            if line::write_number(digits, number) {
                let added = sum::part(digits, range.start).wrapping_sub(before);
                self.sum = self.sum.wrapping_add(added);
                self.mark(range);
                return true;
            }
            // All fields at once, so that a file of narrow ones is not laid
            // out again for each of its groups.
            let digits = line::digits_of(number).max(usize::from(WIDENED_DIGITS));
            let digits = u8::try_from(digits).unwrap_or(u8::MAX);
            let wider = usize::from(digits) * self.entries.len();
            if self.image.len() + wider > u32::MAX as usize {
                return false;
            }
            if place == fields.high() {
                self.lay_out(digits, 0, true);
            } else {
                self.lay_out(0, digits, true);
            }
        }
        false
    }

    /// Writes the image anew with number fields of at least these widths, and
    /// the unreadable lines kept where they are or left out.
    fn lay_out(&mut self, high_digits: u8, low_digits: u8, keep_faults: bool) {
        let old = std::mem::take(&mut self.image);
        let wider = usize::from(high_digits) + usize::from(low_digits);
        let mut image = Vec::with_capacity(old.len() + wider * self.entries.len());
        let mut copied = 0usize;
        let mut live_end = 0usize;
        for entry in &mut self.entries {
            let fields = &mut entry.fields;
            if fields.flag == REMOVED {
                continue;
            }
            let start = entry.start as usize;
            if keep_faults {
                image.extend_from_slice(old.get(copied..start).unwrap_or(b""));
            }
            let at = |range: Range<usize>| {
                old.get(start + range.start..start + range.end)
                    .unwrap_or(b"")
            };
            // The caller has seen to it that the new image fits u32.
            entry.start = u32::try_from(image.len()).unwrap_or(u32::MAX);
            image.extend_from_slice(at(0..usize::from(fields.name_len)));
            for (digits, width) in [
                (at(fields.high()), high_digits),
                (at(fields.low()), low_digits),
            ] {
                image.push(b' ');
                let missing = usize::from(width).saturating_sub(digits.len());
                image.resize(image.len() + missing, b'0');
                image.extend_from_slice(digits);
            }
            image.push(b' ');
            image.extend_from_slice(at(fields.flag_text()));
            image.push(b'\n');
            copied = start + fields.flag_text().end + 1;
            fields.high_len = fields.high_len.max(high_digits);
            fields.low_len = fields.low_len.max(low_digits);
            live_end = copied;
        }
        if keep_faults {
            image.extend_from_slice(old.get(live_end..).unwrap_or(b""));
        }
        self.image = image;
        self.mark_all();
    }

    /// Replaces bytes of the image and moves the lines from `first_moved` on.
    fn splice(
        &mut self,
        range: Range<usize>,
        text: &[u8],
        first_moved: usize,
    ) -> Result<(), AddFault> {
        let removed = range.len();
        if self.image.len() - removed.min(self.image.len()) + text.len() > IMAGE_BYTES_MAX {
            return Err(AddFault::TooLarge);
        }
        self.image.splice(range, text.iter().copied());
        for entry in self.entries.get_mut(first_moved..).unwrap_or_default() {
            let start = (entry.start as usize + text.len()).saturating_sub(removed);
            entry.start = u32::try_from(start).unwrap_or(u32::MAX);
        }
        self.mark_all();
        Ok(())
    }
}

fn flag_text(flag: Flag<'_>) -> Result<Vec<u8>, AddFault> {
    let mut text = Vec::new();
    flag.push(&mut text);
    match Flag::parse(&text) {
        Some(_) => Ok(text),
        None => Err(AddFault::UnsafeName(line::shown(&text))),
    }
}

fn push_padded(out: &mut Vec<u8>, number: u64, len: usize) {
    let start = out.len();
    out.resize(start + len, b'0');
    if let Some(field) = out.get_mut(start..) {
        line::write_number(field, number);
    }
}
