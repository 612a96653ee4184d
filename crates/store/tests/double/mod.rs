//! A disk double: a real directory whose every operation is noted, so that it can fail on purpose and so that one can
//! ask what the directory might look like after the power failed.
//!
//! Written data is durable after `sync`, a directory's entries after `sync_directory`. Until then a power cut keeps,
//! drops or tears (at 512-byte sectors) each write on its own. Stores into a map reach the disk sector by
//! sector whenever they like.
//!
//! A sync that fails loses what it should have written, and the next one does not tell: the file still reads well (ext4), or as the
//! disk has it ([`Double::forget_pages`]: XFS, btrfs).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

pub mod dice;
mod inode;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use store::disk::{Disk, File, MapRef, MapWords, Open, RealDisk, RunId};

use dice::Dice;
use inode::{Change, Inode};

/// What goes wrong at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The device says no. A failed sync loses what it should have made durable, as Linux does.
    Eio,
    /// No space: operations that need some fail, a write after a part of it.
    Enospc,
    /// The power is gone: nothing works from here on.
    PowerCut,
}

#[derive(Debug, Clone, Copy)]
struct Plan {
    at: u64,
    fault: Fault,
    forever: bool,
    /// Only syncs of files count.
    of_syncs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Open,
    Create,
    Read,
    Write,
    Length,
    Sync,
    Map,
    Rename,
    Remove,
    SyncDirectory,
    List,
    Look,
}

impl Call {
    fn needs_space(self) -> bool {
        matches!(
            self,
            Call::Create | Call::Write | Call::Length | Call::Rename
        )
    }
}

#[derive(Debug, Clone)]
enum Entry {
    Link(OsString, usize),
    Rename(OsString, OsString, usize),
    Unlink(OsString),
}

/// The names of a directory as they are on the disk, and what has been done to them since.
#[derive(Debug, Default)]
struct Names {
    durable: BTreeMap<OsString, usize>,
    pending: Vec<Entry>,
}

#[derive(Debug)]
struct State {
    plan: Option<Plan>,
    calls: u64,
    last_fault: Option<(Call, PathBuf)>,
    bytes_read: u64,
    listed: u64,
    inodes: Vec<Inode>,
    live: HashMap<PathBuf, usize>,
    names: HashMap<PathBuf, Names>,
    is_cut: bool,
    makes_no_holes: bool,
    keeps_holes: bool,
    hides_disk: bool,
    forgets_pages: bool,
    trace: Vec<Deed>,
    /// Bad sectors, by inode: parts of files that cannot be read. A write of whole blocks makes them good.
    bad: HashMap<usize, Vec<Range<u64>>>,
}

/// What was done to the names of a directory, or what counts on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    Make(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    SyncDirectory(PathBuf),
    /// Of a file.
    Sync(PathBuf),
    /// Space of a file was given back.
    Punch(PathBuf),
    /// A file became shorter: who has mapped it must not look there any more.
    Cut(PathBuf, u64),
    /// The caller of the store was told something, or a test says so.
    Told(&'static str),
}

/// The disk. Clones are the same disk.
#[derive(Debug, Clone)]
pub struct Double {
    state: Arc<Mutex<State>>,
    root: PathBuf,
    boot: [u64; 2],
}

static BOOTS: AtomicU64 = AtomicU64::new(1);

impl Double {
    /// A disk with what `root` holds, all of it durable; the machine has just started.
    pub fn new(root: &Path) -> Double {
        let mut state = State {
            plan: None,
            calls: 0,
            last_fault: None,
            bytes_read: 0,
            listed: 0,
            inodes: Vec::new(),
            live: HashMap::new(),
            names: HashMap::new(),
            is_cut: false,
            makes_no_holes: false,
            keeps_holes: false,
            hides_disk: false,
            forgets_pages: false,
            trace: Vec::new(),
            bad: HashMap::new(),
        };
        let mut directories = vec![root.to_owned()];
        while let Some(directory) = directories.pop() {
            let mut names = Names::default();
            for entry in std::fs::read_dir(&directory).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    directories.push(entry.path());
                    continue;
                }
                let number = state.inodes.len();
                state.inodes.push(Inode::open(&entry.path(), true));
                state.live.insert(entry.path(), number);
                names.durable.insert(entry.file_name(), number);
            }
            state.names.insert(directory, names);
        }
        Double {
            state: Arc::new(Mutex::new(state)),
            root: root.to_owned(),
            boot: [BOOTS.fetch_add(1, Ordering::Relaxed), 77],
        }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The same disk as the store wants it.
    pub fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// From the `at`th call on (counted from 1, from now), the first call that can fail in this way does; or every one.
    pub fn fail_at(&self, at: u64, fault: Fault, forever: bool) {
        let mut state = self.state();
        state.calls = 0;
        state.plan = Some(Plan {
            at,
            fault,
            forever,
            of_syncs: false,
        });
        state.last_fault = None;
    }

    /// The `at`th sync of a file from now on (counted from 1) fails.
    pub fn fail_sync(&self, at: u64) {
        self.fail_at(at, Fault::Eio, false);
        let mut state = self.state();
        state.plan.iter_mut().for_each(|plan| plan.of_syncs = true);
    }

    /// From now on these bytes of a file, whole blocks, cannot be read, neither with `read_at` nor in a map made since.
    pub fn spoil(&self, path: &Path, bytes: Range<u64>) {
        let mut state = self.state();
        let number = state.live[path];
        state.bad.entry(number).or_default().push(bytes);
    }

    /// From now on its file system keeps the space of holes, as btrfs does.
    pub fn keep_holes(&self) {
        self.state().keeps_holes = true;
    }

    /// From now on its direct reads may come from a cache.
    pub fn hide_disk(&self) {
        self.state().hides_disk = true;
    }

    /// From now on its file system cannot punch holes.
    pub fn make_no_holes(&self) {
        self.state().makes_no_holes = true;
    }

    /// From now on a sync that fails drops the pages that it should have written.
    pub fn forget_pages(&self) {
        self.state().forgets_pages = true;
    }

    /// What was done since this was asked the last time.
    pub fn take_trace(&self) -> Vec<Deed> {
        std::mem::take(&mut self.state().trace)
    }

    /// Notes that something was told.
    pub fn told(&self, what: &'static str) {
        self.state().trace.push(Deed::Told(what));
    }

    /// No more faults.
    pub fn heal(&self) {
        self.state().plan = None;
    }

    /// What failed last.
    pub fn failed(&self) -> Option<String> {
        let state = self.state();
        state
            .last_fault
            .as_ref()
            .map(|(call, path)| format!("{call:?} {}", path.display()))
    }

    /// True once the power failed.
    pub fn is_cut(&self) -> bool {
        self.state().is_cut
    }

    /// Bytes read with `read_at` so far.
    pub fn bytes_read(&self) -> u64 {
        self.state().bytes_read
    }

    /// How often a directory was listed.
    pub fn listed(&self) -> u64 {
        self.state().listed
    }

    /// The power fails now (or failed before); returns a directory as it may look after it.
    pub fn power_cut(&self, seed: u64) -> tempfile::TempDir {
        let mut dice = Dice::new(seed);
        let mut state = self.state();
        state.cut();
        let mut contents: HashMap<usize, Vec<u8>> = HashMap::new();
        self.copy(&state, |state, names| {
            let after = names.after_cut(&mut dice).into_iter();
            let with_content = after.map(|(name, number)| {
                let bytes = contents
                    .entry(number)
                    .or_insert_with(|| state.inodes[number].after_cut(&mut dice));
                (name, bytes.clone())
            });
            with_content.collect()
        })
    }

    /// The file system is unmounted in good order; returns the directory as it is mounted again: what the disk has, all of it.
    pub fn remounted(&self) -> tempfile::TempDir {
        let state = self.state();
        self.copy(&state, |state, names| {
            let mut after = names.durable.clone();
            names
                .pending
                .iter()
                .for_each(|entry| entry.apply(&mut after));
            let after = after.into_iter();
            after
                .map(|(name, number)| (name, state.inodes[number].on_disk()))
                .collect()
        })
    }

    fn copy(
        &self,
        state: &State,
        mut files: impl FnMut(&State, &Names) -> Vec<(OsString, Vec<u8>)>,
    ) -> tempfile::TempDir {
        let target = tempfile::tempdir().unwrap();
        let mut directories: Vec<&PathBuf> = state.names.keys().collect();
        directories.sort();
        for directory in directories {
            let inside = target
                .path()
                .join(directory.strip_prefix(&self.root).unwrap());
            std::fs::create_dir_all(&inside).unwrap();
            for (name, bytes) in files(state, &state.names[directory]) {
                std::fs::write(inside.join(name), bytes).unwrap();
            }
        }
        target
    }
}

impl Names {
    fn after_cut(&self, dice: &mut Dice) -> BTreeMap<OsString, usize> {
        let mut names = self.durable.clone();
        // A journal keeps the order; other file systems promise nothing.
        let in_order = dice.chance(50);
        let kept = dice.below(self.pending.len() as u64 + 1) as usize;
        for (place, entry) in self.pending.iter().enumerate() {
            if if in_order {
                place < kept
            } else {
                dice.chance(50)
            } {
                entry.apply(&mut names);
            }
        }
        names
    }
}

impl Entry {
    fn apply(&self, names: &mut BTreeMap<OsString, usize>) {
        match self {
            Entry::Link(name, number) => {
                names.insert(name.clone(), *number);
            }
            Entry::Rename(from, to, number) => {
                names.remove(from);
                names.insert(to.clone(), *number);
            }
            Entry::Unlink(name) => {
                names.remove(name);
            }
        }
    }
}

impl State {
    fn cut(&mut self) {
        if !self.is_cut {
            self.is_cut = true;
            for inode in &mut self.inodes {
                inode.freeze();
            }
        }
    }

    /// Counts a call; tells whether it fails now.
    fn call(&mut self, call: Call, path: &Path) -> Result<(), (Fault, io::Error)> {
        let of_syncs = self.plan.is_some_and(|plan| plan.of_syncs);
        self.calls += u64::from(!of_syncs || call == Call::Sync);
        let cut = |call| {
            (
                Fault::PowerCut,
                io::Error::other(format!("no power for {call:?}")),
            )
        };
        if self.is_cut {
            return Err(cut(call));
        }
        let Some(plan) = self.plan else {
            return Ok(());
        };
        let fails = self.calls >= plan.at
            && (!of_syncs || call == Call::Sync)
            && (plan.fault != Fault::Enospc || call.needs_space());
        if !fails {
            return Ok(());
        }
        self.last_fault = Some((call, path.to_owned()));
        if !plan.forever {
            self.plan = None;
        }
        let errno = match plan.fault {
            Fault::Eio => 5,
            Fault::Enospc => 28,
            Fault::PowerCut => {
                self.cut();
                return Err(cut(call));
            }
        };
        Err((plan.fault, io::Error::from_raw_os_error(errno)))
    }

    fn plain(&mut self, call: Call, path: &Path) -> io::Result<()> {
        self.call(call, path).map_err(|(_, error)| error)
    }

    fn meets_bad(&self, number: usize, bytes: &Range<u64>) -> io::Result<()> {
        let mut bad = self.bad.get(&number).into_iter().flatten();
        match bad.any(|bad| bad.start < bytes.end && bytes.start < bad.end) {
            true => Err(io::Error::from_raw_os_error(5)),
            false => Ok(()),
        }
    }

    /// A part of a block is written by reading the block first.
    fn write_over_bad(&mut self, number: usize, bytes: &Range<u64>) -> io::Result<()> {
        for edge in [bytes.start, bytes.end] {
            let block = edge - edge % 4096;
            if block != edge {
                self.meets_bad(number, &(block..block + 4096))?;
            }
        }
        let bad = self.bad.remove(&number).unwrap_or_default();
        let left = bad.into_iter().flat_map(|bad| {
            [
                bad.start..bad.end.min(bytes.start.max(bad.start)),
                bad.start.max(bytes.end.min(bad.end))..bad.end,
            ]
        });
        let left: Vec<_> = left.filter(|bad| !bad.is_empty()).collect();
        if !left.is_empty() {
            self.bad.insert(number, left);
        }
        Ok(())
    }

    fn names_of(&mut self, path: &Path) -> &mut Names {
        self.names
            .entry(path.parent().unwrap().to_owned())
            .or_default()
    }
}

fn name(path: &Path) -> OsString {
    path.file_name().unwrap().to_owned()
}

impl Disk for Double {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>> {
        let mut state = self.state();
        let known = state.live.get(path).copied();
        let makes = known.is_none() && (how == Open::Create || how.empties());
        state.plain(if makes { Call::Create } else { Call::Open }, path)?;
        let cuts = how.empties() && std::fs::metadata(path).is_ok_and(|told| told.len() > 0);
        if cuts {
            state.trace.push(Deed::Cut(path.to_owned(), 0));
        }
        let real = RealDisk.open(path, how)?;
        let number = match known {
            Some(number) => number,
            None => {
                let number = state.inodes.len();
                state.inodes.push(Inode::open(path, false));
                state.live.insert(path.to_owned(), number);
                let link = Entry::Link(name(path), number);
                state.names_of(path).pending.push(link);
                state.trace.push(Deed::Make(path.to_owned()));
                number
            }
        };
        if how.empties() {
            state.inodes[number].change(Change::Length(0));
        }
        Ok(Box::new(DoubleFile {
            double: self.clone(),
            path: path.to_owned(),
            number,
            real,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.plain(Call::Rename, to)?;
        RealDisk.rename(from, to)?;
        let number = state.live.remove(from).unwrap();
        state.live.insert(to.to_owned(), number);
        if from.parent() == to.parent() {
            let entry = Entry::Rename(name(from), name(to), number);
            state.names_of(from).pending.push(entry);
        } else {
            let entry = Entry::Link(name(to), number);
            state.names_of(to).pending.push(entry);
            state.names_of(from).pending.push(Entry::Unlink(name(from)));
        }
        let deed = Deed::Rename(from.to_owned(), to.to_owned());
        state.trace.push(deed);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.plain(Call::Remove, path)?;
        RealDisk.remove(path)?;
        state.live.remove(path);
        state.names_of(path).pending.push(Entry::Unlink(name(path)));
        state.trace.push(Deed::Remove(path.to_owned()));
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.plain(Call::SyncDirectory, path)?;
        let names = state.names.entry(path.to_owned()).or_default();
        for entry in std::mem::take(&mut names.pending) {
            entry.apply(&mut names.durable);
        }
        state.trace.push(Deed::SyncDirectory(path.to_owned()));
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.state().plain(Call::List, path)?;
        self.state().listed += 1;
        RealDisk.list(path)
    }

    fn run_id(&self, _: [&Path; 2]) -> RunId {
        RunId {
            boot: self.boot,
            mounts: [0, 0],
        }
    }
}

#[derive(Debug)]
struct DoubleFile {
    double: Double,
    path: PathBuf,
    number: usize,
    real: Box<dyn File>,
}

impl DoubleFile {
    fn plain(&self, call: Call) -> io::Result<()> {
        self.double.state().plain(call, &self.path)
    }

    fn resize(&self, call: Call, length: u64) -> io::Result<()> {
        let mut state = self.double.state();
        state.plain(call, &self.path)?;
        if length < self.real.length()? {
            state.trace.push(Deed::Cut(self.path.clone(), length));
        }
        self.real.set_length(length)?;
        state.inodes[self.number].change(Change::Length(length));
        Ok(())
    }

    fn write(
        &self,
        bytes: &[u8],
        offset: u64,
        change: fn(u64, Vec<u8>) -> Change,
    ) -> io::Result<()> {
        let mut state = self.double.state();
        let (bytes, answer) = match state.call(Call::Write, &self.path) {
            Ok(()) => (bytes, Ok(())),
            // What was on its way when the power failed may be on the disk as well.
            Err((Fault::PowerCut, error)) => {
                state.inodes[self.number].change(change(offset, bytes.to_vec()));
                return Err(error);
            }
            // What is written in place needs no space, or (where the file system copies on writing) is not begun.
            Err((Fault::Enospc, error)) if offset + bytes.len() as u64 <= self.real.length()? => {
                return Err(error);
            }
            Err((Fault::Enospc, error)) => (&bytes[..bytes.len() / 3], Err(error)),
            Err((Fault::Eio, error)) => return Err(error),
        };
        state.write_over_bad(self.number, &(offset..offset + bytes.len() as u64))?;
        self.real.write_at(bytes, offset)?;
        state.inodes[self.number].change(change(offset, bytes.to_vec()));
        answer
    }
}

impl File for DoubleFile {
    fn length(&self) -> io::Result<u64> {
        self.plain(Call::Look)?;
        self.real.length()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.plain(Call::Read)?;
        let bytes = offset..offset + buffer.len() as u64;
        self.double.state().meets_bad(self.number, &bytes)?;
        let got = self.real.read_at(buffer, offset)?;
        self.double.state().bytes_read += got as u64;
        Ok(got)
    }

    fn read_direct(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        assert!(offset.is_multiple_of(4096) && buffer.len().is_multiple_of(4096));
        self.plain(Call::Read)?;
        let bytes = offset..offset + buffer.len() as u64;
        self.double.state().meets_bad(self.number, &bytes)?;
        let there = self.double.state().inodes[self.number].on_disk();
        let there = there.get(offset as usize..).unwrap_or_default();
        let got = there.len().min(buffer.len());
        buffer[..got].copy_from_slice(&there[..got]);
        Ok(Some(got))
    }

    fn reads_disk(&self) -> bool {
        !self.double.state().hides_disk
    }

    fn holes_return_space(&self) -> bool {
        !self.double.state().keeps_holes
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write(bytes, offset, Change::Write)
    }

    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<bool> {
        assert!(offset.is_multiple_of(4096) && bytes.len().is_multiple_of(4096));
        self.write(bytes, offset, Change::Direct).map(|()| true)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.resize(Call::Length, length)
    }

    /// A hole reads as zeros; it is made whole or not at all, but not for sure before the next sync.
    fn punch(&self, offset: u64, length: u64) -> io::Result<bool> {
        assert!(offset.is_multiple_of(4096) && length.is_multiple_of(4096));
        let zeros = vec![0; length as usize];
        let mut state = self.double.state();
        if state.makes_no_holes {
            return Ok(false);
        }
        match state.call(Call::Write, &self.path) {
            Ok(()) => {}
            Err((Fault::PowerCut, error)) => {
                state.inodes[self.number].change(Change::Write(offset, zeros));
                return Err(error);
            }
            Err((_, error)) => return Err(error),
        }
        self.real.write_at(&zeros, offset)?;
        state.inodes[self.number].change(Change::Write(offset, zeros));
        state.trace.push(Deed::Punch(self.path.clone()));
        Ok(true)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.double.state();
        match state.call(Call::Sync, &self.path) {
            Ok(()) => {
                state.inodes[self.number].sync();
                state.trace.push(Deed::Sync(self.path.clone()));
            }
            Err((Fault::Eio, error)) => {
                let forgets = state.forgets_pages;
                state.inodes[self.number].lose(forgets);
                return Err(error);
            }
            Err((_, error)) => return Err(error),
        }
        Ok(())
    }

    fn map(&self, length: u64) -> io::Result<MapRef> {
        self.plain(Call::Map)?;
        let map = self.real.map(length)?;
        if let Some(bad) = self.double.state().bad.get(&self.number) {
            bad.iter().for_each(|bad| map.make_unreadable(bad.clone()));
        }
        Ok(map)
    }

    fn map_words(&self, length: u64) -> io::Result<MapWords> {
        let mut state = self.double.state();
        state.plain(Call::Map, &self.path)?;
        state.inodes[self.number].is_mapped = true;
        self.real.map_words(length)
    }

    fn identity(&self) -> io::Result<[u64; 3]> {
        self.plain(Call::Look)?;
        self.real.identity()
    }
}
