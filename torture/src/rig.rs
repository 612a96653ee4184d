//! The rig: a mount namespace, the device process, a loop device over it, and the file system under test.
//!
//! A janitor process removes all of them when the rig is dropped or its process ends, however it ends.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{FallocateFlags, fallocate, statvfs, syncfs};
use rustix::io::Errno;

use crate::device::{self, Injected};

/// Size of the device, bytes: mkfs.xfs requires 300 MiB. Unwritten blocks take no memory.
pub const DEVICE_BYTES: u64 = 400 << 20;
const BLOCK_BYTES: u64 = 4096;
/// How long an unmount is retried while a killed program still uses the file system.
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(20);
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A supported file system.
struct FileSystem {
    name: &'static str,
    /// Its type, as mount(2) knows it.
    kind: &'static str,
    /// The options that mount(2) passes to it.
    options: Option<&'static str>,
    /// The command that creates it.
    make: &'static [&'static str],
    /// The unit that it expects the disk to write atomically when the power fails, bytes.
    sector: u64,
}

const FILE_SYSTEMS: [FileSystem; 4] = [
    FileSystem {
        name: "ext4",
        kind: "ext4",
        options: None,
        make: &["mkfs.ext4", "-q", "-F", "-J", "size=8"],
        // Its superblock of 1,024 bytes has a checksum and no journal: if it is torn, the mount fails.
        sector: 1024,
    },
    FileSystem {
        // Data goes through the journal, and reads with O_DIRECT come from memory.
        name: "ext4-data-journal",
        kind: "ext4",
        options: Some("data=journal"),
        make: &["mkfs.ext4", "-q", "-F", "-J", "size=8"],
        sector: 1024,
    },
    FileSystem {
        name: "xfs",
        kind: "xfs",
        options: None,
        make: &["mkfs.xfs", "-q", "-f"],
        // The replay skips a block whose first sector is newer than the log, so a torn block stays torn.
        sector: 4096,
    },
    FileSystem {
        name: "btrfs",
        kind: "btrfs",
        options: None,
        make: &["mkfs.btrfs", "-q", "-f"],
        // Its superblock of 4,096 bytes has a checksum, and mounting reads the first copy only: if it is torn, the mount fails.
        sector: 4096,
    },
];

fn known(name: &str) -> Result<&'static FileSystem> {
    let found = FILE_SYSTEMS.iter().find(|known| known.name == name);
    found.with_context(|| format!("no such file system: {name}"))
}

/// The names of all file systems.
pub fn file_systems() -> impl Iterator<Item = &'static str> {
    FILE_SYSTEMS.iter().map(|known| known.name)
}

/// The reason why a file system cannot be tested on this machine; `None` if it can.
pub fn missing(file_system: &str) -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("mounting requires root".to_owned());
    }
    for device in ["/dev/fuse", "/dev/loop-control"] {
        if OpenOptions::new()
            .read(true)
            .write(true)
            .open(device)
            .is_err()
        {
            return Some(format!("{device} cannot be opened"));
        }
    }
    let wanted = match known(file_system) {
        Ok(known) => known,
        Err(error) => return Some(error.to_string()),
    };
    let make = wanted.make.first().copied().unwrap_or_default();
    for program in ["losetup", "setsid", "setpriv", make] {
        if Command::new(program).arg("-V").output().is_err() {
            return Some(format!("{program} is not installed"));
        }
    }
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let is_known = known.split_whitespace().any(|name| name == wanted.kind);
    let is_module = || {
        Command::new("modprobe")
            .args(["-q", wanted.kind])
            .status()
            .is_ok_and(|status| status.success())
    };
    (!is_known && !is_module()).then(|| format!("this kernel has no {}", wanted.kind))
}

/// See the module.
pub struct Rig {
    file_system: &'static FileSystem,
    room: tempfile::TempDir,
    loop_device: PathBuf,
    marks: File,
    control: File,
    janitor: Child,
    device: Child,
}

/// Waits for the end of its input, which comes with the end of the rig, and removes everything.
const JANITOR: &str = "trap '' INT TERM HUP
while read -r line; do :; done
umount -l \"$1\" 2> /dev/null
test -n \"$2\" && losetup -d \"$2\"
umount -l \"$3\"
rm -rf --one-file-system \"$4\"
exit 0";

impl Rig {
    /// Builds a rig. Must be called before the process has a second thread: the namespace is that of the calling thread.
    pub fn new(file_system: &str) -> Result<Rig> {
        let file_system = known(file_system)?;
        unshare(CloneFlags::CLONE_NEWNS).context("cannot create a mount namespace")?;
        let none: Option<&Path> = None;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(none, "/", none, private, none).context("cannot make mounts private")?;
        let room = tempfile::Builder::new().prefix("torture-").tempdir()?;
        let (fuse, mounted) = (room.path().join("fuse"), room.path().join("mnt"));
        std::fs::create_dir(&fuse)?;
        std::fs::create_dir(&mounted)?;
        let mut device = Command::new(std::env::current_exe()?)
            .arg("device")
            .arg(&fuse)
            .args([DEVICE_BYTES, file_system.sector].map(|bytes| bytes.to_string()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut printed = String::new();
        if let Some(out) = device.stdout.take() {
            BufReader::new(out).read_line(&mut printed)?;
        }
        ensure!(printed == "ready\n", "the device did not start");
        let attached = attach(&fuse.join(device::DISK));
        let loop_device = attached.as_deref().unwrap_or(Path::new("")).to_owned();
        let janitor = Command::new("setsid")
            .args(["sh", "-c", JANITOR, "janitor"])
            .args([&mounted, &loop_device, &fuse])
            .arg(room.path())
            .stdin(Stdio::piped())
            .spawn()
            .context("cannot run setsid")?;
        let open = |name| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(fuse.join(name))
        };
        let rig = Rig {
            file_system,
            marks: open(device::MARKS)?,
            control: open(device::CONTROL)?,
            room,
            loop_device,
            janitor,
            device,
        };
        attached?;
        rig.set_boot(0)?;
        mount(
            Some(&rig.room.path().join("boot_id")),
            BOOT_ID,
            none,
            MsFlags::MS_BIND,
            none,
        )
        .context("cannot replace boot_id")?;
        Ok(rig)
    }

    /// Makes programs see a new boot of the machine: data that was only in memory is lost.
    pub fn set_boot(&self, run: u64) -> Result<()> {
        let id = format!("5eed0000-0000-4000-8000-{run:012x}\n");
        Ok(std::fs::write(self.room.path().join("boot_id"), id)?)
    }

    /// The mount point of the file system.
    pub fn mounted(&self) -> PathBuf {
        self.room.path().join("mnt")
    }

    /// A directory outside it, on the machine's own disk.
    pub fn beside(&self) -> &Path {
        self.room.path()
    }

    /// Creates the file system.
    pub fn make(&self) -> Result<()> {
        let Some((program, flags)) = self.file_system.make.split_first() else {
            bail!("no command creates the file system");
        };
        let made = Command::new(program)
            .args(flags)
            .arg(&self.loop_device)
            .output()?;
        let error = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "{program} failed: {error}");
        Ok(())
    }

    /// Mounts it, which replays its journal.
    pub fn mount(&self) -> Result<()> {
        mount(
            Some(&self.loop_device),
            &self.mounted(),
            Some(self.file_system.kind),
            MsFlags::MS_NOATIME,
            self.file_system.options,
        )
        .with_context(|| format!("cannot mount the {}", self.file_system.name))
    }

    /// Unmounts it: writes everything back and drops all caches.
    pub fn unmount(&self) -> Result<()> {
        let begun = Instant::now();
        loop {
            match umount2(&self.mounted(), MntFlags::empty()) {
                Ok(()) => return Ok(()),
                Err(nix::errno::Errno::EBUSY) if begun.elapsed() < UNMOUNT_TIMEOUT => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => bail!("cannot unmount the {}: {error}", self.file_system.name),
            }
        }
    }

    /// Adds a line to the recording; it is there, after all earlier events, when this returns.
    pub fn mark(&self, line: &[u8]) -> Result<()> {
        (&self.marks).write_all(line).context("cannot mark")
    }

    /// Another handle for lines of the recording. Close it before the rig is dropped.
    pub fn marks(&self) -> Result<File> {
        Ok(self.marks.try_clone()?)
    }

    /// Fills the file system until only about this many bytes are free, with a file that [`Rig::empty_disk`] removes.
    pub fn fill_disk(&self, free: u64) -> Result<()> {
        let file = File::create(self.ballast())?;
        // Free space is told too high where metadata takes of it, so the disk is filled until it refuses smaller and smaller pieces.
        let (mut length, mut piece) = (0, DEVICE_BYTES);
        while piece >= BLOCK_BYTES {
            let told = statvfs(self.mounted())?;
            let room = (told.f_bavail * told.f_frsize).saturating_sub(free);
            let bytes = piece.min(room) / BLOCK_BYTES * BLOCK_BYTES;
            match bytes {
                0 => piece /= 2,
                _ => match fallocate(&file, FallocateFlags::empty(), length, bytes) {
                    Ok(()) => length += bytes,
                    Err(Errno::NOSPC) => piece /= 2,
                    Err(error) => return Err(error).context("cannot fill the disk"),
                },
            }
        }
        file.sync_all().context("cannot fill the disk")
    }

    /// Removes what [`Rig::fill_disk`] made; nothing if there is none.
    pub fn empty_disk(&self) -> Result<()> {
        match std::fs::remove_file(self.ballast()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(syncfs(File::open(self.mounted())?)?),
        }
    }

    fn ballast(&self) -> PathBuf {
        self.mounted().join("ballast")
    }

    /// Sends a command to the device.
    pub fn send_command(&self, command: &device::Command) -> Result<()> {
        let text = serde_json::to_vec(command)?;
        let result = (&self.control).write_all(&text);
        result.with_context(|| format!("the device refuses {command:?}"))
    }

    /// The faults injected so far.
    pub fn injected(&self) -> Result<Injected> {
        let path = self.room.path().join("fuse").join(device::CONTROL);
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }
}

/// Attaches a loop device to a file. Flushes of the device become fsync of the file.
fn attach(disk: &Path) -> Result<PathBuf> {
    let made = Command::new("losetup")
        .args(["--direct-io=on", "--find", "--show"])
        .arg(disk)
        .output()?;
    let error = String::from_utf8_lossy(&made.stderr);
    ensure!(made.status.success(), "losetup failed: {error}");
    Ok(PathBuf::from(String::from_utf8(made.stdout)?.trim_end()))
}

impl Drop for Rig {
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        let _ = self.janitor.wait();
        let _ = umount2(BOOT_ID, MntFlags::MNT_DETACH);
        // Marks and control are still open; the lazy unmount releases the device when they are closed.
        for file in [&mut self.marks, &mut self.control] {
            if let Ok(null) = File::open("/dev/null") {
                *file = null;
            }
        }
        let _ = self.device.wait();
    }
}
