//! Name translation with the two caches of 4.3BSD ("Measuring and Improving the Performance of 4.2BSD", 1985, section 4): the directory
//! offset cache of each process, and the system-wide name cache. No I/O.
//!
//! A cache entry refers to a node by a **soft reference**: its place in the table of nodes and the capability that the place had. A place
//! that is used for another node gets a new capability. So all names of the old node, and all names in it if it was a directory, die at
//! once without a search.
//!
//! | module | content |
//! |---|---|
//! | [`nodes`] | the table of nodes, and their capabilities |
//! | [`names`] | (directory, name) → node, the least recently used entry reused first |
//! | [`name_cache`] | both together: what a user of the cache calls |
//! | [`offsets`] | the place in a directory where the last search of a process ended |

pub mod name_cache;
pub mod names;
pub mod nodes;
pub mod offsets;
mod recency;

pub use name_cache::{Counts, NameCache, Node};
pub use offsets::{OffsetCounts, Offsets};
