//! Reading records of segments. Expire may give space back at any moment, and what was right in the map may be zeros when it is used.
//! So a record is copied out of the map first, and the copy is checked; or it is converted, and then the map is checked: bytes of a
//! record become zeros, and zeros never become bytes again, so what is right afterwards was right before.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use crate::history::HistoryLine;
use crate::io::disk::{BLOCK_BYTES, File, Open};
use crate::io::growing_map::GrowingMap;
use crate::io::map;
use crate::log::record::{HEADER_BYTES, Head, Kind, Record};
use crate::log::relocation::Relocation;
use crate::log::relocation_cache::Tables;
use crate::log::segments::{SegmentFile, Segments};
use crate::offload::fetch;
use crate::read::log_view::LogView;
use crate::{Error, Position};

/// Segments whose articles one cache keeps mapped. The current one takes a descriptor, the others none.
const SEGMENTS_MAPPED: usize = 512;
/// Articles that are known to be unreadable; beyond that the oldest is tried again.
pub const UNREADABLE_KEPT: usize = 256;
/// After so long the disk is asked again for an article that it could not read. It may take seconds to say no, and others wait.
const UNREADABLE_RETRY: Duration = Duration::from_secs(60);

/// Fetches of one article from the object store in one reading: the cache may be emptied between the fetch and the reading.
const FETCHES_MAX: usize = 3;
/// The reason why an article cannot be read after so many fetches.
const CACHE_IS_EMPTIED: &str = "the cache of the object store was emptied each time before it was read: `[offload] cache' is too small for the readers";

/// A buffer that one large article made larger than this is given back: 1 MiB.
const COPY_BYTES_KEPT: usize = 1 << 20;

/// The mapped segments that were used last.
#[derive(Debug, Default)]
pub struct OpenSegments {
    /// By base.
    open: Vec<OpenSegment>,
    /// Counts what was asked for.
    clock: u64,
    /// Articles that the disk could not read, and when that was tried last.
    unreadable: Vec<(Position, Instant)>,
}

/// A mapped segment.
#[derive(Debug)]
pub struct OpenSegment {
    base: u64,
    map: GrowingMap,
    moved: Option<Arc<Relocation>>,
    /// The map is a cache of articles in an object store.
    is_offloaded: bool,
    used: u64,
}

/// Why a record was not found.
pub enum Missing {
    /// Its space was given back: zeros are there.
    Gone,
    /// Its space was given back: a hole is there.
    Hole,
    /// Its checksum is wrong.
    Damaged(u64),
    /// The disk cannot read it.
    Unreadable(u64),
}

impl OpenSegments {
    /// Copies the record of the article at a position into a buffer; its checksum is right.
    ///
    /// # Errors
    /// As [`OpenSegments::read`].
    pub fn copy(
        &mut self,
        log: &LogView,
        position: Position,
        copy: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.read(log, position, |segment| segment.copy(position, copy))
    }

    /// As [`OpenSegments::copy`], of the history line in the record alone; it is fetched from the object store only if `may_fetch`.
    ///
    /// # Errors
    /// As [`OpenSegments::copy`]; [`Error::Offloaded`].
    pub fn copy_line(
        &mut self,
        log: &LogView,
        (position, may_fetch): (Position, bool),
        copy: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let read = |segment: &OpenSegment| segment.copy_line(position, copy);
        self.read_or_fetch(log, (position, may_fetch), read)
    }

    /// Reads the record of the article at a position; tries it twice.
    ///
    /// # Errors
    /// [`Error::NoArticle`] where it is gone, [`Error::Damaged`], or the segment cannot be read.
    pub fn read(
        &mut self,
        log: &LogView,
        position: Position,
        read: impl FnMut(&OpenSegment) -> Result<(), Missing>,
    ) -> Result<(), Error> {
        self.read_or_fetch(log, (position, log.segments.may_fetch()), read)
    }

    fn read_or_fetch(
        &mut self,
        log: &LogView,
        at: (Position, bool),
        read: impl FnMut(&OpenSegment) -> Result<(), Missing>,
    ) -> Result<(), Error> {
        match self.read_there(log, at, read) {
            Err(Error::NoArticle(position)) => Err(log.why_gone(position)),
            done => done,
        }
    }

    fn read_there(
        &mut self,
        log: &LogView,
        (position, may_fetch): (Position, bool),
        mut read: impl FnMut(&OpenSegment) -> Result<(), Missing>,
    ) -> Result<(), Error> {
        let base = log.base_of(position)?;
        let path = || log.segments.path(base, SegmentFile::Art);
        if self.is_known_unreadable(position) {
            return Err(Error::unreadable(&path(), position.0 - base));
        }
        let mut is_retry = false;
        let mut fetches = 0;
        loop {
            let known_at = match self.place_of(log, base)? {
                Some(place) => place,
                None => self.open(log, base, position)?,
            };
            let known = self.open.get(known_at).ok_or(Error::NoArticle(position))?;
            let Err(missing) = read(known) else {
                return Ok(());
            };
            if known.is_offloaded && !matches!(missing, Missing::Hole) && fetches < FETCHES_MAX {
                let offset = position.0 - base;
                let place = place_in_file(known.moved.as_deref(), offset);
                let place = place.map_err(|missing| missing.error(&path(), position))?;
                if !may_fetch {
                    return Err(Error::Offloaded(position));
                }
                // The file may be another one afterwards.
                self.open.remove(known_at);
                let files = (&log.segments, &log.tables);
                fetch::bring(files, base, (position, place))?;
                fetches += 1;
                continue;
            }
            if known.is_offloaded && matches!(missing, Missing::Gone) {
                // It was fetched each time, so it is not gone.
                let source = io::Error::other(CACHE_IS_EMPTIED);
                return Err(Error::io("read an article of", &path(), source));
            }
            if is_retry {
                if matches!(missing, Missing::Unreadable(_)) {
                    self.note_unreadable(position);
                }
                return Err(missing.error(&path(), position));
            }
            // Expire may have given its space back, or written the segment anew, since this was mapped; or the disk can read
            // it at the second attempt.
            self.open.remove(known_at);
            is_retry = true;
        }
    }

    fn is_known_unreadable(&mut self, position: Position) -> bool {
        if self.unreadable.is_empty() {
            return false;
        }
        self.unreadable
            .retain(|(_, tried)| tried.elapsed() < UNREADABLE_RETRY);
        self.unreadable.iter().any(|(known, _)| *known == position)
    }

    fn note_unreadable(&mut self, position: Position) {
        if self.unreadable.len() >= UNREADABLE_KEPT {
            self.unreadable.remove(0);
        }
        self.unreadable.push((position, Instant::now()));
    }

    /// The place of a mapped segment.
    fn place_of(&mut self, log: &LogView, base: u64) -> Result<Option<usize>, Error> {
        let Ok(place) = self.open.binary_search_by_key(&base, |known| known.base) else {
            return Ok(None);
        };
        self.clock += 1;
        if let Some(known) = self.open.get_mut(place) {
            known.used = self.clock;
            if let Some(end) = log.art_end(base) {
                let grown = known.map.grow_to(end);
                let path = || log.segments.path(base, SegmentFile::Art);
                grown.map_err(|source| Error::io("map", &path(), source))?;
            }
        }
        Ok(Some(place))
    }

    /// Maps a segment, in the place of the one that was not used for longest.
    fn open(&mut self, log: &LogView, base: u64, position: Position) -> Result<usize, Error> {
        let from = (&log.segments, &*log.tables);
        let mut opened = OpenSegment::open(from, (base, log.art_end(base)), position)?;
        if self.open.len() >= SEGMENTS_MAPPED {
            let oldest = (0..).zip(&self.open).min_by_key(|(_, known)| known.used);
            if let Some(place) = oldest.map(|(place, _)| place) {
                self.open.remove(place);
            }
        }
        self.clock += 1;
        opened.used = self.clock;
        let place = self.open.partition_point(|known| known.base < base);
        self.open.insert(place, opened);
        Ok(place)
    }
}

impl OpenSegment {
    /// Maps the articles of the segment at `base`, up to the `end` that is published if it is the current one.
    ///
    /// # Errors
    /// [`Error::NoArticle`] for the position that is looked for where the segment is gone; or it cannot be read.
    pub fn open(
        from: (&Segments, &Tables),
        (base, end): (u64, Option<u64>),
        position: Position,
    ) -> Result<OpenSegment, Error> {
        let path = from.0.path(base, SegmentFile::Art);
        let at = |source| Error::io("read", &path, source);
        let (file, moved) = open_art(from, base, position)?;
        let length = file.length().map_err(at)?;
        let is_offloaded = file.is_offloaded();
        let map = match end.filter(|end| length >= *end) {
            Some(end) => GrowingMap::append(file, end),
            None => GrowingMap::whole(&*file, length),
        };
        Ok(OpenSegment {
            base,
            map: map.map_err(at)?,
            moved,
            is_offloaded,
            used: 0,
        })
    }

    /// A record as it lies in the map, and its place in the file. Its checksum may be wrong.
    fn lying(&self, position: Position) -> Result<(Option<Record<'_>>, &[u8], u64), Missing> {
        let offset = position.0.saturating_sub(self.base);
        let place = place_in_file(self.moved.as_deref(), offset)?;
        let bytes = self.map.bytes().get(place as usize..).unwrap_or_default();
        let head = Head::parse(bytes);
        if head.is_some_and(|head| head.kind == Kind::Hole) {
            return Err(Missing::Hole);
        }
        let length = head.map_or(HEADER_BYTES, |head| head.covered());
        let bytes = bytes.get(..length).unwrap_or_default();
        Ok((
            head.and_then(|head| Record::with_head(head, bytes)),
            bytes,
            place,
        ))
    }

    /// Lets `convert` read a record as it lies in the map, and checks it afterwards. After an error the result is worthless.
    pub fn convert(
        &self,
        position: Position,
        convert: impl FnOnce(&Record<'_>),
    ) -> Result<(), Missing> {
        let (record, bytes, place) = self.lying(position)?;
        // In a cache zeros become bytes, and bytes stay: what is right before the conversion was right in it.
        let is_there =
            |record: &Record<'_>| !self.is_offloaded || Record::check(record.head, bytes).is_some();
        if let Some(record) = record.filter(is_there) {
            fence(Ordering::SeqCst);
            convert(&record);
            // Orders the reads of the conversion before those of the check.
            fence(Ordering::SeqCst);
            if Record::check(record.head, bytes).is_some() {
                return Ok(());
            }
        }
        Err(Missing::reason(bytes, bytes, place))
    }

    /// Copies a record; the checksum of the copy is right.
    pub fn copy(&self, position: Position, copy: &mut Vec<u8>) -> Result<(), Missing> {
        let (_, bytes, place) = self.lying(position)?;
        copy.clear();
        copy.shrink_to(COPY_BYTES_KEPT);
        copy.extend_from_slice(bytes);
        match Record::parse(copy) {
            Some(_) => Ok(()),
            None => Err(Missing::reason(bytes, copy, place)),
        }
    }

    /// Copies the history line of an article's record. The checksum covers the whole record, which is not read: the line names its
    /// position instead.
    fn copy_line(&self, position: Position, copy: &mut Vec<u8>) -> Result<(), Missing> {
        let offset = position.0.saturating_sub(self.base);
        let place = place_in_file(self.moved.as_deref(), offset)?;
        let bytes = self.map.bytes().get(place as usize..).unwrap_or_default();
        let head = Head::parse(bytes);
        if head.is_some_and(|head| head.kind == Kind::Hole) {
            return Err(Missing::Hole);
        }
        let length = head.map_or(0, |head| head.line_length as usize);
        let bytes = bytes.get(..HEADER_BYTES + length).unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(bytes.get(HEADER_BYTES..).unwrap_or_default());
        match HistoryLine::parse(copy) {
            Some(line) if line.position == Some(position) && copy.ends_with(b"\n") => Ok(()),
            _ => Err(Missing::reason(bytes, bytes, place)),
        }
    }
}

/// Copies one record into a buffer; its segment is mapped for that alone. `None`: the article is gone.
///
/// # Errors
/// As [`OpenSegments::copy`].
pub fn read_record<'b>(
    segments: &Segments,
    base: u64,
    position: Position,
    buffer: &'b mut Vec<u8>,
) -> Result<Option<Record<'b>>, Error> {
    let opened = OpenSegment::open((segments, &Tables::default()), (base, None), position);
    let copied = opened.and_then(|opened| {
        let path = segments.path(base, SegmentFile::Art);
        let copied = opened.copy(position, buffer);
        copied.map_err(|missing| missing.error(&path, position))
    });
    copied_record(copied, buffer)
}

/// The record that was copied into a buffer. `None`: the article is gone.
pub fn copied_record(
    copied: Result<(), Error>,
    buffer: &[u8],
) -> Result<Option<Record<'_>>, Error> {
    match copied {
        Ok(()) => Ok(Record::trust(buffer)),
        Err(Error::NoArticle(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Missing {
    /// The reason that a record which lies at `place` in its file is not right: `bytes` of its map, and what was read there.
    pub fn reason(bytes: &[u8], read: &[u8], place: u64) -> Missing {
        if map::is_unreadable(bytes) {
            return Missing::Unreadable(place);
        }
        match is_punched(read, place) {
            true => Missing::Gone,
            false => Missing::Damaged(place),
        }
    }

    /// The error about a record of this file.
    pub fn error(self, path: &Path, position: Position) -> Error {
        match self {
            Missing::Gone | Missing::Hole => Error::NoArticle(position),
            Missing::Unreadable(offset) => Error::unreadable(path, offset),
            Missing::Damaged(offset) => Error::Damaged {
                path: path.to_owned(),
                offset,
                what: "the checksum of the article is wrong",
            },
        }
    }
}

/// The articles of a segment, and the table of their places in the file.
pub type Opened = (Box<dyn File>, Option<Arc<Relocation>>);

/// Opens the articles of a segment.
///
/// # Errors
/// As [`OpenSegment::open`].
pub fn open_art(
    (segments, tables): (&Segments, &Tables),
    base: u64,
    position: Position,
) -> Result<Opened, Error> {
    let path = segments.path(base, SegmentFile::Art);
    let file = match segments.open(base, SegmentFile::Art, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::NoArticle(position));
        }
        opened => opened.map_err(|source| Error::io("read", &path, source))?,
    };
    let moved = tables.of_file(&*file, &path)?;
    Ok((file, moved))
}

/// The place of a record in the file.
pub fn place_in_file(moved: Option<&Relocation>, offset: u64) -> Result<u64, Missing> {
    match moved {
        Some(moved) => moved.in_file(offset).ok_or(Missing::Gone),
        None => Ok(offset),
    }
}

/// True when a record that cannot be read, from that place in its file on, has lost whole blocks: expire gave them back, which a
/// reader that looked before does not know yet.
fn is_punched(bytes: &[u8], place: u64) -> bool {
    let to_block = BLOCK_BYTES - place as usize % BLOCK_BYTES;
    let (first, rest) = bytes.split_at_checked(to_block).unwrap_or((bytes, b""));
    let mut parts = std::iter::once(first).chain(rest.chunks(BLOCK_BYTES));
    parts.any(|part| part.iter().all(|&b| b == 0))
}
