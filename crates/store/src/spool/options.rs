//! The settings of the store.

use std::time::Duration;

/// When an article counts as filed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After a commit of its own.
    Each,
    /// After the commit it belongs to: one fdatasync for many.
    #[default]
    Commit,
    /// When the system has it in core: a power cut may lose it, a killed program does not.
    None,
}

/// How the store works.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// When an article counts as filed.
    pub durability: Durability,
    /// A segment is sealed before it grows beyond this, bytes: 1 MiB to 2 GiB. A small spool has smaller ones.
    pub segment_bytes: u64,
    /// Derived files are synced each time the log grew by this, bytes: bounds the replay after a power cut.
    pub checkpoint_bytes: u64,
    /// How long to wait for the lock; `None`: for ever.
    pub patience: Option<Duration>,
    /// Go on where articles were lost by damage, as `fsck --repair` does; else opening fails and says so.
    pub repair: bool,
    /// Opened by fsck, which compares all derived files itself: opening repairs no wrong ends of theirs.
    pub is_fsck: bool,
    /// The news directory follows the log of a cluster: what is not on the disk comes from there again. The log here is synced with the
    /// derived files only, and after an interruption it ends with a whole entry of that log.
    pub follows_log: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::Commit,
            segment_bytes: 256 << 20,
            checkpoint_bytes: 64 << 20,
            patience: None,
            repair: false,
            is_fsck: false,
            follows_log: false,
        }
    }
}
