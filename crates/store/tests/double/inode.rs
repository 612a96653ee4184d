//! What a file holds for sure, and what was done to it since.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::dice::Dice;

/// A sector is written whole or not at all.
const SECTOR: usize = 512;

#[derive(Debug, Clone)]
pub enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

#[derive(Debug)]
pub struct Inode {
    real: fs::File,
    durable: Vec<u8>,
    pending: Vec<Change>,
    /// Written through a map too: compared with what the file holds now.
    pub is_mapped: bool,
    /// What a mapped file held when the power failed.
    frozen: Option<Vec<u8>>,
}

impl Inode {
    pub fn open(path: &Path, is_durable: bool) -> Inode {
        let real = fs::File::open(path).unwrap();
        let mut inode = Inode {
            real,
            durable: Vec::new(),
            pending: Vec::new(),
            is_mapped: false,
            frozen: None,
        };
        if is_durable {
            inode.durable = inode.content();
        }
        inode
    }

    fn content(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.real.metadata().unwrap().len() as usize];
        self.real.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    pub fn change(&mut self, change: Change) {
        if self.frozen.is_none() {
            self.pending.push(change);
        }
    }

    pub fn freeze(&mut self) {
        if self.is_mapped {
            self.frozen = Some(self.content());
        }
    }

    /// All of it reaches the disk.
    pub fn sync(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            change.apply(&mut self.durable, |_| true);
        }
        if self.is_mapped {
            let now = self.content();
            self.durable.resize(now.len(), 0);
            self.take_sectors(&now, |_| true);
        }
    }

    /// A sync that failed: what it should have written counts as clean and never will be. Stores into a map are seen
    /// only by comparing, so they stay as they were: each sector may be there or not.
    pub fn lose(&mut self) {
        if !self.is_mapped {
            self.pending.clear();
        }
    }

    fn take_sectors(&mut self, now: &[u8], mut takes: impl FnMut(usize) -> bool) {
        for (place, (old, new)) in self
            .durable
            .chunks_mut(SECTOR)
            .zip(now.chunks(SECTOR))
            .enumerate()
        {
            if old.len() == new.len() && old != new && takes(place) {
                old.copy_from_slice(new);
            }
        }
    }

    /// The content as it may be after a power cut.
    pub fn after_cut(&self, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        // Most kept, few kept, or anything.
        let percent = *dice.pick(&[0, 10, 50, 90, 100]).unwrap();
        for change in &self.pending {
            if dice.chance(percent) {
                change.apply(&mut bytes, |_| true);
            } else if dice.chance(50) {
                let part = dice.below(101);
                let in_order = dice.chance(50);
                let end = part * change.sectors() / 100;
                let mut torn = dice.clone();
                change.apply(&mut bytes, |sector| {
                    if in_order {
                        sector < end
                    } else {
                        torn.chance(part)
                    }
                });
                dice.next();
                // The length may be there before the data is.
                if let Change::Write(offset, data) = change
                    && dice.chance(50)
                {
                    let end = *offset as usize + data.len();
                    bytes.resize(bytes.len().max(end), 0);
                }
            }
        }
        if let Some(now) = &self.frozen {
            let mut after = Inode {
                real: self.real.try_clone().unwrap(),
                durable: bytes,
                pending: Vec::new(),
                is_mapped: true,
                frozen: None,
            };
            after.durable.resize(now.len(), 0);
            after.take_sectors(now, |_| dice.chance(percent));
            return after.durable;
        }
        bytes
    }
}

impl Change {
    fn sectors(&self) -> u64 {
        match self {
            Change::Write(_, data) => (data.len() / SECTOR + 2) as u64,
            Change::Length(_) => 1,
        }
    }

    /// Applies it; `takes` tells which of a write's sectors are written, counted from its first.
    fn apply(&self, bytes: &mut Vec<u8>, mut takes: impl FnMut(u64) -> bool) {
        match self {
            Change::Length(length) => {
                if takes(0) {
                    bytes.resize(*length as usize, 0);
                }
            }
            Change::Write(offset, data) => {
                let mut at = *offset as usize;
                let mut rest = &data[..];
                let mut sector = 0;
                while !rest.is_empty() {
                    let (piece, behind) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
                    if takes(sector) {
                        bytes.resize(bytes.len().max(at + piece.len()), 0);
                        bytes[at..at + piece.len()].copy_from_slice(piece);
                    }
                    at += piece.len();
                    rest = behind;
                    sector += 1;
                }
            }
        }
    }
}
