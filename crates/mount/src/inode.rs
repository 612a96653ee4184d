//! Inode numbers: each tells what it is of. Those of the articles are their positions in the log, those of the directories a hash of
//! their names, so that they are the same at the next mount (`tar --listed-incremental` compares them).

use store::{POSITION_MAX, Position};

/// The root directory, as FUSE has it.
pub const ROOT: u64 = 1;
/// `.id`
pub const IDS: u64 = 2;
/// The first of [`FILES`]; positions are greater than them all.
const FIRST_FILE: u64 = 3;
/// The files of the news directory that stand in the root.
pub const FILES: [&str; 3] = ["active", "active.times", "newsgroups"];

/// Set in the number of a directory.
const DIRECTORY: u64 = 1 << 62;
/// Set in the number of the `.overview` of a directory.
const OVERVIEW: u64 = 1 << 61;
/// The bits of the hash.
const HASH: u64 = (1 << 60) - 1;

/// What an inode number is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inode {
    /// A directory of groups, the root included.
    Directory,
    /// `.id`
    Ids,
    /// One of the files in the root, by its index.
    File(usize),
    /// The `.overview` of the directory with this number.
    Overview(u64),
    /// An article.
    Article(Position),
}

impl Inode {
    /// Of a number.
    pub fn of(number: u64) -> Option<Inode> {
        if number & DIRECTORY != 0 || number == ROOT {
            return Some(Inode::Directory);
        }
        if number & OVERVIEW != 0 {
            return Some(Inode::Overview(number & HASH | DIRECTORY));
        }
        if number == IDS {
            return Some(Inode::Ids);
        }
        let index = number.checked_sub(FIRST_FILE)?;
        if index < FILES.len() as u64 {
            return Some(Inode::File(index as usize));
        }
        (number <= POSITION_MAX).then_some(Inode::Article(Position(number)))
    }
}

/// The number of a file in the root.
pub fn of_file(index: usize) -> u64 {
    FIRST_FILE + index as u64
}

/// The number of a directory: FNV-1a of its name.
pub fn of_directory(name: &[u8]) -> u64 {
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash & HASH | DIRECTORY
}

/// The number that a directory gets when another one has this one.
pub fn next_directory(number: u64) -> u64 {
    number.wrapping_add(1) & HASH | DIRECTORY
}

/// The number of the `.overview` of a directory.
pub fn of_overview(directory: u64) -> u64 {
    directory & HASH | OVERVIEW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_tells_what_it_is_of() {
        let directory = of_directory(b"comp.lang.c");
        assert_eq!(Inode::of(directory), Some(Inode::Directory));
        assert_eq!(Inode::of(next_directory(directory)), Some(Inode::Directory));
        let overview = of_overview(directory);
        assert_eq!(Inode::of(overview), Some(Inode::Overview(directory)));
        assert_eq!(Inode::of(of_file(2)), Some(Inode::File(2)));
        assert_eq!(Inode::of(64), Some(Inode::Article(Position(64))));
        assert_eq!(Inode::of(0), None);
        assert_eq!(Inode::of(POSITION_MAX + 1), None);
    }
}
