//! The free space of a file system.

use std::io;
use std::path::Path;

/// Bytes of the file system of a directory that are free for unprivileged users; `u64::MAX` where it reports no size (ramfs, and FUSE file systems without
/// statfs): no limit is known there.
///
/// # Errors
/// The file system cannot be examined.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let facts = rustix::fs::statvfs(dir)?;
    Ok(match facts.f_blocks {
        0 => u64::MAX,
        _ => facts.f_bavail.saturating_mul(facts.f_frsize),
    })
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
        assert_eq!(free_bytes(Path::new("/proc")).unwrap(), u64::MAX);
        let here = free_bytes(Path::new(".")).unwrap();
        assert!(here < u64::MAX);
        assert!(free_bytes(Path::new("/none/such")).is_err());
    }
}
