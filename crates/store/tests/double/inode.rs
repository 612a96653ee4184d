//! What a file holds for sure, and what was done to it since.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::dice::Dice;

/// A sector is written whole or not at all.
const SECTOR: usize = 512;
/// The file system gives space to files in blocks of this many bytes.
const BLOCK: usize = 4096;

#[derive(Debug, Clone)]
pub enum Change {
    Write(u64, Vec<u8>),
    /// A write of whole blocks past the page cache.
    Direct(u64, Vec<u8>),
    Length(u64),
}

/// What the disk has of a file.
#[derive(Debug, Clone, Default)]
struct Platter {
    bytes: Vec<u8>,
    /// Blocks whose first write failed. The pages count as clean and as having their place on the disk, so what is written to
    /// them again through the page cache goes nowhere, though each sync of it succeeds (ext4: the extent stays unwritten). A write past the
    /// cache mends a block; cutting the file in front of it frees it.
    lost: BTreeSet<usize>,
}

#[derive(Debug)]
pub struct Inode {
    real: fs::File,
    durable: Platter,
    pending: Vec<Change>,
    /// Written through a map too: compared with what the file holds now.
    pub is_mapped: bool,
    /// What a mapped file held when the power failed.
    frozen: Option<Vec<u8>>,
}

impl Inode {
    pub fn open(path: &Path, is_durable: bool) -> Inode {
        let open = fs::OpenOptions::new().read(true).write(true).open(path);
        let mut inode = Inode {
            real: open.unwrap(),
            durable: Platter::default(),
            pending: Vec::new(),
            is_mapped: false,
            frozen: None,
        };
        if is_durable {
            inode.durable.bytes = inode.content();
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

    /// All of it reaches the disk, but for what goes to lost blocks.
    pub fn sync(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            self.durable.apply(&change, |_| true);
        }
        if self.is_mapped {
            let now = self.content();
            self.durable.bytes.resize(now.len(), 0);
            self.durable.take_sectors(&now, |_| true);
        }
    }

    /// A sync that failed: what it should have written counts as clean and never will be. Blocks the disk never had are lost.
    /// `forgets`: the file system drops the pages as well, so that the file reads as the disk has it (but a map keeps its pages).
    pub fn lose(&mut self, forgets: bool) {
        let before = self.durable.bytes.clone();
        for change in std::mem::take(&mut self.pending) {
            match change {
                // The journal has it, and will write it.
                Change::Length(_) => self.durable.apply(&change, |_| true),
                Change::Write(offset, data) => {
                    let end = offset as usize + data.len();
                    let had = before.len().min(self.durable.bytes.len());
                    let first = (offset as usize / BLOCK).max(had.div_ceil(BLOCK));
                    self.durable.lost.extend(first..end.div_ceil(BLOCK));
                    if forgets {
                        self.forget(offset, data.len());
                    }
                }
                Change::Direct(offset, data) if forgets => self.forget(offset, data.len()),
                Change::Direct(..) => {}
            }
        }
        if self.is_mapped {
            // Space was set aside for all of it: what is zero was never written.
            let now = self.content();
            self.durable.bytes.resize(now.len(), 0);
            let blocks = self.durable.bytes.chunks(BLOCK).zip(now.chunks(BLOCK));
            let lost = blocks.enumerate().filter_map(|(place, (old, new))| {
                (old != new && old.iter().all(|&b| b == 0)).then_some(place)
            });
            self.durable.lost.extend(lost);
        }
    }

    /// The real file holds there what the disk has.
    fn forget(&self, offset: u64, length: usize) {
        let end = (offset as usize + length).min(self.real.metadata().unwrap().len() as usize);
        let range = (offset as usize).min(end)..end;
        let mut bytes = vec![0; range.len()];
        let there = self.durable.bytes.get(range.start..).unwrap_or_default();
        let there = &there[..there.len().min(bytes.len())];
        bytes[..there.len()].copy_from_slice(there);
        self.real.write_all_at(&bytes, offset).unwrap();
    }

    /// What a read past the page cache finds; dirty pages are written out first.
    pub fn on_disk(&self) -> Vec<u8> {
        let mut platter = self.durable.clone();
        for change in &self.pending {
            platter.apply(change, |_| true);
        }
        if self.is_mapped {
            let now = self.frozen.clone().unwrap_or_else(|| self.content());
            platter.bytes.resize(now.len(), 0);
            platter.take_sectors(&now, |_| true);
        }
        platter.bytes
    }

    /// The content as it may be after a power cut.
    pub fn after_cut(&self, dice: &mut Dice) -> Vec<u8> {
        let mut platter = self.durable.clone();
        // Most kept, few kept, or anything.
        let percent = *dice.pick(&[0, 10, 50, 90, 100]).unwrap();
        for change in &self.pending {
            if dice.chance(percent) {
                platter.apply(change, |_| true);
            } else if dice.chance(50) {
                let part = dice.below(101);
                let in_order = dice.chance(50);
                let end = part * change.sectors() / 100;
                let mut torn = dice.clone();
                platter.apply(change, |sector| {
                    if in_order {
                        sector < end
                    } else {
                        torn.chance(part)
                    }
                });
                dice.next();
                // The length may be there before the data is.
                if let Change::Write(offset, data) | Change::Direct(offset, data) = change
                    && dice.chance(50)
                {
                    let end = *offset as usize + data.len();
                    platter.bytes.resize(platter.bytes.len().max(end), 0);
                }
            }
        }
        if let Some(now) = &self.frozen {
            platter.bytes.resize(now.len(), 0);
            platter.take_sectors(now, |_| dice.chance(percent));
        }
        platter.bytes
    }
}

impl Change {
    fn sectors(&self) -> u64 {
        match self {
            Change::Write(_, data) | Change::Direct(_, data) => (data.len() / SECTOR + 2) as u64,
            Change::Length(_) => 1,
        }
    }
}

impl Platter {
    /// Stores into a map reach the disk, where `takes` says so.
    fn take_sectors(&mut self, now: &[u8], mut takes: impl FnMut(usize) -> bool) {
        for (place, (old, new)) in self
            .bytes
            .chunks_mut(SECTOR)
            .zip(now.chunks(SECTOR))
            .enumerate()
        {
            let is_lost = self.lost.contains(&(place * SECTOR / BLOCK));
            if old.len() == new.len() && old != new && !is_lost && takes(place) {
                old.copy_from_slice(new);
            }
        }
    }

    /// Applies a change; `takes` tells which of a write's sectors are written, counted from its first.
    fn apply(&mut self, change: &Change, mut takes: impl FnMut(u64) -> bool) {
        let (offset, data, is_direct) = match change {
            Change::Length(length) => {
                if takes(0) {
                    self.bytes.resize(*length as usize, 0);
                    let kept = (*length as usize).div_ceil(BLOCK);
                    self.lost.retain(|block| *block < kept);
                }
                return;
            }
            Change::Write(offset, data) => (offset, data, false),
            Change::Direct(offset, data) => (offset, data, true),
        };
        let mut at = *offset as usize;
        let mut rest = &data[..];
        let mut sector = 0;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
            if takes(sector) {
                if is_direct {
                    self.lost.remove(&(at / BLOCK));
                }
                self.bytes.resize(self.bytes.len().max(at + piece.len()), 0);
                if !self.lost.contains(&(at / BLOCK)) {
                    self.bytes[at..at + piece.len()].copy_from_slice(piece);
                }
            }
            at += piece.len();
            rest = behind;
            sector += 1;
        }
    }
}
