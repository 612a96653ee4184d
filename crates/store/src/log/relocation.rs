//! The table of a repacked segment. Positions never move, so when the dead records of a segment are left out of its
//! file, the table says which stretch of positions lies where in it.

use crate::io::bytes::u32_at;
use crate::io::disk::File;
use crate::log::record::{HEADER_BYTES, Head, Kind, Record};

const STRETCH_BYTES: usize = 8;

/// Stretches of records that lie together, ascending both ways. Offsets are from the segment's base in positions, and from
/// the start of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Relocation {
    stretches: Vec<Stretch>,
    /// Where the last stretch ends in the file: the table lies there.
    end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    position: u32,
    file: u32,
}

impl Relocation {
    /// Notes that the record at `position` lies at `file`. Ascending.
    pub fn note(&mut self, position: u64, file: u64, length: u64) {
        let follows = self.stretches.last().is_some_and(|last| {
            position.wrapping_sub(u64::from(last.position))
                == file.wrapping_sub(u64::from(last.file))
        });
        if !follows {
            self.stretches.push(Stretch {
                position: position as u32,
                file: file as u32,
            });
        }
        self.end = file + length;
    }

    /// The text of its record.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.stretches.len() * STRETCH_BYTES);
        for stretch in &self.stretches {
            bytes.extend_from_slice(&stretch.position.to_le_bytes());
            bytes.extend_from_slice(&stretch.file.to_le_bytes());
        }
        bytes
    }

    /// Reads the record at `at`, where the header says that the table lies. `None`: it is damaged.
    pub fn read(file: &dyn File, at: u64) -> std::io::Result<Option<Relocation>> {
        let mut bytes = vec![0; HEADER_BYTES];
        let got = file.read_at(&mut bytes, at)?;
        bytes.truncate(got);
        let Some(head) = Head::parse(&bytes).filter(|head| head.kind == Kind::Relocation) else {
            return Ok(None);
        };
        if at.saturating_add(u64::from(head.length)) > file.length()? {
            return Ok(None);
        }
        bytes.resize(head.length as usize, 0);
        let got = file.read_at(&mut bytes, at)?;
        bytes.truncate(got);
        Ok(Record::parse(&bytes).and_then(|record| Relocation::parse(record.line(), at)))
    }

    fn parse(text: &[u8], end: u64) -> Option<Relocation> {
        let stretches: Vec<Stretch> = text
            .chunks_exact(STRETCH_BYTES)
            .filter_map(|bytes| {
                Some(Stretch {
                    position: u32_at(bytes, 0)?,
                    file: u32_at(bytes, 4)?,
                })
            })
            .collect();
        let ascends = stretches
            .windows(2)
            .all(|pair| matches!(pair, [a, b] if a.position < b.position && a.file < b.file));
        ascends.then_some(Relocation { stretches, end })
    }

    /// Where in the file the record with this position lies. `None`: it was left out.
    pub fn in_file(&self, position: u64) -> Option<u64> {
        let place = self
            .stretches
            .partition_point(|stretch| u64::from(stretch.position) <= position);
        let stretch = self.stretches.get(place.checked_sub(1)?)?;
        let next = self.stretches.get(place);
        let at = u64::from(stretch.file) + (position - u64::from(stretch.position));
        (at < next.map_or(self.end, |next| u64::from(next.file))).then_some(at)
    }

    /// Where in the file the first record with this position or a later one lies.
    pub fn at_or_behind(&self, position: u64) -> u64 {
        if let Some(at) = self.in_file(position) {
            return at;
        }
        let place = self
            .stretches
            .partition_point(|stretch| u64::from(stretch.position) < position);
        let next = self.stretches.get(place);
        next.map_or(self.end, |next| u64::from(next.file))
    }

    /// Calls `each` for the pieces of a range of the file that lie together in positions, too: position, place in the file, length.
    pub fn each_within(&self, (from, to): (u64, u64), mut each: impl FnMut(u64, u64, u64)) {
        let after = self
            .stretches
            .partition_point(|stretch| u64::from(stretch.file) <= from);
        let mut at = from;
        let next = self.stretches.get(after..).unwrap_or_default().iter();
        let ends = next.map(|stretch| u64::from(stretch.file)).chain([to]);
        for end in ends.map(|end| end.min(to)) {
            if at >= to {
                break;
            }
            each(self.position(at), at, end - at);
            at = end;
        }
    }

    /// The position of what lies there in the file.
    pub fn position(&self, file: u64) -> u64 {
        let place = self
            .stretches
            .partition_point(|stretch| u64::from(stretch.file) <= file);
        let stretch = place
            .checked_sub(1)
            .and_then(|place| self.stretches.get(place));
        stretch.map_or(file, |stretch| {
            u64::from(stretch.position) + (file - u64::from(stretch.file))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_found_and_what_was_left_out_is_not() {
        let mut moved = Relocation::default();
        for (position, file, length) in
            [(64, 64, 100), (164, 164, 36), (500, 200, 50), (900, 250, 8)]
        {
            moved.note(position, file, length);
        }
        let again = Relocation::parse(&moved.to_bytes(), 258).unwrap();
        assert_eq!(again, moved);
        assert_eq!(again.stretches.len(), 3);
        for (position, file) in [
            (64, Some(64)),
            (164, Some(164)),
            (200, None),
            (499, None),
            (500, Some(200)),
            (549, Some(249)),
            (550, None),
            (900, Some(250)),
            (908, None),
        ] {
            assert_eq!(again.in_file(position), file, "{position}");
            if let Some(file) = file {
                assert_eq!(again.position(file), position);
            }
        }
        assert_eq!(again.in_file(3), None);
        for (position, file) in [(0, 64), (164, 164), (200, 200), (550, 250), (908, 258)] {
            assert_eq!(again.at_or_behind(position), file, "{position}");
        }
    }

    #[test]
    fn a_table_out_of_order_is_damaged() {
        let mut moved = Relocation::default();
        moved.note(64, 64, 8);
        moved.note(200, 72, 8);
        let mut bytes = moved.to_bytes();
        bytes.rotate_left(8);
        assert_eq!(Relocation::parse(&bytes, 80), None);
    }
}
