//! The free space of a file system.

use std::fs;
use std::io;
use std::path::Path;

use crate::io::mount_instance::BTRFS;

/// Bytes of the file system of a directory that are free for unprivileged users; `None` where it reports no size (ramfs, and FUSE file systems without
/// statfs): no limit is known there.
///
/// # Errors
/// The file system cannot be examined.
pub fn free_bytes(dir: &Path) -> io::Result<Option<u64>> {
    let facts = rustix::fs::statvfs(dir)?;
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    Ok((facts.f_blocks > 0).then_some(free))
}

/// As [`free_bytes`], for a caller that stops below `least`. btrfs counts the space of removed files only when it commits, up to 30 s
/// later; the function syncs a btrfs with less free space, and asks it again.
///
/// # Errors
/// The file system cannot be examined.
pub fn free_bytes_for(dir: &Path, least: u64) -> io::Result<Option<u64>> {
    let free = free_bytes(dir)?;
    if free.is_none_or(|free| free >= least) {
        return Ok(free);
    }
    let directory = fs::File::open(dir)?;
    let facts = rustix::fs::fstatfs(&directory)?;
    if facts.f_type != BTRFS || rustix::fs::syncfs(&directory).is_err() {
        return Ok(free);
    }
    free_bytes(dir)
}

/// Whether a directory is on a file system that is mounted read-only, as the kernel mounts one whose disk fails: nobody changes it from here,
/// and no lock can be taken there.
pub fn is_mounted_read_only(dir: &Path) -> bool {
    let flags = rustix::fs::statvfs(dir).map(|facts| facts.f_flag);
    flags.is_ok_and(|flags| flags.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_system_without_a_size_is_not_full() {
        // The kernel's own file systems report no size.
        let facts = rustix::fs::statvfs("/proc").unwrap();
        assert_eq!((facts.f_blocks, facts.f_bavail), (0, 0));
        assert_eq!(free_bytes(Path::new("/proc")).unwrap(), None);
        assert!(free_bytes(Path::new(".")).unwrap().is_some());
        assert!(free_bytes(Path::new("/none/such")).is_err());
    }
}
