//! A news directory from the segments of another node of its cluster: the listing and reading of files there, and here a copy that takes the
//! place of the files that were here.
//!
//! *Invariant:* `.art` is appended to, replaced as a whole, or punched in place, and each of the last two gives it another
//! [`FileVersion`]. So files whose versions are still those of a list are as they were when the list was made; and a list is a state of the
//! store, because its end of the log is read after the files were looked at: whatever returned their space was committed before.

pub mod entries;
pub mod source;
pub mod staged;

pub use entries::{entry_before, position_behind};
pub use source::{FileVersion, ListedFile, Page, Source};
pub use staged::{
    Checked, check, finish, go_on, is_interrupted, is_unfinished, mark_whole, place, staging,
    unmark_whole,
};
