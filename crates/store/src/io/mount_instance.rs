//! Tells each mount of a file system from the next one.
//!
//! Unsynced data stays in memory only as long as its file system is mounted. When a disk fails or is unplugged, the kernel discards the data at the
//! unmount, while the machine goes on. For each mounted ext4, XFS, F2FS and Btrfs the kernel makes a directory in `/sys/fs`, and it uses no inode
//! number there twice before the next boot.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// File systems whose directory has the name of their block device: the magic number of statfs(2), and the place.
const BY_DEVICE: [(i64, &str); 3] = [
    (0xef53, "/sys/fs/ext4"),
    (0x5846_5342, "/sys/fs/xfs"),
    (0xf2f5_2010, "/sys/fs/f2fs"),
];
/// The magic number of Btrfs. It has no single device. Its directories have UUIDs as names.
pub const BTRFS: i64 = 0x9123_683e;
/// The directories of all mounted Btrfs. The daemon's sandbox permits listing it.
const BTRFS_MOUNTED: &str = "/sys/fs/btrfs";

/// A number of the mount of the file system that contains each directory; 0 if it cannot be found out: on other file systems, or without
/// `/sys`. On Btrfs the number also changes when another Btrfs is mounted or unmounted: it tells that
/// data may be lost, not that it is.
pub fn of([one, other]: [&Path; 2]) -> [u64; 2] {
    let device = |dir| fs::metadata(dir).map_or(0, |facts: fs::Metadata| facts.dev());
    let (device_one, device_other) = (device(one), device(other));
    let first = of_device(one, device_one);
    let second = match device_one == device_other {
        true => first,
        false => of_device(other, device_other),
    };
    [first, second]
}

fn of_device(dir: &Path, device: u64) -> u64 {
    let Ok(facts) = rustix::fs::statfs(dir) else {
        return 0;
    };
    let magic = facts.f_type;
    if magic == BTRFS {
        return all_btrfs();
    }
    let by_device = BY_DEVICE.iter().find(|(known, _)| *known == magic);
    by_device
        .and_then(|(_, place)| inode_of_device(device, Path::new(place)))
        .unwrap_or(0)
}

fn inode_of_device(device: u64, place: &Path) -> Option<u64> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let device = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let facts = fs::metadata(place.join(device.file_name()?)).ok()?;
    Some(facts.ino())
}

fn all_btrfs() -> u64 {
    let entries = fs::read_dir(BTRFS_MOUNTED).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some(entry.metadata().ok()?.ino()))
        .fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_keeps_its_number() {
        let [here, below] = of([Path::new("."), Path::new("src")]);
        assert_eq!(here, below);
        let [of_proc, again] = of([Path::new("/proc"), Path::new(".")]);
        assert_eq!((of_proc, again), (0, here));
    }
}
