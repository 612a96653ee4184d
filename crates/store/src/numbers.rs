//! Where articles lie that are named by group and number.

use crate::disk::MapRef;
use crate::overview;
use crate::reader::Reader;
use crate::{Error, Position};

/// Finds articles by group and number, for who looks for many: the overview of a segment is mapped once.
#[derive(Debug)]
pub struct Numbers<'r> {
    reader: &'r Reader,
    /// From the newest segment on.
    maps: Vec<(u64, MapRef)>,
}

impl Reader {
    /// Finds articles by group and number.
    pub fn numbers(&self) -> Numbers<'_> {
        Numbers {
            reader: self,
            maps: Vec::new(),
        }
    }
}

impl Numbers<'_> {
    /// Where the article with a number in a group is, if it is alive.
    ///
    /// # Errors
    /// The overview of a segment cannot be read.
    pub fn position(&mut self, group: &[u8], number: u64) -> Result<Option<Position>, Error> {
        if !self.reader.expired().keeps(group, number) {
            return Ok(None);
        }
        for (at, &base) in self.reader.segments().iter().rev().enumerate() {
            if self.maps.len() == at {
                self.maps.push((base, self.reader.overview_map(base)?));
            }
            let Some((base, map)) = self.maps.get(at) else {
                break;
            };
            for block in overview::blocks(map.bytes()) {
                let rows = block.find(group);
                let Some(row) = rows.and_then(|rows| rows.range(number, number).next()) else {
                    continue;
                };
                let position = Position(base + u64::from(row.record));
                let is_alive = self.reader.is_alive_in(group, number, position);
                return Ok(is_alive.then_some(position));
            }
        }
        Ok(None)
    }
}
