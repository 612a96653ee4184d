//! The names of groups as a tree of directories: a directory for each part between dots. Nothing is made for a directory before it is
//! asked for; the names in their order are the tree.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use groups::{Active, GroupId};
use hashbrown::HashMap;
use store::Error;

use crate::inode;

/// Directories whose inode numbers are known.
pub const DIRECTORIES_MAX: usize = 1 << 20;

/// The groups of `active`.
#[derive(Debug)]
pub struct Hierarchy {
    active: Active,
    /// By name, the groups below a directory right behind it.
    sorted: Vec<GroupId>,
    /// The names of the directories that were asked for, by inode number.
    known: HashMap<u64, Box<[u8]>>,
}

impl Hierarchy {
    /// The tree of an active table.
    pub fn of(active: Active) -> Hierarchy {
        let mut sorted: Vec<GroupId> = active.ids().collect();
        sorted.sort_unstable_by(|a, b| order(active.name(*a), active.name(*b)));
        Hierarchy {
            active,
            sorted,
            known: HashMap::new(),
        }
    }

    /// Reads `active` of a news directory.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(dir: &Path) -> Result<Hierarchy, Error> {
        let path = dir.join("active");
        let fault = |source| Error::Io {
            doing: "read",
            path: path.clone(),
            source,
        };
        let text = store::regular::read(&path).map_err(fault)?;
        match Active::parse(text) {
            Ok(active) => Ok(Hierarchy::of(active)),
            Err(error) => Err(Error::Active {
                path: PathBuf::from("active"),
                what: error.to_string(),
            }),
        }
    }

    /// Takes another table; inode numbers stay.
    pub fn replace(&mut self, other: Hierarchy) {
        let known = std::mem::take(&mut self.known);
        *self = Hierarchy { known, ..other };
    }

    /// Bytes of the file that was read.
    pub fn bytes(&self) -> usize {
        self.active.image().len()
    }

    /// Whether there is a group of this name.
    pub fn is_group(&self, name: &[u8]) -> bool {
        self.active.find(name).is_some()
    }

    /// Whether there is a directory of this name: a group, or one with groups below it.
    pub fn is_directory(&self, name: &[u8]) -> bool {
        let first = self.name(self.place_of(name));
        first.is_some_and(|first| first == name || is_below(first, name))
    }

    /// The directories in a directory (`""`: the root) by their whole names, in order; those behind `after` in it.
    pub fn children<'a>(
        &'a self,
        directory: &'a [u8],
        after: Option<&[u8]>,
    ) -> impl Iterator<Item = &'a [u8]> {
        let mut place = match after {
            Some(after) => self.behind(after),
            None if directory.is_empty() => 0,
            None => self.place_of(directory),
        };
        std::iter::from_fn(move || {
            let mut name = self.name(place)?;
            if name == directory {
                place += 1;
                name = self.name(place)?;
            }
            let start = match directory {
                b"" => 0,
                _ if is_below(name, directory) => directory.len() + 1,
                _ => return None,
            };
            let part = name.get(start..)?;
            let length = part.iter().position(|&b| b == b'.').unwrap_or(part.len());
            let child = name.get(..start + length)?;
            place = self.behind(child);
            Some(child)
        })
    }

    /// Whether a directory has one that could be the name of an article, such as alt/2600.
    pub fn has_number(&self, directory: &[u8]) -> bool {
        let mut first = directory.to_vec();
        if !first.is_empty() {
            first.push(b'.');
        }
        let length = first.len();
        first.push(b'0');
        let found = self.name(self.place_of(&first));
        found.is_some_and(|name| {
            name.get(..length) == first.get(..length)
                && name.get(length).is_some_and(u8::is_ascii_digit)
        })
    }

    /// The inode number of a directory.
    pub fn inode_of(&mut self, name: &[u8]) -> u64 {
        if name.is_empty() {
            return inode::ROOT;
        }
        let mut number = inode::of_directory(name);
        // Another name with the same hash takes the next number.
        while let Some(known) = self.known.get(&number) {
            if **known == *name {
                return number;
            }
            number = inode::next_directory(number);
        }
        if self.known.len() >= DIRECTORIES_MAX {
            // The kernel asks again for what it still needs.
            self.known.clear();
        }
        self.known.insert(number, name.into());
        number
    }

    /// The name of the directory with an inode number.
    pub fn name_of(&self, number: u64) -> Option<&[u8]> {
        match number {
            inode::ROOT => Some(b""),
            _ => self.known.get(&number).map(|name| &**name),
        }
    }

    fn name(&self, place: usize) -> Option<&[u8]> {
        self.sorted.get(place).map(|id| self.active.name(*id))
    }

    /// The place of the first name that is not before this one.
    fn place_of(&self, name: &[u8]) -> usize {
        let is_before = |id: &GroupId| order(self.active.name(*id), name) == Ordering::Less;
        self.sorted.partition_point(is_before)
    }

    /// The place behind a directory and all below it.
    fn behind(&self, name: &[u8]) -> usize {
        self.sorted.partition_point(|id| {
            let other = self.active.name(*id);
            order(other, name) != Ordering::Greater || is_below(other, name)
        })
    }
}

/// The order of bytes, with the dot first: so nothing stands between a directory and what is below it.
fn order(a: &[u8], b: &[u8]) -> Ordering {
    let key = |&byte: &u8| if byte == b'.' { 0 } else { byte };
    a.iter().map(key).cmp(b.iter().map(key))
}

fn is_below(name: &[u8], directory: &[u8]) -> bool {
    name.strip_prefix(directory)
        .is_some_and(|rest| rest.first() == Some(&b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn tree(names: &[String]) -> Hierarchy {
        let lines: String = names.iter().map(|name| format!("{name} 0 1 y\n")).collect();
        Hierarchy::of(Active::parse(lines.into_bytes()).unwrap())
    }

    #[test]
    fn a_name_with_a_hyphen_stands_between_no_directory_and_its_groups() {
        let names = [
            "comp",
            "comp.lang",
            "comp.lang-x",
            "comp.lang.c",
            "computer",
        ];
        let tree = tree(&names.map(str::to_owned));
        let children = |directory: &'static str| -> Vec<&[u8]> {
            tree.children(directory.as_bytes(), None).collect()
        };
        assert_eq!(children(""), [&b"comp"[..], b"computer"]);
        assert_eq!(children("comp"), [&b"comp.lang"[..], b"comp.lang-x"]);
        assert_eq!(children("comp.lang"), [&b"comp.lang.c"[..]]);
        assert_eq!(children("comp.lang.c").len(), 0);
    }

    #[test]
    fn an_inode_number_stays_and_tells_its_name() {
        let mut tree = tree(&["a.b".to_owned()]);
        let (a, b) = (tree.inode_of(b"a"), tree.inode_of(b"a.b"));
        assert_ne!(a, b);
        assert_eq!(tree.name_of(a), Some(&b"a"[..]));
        assert_eq!(tree.inode_of(b"a"), a);
        tree.replace(Hierarchy::of(Active::empty()));
        assert_eq!(tree.name_of(b), Some(&b"a.b"[..]));
        assert!(!tree.is_directory(b"a"));
    }

    proptest! {
        #[test]
        fn the_tree_is_that_of_a_slow_model(
            names in prop::collection::btree_set("[a-c2-]{1,2}(\\.[a-c2-]{1,2}){0,3}", 0..20)
        ) {
            let names: Vec<String> = names.into_iter().filter(|name| !name.starts_with('-')).collect();
            let tree = tree(&names);
            let mut directories = BTreeSet::from([String::new()]);
            for name in &names {
                let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
                directories.extend(ends.map(|end| name[..end].to_owned()));
            }
            for directory in &directories {
                let parent = |child: &&String| match child.rsplit_once('.') {
                    Some((parent, _)) => parent == directory,
                    None => directory.is_empty() && !child.is_empty(),
                };
                let expected: BTreeSet<&[u8]> =
                    directories.iter().filter(parent).map(|child| child.as_bytes()).collect();
                let found: Vec<&[u8]> = tree.children(directory.as_bytes(), None).collect();
                prop_assert_eq!(found.len(), expected.len());
                prop_assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), expected);
                for (place, child) in found.iter().enumerate() {
                    let rest: Vec<_> = tree.children(directory.as_bytes(), Some(child)).collect();
                    prop_assert_eq!(&rest[..], &found[place + 1..]);
                    prop_assert!(tree.is_directory(child));
                }
                let start = if directory.is_empty() { 0 } else { directory.len() + 1 };
                let is_number = |child: &&[u8]| child[start].is_ascii_digit();
                prop_assert_eq!(tree.has_number(directory.as_bytes()), found.iter().any(is_number));
            }
            for name in ["x", "a.x", "a.b.x", "aa."] {
                prop_assert!(!tree.is_directory(name.as_bytes()));
            }
        }
    }
}
