//! The names: (directory, name) → node, with soft references to both.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::nodes::SoftReference;
use crate::recency::Recency;

/// Default maximum of the table.
pub const NAMES_MAX: usize = 1_000;

/// The longest name that is kept, bytes. It gives an entry the 48 bytes of the paper; longer names are rare, and looked up each time.
pub const NAME_BYTES_MAX: usize = 23;

/// An entry.
#[derive(Debug, Clone, Copy)]
struct Entry {
    directory: SoftReference,
    node: SoftReference,
    length: u8,
    name: [u8; NAME_BYTES_MAX],
}

impl Entry {
    fn name(&self) -> &[u8] {
        self.name
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }
}

/// The table. The least recently used entry is reused first.
#[derive(Debug)]
pub struct Names {
    entries: Vec<Entry>,
    by_name: HashTable<u32>,
    recency: Recency,
    most: usize,
    hasher: DefaultHashBuilder,
}

impl Names {
    /// An empty table for at most `most` names; none with 0.
    pub fn new(most: usize) -> Names {
        Names {
            entries: Vec::new(),
            by_name: HashTable::new(),
            recency: Recency::new(),
            most: most.min(u32::MAX as usize - 1),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Whether a name can be kept.
    pub fn can_keep(&self, name: &[u8]) -> bool {
        self.most > 0 && name.len() <= NAME_BYTES_MAX
    }

    /// Finds the node of a name. Counts as a use.
    pub fn find(&mut self, directory: SoftReference, name: &[u8]) -> Option<SoftReference> {
        let place = self.place_of(directory, name)?;
        self.recency.use_now(place);
        self.entries.get(place as usize).map(|entry| entry.node)
    }

    /// Enters a name, or changes its node. A name that is too long is not kept.
    pub fn enter(&mut self, directory: SoftReference, name: &[u8], node: SoftReference) {
        if !self.can_keep(name) {
            return;
        }
        if let Some(place) = self.place_of(directory, name) {
            self.recency.use_now(place);
            if let Some(entry) = self.entries.get_mut(place as usize) {
                entry.node = node;
            }
            return;
        }
        let mut entry = Entry {
            directory,
            node,
            length: name.len() as u8,
            name: [0; NAME_BYTES_MAX],
        };
        entry
            .name
            .iter_mut()
            .zip(name)
            .for_each(|(to, from)| *to = *from);
        let place = match self.recency.oldest() {
            Some(oldest) if self.entries.len() >= self.most => {
                self.take_from_table(oldest);
                self.recency.use_now(oldest);
                if let Some(old) = self.entries.get_mut(oldest as usize) {
                    *old = entry;
                }
                oldest
            }
            _ => {
                self.entries.push(entry);
                self.recency.push()
            }
        };
        let hash = hash(&self.hasher, directory, name);
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.by_name
            .insert_unique(hash, place, |&place| match entries.get(place as usize) {
                Some(entry) => self::hash(hasher, entry.directory, entry.name()),
                None => 0,
            });
    }

    /// Removes a name whose reference died, so that its entry is reused next.
    pub fn remove(&mut self, directory: SoftReference, name: &[u8]) {
        if let Some(place) = self.place_of(directory, name) {
            self.take_from_table(place);
            self.recency.use_next(place);
        }
    }

    /// Forgets all names.
    pub fn purge(&mut self) {
        self.entries.clear();
        self.by_name.clear();
        self.recency = Recency::new();
    }

    fn place_of(&self, directory: SoftReference, name: &[u8]) -> Option<u32> {
        let is_it = |&place: &u32| {
            let entry = self.entries.get(place as usize);
            entry.is_some_and(|entry| entry.directory == directory && entry.name() == name)
        };
        let hash = hash(&self.hasher, directory, name);
        self.by_name.find(hash, is_it).copied()
    }

    fn take_from_table(&mut self, place: u32) {
        let Some(entry) = self.entries.get(place as usize) else {
            return;
        };
        let hash = hash(&self.hasher, entry.directory, entry.name());
        if let Ok(found) = self.by_name.find_entry(hash, |&other| other == place) {
            found.remove();
        }
    }
}

fn hash(hasher: &DefaultHashBuilder, directory: SoftReference, name: &[u8]) -> u64 {
    hasher.hash_one((directory, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_size_of_the_paper() {
        // 40 bytes and the two links of the order of use.
        assert_eq!(size_of::<Entry>() + 8, 48);
    }
}
