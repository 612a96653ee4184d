//! `.overview` of a group: its rows as the classic programs wrote them, each line ended by LF. Made while it is read, so a group of a
//! million articles needs no more memory than one of ten.

use hashbrown::HashMap;
use store::{Error, Snapshot};

/// Rows that are made at once, bytes.
const PIECE_BYTES: usize = 64 << 10;
/// Files whose size is known.
pub const SIZES_MAX: usize = 4096;

/// The file while it is open: the rows that there were when it was opened, without those that are removed meanwhile.
#[derive(Debug)]
pub struct OverviewFile {
    group: Box<[u8]>,
    /// The last number.
    high: u64,
    /// The number to go on with; `None`: all was made.
    next: Option<u64>,
    /// Where `made` begins in the file.
    offset: u64,
    made: Vec<u8>,
}

impl OverviewFile {
    /// Of the group up to this number.
    pub fn new(group: &[u8], high: u64) -> OverviewFile {
        OverviewFile {
            group: group.into(),
            high,
            next: Some(0),
            offset: 0,
            made: Vec::new(),
        }
    }

    /// Reads up to `size` bytes. Makes the file from its start again where the last read was not before this one.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn read(&mut self, snapshot: &Snapshot, at: u64, size: usize) -> Result<&[u8], Error> {
        if at < self.offset {
            (self.next, self.offset) = (Some(0), 0);
            self.made.clear();
        }
        loop {
            let read = (at - self.offset).min(self.made.len() as u64);
            self.made.drain(..read as usize);
            self.offset += read;
            let Some(next) = self.next.filter(|_| self.made.len() < size) else {
                break;
            };
            let range = (next, self.high);
            let rows = snapshot.rows(&self.group, range, PIECE_BYTES, |run| {
                self.made
                    .extend(run.bytes().iter().filter(|&&b| b != b'\r'));
            })?;
            self.next = rows.next;
        }
        if at > self.offset {
            return Ok(&[]);
        }
        Ok(self.made.get(..size).unwrap_or(&self.made))
    }
}

/// The sizes of these files.
#[derive(Debug, Default)]
pub struct Sizes {
    known: HashMap<u64, Size>,
}

#[derive(Debug, Clone, Copy)]
struct Size {
    bytes: u64,
    /// Rows up to this number are counted ...
    last: u64,
    /// ... as of this commit, of those since which nothing was removed.
    removals: u64,
}

impl Sizes {
    /// The size of the file with an inode number: of the rows up to `high`. Counts the rows that are new.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn size(
        &mut self,
        snapshot: &Snapshot,
        (number, removals): (u64, u64),
        (group, high): (&[u8], u64),
    ) -> Result<u64, Error> {
        let known = self.known.get(&number).copied();
        let mut size = known
            .filter(|known| known.removals == removals && known.last <= high)
            .unwrap_or(Size {
                bytes: 0,
                last: 0,
                removals,
            });
        let mut next = Some(size.last + 1).filter(|next| *next <= high);
        while let Some(from) = next {
            let rows = snapshot.rows(group, (from, high), PIECE_BYTES, |run| {
                size.bytes += run.bytes().len() as u64 - run.rows;
            })?;
            next = rows.next;
        }
        size.last = size.last.max(high);
        if self.known.len() >= SIZES_MAX && known.is_none() {
            self.known.clear();
        }
        self.known.insert(number, size);
        Ok(size.bytes)
    }
}
