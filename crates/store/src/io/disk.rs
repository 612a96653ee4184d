//! The disk as the store uses it: few operations, so that a test double can replace it and fail on purpose.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::is_unreadable;
use crate::io::directories::sync_directory;
use crate::io::{mount_instance, regular, reread, salvage};

pub use crate::io::map::{MapRef, MapWords};

/// Alignment of writes that bypass the page cache, bytes: current disks have no larger blocks.
pub const BLOCK_BYTES: usize = 4096;

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// For reading; it must exist.
    Read,
    /// For reading and writing; it must exist.
    Write,
    /// For reading and writing; created if missing.
    Create,
    /// For reading and writing; created or emptied.
    Truncate,
    /// As [`Open::Truncate`]; the file gets this mode and owner before anything is written.
    TruncateAs(Access),
}

impl Open {
    /// Whether the file is created or emptied.
    pub fn empties(self) -> bool {
        matches!(self, Open::Truncate | Open::TruncateAs(_))
    }
}

/// The users that may read and write a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The permission bits.
    pub mode: u32,
    /// The user and the group that own it; `None`: those of this process.
    pub owner: Option<(u32, u32)>,
}

impl Access {
    /// Only the owner, the user of this process, may read it.
    pub const PRIVATE: Access = Access {
        mode: 0o600,
        owner: None,
    };

    /// That of a file; `None` if it is missing.
    ///
    /// # Errors
    /// The file cannot be looked at.
    pub fn of(path: &Path) -> io::Result<Option<Access>> {
        match fs::metadata(path) {
            Ok(data) => Ok(Some(Access {
                mode: data.mode() & 0o777,
                owner: Some((data.uid(), data.gid())),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives a file this mode and owner. Only root may give a file to another user. A group that this process may not
    /// give gets no more than all others.
    ///
    /// # Errors
    /// The mode cannot be set.
    pub fn give_to(self, file: &fs::File) -> io::Result<()> {
        let (now, mut mode) = (file.metadata()?, self.mode);
        if let Some((user, group)) = self.owner.filter(|owner| *owner != (now.uid(), now.gid())) {
            let is_group_kept = fchown(file, Some(user), Some(group)).is_ok()
                || now.gid() == group
                || fchown(file, None, Some(group)).is_ok();
            if !is_group_kept {
                mode &= 0o707 | (mode & 0o007) << 3;
            }
        }
        // Some file systems know only one mode, and refuse to change it.
        match file.metadata()?.mode() & 0o777 == mode {
            true => Ok(()),
            false => file.set_permissions(fs::Permissions::from_mode(mode)),
        }
    }
}

/// An open file. Offsets are bytes from its start.
pub trait File: Send + Sync + Debug {
    /// Its length, bytes.
    fn length(&self) -> io::Result<u64>;
    /// Fills `buffer` as far as the file has bytes; returns their number. Fails only if the disk cannot read one of the blocks that contain
    /// the bytes.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Writes all of `bytes` past the page cache; their address, length and offset are multiples of
    /// [`BLOCK_BYTES`]. Returns false, without writing, if the file does not support it.
    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<bool> {
        let _ = (bytes, offset);
        Ok(false)
    }
    /// As [`File::read_at`], past the page cache: reads from the disk. The buffer's address and length and the offset are multiples
    /// of [`BLOCK_BYTES`]. Returns `None`, without reading, if the file does not support it.
    fn read_direct(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        let _ = (buffer, offset);
        Ok(None)
    }
    /// Whether [`File::read_direct`] reads the disk itself. False where the file system may answer from its cache or its journal, or does not say.
    fn reads_disk(&self) -> bool {
        false
    }
    /// Truncates or extends it.
    fn set_length(&self, length: u64) -> io::Result<()>;
    /// Extends it and allocates the space, so that storing into a map of it never meets a full disk (which
    /// would end the program).
    fn allocate(&self, length: u64) -> io::Result<()> {
        self.set_length(length)
    }
    /// Returns the space of these bytes, whole blocks of [`BLOCK_BYTES`], to the file system; they read as zeros from then
    /// on. Returns false, without changes, if the file system does not support it.
    fn punch(&self, offset: u64, length: u64) -> io::Result<bool> {
        let _ = (offset, length);
        Ok(false)
    }
    /// The offset of the first byte at `offset` or behind it that may be data (SEEK_DATA); the length of the file if only a hole follows. A file that
    /// cannot tell has data everywhere.
    fn next_data(&self, offset: u64) -> io::Result<u64> {
        Ok(offset)
    }
    /// Whether a hole returns its space at once. False on btrfs, which keeps an extent until nothing refers to any part of it.
    fn holes_return_space(&self) -> bool {
        true
    }
    /// Bytes allocated on the disk, without holes: on btrfs also without holes that return nothing (see [`File::holes_return_space`]).
    fn allocated(&self) -> io::Result<u64> {
        self.length()
    }
    /// Waits until its data and length are on the disk (fdatasync).
    fn sync(&self) -> io::Result<()>;
    /// Maps `length` bytes for reading. The caller must not access bytes beyond the file's end.
    fn map(&self, length: u64) -> io::Result<MapRef>;
    /// Maps `length` bytes as words, for writing too if the file is open for writing; the file must be that long.
    fn map_words(&self, length: u64) -> io::Result<MapWords>;
    /// The file itself, for sendfile(2); `None` if there is no such file.
    fn into_descriptor(self: Box<Self>) -> Option<OwnedFd> {
        None
    }
    /// Returns true if filler replaces some of these bytes because the disk cannot read them; for files read through
    /// [`crate::io::salvage`].
    fn was_unreadable(&self, bytes: Range<u64>) -> bool {
        let _ = bytes;
        false
    }
    /// True for the file of a segment whose articles are in an object store: a map of it has those in the cache only.
    fn is_offloaded(&self) -> bool {
        false
    }
    /// (modification time in nanoseconds, length, inode): changes if another program writes the file.
    fn identity(&self) -> io::Result<[u64; 3]>;
}

/// The directory operations.
pub trait Disk: Send + Sync + Debug {
    /// Opens a file.
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>>;
    /// Renames a file over another.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Waits until the entries of a directory are on the disk.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory, unordered.
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
    /// Identifies this run of the machine, and in it this mount of the file systems that contain two directories.
    fn run_id(&self, dirs: [&Path; 2]) -> RunId;
}

/// While these numbers stay the same, unsynced data is in memory. If only the mounts differ, it may be there or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId {
    /// Changes at each boot; zeros: unknown.
    pub boot: [u64; 2],
    /// The mounts ([`crate::io::mount_instance`]).
    pub mounts: [u64; 2],
}

/// The environment variable with the boot id, which comes before [`BOOT_ID_OF_KERNEL`]. The unit of systemd sets it. A container has a boot id of
/// its own, mounted over the file of the kernel; a unit with ProtectKernelTunables gets a new /proc, without that mount, so that the daemon and
/// the commands would take each other's commits for those of an earlier boot.
const BOOT_ID: &str = "BROADSHEET_BOOT_ID";
/// The kernel's name for this run of the machine.
const BOOT_ID_OF_KERNEL: &str = "/proc/sys/kernel/random/boot_id";

/// The number of a boot id: 32 hexadecimal digits, with or without hyphens; zeros for another text.
fn boot_of(text: &str) -> [u64; 2] {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let half = |range| {
        digits
            .get(range)
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
            .unwrap_or(0)
    };
    [half(0..16), half(16..32)]
}

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>> {
        let mut options = fs::OpenOptions::new();
        let empties = how.empties();
        options.read(true).write(how != Open::Read);
        options
            .create(empties || how == Open::Create)
            .truncate(empties);
        if let Open::TruncateAs(_) = how {
            // Nobody else opens it before it has its mode.
            options.mode(0o600);
        }
        // A FIFO is refused with the length of the file, which costs no call of its own.
        let mut file = regular::at_once(&mut options).open(path);
        if how == Open::Read {
            file = regular::or_by_opener(path, file);
        }
        let file = file?;
        if let Open::TruncateAs(access) = how {
            // The file may exist already.
            access.give_to(&file)?;
        }
        Ok(Box::new(RealFile {
            file,
            how,
            path: path.to_owned(),
            direct: OnceLock::new(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        sync_directory(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(path)?
            .map(|entry| Ok(PathBuf::from(entry?.file_name())))
            .collect()
    }

    fn run_id(&self, dirs: [&Path; 2]) -> RunId {
        let text = std::env::var(BOOT_ID).or_else(|_| fs::read_to_string(BOOT_ID_OF_KERNEL));
        RunId {
            boot: boot_of(&text.unwrap_or_default()),
            mounts: mount_instance::of(dirs),
        }
    }
}

/// An open file with this name, whose unreadable blocks are replaced: [`File::was_unreadable`] tells which. For copies.
pub fn salvaged(file: fs::File, path: &Path) -> Box<dyn File> {
    let file = RealFile {
        file,
        how: Open::Read,
        path: path.to_owned(),
        direct: OnceLock::new(),
    };
    salvage::over(Box::new(file), u64::MAX)
}

#[derive(Debug)]
struct RealFile {
    file: fs::File,
    how: Open,
    path: PathBuf,
    /// The same file, opened for direct access at the first use; `None` if that is not possible.
    direct: OnceLock<Option<fs::File>>,
}

impl RealFile {
    fn direct(&self) -> Option<&fs::File> {
        let open = || {
            let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
            fs::OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(flags)
                .open(&self.path)
                .ok()
        };
        self.direct.get_or_init(open).as_ref()
    }
}

impl File for RealFile {
    fn length(&self) -> io::Result<u64> {
        Ok(regular::check(self.file.metadata()?)?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match fill(&self.file, buffer, offset, 1) {
            Err(error) if is_unreadable(&error) => {
                reread::read_at((&self.file, &self.path), buffer, offset, error)
            }
            read => read,
        }
    }

    fn read_direct(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        let Some(file) = self.direct() else {
            return Ok(None);
        };
        match fill(file, buffer, offset, BLOCK_BYTES) {
            Ok(got) => Ok(Some(got)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn reads_disk(&self) -> bool {
        use rustix::fs::{AtFlags, StatxFlags, statx};
        let facts = statx(&self.file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
        // btrfs and tmpfs report nothing, and may read from the cache; ext4 reports 0 where the data goes through its journal.
        facts.is_ok_and(|facts| {
            let has = StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::DIOALIGN);
            has && facts.stx_dio_offset_align > 0
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<bool> {
        let Some(file) = self.direct() else {
            return Ok(false);
        };
        match file.write_all_at(bytes, offset) {
            Ok(()) => Ok(true),
            // The file system accepts the flag but not the write.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        match fallocate(&self.file, FallocateFlags::empty(), 0, length) {
            Ok(()) => Ok(()),
            // The file system cannot allocate space.
            Err(rustix::io::Errno::OPNOTSUPP) => self.file.set_len(length),
            Err(errno) => Err(errno.into()),
        }
    }

    fn punch(&self, offset: u64, length: u64) -> io::Result<bool> {
        use rustix::fs::{FallocateFlags, fallocate};
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, flags, offset, length) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    fn allocated(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        // stat(2) counts in units of 512 bytes on all file systems.
        Ok(self.file.metadata()?.blocks() * 512)
    }

    fn next_data(&self, offset: u64) -> io::Result<u64> {
        use rustix::fs::{SeekFrom, seek};
        use rustix::io::Errno;
        match seek(&self.file, SeekFrom::Data(offset)) {
            Ok(data) => Ok(data),
            // A hole up to the end, or nothing at all.
            Err(Errno::NXIO) => Ok(self.length()?.max(offset)),
            // The file system cannot tell.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(offset),
            Err(errno) => Err(errno.into()),
        }
    }

    fn holes_return_space(&self) -> bool {
        rustix::fs::fstatfs(&self.file).map_or(true, |facts| facts.f_type != mount_instance::BTRFS)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn map(&self, length: u64) -> io::Result<MapRef> {
        MapRef::named((&self.file, &self.path), length)
    }

    fn map_words(&self, length: u64) -> io::Result<MapWords> {
        MapWords::new(
            (&self.file, Some(&self.path)),
            length,
            self.how != Open::Read,
        )
    }

    fn into_descriptor(self: Box<Self>) -> Option<OwnedFd> {
        Some(self.file.into())
    }

    fn identity(&self) -> io::Result<[u64; 3]> {
        use std::os::unix::fs::MetadataExt;
        let meta = regular::check(self.file.metadata()?)?;
        let nanoseconds = (meta.mtime() as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(meta.mtime_nsec() as u64);
        Ok([nanoseconds, meta.len(), meta.ino()])
    }
}

/// Reads until the buffer is full or the file ends. `unit`: a file that is read in units of so many bytes ends in the middle of one.
fn fill(file: &fs::File, mut buffer: &mut [u8], mut offset: u64, unit: usize) -> io::Result<usize> {
    let mut total = 0_usize;
    while !buffer.is_empty() && total.is_multiple_of(unit) {
        match file.read_at(buffer, offset) {
            Ok(0) => break,
            Ok(count) => {
                total += count;
                offset += count as u64;
                buffer = buffer.get_mut(count..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(total)
}
