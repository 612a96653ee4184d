//! Mapped files: the only file of this crate with `unsafe`.
//!
//! A page of a map that the disk cannot read, or that lies beyond the end of a truncated file, raises SIGBUS, which
//! ends a process. So does a page that only shares its folio of the page cache with a bad sector. A handler reads the page past the cache and
//! maps a copy in its place; if the disk cannot read it either, it maps a page of zeros and records it. A reader that finds invalid data (a wrong
//! checksum, a line of another id) calls [`is_unreadable`] for the reason; a reader without a checksum always calls it. An access
//! error outside these maps ends the process as usual. Bytes of a map in a system call raise no signal: the call fails
//! with EFAULT.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::io::reread::{self, Named};

/// Maximum number of maps of a process; another one is refused with an error. Linux itself allows 65,530 areas of memory.
pub const MAPS_MAX: usize = 1 << 16;

/// Maximum number of accesses of a map that are repeated because the page cannot be copied. Another reader may use its folio meanwhile, so
/// that it cannot be dropped.
const REPEATS_MAX: usize = 64;

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
    /// The file; null if it cannot be opened again. It belongs to the [`Watched`] of the map.
    file: AtomicPtr<Named>,
    /// Others change bytes of the map: a copy of a page would not follow.
    is_changing: AtomicBool,
    /// Copies are in the place of some pages.
    has_copies: AtomicBool,
    /// How many accesses were repeated.
    repeats: AtomicUsize,
}

impl Area {
    /// All zeros, so that the table uses no space in the program's file.
    const fn free() -> Area {
        Area {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            unreadable_not_from: AtomicUsize::new(0),
            unreadable_to: AtomicUsize::new(0),
            file: AtomicPtr::new(std::ptr::null_mut()),
            is_changing: AtomicBool::new(false),
            has_copies: AtomicBool::new(false),
            repeats: AtomicUsize::new(0),
        }
    }

    fn unreadable(&self) -> Option<Range<usize>> {
        let not_from = self.unreadable_not_from.load(Ordering::Acquire);
        (not_from != 0).then(|| !not_from..self.unreadable_to.load(Ordering::Relaxed))
    }

    /// Reads a page past the page cache, in which its folio cannot be read. Returns false if the disk cannot read it; otherwise a copy is in the
    /// place of the page, or the access is to be repeated.
    fn read_page(&self, page: usize) -> bool {
        use rustix::mm::{
            Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap_fixed, munmap,
        };
        // SAFETY: null, or the file of a map that is accessed, and so not dropped meanwhile.
        let named = unsafe { self.file.load(Ordering::Acquire).as_ref() };
        let Some(file) = named.and_then(Named::open_singly) else {
            return false;
        };
        let (length, both) = (page_bytes(), ProtFlags::READ | ProtFlags::WRITE);
        let null = std::ptr::null_mut();
        // SAFETY: a new map at an address that the system chooses.
        let Ok(copy) = (unsafe { mmap_anonymous(null, length, both, MapFlags::PRIVATE) }) else {
            return false;
        };
        // SAFETY: it was just mapped, and nothing else refers to it.
        let bytes = unsafe { std::slice::from_raw_parts_mut(copy.cast::<u8>(), length) };
        // The other pages of the folio are read one by one from now on.
        let folio = reread::drop_folio(&file, page as u64);
        let got = rustix::io::pread(&file, bytes, page as u64).unwrap_or(0);
        let start = self.start.load(Ordering::Relaxed);
        let mapped = self.end.load(Ordering::Relaxed).saturating_sub(start);
        let [from, to] = [folio.start, folio.end].map(|at| (at as usize).min(mapped));
        let at = |offset| std::ptr::with_exposed_provenance_mut(start.saturating_add(offset));
        // SAFETY: the bytes belong to this map, and the advice changes nothing of them.
        let _ = unsafe { madvise(at(from), to - from, Advice::Random) };
        if got == length && !self.is_changing.load(Ordering::Relaxed) {
            self.has_copies.store(true, Ordering::Release);
            let flags = MremapFlags::MAYMOVE;
            // SAFETY: the page belongs to this map, which is unmapped as a whole; nothing refers to the copy where it was.
            return unsafe { mremap_fixed(copy, length, length, flags, at(page)) }.is_ok();
        }
        // SAFETY: nothing refers to it any more.
        let _ = unsafe { munmap(copy, length) };
        // The last page grows with the file.
        got > 0 && self.repeats.fetch_add(1, Ordering::Relaxed) < REPEATS_MAX
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
/// ends before. Call it after reading them. In a map with more than one such place, all between them counts as unreadable. Costs
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
        let is_of = begin <= start && start < end && area.end.load(Ordering::Acquire) == end;
        is_of
            && area.unreadable().is_some_and(|there| {
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

/// A mapped range of memory that the handler protects, and its file.
#[derive(Debug)]
struct Watched(
    &'static Area,
    #[expect(dead_code, reason = "the area refers to it")] Option<Box<Named>>,
);

impl Watched {
    fn new(
        (start, length): (*const u8, usize),
        file: Option<Named>,
        is_changing: bool,
    ) -> io::Result<Watched> {
        install()?;
        let file = file.map(Box::new);
        let mut free = AREAS_FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match free.pop() {
            Some(place) => place,
            // Under the lock, so no other thread increases it.
            None => AREAS_USED.load(Ordering::Relaxed),
        };
        let Some(area) = AREAS.get(place) else {
            return Err(io::Error::other("too many files are mapped"));
        };
        area.start.store(start as usize, Ordering::Relaxed);
        area.unreadable_not_from.store(0, Ordering::Relaxed);
        area.unreadable_to.store(0, Ordering::Relaxed);
        let named = file.as_deref().map_or(std::ptr::null(), std::ptr::from_ref);
        area.file.store(named.cast_mut(), Ordering::Relaxed);
        area.repeats.store(0, Ordering::Relaxed);
        area.is_changing.store(is_changing, Ordering::Relaxed);
        area.has_copies.store(false, Ordering::Relaxed);
        let end = (start as usize).saturating_add(length.next_multiple_of(page_bytes()));
        area.end.store(end, Ordering::Release);
        AREAS_USED.fetch_max(place + 1, Ordering::Release);
        Ok(Watched(area, file))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.end.store(0, Ordering::Release);
        self.0.file.store(std::ptr::null_mut(), Ordering::Release);
        // SAFETY: both point into the same array.
        let place = unsafe { std::ptr::from_ref(self.0).offset_from(AREAS.as_ptr()) };
        let mut free = AREAS_FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(usize::try_from(place));
    }
}

/// Bytes of a page of memory.
pub(crate) fn page_bytes() -> usize {
    /// 0: not known yet.
    static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);
    match PAGE_BYTES.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the call only returns a number.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            let page = usize::try_from(page).ok().filter(|page| *page > 0);
            let page = page.unwrap_or(4096);
            PAGE_BYTES.store(page, Ordering::Relaxed);
            page
        }
        page => page,
    }
}

/// Installs the handler, once.
fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        // SAFETY: all zeros are a valid `sigaction`; the handler has the form that SA_SIGINFO asks for, and calls nothing
        // but system calls.
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

/// The handler of SIGBUS: maps a copy of the page that was read past the page cache, or a page of zeros.
extern "C" fn on_bus_error(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system passes a valid `siginfo_t`, of a fault if `si_code` says so.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // Not an error of the memory itself (BUS_MCEERR_AR).
    if code == libc::BUS_ADRERR && put_page(address, Area::read_page) {
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

/// Makes the page of an address readable: by `read`, or by zeros if that returns false. Returns false for an address that is in no map.
fn put_page(address: usize, read: impl Fn(&Area, usize) -> bool) -> bool {
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
        let offset = address - start;
        if read(area, offset) {
            return true;
        }
        // Recorded before another thread can see the zeros.
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
        MapRef::of((file, None), length)
    }

    /// As [`MapRef::new`], of a file with a name: the handler reads a page past the page cache if it cannot be read through it. Later
    /// changes of the file do not show in this page, so bytes of the file may only become zeros.
    pub fn named((file, path): (&fs::File, &Path), length: u64) -> io::Result<MapRef> {
        MapRef::of((file, Named::new(file, path)), length)
    }

    fn of((file, named): (&fs::File, Option<Named>), length: u64) -> io::Result<MapRef> {
        if length == 0 {
            return Ok(MapRef(None));
        }
        let length = usize::try_from(length).map_err(io::Error::other)?;
        // SAFETY: the file is only appended to while mapped: segments and the index belong to this program, which truncates
        // them only where no map is accessed, and only the news user can write the directory. A page that is missing nevertheless
        // reads as zeros.
        let map = unsafe { memmap2::MmapOptions::new().len(length).map(file)? };
        let watched = Watched::new((map.as_ptr(), map.len()), named, false)?;
        Ok(MapRef(Some((watched, map))))
    }

    /// Maps a whole file.
    pub fn whole(file: &fs::File) -> io::Result<MapRef> {
        MapRef::new(file, file.metadata()?.len())
    }

    /// Whether some pages are copies of what was read past the page cache: the file itself may have changed there, or fail when the system
    /// sends it.
    pub fn has_copies(&self) -> bool {
        let copies = |(area, _): &(Watched, _)| area.0.has_copies.load(Ordering::Acquire);
        self.0.as_ref().is_some_and(copies)
    }

    /// Tells the system that the pages before `offset` are not needed now. They can still be read from the
    /// file.
    pub fn forget_before(&self, offset: u64) {
        // A copy would become zeros.
        if let Some((_, map)) = self.0.as_ref().filter(|_| !self.has_copies()) {
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
            put_page(start.saturating_add(offset), |_, _| false);
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
    pub fn new(
        (file, path): (&fs::File, Option<&Path>),
        length: u64,
        write: bool,
    ) -> io::Result<MapWords> {
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
        let named = path.and_then(|path| Named::new(file, path));
        Ok(MapWords {
            area: Watched::new((map.as_ptr(), map.len()), named, true)?,
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
        let map = MapWords::new((&file, None), 4096, true).unwrap();
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
        let words = MapWords::new((&file, None), 4 * page as u64, true).unwrap();
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

    /// The handler reads the bytes of the file past the page cache; it repeats the access to the last page, which grows.
    #[test]
    fn a_page_of_a_folio_that_fails_is_read_past_the_cache() {
        let (page, dir) = (page_bytes(), tempfile::tempdir().unwrap());
        let path = dir.path().join("art");
        let bytes: Vec<u8> = (0..3 * page + 100).map(|at| (at / 7 % 251) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let file = fs::File::open(&path).unwrap();
        let map = MapRef::named((&file, &path), bytes.len() as u64).unwrap();
        let at = |offset: usize| map.bytes().as_ptr() as usize + offset;
        assert!(put_page(at(3 * page + 50), Area::read_page) && !map.has_copies());
        assert!(put_page(at(page + 50), Area::read_page) && map.has_copies());
        assert!(map.bytes() == bytes && !is_unreadable(map.bytes()));
        for _ in 0..REPEATS_MAX {
            assert!(put_page(at(3 * page), Area::read_page));
        }
        assert!(map.bytes()[..3 * page] == bytes[..3 * page]);
        assert!(
            is_unreadable(&map.bytes()[3 * page..]) && !is_unreadable(&map.bytes()[..3 * page])
        );
        // Without a file of this name the disk cannot be asked.
        fs::remove_file(&path).unwrap();
        assert!(put_page(at(0), Area::read_page));
        assert!(is_unreadable(&map.bytes()[..1]) && map.bytes()[0] == 0);
        // Others change these.
        fs::write(&path, &bytes).unwrap();
        let file = fs::File::open(&path).unwrap();
        let words = MapWords::new((&file, Some(&path)), 2 * page as u64, false).unwrap();
        let word = words.words().as_ptr() as usize;
        assert!(put_page(word, Area::read_page) && words.unreadable_from().is_none());
        assert!(!words.area.0.has_copies.load(Ordering::Relaxed));
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
