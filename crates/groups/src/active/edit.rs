//! Changes to the `active` table: numbers in place, groups as new lines.

use std::ops::Range;

use thiserror::Error;

use super::line::{self, Fields, Flag, NUMBER_MAX};
use super::{
    Active, Entry, GroupId, IMAGE_BYTES_MAX, REMOVED, WIDENED_DIGITS, checksum, hash, name_in,
};
use crate::name;

/// Widths of the two numbers of a new group, digits (C News: `0000000000 00001`).
const NEW_HIGH_DIGITS: usize = 10;
const NEW_LOW_DIGITS: usize = 5;

/// The error of adding or changing a line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddGroupError {
    /// A group of this name exists.
    #[error("group `{0}' is already in active")]
    Exists(String),
    /// The name is not [safe](name::is_safe).
    #[error("group name `{0}' is not allowed")]
    UnsafeName(String),
    /// The group does not exist, or no longer.
    #[error("group is not in active")]
    Unknown,
    /// The file would become too large, or a number too high.
    #[error("the change would exceed the limits of active")]
    TooLarge,
}

impl Active {
    /// Allocates the group's next article number and patches the image. `None`
    /// if the group is gone or has reached [`NUMBER_MAX`]. Widens the field if
    /// the number no longer fits, see [`layout_changed`](Self::layout_changed).
    #[inline]
    pub fn take_number(&mut self, id: GroupId) -> Option<u64> {
        let (start, fields) = self.fields(id)?;
        let field = fields.high();
        let range = start + field.start..start + field.end;
        let number = article::decimal::value_of(self.text(range.clone())).checked_add(1)?;
        // Usually only the last digit changes.
        if let Some(last) = self.image.get_mut(range.end - 1)
            && *last != b'9'
        {
            if number > NUMBER_MAX {
                return None;
            }
            *last += 1;
            self.checksum = self
                .checksum
                .wrapping_add(checksum::part(&[1], range.end - 1));
            self.mark(range);
            return Some(number);
        }
        self.set_high(id, number).then_some(number)
    }

    /// Sets the highest number in use. Returns `false` if the group is gone or the
    /// number is above [`NUMBER_MAX`].
    pub fn set_high(&mut self, id: GroupId, number: u64) -> bool {
        self.set_number(id, number, Fields::high)
    }

    /// Sets the lowest number that may still exist. Fails like
    /// [`set_high`](Self::set_high).
    pub fn set_low(&mut self, id: GroupId, number: u64) -> bool {
        self.set_number(id, number, Fields::low)
    }

    /// Sets the group's flag.
    ///
    /// # Errors
    /// The group is gone, or the target of an alias is not a safe name.
    pub fn set_flag(&mut self, id: GroupId, flag: Flag<'_>) -> Result<(), AddGroupError> {
        let (start, mut fields) = self.fields(id).ok_or(AddGroupError::Unknown)?;
        let text = flag_text(flag)?;
        let old = fields.flag_text();
        let range = start + old.start..start + old.end;
        if text.len() == range.len() {
            if let Some(place) = self.image.get_mut(range.clone()) {
                let before = checksum::part(place, range.start);
                place.copy_from_slice(&text);
                let added = checksum::part(place, range.start).wrapping_sub(before);
                self.checksum = self.checksum.wrapping_add(added);
            }
            self.mark(range);
        } else {
            self.splice(range, &text, id.0 as usize + 1)?;
        }
        fields.flag = flag.letter();
        fields.flag_len = u16::try_from(text.len()).map_err(|_| AddGroupError::TooLarge)?;
        if let Some(entry) = self.entries.get_mut(id.0 as usize) {
            entry.fields = fields;
        }
        Ok(())
    }

    /// Adds a group without articles as the last line: `name 0000000000 00001
    /// flag`.
    ///
    /// # Errors
    /// The group exists, or a name is unsafe; the table is then unchanged.
    pub fn add(&mut self, name: &[u8], flag: Flag<'_>) -> Result<GroupId, AddGroupError> {
        self.add_numbered(name, 0, 1, flag)
    }

    /// Adds a group with its numbers as the last line. Together with
    /// [`empty`](Self::empty) this builds a whole file.
    ///
    /// # Errors
    /// As [`add`](Self::add), or a number is above [`NUMBER_MAX`].
    pub fn add_numbered(
        &mut self,
        name: &[u8],
        high: u64,
        low: u64,
        flag: Flag<'_>,
    ) -> Result<GroupId, AddGroupError> {
        if !name::is_safe(name) {
            return Err(AddGroupError::UnsafeName(line::shown(name)));
        }
        if self.find(name).is_some() {
            return Err(AddGroupError::Exists(line::shown(name)));
        }
        let flag_bytes = flag_text(flag)?;
        let high_len = line::digits_of(high).max(NEW_HIGH_DIGITS);
        let low_len = line::digits_of(low).max(NEW_LOW_DIGITS);
        let line_len = name.len() + high_len + low_len + flag_bytes.len() + 4;
        if high.max(low) > NUMBER_MAX || self.image.len() + line_len > IMAGE_BYTES_MAX {
            return Err(AddGroupError::TooLarge);
        }
        let too_large = |_| AddGroupError::TooLarge;
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
        let added = checksum::part(self.image.get(start..).unwrap_or_default(), start);
        self.checksum = self.checksum.wrapping_add(added);
        self.mark(start..self.image.len());
        Ok(GroupId(id))
    }

    /// Returns the group of this name, and adds it with flag `n` if it is missing. For
    /// `control` and `junk`, which a news system must have.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn ensure(&mut self, name: &[u8]) -> Result<GroupId, AddGroupError> {
        match self.find(name) {
            Some(id) => Ok(id),
            None => self.add(name, Flag::NoPosting),
        }
    }

    /// Removes a group's line. Its id is not used again. If bad lines name the group too,
    /// removes all bad lines: one of them would bring the group back when the file is read again.
    ///
    /// # Errors
    /// The group is already gone.
    pub fn remove(&mut self, id: GroupId) -> Result<(), AddGroupError> {
        if self.fields(id).is_none() {
            return Err(AddGroupError::Unknown);
        }
        if self.bad_line_count > 0 && self.is_repeated(id) {
            self.drop_bad_lines();
        }
        let (start, fields) = self.fields(id).ok_or(AddGroupError::Unknown)?;
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

    /// Whether more than one line begins with the group's name.
    fn is_repeated(&self, id: GroupId) -> bool {
        let name = self.name(id);
        let names_it = |line: &&[u8]| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
        };
        let lines = self.image.split(|&byte| byte == b'\n');
        lines.filter(names_it).nth(1).is_some()
    }

    /// Removes the bad lines, which otherwise stay in the file. For
    /// repairs.
    pub fn drop_bad_lines(&mut self) {
        if self.bad_line_count > 0 {
            self.rewrite(0, 0, false);
            self.bad_lines.clear();
            self.bad_line_count = 0;
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
        self.checksum = checksum::of(&self.image);
    }

    fn set_number(&mut self, id: GroupId, number: u64, field: fn(&Fields) -> Range<usize>) -> bool {
        if number > NUMBER_MAX {
            return false;
        }
        // At most twice: after widening, the number fits.
        for _ in 0..2 {
            let Some((start, fields)) = self.fields(id) else {
                return false;
            };
            let place = field(&fields);
            let range = start + place.start..start + place.end;
            let Some(digits) = self.image.get_mut(range.clone()) else {
                return false;
            };
            let before = checksum::part(digits, range.start);
            if line::write_number(digits, number) {
                let added = checksum::part(digits, range.start).wrapping_sub(before);
                self.checksum = self.checksum.wrapping_add(added);
                self.mark(range);
                return true;
            }
            // Widens all fields at once, so that a file of narrow fields is not
            // rewritten for each of its groups.
            let digits = line::digits_of(number).max(usize::from(WIDENED_DIGITS));
            let digits = u8::try_from(digits).unwrap_or(u8::MAX);
            let wider = usize::from(digits) * self.entries.len();
            if self.image.len() + wider > u32::MAX as usize {
                return false;
            }
            if place == fields.high() {
                self.rewrite(digits, 0, true);
            } else {
                self.rewrite(0, digits, true);
            }
        }
        false
    }

    /// Rewrites the image with number fields of at least these widths, and
    /// keeps or drops the bad lines.
    fn rewrite(&mut self, high_digits: u8, low_digits: u8, keep_bad_lines: bool) {
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
            if keep_bad_lines {
                image.extend_from_slice(old.get(copied..start).unwrap_or(b""));
            }
            let at = |range: Range<usize>| {
                old.get(start + range.start..start + range.end)
                    .unwrap_or(b"")
            };
            // The caller has checked that the new image fits u32.
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
        if keep_bad_lines {
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
    ) -> Result<(), AddGroupError> {
        let removed = range.len();
        if self.image.len() - removed.min(self.image.len()) + text.len() > IMAGE_BYTES_MAX {
            return Err(AddGroupError::TooLarge);
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

fn flag_text(flag: Flag<'_>) -> Result<Vec<u8>, AddGroupError> {
    let mut text = Vec::new();
    flag.push(&mut text);
    match Flag::parse(&text) {
        Some(_) => Ok(text),
        None => Err(AddGroupError::UnsafeName(line::shown(&text))),
    }
}

fn push_padded(out: &mut Vec<u8>, number: u64, len: usize) {
    let start = out.len();
    out.resize(start + len, b'0');
    if let Some(field) = out.get_mut(start..) {
        line::write_number(field, number);
    }
}
