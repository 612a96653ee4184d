//! The news directory as a read-only file system (FUSE), in the layout of C News: `comp/lang/c/123`.
//!
//! | file | content |
//! |---|---|
//! | `mounted` | mounting, unmounting, removing a mount whose process was killed |
//! | `filesystem` | the requests of the kernel |
//! | `tree` | what is in the file system, without FUSE: names, attributes, contents |
//! | `attributes` | attributes of files and directories |
//! | `search` | name translation: the name cache, the offset cache, the directories |
//! | `listings` | the articles of the directories that were searched last |
//! | `hierarchy` | the names of groups as a tree |
//! | `id_name` | names in `.id` |
//! | `inode` | inode numbers |
//! | `live` | the snapshot, which follows what is committed and removed |
//! | `overview_file` | `.overview` |
//! | `contents` | the articles that were read in part |
//! | `counters` | the counts of the caches, for `status` |
//!
//! *Architecture invariant:* an inode number tells what it is of. The number of an article is its position in the log, so all its names have the
//! same one, and nothing needs to be kept for the kernel between two requests: every table here is a cache with a maximum.

mod attributes;
mod contents;
pub mod counters;
mod filesystem;
mod hierarchy;
mod id_name;
mod inode;
mod listings;
mod live;
mod mounted;
mod overview_file;
mod search;
mod tree;

pub use attributes::{Attributes, Kind};
pub use contents::CONTENTS_BYTES_MAX;
pub use counters::Counters;
pub use filesystem::HANDLES_MAX;
pub use hierarchy::DIRECTORIES_MAX;
pub use inode::Inode;
pub use listings::{ENTRIES_MAX, LISTED_MAX};
pub use mounted::{END_SECONDS_MAX, Error, Mount};
pub use overview_file::SIZES_MAX;
pub use search::Caches;
pub use tree::{Entry, Fault, Opened, Tree};
