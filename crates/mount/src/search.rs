//! Name translation, as 4.3BSD did it: the name cache, then a search of the directory that begins where the process last found something.

use hashbrown::HashMap;
use namei::{NameCache, Node, Offsets};
use store::Error;

use crate::attributes::Attributes;
use crate::hierarchy::Hierarchy;
use crate::inode::FILES;
use crate::listings::Listings;
use crate::live::Live;

/// The sizes of the caches, and how directories are searched.
#[derive(Debug, Clone, Copy)]
pub struct Caches {
    /// Names in the name cache; 0: none.
    pub names: usize,
    /// Processes in the offset cache; 0: none.
    pub processes: usize,
    /// Whether directories are searched one entry after the other, as in 4.3BSD.
    pub is_linear: bool,
}

impl Default for Caches {
    fn default() -> Caches {
        Caches {
            names: 1 << 14,
            processes: namei::offsets::PROCESSES_MAX,
            is_linear: false,
        }
    }
}

/// An inode in the name cache.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its attributes ...
    pub attributes: Attributes,
    /// ... as they were at this commit, or table of groups if it is a directory.
    pub as_of: u64,
}

/// The caches.
#[derive(Debug)]
pub struct Search {
    /// The name cache.
    pub names: NameCache<Known>,
    /// The nodes of inode numbers; some have died.
    nodes: HashMap<u64, Node>,
    nodes_max: usize,
    /// The offset cache.
    pub offsets: Offsets,
    listings: Listings,
    is_linear: bool,
}

impl Search {
    /// Empty caches.
    pub fn new(caches: Caches) -> Search {
        // Room for the directories, with few names, too.
        let nodes_max = caches.names.max(64);
        Search {
            names: NameCache::new(caches.names, nodes_max),
            nodes: HashMap::new(),
            nodes_max,
            offsets: Offsets::new(caches.processes),
            listings: Listings::default(),
            is_linear: caches.is_linear,
        }
    }

    /// The node of an inode number.
    pub fn node(&mut self, number: u64) -> Option<Node> {
        let node = self.nodes.get(&number).copied()?;
        self.names.is_alive(node).then_some(node)
    }

    /// The node of an inode number, which is added.
    pub fn add(&mut self, known: Known) -> Node {
        let number = known.attributes.number;
        if let Some(node) = self.node(number)
            && let Some(kept) = self.names.content(node)
        {
            *kept = known;
            return node;
        }
        if self.nodes.len() >= 2 * self.nodes_max {
            self.nodes.retain(|_, node| self.names.is_alive(*node));
        }
        let node = self.names.add(known);
        self.nodes.insert(number, node);
        node
    }

    /// Finds a directory by its part of the name in another one.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn directory(
        &mut self,
        live: &Live,
        (number, directory): (u64, &[u8]),
        child: &[u8],
        process: u32,
    ) -> Result<bool, Error> {
        if !self.is_linear {
            return Ok(live.hierarchy.is_directory(child));
        }
        let place = (number, directory);
        let Some(listing) = self.listings.listing(live, place, true)? else {
            return Ok(live.hierarchy.is_directory(child));
        };
        let length = listing.directories.len() + listing.articles.len();
        let is_it = |index: u32| {
            let name = listing.directories.get(index as usize);
            name.is_some_and(|name| **name == *child)
        };
        let change = (number, listing.change);
        let found = self.offsets.search(process, change, length as u32, is_it);
        Ok(found.is_some())
    }

    /// Finds the position of an article by its number in a group.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn article(
        &mut self,
        live: &Live,
        (number, group): (u64, &[u8]),
        article: u64,
        process: u32,
    ) -> Result<Option<store::Position>, Error> {
        let place = (number, group);
        if let Some(listing) = self.listings.listing(live, place, self.is_linear)? {
            let (directories, articles) = (listing.directories.len(), &listing.articles);
            let entry = |index: u32| articles.get((index as usize).checked_sub(directories)?);
            let is_it = |index: u32| entry(index).is_some_and(|(known, _)| *known == article);
            let length = (directories + articles.len()) as u32;
            let change = (number, listing.change);
            let found = if self.is_linear {
                self.offsets.search(process, change, length, is_it)
            } else {
                self.offsets
                    .search_indexed(process, change, length, is_it, || {
                        let mut examined = 0;
                        let found = articles.binary_search_by(|(known, _)| {
                            examined += 1;
                            known.cmp(&article)
                        });
                        (found.ok().map(|index| index as u32), examined)
                    })
            };
            if let Some((_, position)) = found.and_then(entry) {
                return Ok(Some(*position));
            }
        }
        // Of a large group; and in an archive an article can come with a number below others.
        live.snapshot.position(group, article)
    }
}

/// The whole name of the directory or group that a part names in a directory.
pub fn child_name(directory: &[u8], part: &[u8]) -> Vec<u8> {
    match directory {
        b"" => part.to_vec(),
        _ => [directory, b".", part].concat(),
    }
}

/// The number that a name is of: as it is written, without zeros in front.
pub fn number_of(name: &[u8]) -> Option<u64> {
    let number = article::decimal::parse(name)?;
    let is_plain = number > 0 && name.first() != Some(&b'0');
    is_plain.then_some(number)
}

/// Whether the article with a number in a directory cannot be seen: a directory has its name, or a file the name of one of its directories.
pub fn is_hidden(hierarchy: &Hierarchy, directory: &[u8], number: u64) -> bool {
    let mut name = child_name(directory, b"");
    article::decimal::push(&mut name, number);
    is_behind_file(directory) || hierarchy.is_directory(&name)
}

/// Whether a file in the root has the name of the first part of a group: then the group has no directory.
pub fn is_behind_file(group: &[u8]) -> bool {
    let first = group.split(|&b| b == b'.').next();
    FILES.iter().any(|file| Some(file.as_bytes()) == first)
}
