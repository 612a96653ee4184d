//! The device: a FUSE file system of three files, served by a separate process that never uses the file system
//! under test. `disk` contains the bytes of the block device, lines written to `marks` go into the recording, and `control` accepts
//! the commands of [`Command`].

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result};
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, Session, WriteFlags,
};
use serde::{Deserialize, Serialize};

use crate::image::Image;
use crate::recording::{
    Event, Keep, SECTOR_BYTES, apply, apply_unflushed, durable_before, read_events, write_event,
};

/// The file with the bytes of the block device.
pub const DISK: &str = "disk";
/// The file for lines of the recording.
pub const MARKS: &str = "marks";
/// The file for commands; reading it returns the counts of injected faults.
pub const CONTROL: &str = "control";
/// The files, by inode number minus two.
const FILES: [&str; 3] = [DISK, MARKS, CONTROL];

/// How long the kernel caches names and attributes, which never change.
const FOREVER: Duration = Duration::from_secs(1 << 30);
/// Longest reply to a read of `control`, bytes.
const STATUS_BYTES_MAX: u64 = 4096;

/// A command for `control`, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Appends events to this file from now on.
    Record(PathBuf),
    /// Ends the recording and completes the file.
    Stop,
    /// Loads a recording.
    Load(PathBuf),
    /// Sets the disk to the state of the recording after a power cut.
    Cut(Cut),
    /// Sets the disk to the state after a power cut at this many thousandths of the events since the last cut.
    CutAgain {
        thousandths: u64,
        keep: String,
        seed: u64,
    },
    /// Fails this number of the writes that contain the bytes.
    FailWrites { count: u64, containing: String },
    /// Fails this number of flushes.
    FailFlushes { count: u64 },
    /// Fails each read of a sector in which these bytes begin.
    FailReads { containing: String },
    /// Stops injecting faults.
    Heal,
}

/// A power cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cut {
    /// Number of events before the cut.
    pub events: usize,
    /// What it leaves of unflushed writes; see [`Keep`].
    pub keep: String,
    /// Seed for random decisions.
    pub seed: u64,
}

/// The faults injected so far; reading `control` returns this as JSON.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Injected {
    /// Failed writes.
    pub writes: u64,
    /// Failed flushes.
    pub flushes: u64,
    /// Failed reads.
    pub reads: u64,
    /// Bad sectors.
    pub bad_sectors: u64,
}

#[derive(Default)]
struct State {
    /// Unit that the disk writes atomically when the power fails, bytes.
    sector: u64,
    image: Image,
    recorder: Option<BufWriter<File>>,
    recording: Vec<Event>,
    /// Number of events of the recording that the lowest layer contains.
    applied: usize,
    /// Events since the last cut.
    since: Vec<Event>,
    is_cut: bool,
    failing_writes: (u64, Vec<u8>),
    failing_flushes: u64,
    /// Offsets of unreadable sectors.
    bad_sectors: Vec<u64>,
    injected: Injected,
}

struct Device {
    size: u64,
    state: Mutex<State>,
}

/// Serves a device of `size` bytes, in sectors of `sector` bytes, at a directory until it is unmounted. Prints `ready` on
/// standard output once it is mounted.
pub fn serve(at: &Path, size: u64, sector: u64) -> Result<()> {
    let device = Device {
        size,
        state: Mutex::new(State {
            sector: sector.max(SECTOR_BYTES),
            ..State::default()
        }),
    };
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("torture".into())];
    let session = Session::new(device, at, &config).context("cannot mount a FUSE file system")?;
    println!("ready");
    session.run().context("the FUSE session ended")
}

impl State {
    fn note(&mut self, event: Event) -> Result<(), Errno> {
        if let Some(recorder) = &mut self.recorder {
            write_event(&event, recorder).map_err(|_| Errno::ENOSPC)?;
        } else if self.is_cut {
            self.since.push(event);
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let (left, needle) = &self.failing_writes;
        if *left > 0 && contains(bytes, needle) {
            self.failing_writes.0 -= 1;
            self.injected.writes += 1;
            return Err(Errno::EIO);
        }
        self.image.write(offset, bytes);
        // As a disk with spare sectors.
        let end = offset + bytes.len() as u64;
        self.bad_sectors
            .retain(|bad| *bad < offset || *bad + SECTOR_BYTES > end);
        self.note(Event::Write {
            offset,
            bytes: bytes.to_vec(),
        })
    }

    fn flush(&mut self) -> Result<(), Errno> {
        if self.failing_flushes > 0 {
            self.failing_flushes -= 1;
            self.injected.flushes += 1;
            return Err(Errno::EIO);
        }
        self.note(Event::Flush)
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        let end = offset + buffer.len() as u64;
        let is_bad = |bad: &u64| *bad < end && *bad + SECTOR_BYTES > offset;
        if self.bad_sectors.iter().any(is_bad) {
            self.injected.reads += 1;
            return Err(Errno::EIO);
        }
        self.image.read(offset, buffer);
        Ok(())
    }

    fn execute(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Record(path) => {
                self.recorder = Some(BufWriter::new(File::create(path)?));
            }
            Command::Stop => {
                if let Some(mut recorder) = self.recorder.take() {
                    recorder.flush()?;
                }
            }
            Command::Load(path) => {
                self.recording = read_events(&mut BufReader::new(File::open(path)?))?;
                self.image = Image::default();
                self.applied = 0;
            }
            Command::Cut(cut) => self.cut(&cut)?,
            Command::CutAgain {
                thousandths,
                keep,
                seed,
            } => {
                let keep = keep.parse().ok().context("unknown kind of cut")?;
                self.cut_recovery(thousandths, keep, seed);
            }
            Command::FailWrites { count, containing } => {
                self.failing_writes = (count, containing.into_bytes());
            }
            Command::FailFlushes { count } => self.failing_flushes = count,
            Command::FailReads { containing } => {
                let indexes = self.image.find(containing.as_bytes());
                self.bad_sectors.extend(
                    indexes
                        .iter()
                        .map(|index| index / SECTOR_BYTES * SECTOR_BYTES),
                );
                self.injected.bad_sectors = self.bad_sectors.len() as u64;
            }
            Command::Heal => {
                self.failing_writes.0 = 0;
                self.failing_flushes = 0;
                self.bad_sectors.clear();
            }
        }
        Ok(())
    }

    /// Sets the layers: the durable state, what the cut leaves of the rest, and new writes.
    fn cut(&mut self, cut: &Cut) -> Result<()> {
        let keep: Keep = cut.keep.parse().ok().context("unknown kind of cut")?;
        let durable = durable_before(&self.recording, cut.events);
        if durable < self.applied {
            self.image = Image::default();
            self.applied = 0;
        }
        self.image.keep_layers(1);
        let all = &self.recording;
        for event in all.get(self.applied..durable).unwrap_or_default() {
            apply(event, &mut self.image);
        }
        self.applied = durable;
        self.image.push_layer();
        let unflushed = all.get(durable..cut.events).unwrap_or_default();
        apply_unflushed(unflushed, keep, self.sector, cut.seed, &mut self.image);
        self.image.push_layer();
        self.since.clear();
        self.is_cut = true;
        Ok(())
    }

    fn cut_recovery(&mut self, thousandths: u64, keep: Keep, seed: u64) {
        let events = std::mem::take(&mut self.since);
        let cut = (events.len() as u64 * thousandths / 1000) as usize;
        let durable = durable_before(&events, cut);
        self.image.keep_layers(2);
        for event in events.get(..durable).unwrap_or_default() {
            apply(event, &mut self.image);
        }
        let unflushed = events.get(durable..cut).unwrap_or_default();
        apply_unflushed(unflushed, keep, self.sector, seed, &mut self.image);
        self.image.push_layer();
    }
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    // The first byte excludes nearly all positions.
    bytes
        .windows(needle.len().max(1))
        .any(|window| window == needle)
}

impl Device {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attributes(&self, number: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match file_name(number) {
            _ if number == INodeNo::ROOT => (FileType::Directory, 0o700, 0),
            Some(DISK) => (FileType::RegularFile, 0o600, self.size),
            Some(_) => (FileType::RegularFile, 0o600, STATUS_BYTES_MAX),
            None => return None,
        };
        Some(FileAttr {
            ino: number,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        })
    }
}

fn file_name(number: INodeNo) -> Option<&'static str> {
    let index = u64::from(number).checked_sub(2)?;
    FILES.get(index as usize).copied()
}

impl Filesystem for Device {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let index = FILES.iter().position(|known| OsStr::new(known) == name);
        let number = index.map(|index| INodeNo(index as u64 + 2));
        match number.and_then(|number| self.attributes(number)) {
            Some(attributes) if parent == INodeNo::ROOT => {
                reply.entry(&FOREVER, &attributes, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number) {
            Some(attributes) => reply.attr(&FOREVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Opens all files without the page cache, so that a write is here when write(2) returns.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut state = self.state();
        match file_name(number) {
            Some(DISK) => {
                let length = u64::from(size).min(self.size.saturating_sub(offset));
                let mut buffer = vec![0; length as usize];
                match state.read(offset, &mut buffer) {
                    Ok(()) => reply.data(&buffer),
                    Err(error) => reply.error(error),
                }
            }
            Some(CONTROL) => {
                let text = serde_json::to_vec(&state.injected).unwrap_or_default();
                reply.data(text.get(offset as usize..).unwrap_or_default());
            }
            _ => reply.error(Errno::EINVAL),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = self.state();
        let done = match file_name(number) {
            Some(DISK) if offset + data.len() as u64 > self.size => Err(Errno::ENOSPC),
            Some(DISK) => state.write(offset, data),
            Some(MARKS) => state.note(Event::Mark(data.to_vec())),
            _ => serde_json::from_slice(data)
                .map_err(anyhow::Error::from)
                .and_then(|command| state.execute(command))
                .map_err(|error| {
                    eprintln!("torture device: {error:#}");
                    Errno::EINVAL
                }),
        };
        match done {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let done = match file_name(number) {
            Some(DISK) => self.state().flush(),
            _ => Ok(()),
        };
        match done {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    /// Discards and writes of zeros, which the loop driver requests as holes.
    fn fallocate(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        _: i32,
        reply: ReplyEmpty,
    ) {
        if file_name(number) != Some(DISK) || offset + length > self.size {
            return reply.error(Errno::EINVAL);
        }
        let mut state = self.state();
        state.image.zero(offset, length);
        match state.note(Event::Zero { offset, length }) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }
}
