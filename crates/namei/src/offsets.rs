//! The directory offset cache: the entry that the last search of each process in a directory found. The next search of the process in the
//! same directory begins there, so that looking up all names in their order takes one pass instead of one pass for each name.

use hashbrown::HashMap;

/// Default maximum number of processes.
pub const PROCESSES_MAX: usize = 256;

/// How often the cache helped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OffsetCounts {
    /// Searches that began at a kept offset and found the name before the end of the directory.
    pub hits: u64,
    /// Searches that began at a kept offset and had to continue at the start of the directory.
    pub passes: u64,
    /// Searches without a kept offset.
    pub misses: u64,
    /// Directory entries examined.
    pub examined: u64,
}

/// What is kept for a process: 16 bytes, as in the paper.
#[derive(Debug, Clone, Copy)]
struct Kept {
    directory: u64,
    /// The number of the directory's last change.
    change: u32,
    /// Index of the entry that was found: a program often asks for it again, and then for the next one.
    offset: u32,
}

/// The cache.
#[derive(Debug)]
pub struct Offsets {
    of_process: HashMap<u32, (Kept, u64)>,
    most: usize,
    uses: u64,
    counts: OffsetCounts,
}

impl Offsets {
    /// An empty cache for at most this many processes; with 0 every search begins at the start.
    pub fn new(processes_max: usize) -> Offsets {
        Offsets {
            of_process: HashMap::new(),
            most: processes_max,
            uses: 0,
            counts: OffsetCounts::default(),
        }
    }

    /// Searches a directory of `length` entries for a process: calls `is_it` with the index of each entry until it returns true. Begins where
    /// the last search of this process in this directory ended, and continues at the start. `change` is the number of the last change of
    /// the directory: an offset from before a change is forgotten.
    pub fn search(
        &mut self,
        process: u32,
        (directory, change): (u64, u32),
        length: u32,
        mut is_it: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        let kept = self.kept(process, (directory, change), length);
        let start = kept.unwrap_or(0);
        let mut counts = self.counts;
        let mut search = |mut range: std::ops::Range<u32>| {
            range.find(|&index| {
                counts.examined += 1;
                is_it(index)
            })
        };
        let first = search(start..length);
        let found = match first {
            None if start > 0 => search(0..start),
            first => first,
        };
        self.counts = counts;
        self.count(kept, first.is_some());
        self.keep_found(process, (directory, change), found);
        found
    }

    /// As [`Offsets::search`], of a directory with an index: looks at the entry that the last search found and the one behind it, and if it is
    /// another one asks the index, which returns the entry and how many it examined.
    pub fn search_indexed(
        &mut self,
        process: u32,
        (directory, change): (u64, u32),
        length: u32,
        mut is_it: impl FnMut(u32) -> bool,
        index: impl FnOnce() -> (Option<u32>, u64),
    ) -> Option<u32> {
        let kept = self.kept(process, (directory, change), length);
        let near = kept.and_then(|start| {
            (start..length.min(start + 2)).find(|&index| {
                self.counts.examined += 1;
                is_it(index)
            })
        });
        self.count(kept, near.is_some());
        let found = near.or_else(|| {
            let (found, examined) = index();
            self.counts.examined += examined;
            found
        });
        self.keep_found(process, (directory, change), found);
        found
    }

    /// Where the last search of a process ended, if it was in this directory as it is.
    fn kept(&mut self, process: u32, (directory, change): (u64, u32), length: u32) -> Option<u32> {
        self.uses += 1;
        let (kept, _) = self.of_process.get(&process)?;
        let is_here = kept.directory == directory && kept.change == change && kept.offset < length;
        is_here.then_some(kept.offset)
    }

    fn count(&mut self, kept: Option<u32>, is_found: bool) {
        match (kept, is_found) {
            (None, _) => self.counts.misses += 1,
            (Some(_), true) => self.counts.hits += 1,
            (Some(_), false) => self.counts.passes += 1,
        }
    }

    fn keep_found(&mut self, process: u32, (directory, change): (u64, u32), found: Option<u32>) {
        if let Some(offset) = found {
            let kept = Kept {
                directory,
                change,
                offset,
            };
            self.keep(process, kept);
        }
    }

    fn keep(&mut self, process: u32, kept: Kept) {
        if self.most == 0 {
            return;
        }
        if self.of_process.len() >= self.most && !self.of_process.contains_key(&process) {
            let oldest = self.of_process.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(process, _)| *process) {
                self.of_process.remove(&oldest);
            }
        }
        self.of_process.insert(process, (kept, self.uses));
    }

    /// The counts since the start.
    pub fn counts(&self) -> OffsetCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_the_size_of_the_paper() {
        assert_eq!(size_of::<Kept>(), 16);
    }
}
