//! Where articles lie that are named by group and number.

use crate::read::group_index::GroupIndex;
use crate::read::reader::Reader;
use crate::{Error, Position};

/// Finds articles by group and number, for who looks for many: the overview of a segment is mapped once.
#[derive(Debug)]
pub struct Numbers<'r> {
    reader: &'r Reader,
    group_index: GroupIndex,
}

impl Reader {
    /// Finds articles by group and number.
    pub fn numbers(&self) -> Numbers<'_> {
        Numbers {
            reader: self,
            group_index: GroupIndex::default(),
        }
    }
}

impl Numbers<'_> {
    /// Where the article with a number in a group is, if it is alive.
    ///
    /// # Errors
    /// The overview of a segment cannot be read.
    pub fn position(&mut self, group: &[u8], number: u64) -> Result<Option<Position>, Error> {
        self.group_index.position(self.reader, group, number)
    }
}
