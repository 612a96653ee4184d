//! Checking and repairing: the log against itself, derived files against the log.

pub(crate) mod directory_files;
pub(crate) mod empty_tails;
pub mod fsck;
pub(crate) mod kept_histories;
pub(crate) mod offloaded;
pub(crate) mod put_aside;
pub(crate) mod rebuild;
pub(crate) mod repair;
pub(crate) mod segment_files;
