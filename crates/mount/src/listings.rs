//! The directories that were searched last: the names in each, in their order, as far as they were asked for.

use hashbrown::HashMap;
use store::{Error, Position};

use crate::live::Live;

/// Articles of a directory that is kept; larger ones are searched in the store's index.
pub const LISTED_MAX: usize = 1 << 12;
/// Entries of all directories that are kept.
pub const ENTRIES_MAX: usize = 1 << 20;

/// The names in a directory.
#[derive(Debug, Default)]
pub struct Listing {
    /// The whole names of the directories in it, where directories are searched one entry after the other.
    pub directories: Vec<Box<[u8]>>,
    /// The articles, by number.
    pub articles: Vec<(u64, Position)>,
    /// Changes when an entry comes or goes.
    pub change: u32,
    /// There are too many articles: none is listed.
    is_large: bool,
    commits: u64,
    removals: u64,
    tables: u64,
    used: u64,
}

/// The directories, by inode number.
#[derive(Debug, Default)]
pub struct Listings {
    kept: HashMap<u64, Listing>,
    entries: usize,
    uses: u64,
}

impl Listings {
    /// The names in a directory, as they are now; with the directories in it if `whole`. `None`: it has too many articles.
    ///
    /// # Errors
    /// The articles cannot be read.
    pub fn listing(
        &mut self,
        live: &Live,
        (number, name): (u64, &[u8]),
        whole: bool,
    ) -> Result<Option<&Listing>, Error> {
        let mut listing = match self.kept.remove(&number) {
            Some(known) => {
                self.entries -= known.entries();
                known
            }
            None => Listing::default(),
        };
        listing.update(live, name, whole)?;
        self.uses += 1;
        listing.used = self.uses;
        self.entries += listing.entries();
        while self.entries > ENTRIES_MAX {
            let oldest = self.kept.iter().min_by_key(|(_, listing)| listing.used);
            let Some(oldest) = oldest.map(|(number, _)| *number) else {
                break;
            };
            if let Some(dropped) = self.kept.remove(&oldest) {
                self.entries -= dropped.entries();
            }
        }
        let listing = self.kept.entry(number).insert(listing).into_mut();
        Ok((!listing.is_large).then_some(listing))
    }
}

impl Listing {
    /// One for itself, so that empty ones have a maximum, too.
    fn entries(&self) -> usize {
        1 + self.directories.len() + self.articles.len()
    }

    /// Adds what is new; makes it anew where something was removed.
    fn update(&mut self, live: &Live, name: &[u8], whole: bool) -> Result<(), Error> {
        let before = (self.directories.len(), self.articles.len());
        let mut is_anew = false;
        if whole && self.tables != live.tables {
            let children = live.hierarchy.children(name, None);
            self.directories = children.map(Into::into).collect();
            self.tables = live.tables;
            is_anew = true;
        }
        if self.removals != live.removals {
            self.articles.clear();
            self.is_large = false;
            self.removals = live.removals;
            self.commits = 0;
            is_anew = true;
        }
        if self.commits != live.commits && !self.is_large {
            let last = self.articles.last().map_or(0, |(number, _)| *number);
            let mut next = Some(last + 1);
            while let Some(from) = next {
                let room = (LISTED_MAX + 1).saturating_sub(self.articles.len());
                if room == 0 {
                    self.articles = Vec::new();
                    self.is_large = true;
                    break;
                }
                let range = (from, u64::MAX);
                let articles = &mut self.articles;
                next = live.snapshot.articles(name, range, room, articles)?;
            }
            self.commits = live.commits;
        }
        if is_anew || before != (self.directories.len(), self.articles.len()) {
            self.change = self.change.wrapping_add(1);
        }
        Ok(())
    }
}
