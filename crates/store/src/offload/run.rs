//! Moves the articles of sealed segments to the object store, and back.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::io::disk::{Disk, File, Open, RealDisk};
use crate::io::lock::Lock;
use crate::io::zeros::parts_without_zeros;
use crate::log::segment::SegmentHeader;
use crate::log::segments::{SegmentFile, Segments, base_of};
use crate::offload::object_name::{ObjectName, Sum};
use crate::offload::objects::{self, ObjectStore};
use crate::offload::{cache, cancel_locks, owner, unnamed};
use crate::spool::Spool;
use crate::spool::erase::erasing_positions;
use crate::spool::options::Options;
use crate::{Error, Snapshot};

/// Bytes read at once: 4 MiB.
const PIECE_BYTES: u64 = 4 << 20;

/// The segments to move away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'b> {
    /// Those whose newest article arrived before a time, seconds since 1970; and of the others the oldest, until the sealed ones that stay have at
    /// most so many bytes on the disk.
    Policy {
        /// The time.
        before: i64,
        /// The bytes.
        local_bytes_max: u64,
    },
    /// These, by their bases.
    Bases(&'b [u64]),
}

/// A segment that was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offloaded {
    /// Its base.
    pub base: u64,
    /// Its length, bytes.
    pub bytes: u64,
}

/// A segment, and where its articles are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentPlace {
    /// Its base.
    pub base: u64,
    /// The length of its `.art`, bytes.
    pub bytes: u64,
    /// Bytes of the disk that its `.art` takes up.
    pub local_bytes: u64,
    /// The arrival of its newest article, seconds since 1970.
    pub newest: Option<i64>,
    /// The object that has its articles.
    pub object: Option<String>,
    /// It is filed into.
    pub is_current: bool,
    /// Its header is damaged, so that nobody knows its object; or [`check`] found that the object cannot be used: the error.
    pub fault: Option<String>,
}

/// All segments, ascending.
///
/// # Errors
/// A file cannot be read.
pub fn list(snapshot: &Snapshot) -> Result<Vec<SegmentPlace>, Error> {
    let segments = snapshot.segment_files();
    let current = snapshot.segments().last().copied();
    let place = |&base: &u64| {
        let (header, fault) = match segments.header(base) {
            Ok(header) => (header, None),
            Err(error @ Error::Damaged { .. }) => (None, Some(error.to_string())),
            Err(error) => return Err(error),
        };
        let (bytes, local_bytes) = segments.art_bytes(base);
        let object = header.and_then(|header| header.object);
        Ok(SegmentPlace {
            base,
            bytes,
            local_bytes,
            newest: snapshot.newest_arrival_in(base)?,
            object: object.map(|sum| ObjectName { base, sum }.to_string()),
            is_current: Some(base) == current,
            fault,
        })
    };
    snapshot.segments().iter().map(place).collect()
}

/// Asks the object store whether it has each object with its length. Returns the segments whose articles are lost, and marks those whose object
/// cannot be used.
///
/// # Errors
/// [`Error::ObjectStore`] if the store does not answer.
pub fn check(dir: &Path, places: &mut [SegmentPlace]) -> Result<Vec<u64>, Error> {
    let mut lost = Vec::new();
    for place in places {
        let Some(name) = place.object.as_deref().and_then(ObjectName::parse) else {
            continue;
        };
        match objects::of(dir)?.length(name) {
            Ok(length) if length == Some(place.bytes) => {}
            Ok(_) => lost.push(place.base),
            Err(error) if error.is_of_one_object() => place.fault = Some(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(lost)
}

/// The place of a segment by a copy of its file: what a backup has. `None`: the copy has the articles itself.
///
/// # Errors
/// The copy cannot be read, or has no valid header.
pub fn place_of_copy(copy: &Path) -> Result<Option<SegmentPlace>, Error> {
    let file = RealDisk.open(copy, Open::Read);
    let file = file.map_err(|source| Error::io("read", copy, source))?;
    let header = SegmentHeader::read(&*file, copy)?;
    let bytes = file.length();
    let bytes = bytes.map_err(|source| Error::io("read", copy, source))?;
    let base = header.base;
    Ok(header.object.map(|sum| SegmentPlace {
        base,
        bytes,
        local_bytes: 0,
        newest: None,
        object: Some(ObjectName { base, sum }.to_string()),
        is_current: false,
        fault: None,
    }))
}

/// Moves the articles of sealed segments to the object store, the oldest first, and calls `each` after each. Waits for `lock.expire`. First it
/// deletes what an interrupted run, or expire, left there.
///
/// # Errors
/// [`Error::ObjectStore`]; a file cannot be read or written. What was not moved is complete on this machine.
pub fn move_away(
    dir: &Path,
    options: Options,
    wanted: Wanted<'_>,
    each: impl FnMut(Offloaded),
) -> Result<(), Error> {
    move_away_on(Arc::new(RealDisk), dir, options, wanted, each)
}

/// As [`move_away`], on another disk.
pub fn move_away_on(
    disk: Arc<dyn Disk>,
    dir: &Path,
    options: Options,
    wanted: Wanted<'_>,
    mut each: impl FnMut(Offloaded),
) -> Result<(), Error> {
    let _alone = Lock::take_named(dir, "lock.expire", true)?;
    let snapshot = Snapshot::open_on(disk.clone(), dir)?;
    let segments = snapshot.segment_files().clone();
    let store = objects::of(dir)?;
    let swept = unnamed::sweep(&segments, &store);
    let locked = add_cancel_locks(&segments);
    let mut bases = chosen(&snapshot, wanted)?;
    // The bytes of an article that is being erased do not leave this disk.
    let erasing = erasing_positions(&*disk, dir)?;
    let erasing = erasing.into_iter();
    let erasing: Vec<_> = erasing
        .filter_map(|at| base_of(snapshot.segments(), at))
        .collect();
    bases.retain(|base| !erasing.contains(base));
    let Some(newest) = bases.last() else {
        return swept.and(locked);
    };
    // A restart, and rebuilding `active`, then read nothing of them.
    let mut spool = Spool::open_on(disk.clone(), dir, options)?;
    if !spool.stand_alone_behind(*newest)? {
        return Err(Error::TooLarge {
            bytes: options.segment_bytes,
            segment_bytes: options.segment_bytes,
        });
    }
    if options.follows_log {
        // What a power cut takes back is applied again, into the files here.
        spool.checkpoint()?;
    }
    drop(spool);
    let mut kept_away = Vec::new();
    if swept.is_err() {
        // The store may still carry out a deletion that failed here: what is stored under its name may go again.
        kept_away = unnamed::read(&segments)?;
        // The next run shall find a place from which it can delete.
        owner::claim(&segments, &store)?;
    }
    let mut has_left_out = false;
    let moved: Result<(), Error> = bases.iter().try_for_each(|base| {
        match move_one(&segments, &store, *base, &kept_away)? {
            Moved::Bytes(bytes) => each(Offloaded { base: *base, bytes }),
            Moved::LeftOut => has_left_out = true,
            Moved::Stays => {}
        }
        Ok(())
    });
    // A daemon opens its files anew afterwards, and no longer holds the space of the old ones.
    drop(Spool::open_on(disk.clone(), dir, options)?);
    moved?;
    match has_left_out {
        true => swept?,
        false => swept.or_else(|_| unnamed::sweep(&segments, &store))?,
    }
    locked
}

/// Writes the Cancel-Locks that are missing. Returns the first error after all segments.
fn add_cancel_locks(segments: &Segments) -> Result<(), Error> {
    let mut first = Ok(());
    for base in without_cancel_locks(segments)? {
        first = first.and(cancel_locks::write(segments, base));
    }
    segments.sync()?;
    first
}

/// Whether the Cancel-Locks of a segment in the object store are missing here: the next [`move_away`] writes them.
///
/// # Errors
/// A file cannot be read.
pub fn lacks_cancel_locks(snapshot: &Snapshot) -> Result<bool, Error> {
    Ok(!without_cancel_locks(snapshot.segment_files())?.is_empty())
}

/// The segments that are away without their Cancel-Locks.
fn without_cancel_locks(segments: &Segments) -> Result<Vec<u64>, Error> {
    let mut without = Vec::new();
    for base in segments.bases()? {
        let header = segments.header(base)?;
        let is_away = header.is_some_and(|header| header.object.is_some());
        if is_away && !cancel_locks::is_there(segments, base) {
            without.push(base);
        }
    }
    Ok(without)
}

/// The bases of the segments to move, ascending.
fn chosen(snapshot: &Snapshot, wanted: Wanted<'_>) -> Result<Vec<u64>, Error> {
    let mut places = list(snapshot)?;
    places.retain(|place| !place.is_current && place.object.is_none());
    let (before, local_bytes_max) = match wanted {
        Wanted::Bases(bases) => {
            places.retain(|place| bases.contains(&place.base));
            return Ok(places.iter().map(|place| place.base).collect());
        }
        Wanted::Policy {
            before,
            local_bytes_max,
        } => (before, local_bytes_max),
    };
    let mut stays = 0_u64;
    let mut chosen = Vec::new();
    for place in places.iter().rev() {
        let is_old = place.newest.is_none_or(|newest| newest < before);
        let with = stays.saturating_add(place.local_bytes);
        // Once one is too much, the older ones are, too.
        if is_old || with > local_bytes_max || stays == u64::MAX {
            chosen.push(place.base);
            if !is_old {
                stays = u64::MAX;
            }
        } else {
            stays = with;
        }
    }
    chosen.reverse();
    Ok(chosen)
}

/// What became of a segment.
enum Moved {
    /// It moved; its length.
    Bytes(u64),
    /// It is in the object store already.
    Stays,
    /// The deletion of the object that it would have may still be under way.
    LeftOut,
}

/// Moves one segment, unless its object is one of `kept_away`. At each moment the file has all bytes, or an object that was read back has them.
fn move_one(
    segments: &Segments,
    store: &ObjectStore,
    base: u64,
    kept_away: &[ObjectName],
) -> Result<Moved, Error> {
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let (file, header) = segments.open_art(base, Open::Read)?;
    if header.object.is_some() {
        return Ok(Moved::Stays);
    }
    let length = file.length().map_err(at)?;
    let mut sum = Sum::default();
    each_piece(length, |offset, piece| {
        let got = file.read_at(piece, offset).map_err(at)?;
        if got < piece.len() {
            return Err(at(io::ErrorKind::UnexpectedEof.into()));
        }
        sum.add(piece);
        Ok(())
    })?;
    let sum = sum.finish();
    let name = ObjectName { base, sum };
    if kept_away.contains(&name) {
        return Ok(Moved::LeftOut);
    }
    owner::claim(segments, store)?;
    unnamed::add(segments, &[name])?;
    let mut content = Content {
        file: &*file,
        offset: 0,
    };
    store.put(name, &mut content, length)?;
    read_back(store, name, length, |_, _| Ok(()))?;
    // The writer decides by it as soon as the header says that the articles are away.
    cancel_locks::write(segments, base)?;
    segments.sync()?;
    let _lock = cache::lock(segments)?;
    cache::put_empty(segments, &*file, (base, header), sum)?;
    segments.sync()?;
    unnamed::remove(segments, name)?;
    Ok(Moved::Bytes(length))
}

/// Number of the objects that no segment names any more, and that could not be deleted yet: the next [`move_away`] or [`bring_back`] does it.
///
/// # Errors
/// The list cannot be read.
pub fn count_undeleted(snapshot: &Snapshot) -> Result<usize, Error> {
    let segments = snapshot.segment_files();
    let mut names = unnamed::read(segments)?;
    let is_named = |name: &ObjectName| {
        let header = segments.header(name.base).ok().flatten();
        header.is_some_and(|header| header.object == Some(name.sum))
    };
    names.retain(|name| !is_named(name));
    Ok(names.len())
}

/// Brings the articles of segments back, calls `each` after each, and then deletes their objects, and those that earlier runs left. Waits for
/// `lock.expire`.
///
/// # Errors
/// As [`move_away`]. What `each` was called for is here, also if an object could not be deleted ([`count_undeleted`]).
pub fn bring_back(
    dir: &Path,
    options: Options,
    bases: &[u64],
    each: impl FnMut(Offloaded),
) -> Result<(), Error> {
    bring_back_on(Arc::new(RealDisk), dir, options, bases, each)
}

/// As [`bring_back`], on another disk.
pub fn bring_back_on(
    disk: Arc<dyn Disk>,
    dir: &Path,
    options: Options,
    bases: &[u64],
    mut each: impl FnMut(Offloaded),
) -> Result<(), Error> {
    let _alone = Lock::take_named(dir, "lock.expire", true)?;
    let snapshot = Snapshot::open_on(disk.clone(), dir)?;
    let segments = snapshot.segment_files().clone();
    let mut bring = |base| {
        let header = segments.header(base)?;
        if let Some(header) = header.filter(|header| header.object.is_some()) {
            bring_here(&segments, base, &header)?;
            let bytes = segments.art_bytes(base).0;
            each(Offloaded { base, bytes });
        }
        Ok(())
    };
    // The others come, whatever one meets.
    let done: Vec<Result<(), Error>> = bases.iter().map(|base| bring(*base)).collect();
    drop(Spool::open_on(disk.clone(), dir, options)?);
    let deleted = super::delete_unnamed(&segments);
    done.into_iter().collect::<Result<(), Error>>().and(deleted)
}

/// Brings the articles of a segment back, and deletes the object. The caller holds `lock.expire`.
///
/// # Errors
/// [`Error::ObjectStore`] also if only the object could not be deleted: the next run does it; or if the store has other bytes than were stored.
/// [`Error::LostObject`].
pub fn recall(segments: &Segments, base: u64, header: &SegmentHeader) -> Result<(), Error> {
    let Some(name) = bring_here(segments, base, header)? else {
        return Ok(());
    };
    let store = objects::of(segments.directory())?;
    owner::check(segments, &store)?;
    store.delete(name)?;
    unnamed::remove(segments, name)
}

/// Brings the articles of a segment back. Returns the name of the object, which is to be deleted, and is in `objects.unnamed`.
fn bring_here(
    segments: &Segments,
    base: u64,
    header: &SegmentHeader,
) -> Result<Option<ObjectName>, Error> {
    let Some(sum) = header.object else {
        return Ok(None);
    };
    let store = objects::of(segments.directory())?;
    let name = ObjectName { base, sum };
    let path = segments.path(base, SegmentFile::Art);
    let length = segments.length(base, SegmentFile::Art);
    let length = length.map_err(|source| Error::io("read", &path, source))?;
    unnamed::add(segments, &[name])?;
    let _lock = cache::lock(segments)?;
    let mut failed = None;
    let replaced = segments.replace(base, SegmentFile::Art, |fresh| {
        fresh.set_length(length)?;
        let written = read_back(&store, name, length, |offset, piece| {
            // The holes of expired articles stay holes.
            for (at, part) in parts_without_zeros(piece) {
                fresh
                    .write_at(part, offset + at as u64)
                    .map_err(|source| Error::io("write", &path, source))?;
            }
            Ok(())
        });
        written.map_err(|error| {
            failed = Some(error);
            io::ErrorKind::Other.into()
        })
    });
    match failed {
        Some(Error::ObjectStore { source, .. }) if cache::is_lost(&source) => {
            return Err(cache::lost(segments, name));
        }
        Some(error) => return Err(error),
        None => replaced?,
    }
    segments.sync()?;
    segments.remove(base, SegmentFile::Clk)?;
    Ok(Some(name))
}

/// Reads a whole object and compares its checksum.
fn read_back(
    store: &ObjectStore,
    name: ObjectName,
    length: u64,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut sum = Sum::default();
    each_piece(length, |offset, piece| {
        let read = store.read(name, offset, piece);
        read.map_err(objects::at("read back", name))?;
        sum.add(piece);
        each(offset, piece)
    })?;
    match sum.finish() == name.sum {
        true => Ok(()),
        false => Err(objects::at("read back", name)(io::Error::new(
            io::ErrorKind::InvalidData,
            "it has other bytes than were stored; `broadsheet fsck' names the damaged articles, and to keep the others, copy the object in the place of the segment's .art and run `broadsheet fsck --repair'",
        ))),
    }
}

/// Calls `each` with an offset and a buffer for each piece of a file.
fn each_piece(
    length: u64,
    mut each: impl FnMut(u64, &mut [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut buffer = vec![0; PIECE_BYTES.min(length) as usize];
    let mut offset = 0;
    while offset < length {
        let piece = PIECE_BYTES.min(length - offset) as usize;
        each(offset, buffer.get_mut(..piece).unwrap_or_default())?;
        offset += piece as u64;
    }
    Ok(())
}

/// The bytes of a file, in order.
struct Content<'f> {
    file: &'f dyn File,
    offset: u64,
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(buffer, self.offset)?;
        self.offset += got as u64;
        Ok(got)
    }
}
