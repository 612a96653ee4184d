//! Mapped files: the only file of this crate with `unsafe`.
//!
//! A page of a map that the disk cannot read, or that lies beyond the end of a truncated file, raises SIGBUS, which
//! ends a process. Here a handler maps a page of zeros in its place and records it. A reader that finds invalid data (a wrong
//! checksum, a line of another id) calls [`is_unreadable`] for the reason; a reader without a checksum always calls it. An access
//! error outside these maps ends the process as usual. Bytes of a map in a system call raise no signal: the call fails
//! with EFAULT.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Maximum number of maps of a process; another one is refused with an error. Linux itself allows 65,530 areas of memory.
pub const MAPS_MAX: usize = 1 << 16;

/// What the handler knows of a map. It may interrupt any code, so it takes no lock and allocates nothing.
#[derive(Debug)]
struct Area {
    /// The first address.
    start: AtomicUsize,
    /// The address after the last; 0 for a free entry.
    end: AtomicUsize,
    /// The unreadable pages lie between two offsets: the lower one with all bits inverted (0 for none), ...
    unreadable_not_from: AtomicUsize,
    /// ... and the upper one.
    unreadable_to: AtomicUsize,
}

impl Area {
    /// All zeros, so that the table uses no space in the program's file.
    const fn free() -> Area {
        Area {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            unreadable_not_from: AtomicUsize::new(0),
            unreadable_to: AtomicUsize::new(0),
        }
    }

    fn unreadable(&self) -> Option<Range<usize>> {
        let not_from = self.unreadable_not_from.load(Ordering::Acquire);
        (not_from != 0).then(|| !not_from..self.unreadable_to.load(Ordering::Relaxed))
    }
}

static AREAS: [Area; MAPS_MAX] = [const { Area::free() }; MAPS_MAX];
/// Entries from here on were never used.
static AREAS_USED: AtomicUsize = AtomicUsize::new(0);
/// Entries that were used and are free again.
static AREAS_FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static UNREADABLE_PAGES: AtomicU64 = AtomicU64::new(0);

/// Number of unreadable pages of mapped files since the process started.
pub fn unreadable_pages() -> u64 {
    UNREADABLE_PAGES.load(Ordering::Relaxed)
}

/// Whether zeros replaced any byte of any map. Call it after reading.
#[inline]
pub fn is_any_unreadable() -> bool {
    // Orders the reads from the map before this.
    fence(Ordering::Acquire);
    unreadable_pages() > 0
}

/// Returns true if zeros replaced some of these bytes, because they lie in a map whose file cannot be read there, or
/// ends before. Call it after reading them. All bytes between two such places of a map count as unreadable. Costs
/// one load as long as every page could be read.
pub fn is_unreadable<T>(bytes: &[T]) -> bool {
    if !is_any_unreadable() {
        return false;
    }
    let start = bytes.as_ptr() as usize;
    let used = AREAS_USED.load(Ordering::Acquire);
    AREAS.iter().take(used).any(|area| {
        let end = area.end.load(Ordering::Acquire);
        let begin = area.start.load(Ordering::Relaxed);
        let unreadable = area
            .unreadable()
            .filter(|_| begin <= start && start < end && area.end.load(Ordering::Acquire) == end);
        unreadable.is_some_and(|there| {
            let from = start - begin;
            there.start < from.saturating_add(size_of_val(bytes)) && from < there.end
        })
    })
}

/// Reads a byte of each page of some bytes in a map. Returns false if the disk cannot read some of them. Used before copying them
/// to a place where zeros are not recognized as missing data.
pub fn can_be_read(bytes: &[u8]) -> bool {
    let ends = bytes.iter().step_by(page_bytes()).chain(bytes.last());
    ends.for_each(|byte| {
        std::hint::black_box(*byte);
    });
    !is_unreadable(bytes)
}

/// A mapped range of memory that the handler protects.
#[derive(Debug)]
struct Watched(&'static Area);

impl Watched {
    fn new(start: *const u8, length: usize) -> io::Result<Watched> {
        install()?;
        let mut free = AREAS_FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match free.pop() {
            Some(place) => place,
            // Under the lock, so no other thread increases it.
            None => AREAS_USED.load(Ordering::Relaxed),
        };
        let Some(area) = AREAS.get(place) else {
            return Err(io::Error::other("too many files are mapped"));
        };
        let page = page_bytes();
        area.start.store(start as usize, Ordering::Relaxed);
        area.unreadable_not_from.store(0, Ordering::Relaxed);
        area.unreadable_to.store(0, Ordering::Relaxed);
        let end = (start as usize).saturating_add(length.next_multiple_of(page));
        area.end.store(end, Ordering::Release);
        AREAS_USED.fetch_max(place + 1, Ordering::Release);
        Ok(Watched(area))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.end.store(0, Ordering::Release);
        // SAFETY: both point into the same array.
        let place = unsafe { std::ptr::from_ref(self.0).offset_from(AREAS.as_ptr()) };
        let mut free = AREAS_FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(usize::try_from(place));
    }
}

/// Bytes of a page of memory.
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(4096);

fn page_bytes() -> usize {
    PAGE_BYTES.load(Ordering::Relaxed)
}

/// Installs the handler, once.
fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        // SAFETY: the call only returns a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        if let Some(page) = usize::try_from(page).ok().filter(|page| *page > 0) {
            PAGE_BYTES.store(page, Ordering::Relaxed);
        }
        // SAFETY: all zeros are a valid `sigaction`; the handler has the form that SA_SIGINFO asks for, and calls nothing
        // but mmap(2) and sigaction(2), by system calls.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut())
        };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
        }
    });
    installed.map_err(io::Error::from_raw_os_error)
}

/// The handler of SIGBUS: maps a page of zeros in place of an unreadable page of a mapped file.
extern "C" fn on_bus_error(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system passes a valid `siginfo_t`, of a fault if `si_code` says so.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // Not an error of the memory itself (BUS_MCEERR_AR).
    if code == libc::BUS_ADRERR && put_zeros(address) {
        return;
    }
    // Another address: the instruction is repeated, and then the process ends as without the handler.
    // SAFETY: as in `install`.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
}

fn put_zeros(address: usize) -> bool {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    let page = page_bytes();
    let address = address - address % page;
    let used = AREAS_USED.load(Ordering::Acquire);
    for area in AREAS.iter().take(used) {
        let end = area.end.load(Ordering::Acquire);
        let start = area.start.load(Ordering::Relaxed);
        // Checked twice: the entry may belong to another map meanwhile. The map of the fault is in use, and stays.
        if address < start || address >= end || area.end.load(Ordering::Acquire) != end {
            continue;
        }
        // Recorded before another thread can see the zeros.
        let offset = address - start;
        area.unreadable_to
            .fetch_max(offset + page, Ordering::Relaxed);
        area.unreadable_not_from
            .fetch_max(!offset, Ordering::Release);
        UNREADABLE_PAGES.fetch_add(1, Ordering::Relaxed);
        let place = std::ptr::with_exposed_provenance_mut(address);
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the page belongs to a map of this table (see above), which is unmapped as a whole.
        return unsafe { mmap_anonymous(place, page, both, MapFlags::PRIVATE | MapFlags::FIXED) }
            .is_ok();
    }
    false
}

/// A file mapped for reading.
#[derive(Debug, Default)]
pub struct MapRef(Option<(Watched, memmap2::Mmap)>);

impl MapRef {
    /// Maps the first `length` bytes; they may extend beyond the end of the file.
    pub fn new(file: &fs::File, length: u64) -> io::Result<MapRef> {
        if length == 0 {
            return Ok(MapRef(None));
        }
        let length = usize::try_from(length).map_err(io::Error::other)?;
        // SAFETY: the file is only appended to while mapped: segments and the index belong to this program, which truncates
        // them only where no map is accessed, and only the news user can write the directory. A page that is missing nevertheless
        // reads as zeros.
        let map = unsafe { memmap2::MmapOptions::new().len(length).map(file)? };
        Ok(MapRef(Some((Watched::new(map.as_ptr(), map.len())?, map))))
    }

    /// Maps a whole file.
    pub fn whole(file: &fs::File) -> io::Result<MapRef> {
        MapRef::new(file, file.metadata()?.len())
    }

    /// Tells the system that the pages before `offset` are not needed now. They can still be read from the
    /// file.
    pub fn forget_before(&self, offset: u64) {
        if let Some((_, map)) = &self.0 {
            let length = (offset as usize).min(map.len());
            // SAFETY: the map is of a file and never written, so a dropped page is read again unchanged.
            // An error only means that more memory stays in use.
            let _ = unsafe {
                map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, 0, length)
            };
        }
    }

    /// The mapped bytes. Unreadable ones are zeros: see [`is_unreadable`].
    pub fn bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |(_, map)| map)
    }

    /// Replaces these bytes by zeros, whole pages, as after a failed read: for disks that inject errors.
    pub fn make_unreadable(&self, bytes: Range<u64>) {
        let start = self.bytes().as_ptr() as usize;
        let end = bytes.end.min(self.bytes().len() as u64) as usize;
        let pages = (bytes.start as usize..end).step_by(page_bytes());
        for offset in pages {
            put_zeros(start.saturating_add(offset));
        }
    }

    /// The offset of the first byte that is unreadable and was replaced by zeros.
    pub fn unreadable_from(&self) -> Option<u64> {
        fence(Ordering::Acquire);
        let (area, _) = self.0.as_ref()?;
        area.0.unreadable().map(|there| there.start as u64)
    }
}

/// A file mapped as numbers that other processes may read or write meanwhile.
#[derive(Debug)]
pub struct MapWords {
    area: Watched,
    map: memmap2::MmapRaw,
}

/// Says what the file system lacks: FUSE file systems with direct I/O refuse shared maps with ENODEV, "No such device".
fn explain_no_maps(error: io::Error) -> io::Error {
    match rustix::io::Errno::from_io_error(&error) {
        Some(rustix::io::Errno::NODEV) => io::Error::new(
            io::ErrorKind::Unsupported,
            "this file system has no shared maps (mmap), which the index needs: mount it without the option `direct_io' (FUSE), or use another one",
        ),
        _ => error,
    }
}

impl MapWords {
    /// Maps the first `length` bytes, a multiple of eight; the file must be that long. Storing into a map
    /// made with `write` false is an error of the caller that ends the program.
    pub fn new(file: &fs::File, length: u64, write: bool) -> io::Result<MapWords> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        if length < 8 || !length.is_multiple_of(8) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let mut options = memmap2::MmapOptions::new();
        options.len(length);
        let map = if write {
            options.map_raw(file)
        } else {
            options.map_raw_read_only(file)
        }
        .map_err(explain_no_maps)?;
        Ok(MapWords {
            area: Watched::new(map.as_ptr(), map.len())?,
            map,
        })
    }

    /// The map as 64-bit words, native byte order. Unreadable ones are zero: see [`MapWords::unreadable_from`].
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the map is page-aligned, at least eight bytes, lives as long as `self`, and every access
        // goes through atomics, so concurrent readers and the writer do not race.
        unsafe {
            std::slice::from_raw_parts(self.map.as_ptr().cast::<AtomicU64>(), self.map.len() / 8)
        }
    }

    /// The offset of the first byte that is unreadable and was replaced by zeros; stored values there are lost. Call it after words
    /// were read or stored.
    pub fn unreadable_from(&self) -> Option<u64> {
        fence(Ordering::Acquire);
        self.area.0.unreadable().map(|there| there.start as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn what_is_stored_in_a_map_is_in_the_file() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let map = MapWords::new(&file, 4096, true).unwrap();
        map.words()[2].store(7, Ordering::Relaxed);
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 16).unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), 7);
        let seen = MapRef::new(&file, 4096).unwrap();
        assert_eq!(seen.bytes()[16], 7);
    }

    /// A page behind the end of a file raises the same signal as one that the disk cannot read.
    #[test]
    fn a_page_that_cannot_be_read_is_zeros_and_is_told() {
        let page = page_bytes();
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![7; 4 * page], 0).unwrap();
        let map = MapRef::whole(&file).unwrap();
        let other = MapRef::whole(&file).unwrap();
        let words = MapWords::new(&file, 4 * page as u64, true).unwrap();
        file.set_len(2 * page as u64).unwrap();
        assert!(!is_unreadable(map.bytes()));
        let before = unreadable_pages();
        assert_eq!(map.bytes()[2 * page - 1], 7);
        assert_eq!(map.bytes()[2 * page], 0);
        assert!(is_unreadable(&map.bytes()[..2 * page + 1]));
        assert!(!is_unreadable(&map.bytes()[..2 * page]));
        assert!(!is_unreadable(&map.bytes()[3 * page..]));
        assert!(!is_unreadable(other.bytes()));
        assert_eq!(words.unreadable_from(), None);
        words.words()[3 * page / 8].store(1, Ordering::Relaxed);
        assert_eq!(words.unreadable_from(), Some(3 * page as u64));
        assert!(unreadable_pages() >= before + 2);
    }

    /// Areas are given to others, and the handler finds the right one among many, from several threads at a time.
    #[test]
    fn many_maps_of_many_threads_are_told_apart() {
        let page = page_bytes();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let file = tempfile::tempfile().unwrap();
                    for round in 0..200 {
                        file.set_len(4 * page as u64).unwrap();
                        let maps: Vec<_> = (0..4).map(|_| MapRef::whole(&file).unwrap()).collect();
                        file.set_len(page as u64).unwrap();
                        let bad = round % 4;
                        let sum: u64 = maps[bad].bytes().iter().map(|&b| u64::from(b)).sum();
                        assert_eq!(sum, 0);
                        for (place, map) in maps.iter().enumerate() {
                            assert_eq!(is_unreadable(map.bytes()), place == bad);
                            assert!(!is_unreadable(&map.bytes()[..page]));
                        }
                    }
                });
            }
        });
    }

    /// A fault elsewhere ends the process as it always did.
    #[test]
    fn a_fault_outside_the_maps_ends_the_process() {
        use std::os::unix::process::ExitStatusExt;
        const CHILD: &str = "STORE_MAP_FAULTS_ON_PURPOSE";
        let (_, module) = module_path!().split_once("::").unwrap();
        let name = format!("{module}::a_fault_outside_the_maps_ends_the_process");
        if std::env::var_os(CHILD).is_none() {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            let ended = child.args([&name, "--exact"]).env(CHILD, "1").output();
            assert_eq!(ended.unwrap().status.signal(), Some(libc::SIGBUS));
            return;
        }
        let file = tempfile::tempfile().unwrap();
        file.set_len(1).unwrap();
        let _ours = MapRef::whole(&file).unwrap();
        // SAFETY: none. That is what is tested.
        let map = unsafe { memmap2::MmapOptions::new().len(1).map(&file).unwrap() };
        file.set_len(0).unwrap();
        std::hint::black_box(map[0]);
    }
}
