//! The local cache of articles in the object store: the files of their segments.
//!
//! What is written there is a run of records whose checksums are right, as the object has them, so that bytes in the file never change. To give
//! space back, a file without them takes the place of the file; readers that have mapped the old one keep what they read.

use std::num::NonZeroU64;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::io::disk::{Disk, File, Open, RealDisk};
use crate::io::lock::Lock;
use crate::log::record::{HEADER_BYTES, Head, Record};
use crate::log::segment::SegmentHeader;
use crate::log::segments::{SegmentFile, Segments};
use crate::offload::object_name::ObjectName;
use crate::offload::objects::{self, ObjectStore};
use crate::offload::offloaded_file::HEAD_BYTES;
use crate::read::open_segments::Missing;
use crate::{Error, Position};

/// Bytes that are fetched for one article, at least: those after it, which may be wanted next, come along.
pub const FETCH_BYTES_MIN: u64 = 256 << 10;
/// Largest record that is fetched on the word of its own header, bytes, which the object store may have forged. The history here has to leave
/// room for a larger one.
pub const UNCHECKED_RECORD_BYTES_MAX: u64 = 16 << 20;
/// Held while the file of a segment in the object store is replaced.
const LOCK: &str = "lock.cache";
/// The size of the cache is looked at after this part of it was fetched.
const LOOK_PARTS: u64 = 16;
/// When the cache is too large, it is brought to this many of the same parts.
const KEEP_PARTS: u64 = 12;

/// Bytes that this process wrote since it looked at the size of the cache.
static WRITTEN: AtomicU64 = AtomicU64::new(u64::MAX >> 1);

/// Brings the record at `place` in the file of a segment into the cache. Nothing happens if the segment has all its bytes by now.
///
/// # Errors
/// [`Error::ObjectStore`] if the store does not answer; [`Error::LostObject`] if it has no such object; [`Error::Damaged`] if it has other bytes;
/// [`Error::NoArticle`] if the article's space was given back before.
pub fn fetch(
    segments: &Segments,
    base: u64,
    (position, place): (Position, u64),
) -> Result<(), Error> {
    let before = segments.header(base)?.and_then(|header| header.object);
    match fetch_from_object(segments, base, (position, place)) {
        // It came back meanwhile, or is another object: the caller opens the file anew.
        Err(Error::LostObject { .. })
            if segments.header(base)?.and_then(|header| header.object) != before =>
        {
            Ok(())
        }
        done => done,
    }
}

fn fetch_from_object(
    segments: &Segments,
    base: u64,
    (position, place): (Position, u64),
) -> Result<(), Error> {
    let path = segments.path(base, SegmentFile::Art);
    let at = |doing| {
        let path = &path;
        move |source| Error::io(doing, path, source)
    };
    let file = match segments.open(base, SegmentFile::Art, Open::Write) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::NoArticle(position));
        }
        opened => opened.map_err(at("write the cache in"))?,
    };
    let header = SegmentHeader::read(&*file, &path)?;
    let Some(sum) = header.object else {
        return Ok(());
    };
    if is_there(&*file, place).map_err(at("read"))? {
        return Ok(());
    }
    let store = objects::of(segments.directory())?;
    let name = ObjectName { base, sum };
    let length = file.length().map_err(at("read"))?;
    let end = if header.moved_at == 0 {
        length
    } else {
        header.moved_at
    };
    let read = |from: u64, buffer: &mut [u8]| match store.read_if_up(name, from, buffer) {
        Err(error) if is_lost(&error) => Err(lost(segments, name)),
        done => done.map_err(objects::at("read", name)),
    };
    let mut bytes = vec![0; FETCH_BYTES_MIN.min(end.saturating_sub(place)) as usize];
    read(place, &mut bytes)?;
    if let Some(head) = Head::parse(&bytes)
        && let Some(more) = (head.covered() as u64).checked_sub(bytes.len() as u64)
        && more > 0
        && place + head.covered() as u64 <= end
    {
        if head.covered() as u64 > UNCHECKED_RECORD_BYTES_MAX
            && head.covered() as u64 > room_at(segments, base, position)?
        {
            return Err(Missing::Damaged(place).error(&path, position));
        }
        let from = bytes.len();
        bytes.resize(head.covered(), 0);
        read(
            place + from as u64,
            bytes.get_mut(from..).unwrap_or_default(),
        )?;
    }
    let sound = sound_bytes(&bytes);
    let first = bytes.get(..HEADER_BYTES).unwrap_or_default();
    let length = Head::parse(first).map_or(HEADER_BYTES, |head| head.covered());
    if sound == 0 {
        let first = bytes.get(..length).unwrap_or_default();
        let missing = Missing::reason(first, first, place);
        return Err(missing.error(&path, position));
    }
    let bytes = bytes.get(..sound).unwrap_or_default();
    file.write_at(bytes, place)
        .map_err(at("write the cache in"))?;
    make_room(segments, &store, sound as u64)
}

/// Bytes from an article to the next one that the history names; behind the last one, as many as there are positions.
fn room_at(segments: &Segments, base: u64, position: Position) -> Result<u64, Error> {
    let map = segments.map_derived(base, SegmentFile::His)?;
    let lines = History::of_map(&map).lines();
    let positions = lines.filter_map(|(_, line)| HistoryLine::parse(line)?.position);
    let next = positions.filter(|other| *other > position).min();
    Ok(next.map_or(u64::MAX, |next| next.0 - position.0))
}

/// The bytes of a segment's file that are a cache: none if the segment is not in the object store. A copy of the file may have zeros there.
///
/// # Errors
/// The file cannot be read.
pub fn cached_bytes(art: &Path) -> Result<Range<u64>, Error> {
    let at = |source| Error::io("read", art, source);
    let file = RealDisk.open(art, Open::Read).map_err(at)?;
    let length = file.length().map_err(at)?;
    let header = SegmentHeader::read(&*file, art).ok();
    let header = header.filter(|header| header.object.is_some());
    Ok(header.map_or(0..0, |header| {
        let end = match header.moved_at {
            0 => length,
            tail => tail,
        };
        HEAD_BYTES.min(end)..end
    }))
}

/// True if an answer says that an object, or a part of it, does not exist.
pub fn is_lost(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotFound, UnexpectedEof};
    matches!(error.kind(), NotFound | UnexpectedEof)
}

/// The error about a segment whose object is not in the store.
pub fn lost(segments: &Segments, name: ObjectName) -> Error {
    Error::LostObject {
        path: segments.path(name.base, SegmentFile::Art),
        object: name.to_string(),
    }
}

/// True if the record at a place is in the file.
fn is_there(file: &dyn File, place: u64) -> std::io::Result<bool> {
    let mut bytes = vec![0; HEADER_BYTES];
    let got = file.read_at(&mut bytes, place)?;
    bytes.truncate(got);
    let Some(head) = Head::parse(&bytes) else {
        return Ok(false);
    };
    bytes.resize(head.covered(), 0);
    let got = file.read_at(&mut bytes, place)?;
    bytes.truncate(got);
    Ok(Record::check(head, &bytes).is_some())
}

/// Length of the records at the beginning of some bytes that are whole and right.
fn sound_bytes(bytes: &[u8]) -> usize {
    let mut sound = 0;
    while let Some(record) = bytes.get(sound..).and_then(Record::parse) {
        let end = sound + record.head.length as usize;
        if record.head.length == 0 || end > bytes.len() {
            // The rest of a hole is not looked at.
            return sound + record.bytes().len();
        }
        sound = end;
    }
    sound
}

/// Empties files, those first that were written longest ago, if the cache is too large.
fn make_room(segments: &Segments, store: &ObjectStore, written: u64) -> Result<(), Error> {
    let most = store.cache_bytes_max();
    let since = WRITTEN
        .fetch_add(written, Ordering::Relaxed)
        .saturating_add(written);
    if since < most / LOOK_PARTS {
        return Ok(());
    }
    // Whoever has it replaces a file, or empties the cache.
    let Ok(_lock) = Lock::take_named(segments.directory(), LOCK, false) else {
        return Ok(());
    };
    WRITTEN.store(0, Ordering::Relaxed);
    let mut cached = Vec::new();
    let mut size = 0;
    for base in segments.bases()? {
        let Ok(file) = segments.open(base, SegmentFile::Art, Open::Read) else {
            continue;
        };
        if file.is_offloaded()
            && let (Ok(bytes), Ok([written, ..])) = (file.allocated(), file.identity())
        {
            size += bytes;
            cached.push((written, base, bytes));
        }
    }
    if size <= most {
        return Ok(());
    }
    cached.sort_unstable();
    for (_, base, bytes) in cached {
        if size <= most / LOOK_PARTS * KEEP_PARTS {
            break;
        }
        let path = segments.path(base, SegmentFile::Art);
        let file = segments.open(base, SegmentFile::Art, Open::Write);
        let file = file.map_err(|source| Error::io("read", &path, source))?;
        let header = SegmentHeader::read(&*file, &path)?;
        let Some(sum) = header.object else {
            continue;
        };
        put_empty(segments, &*file, (base, header), sum)?;
        size = size.saturating_sub(bytes.saturating_sub(segments.art_bytes(base).1));
    }
    Ok(())
}

/// Waits for others that replace the file of a segment in the object store.
pub fn lock(segments: &Segments) -> Result<Lock, Error> {
    Lock::take_named(segments.directory(), LOCK, true)
}

/// Puts a file in the place of a segment's file that has nothing but the block with the header, and the table of a repacked segment. The caller
/// holds [`lock`], and syncs the directory if the old file had more than the object.
pub fn put_empty(
    segments: &Segments,
    old: &dyn File,
    (base, header): (u64, SegmentHeader),
    sum: NonZeroU64,
) -> Result<(), Error> {
    segments.replace(base, SegmentFile::Art, |fresh| {
        let length = old.length()?;
        fresh.set_length(length)?;
        let mut head = vec![0; HEAD_BYTES.min(length) as usize];
        old.read_at(&mut head, 0)?;
        let header = SegmentHeader {
            object: Some(sum),
            ..header
        };
        head.splice(..header.to_bytes().len().min(head.len()), header.to_bytes());
        fresh.write_at(&head, 0)?;
        if header.moved_at != 0 {
            let mut tail = vec![0; length.saturating_sub(header.moved_at) as usize];
            old.read_at(&mut tail, header.moved_at)?;
            fresh.write_at(&tail, header.moved_at)?;
        }
        Ok(())
    })
}
