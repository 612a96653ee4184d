//! Where articles lie that are named by group and number.

use crate::disk::MapRef;
use crate::overview::{self, Block};
use crate::reader::Reader;
use crate::{Error, Position};

/// Finds articles by group and number, for who looks for many: the overview of a segment is mapped once.
#[derive(Debug)]
pub struct Numbers<'r> {
    reader: &'r Reader,
    /// From the newest segment on.
    maps: Vec<(u64, MapRef)>,
    /// In which of them, and where in it, the block lies that had the last article. Lists are made in the order of the
    /// log, so that the next one is most often there, too; and no number is in two blocks.
    last: Option<(usize, usize)>,
}

impl Reader {
    /// Finds articles by group and number.
    pub fn numbers(&self) -> Numbers<'_> {
        Numbers {
            reader: self,
            maps: Vec::new(),
            last: None,
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
        let record = match self.in_last(group, number) {
            Some(record) => Some(record),
            None => self.anywhere(group, number)?,
        };
        let alive = |position: &Position| self.reader.is_alive_in(group, number, *position);
        Ok(record.filter(alive))
    }

    fn in_last(&self, group: &[u8], number: u64) -> Option<Position> {
        let (at, offset) = self.last?;
        let (base, map) = self.maps.get(at)?;
        let block = Block::parse(map.bytes().get(offset..)?)?;
        record(*base, &block, group, number)
    }

    fn anywhere(&mut self, group: &[u8], number: u64) -> Result<Option<Position>, Error> {
        for (at, &base) in self.reader.segments().iter().rev().enumerate() {
            if self.maps.len() == at {
                self.maps.push((base, self.reader.overview_map(base)?));
            }
            let Some((base, map)) = self.maps.get(at) else {
                break;
            };
            let mut offset = 0;
            for block in overview::blocks(map.bytes()) {
                if let Some(position) = record(*base, &block, group, number) {
                    self.last = Some((at, offset));
                    return Ok(Some(position));
                }
                offset += block.bytes.len();
            }
        }
        Ok(None)
    }
}

fn record(base: u64, block: &Block<'_>, group: &[u8], number: u64) -> Option<Position> {
    let row = block.find(group)?.range(number, number).next()?;
    Some(Position(base + u64::from(row.record)))
}
