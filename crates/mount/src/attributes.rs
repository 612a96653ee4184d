//! The attributes of files and directories.

/// A directory or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A file.
    File,
}

/// Attributes that stat(2) returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The inode number.
    pub number: u64,
    /// The kind.
    pub kind: Kind,
    /// Bytes.
    pub size: u64,
    /// The arrival of an article, epoch seconds; of a directory that of its newest article, or the time of the table of groups.
    pub mtime: i64,
    /// The number of names; 1 for directories, as where it does not tell how many directories there are in it.
    pub links: u32,
}
