//! The disk: the files of a news directory, maps of them, atomic replacement, the lock.

pub(crate) mod append_file;
pub(crate) mod blocks;
pub(crate) mod bytes;
pub mod control_socket;
pub(crate) mod directories;
pub mod disk;
pub(crate) mod free_space;
pub(crate) mod growing_map;
pub(crate) mod lock;
pub(crate) mod map;
pub(crate) mod mount_instance;
pub(crate) mod once;
pub mod regular;
pub(crate) mod replace;
pub(crate) mod reread;
pub(crate) mod reserve;
pub(crate) mod salvage;
pub(crate) mod zeros;
