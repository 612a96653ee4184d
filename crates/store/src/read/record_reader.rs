//! Reading records of segments. Each is copied out of the map first, and the copy is checked: expire may give space back at any
//! moment, and what was right in the map may be zeros when it is used.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::io::disk::{BLOCK_BYTES, File, Open};
use crate::io::growing_map::GrowingMap;
use crate::io::map::{self};
use crate::log::record::{HEADER_BYTES, Head, Kind, Record};
use crate::log::relocation::Relocation;
use crate::log::segments::{self, SegmentFile};
use crate::read::reader::Reader;
use crate::{Error, Position};

/// The articles of a [`Reader`], with the segments mapped that were used last.
#[derive(Debug)]
pub struct RecordReader {
    /// By base.
    open_segments: Vec<OpenSegment>,
    segments_open_max: usize,
    /// Counts what was asked for.
    clock: u64,
    /// The record that is lent.
    copy: Vec<u8>,
    /// Articles that the disk could not read, and when that was tried last.
    unreadable: Vec<(Position, Instant)>,
}

/// Articles that are known to be unreadable; beyond that the oldest is tried again.
pub const UNREADABLE_KEPT: usize = 256;
/// After so long the disk is asked again for an article that it could not read. It may take seconds to say no, and others wait.
const UNREADABLE_RETRY: Duration = Duration::from_secs(60);

/// A buffer that one large article made larger than this is given back: 1 MiB.
const COPY_BYTES_KEPT: usize = 1 << 20;

/// A mapped segment.
#[derive(Debug)]
struct OpenSegment {
    base: u64,
    live: GrowingMap,
    moved: Option<Arc<Relocation>>,
    used: u64,
}

/// Why a record was not found at the first attempt.
pub(super) enum Missing {
    GroupExpiry,
    Damaged(u64),
    Unreadable(u64),
}

impl RecordReader {
    /// Keeps at most so many segments mapped.
    pub fn new(segments_open_max: usize) -> RecordReader {
        RecordReader {
            open_segments: Vec::new(),
            segments_open_max,
            clock: 0,
            copy: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    /// Forgets everything: the files may be others.
    pub fn clear(&mut self) {
        self.open_segments.clear();
        self.unreadable.clear();
    }

    /// The record of the article at a position, its checksum found right.
    ///
    /// # Errors
    /// [`Error::NoArticle`] where it is gone, [`Error::Damaged`], or the segment cannot be read.
    pub fn record(&mut self, reader: &Reader, position: Position) -> Result<Record<'_>, Error> {
        let base = base_of(reader, position)?;
        let path = || reader.segments.path(base, SegmentFile::Art);
        if self.is_known_unreadable(position) {
            return Err(Error::unreadable(&path(), position.0 - base));
        }
        let mut place = match self.open_segment(reader, base)? {
            Some(place) => place,
            None => self.open(reader, base, position)?,
        };
        let mut taken = self.take(place, position);
        if taken.is_err() {
            // Expire may have given its space back, or written the segment anew, since this was mapped; or the disk can read
            // it at the second attempt.
            self.open_segments.remove(place);
            place = self.open(reader, base, position)?;
            taken = self.take(place, position);
        }
        taken.map_err(|missing| match missing {
            Missing::GroupExpiry => Error::NoArticle(position),
            Missing::Damaged(offset) => damaged(&path(), offset),
            Missing::Unreadable(offset) => {
                self.note_unreadable(position);
                Error::unreadable(&path(), offset)
            }
        })?;
        Record::trust(&self.copy).ok_or(Error::NoArticle(position))
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

    /// The record that was lent last; an empty one where none was.
    pub fn lent(&self) -> Record<'_> {
        Record::trust(&self.copy).unwrap_or_default()
    }

    fn take(&mut self, place: usize, position: Position) -> Result<(), Missing> {
        let open_segment = self.open_segments.get(place).ok_or(Missing::GroupExpiry)?;
        self.copy.clear();
        self.copy.shrink_to(COPY_BYTES_KEPT);
        open_segment.copy(position, &mut self.copy)
    }

    /// The place of a segment that is mapped.
    fn open_segment(&mut self, reader: &Reader, base: u64) -> Result<Option<usize>, Error> {
        let Ok(place) = self
            .open_segments
            .binary_search_by_key(&base, |open_segment| open_segment.base)
        else {
            return Ok(None);
        };
        self.clock += 1;
        if let Some(open_segment) = self.open_segments.get_mut(place) {
            open_segment.used = self.clock;
            if base == reader.mark.base {
                let grown = open_segment.live.grow_to(reader.mark.art_end);
                let path = || reader.segments.path(base, SegmentFile::Art);
                grown.map_err(|source| Error::io("map", &path(), source))?;
            }
        }
        Ok(Some(place))
    }

    /// Maps a segment, in the place of the one that was not used for longest.
    fn open(&mut self, reader: &Reader, base: u64, position: Position) -> Result<usize, Error> {
        let path = reader.segments.path(base, SegmentFile::Art);
        let at = |source| Error::io("read", &path, source);
        let (file, moved) = open_art(reader, base, position)?;
        let length = file.length().map_err(at)?;
        let is_growing = base == reader.mark.base && length >= reader.mark.art_end;
        let live = match is_growing {
            true => GrowingMap::append(file, reader.mark.art_end),
            false => GrowingMap::whole(&*file, length),
        };
        if self.open_segments.len() >= self.segments_open_max.max(1) {
            let oldest = (0..self.open_segments.len()).min_by_key(|place| {
                self.open_segments
                    .get(*place)
                    .map(|open_segment| open_segment.used)
            });
            oldest.map(|place| self.open_segments.remove(place));
        }
        self.clock += 1;
        let open_segment = OpenSegment {
            base,
            live: live.map_err(at)?,
            moved,
            used: self.clock,
        };
        let place = self
            .open_segments
            .partition_point(|open_segment| open_segment.base < base);
        self.open_segments.insert(place, open_segment);
        Ok(place)
    }
}

/// Where the segment of a position begins.
pub(super) fn base_of(reader: &Reader, position: Position) -> Result<u64, Error> {
    segments::base_of(&reader.bases, position.0).ok_or(Error::NoArticle(position))
}

/// The articles of a segment, and where in the file they lie.
pub(super) type Opened = (Box<dyn File>, Option<Arc<Relocation>>);

pub(super) fn open_art(reader: &Reader, base: u64, position: Position) -> Result<Opened, Error> {
    let path = reader.segments.path(base, SegmentFile::Art);
    let file = match reader.segments.open(base, SegmentFile::Art, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::NoArticle(position));
        }
        opened => opened.map_err(|source| Error::io("read", &path, source))?,
    };
    let moved = reader.tables.of_file(&*file, &path)?;
    Ok((file, moved))
}

pub(super) fn damaged(path: &Path, offset: u64) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        offset,
        what: "the checksum of the article is wrong",
    }
}

/// Where a record lies in the file.
pub(super) fn place_in_file(moved: Option<&Relocation>, offset: u64) -> Result<u64, Missing> {
    match moved {
        Some(moved) => moved.in_file(offset).ok_or(Missing::GroupExpiry),
        None => Ok(offset),
    }
}

impl OpenSegment {
    /// Copies the record; the checksum of the copy was found right.
    fn copy(&self, position: Position, copy: &mut Vec<u8>) -> Result<(), Missing> {
        let offset = position.0.saturating_sub(self.base);
        let place = place_in_file(self.moved.as_deref(), offset)?;
        let bytes = self.live.bytes().get(place as usize..).unwrap_or_default();
        let head = Head::parse(bytes);
        if head.is_some_and(|head| head.kind == Kind::Hole) {
            return Err(Missing::GroupExpiry);
        }
        let length = head.map_or(HEADER_BYTES, |head| head.covered());
        let bytes = bytes.get(..length).unwrap_or_default();
        copy.extend_from_slice(bytes);
        match Record::parse(copy) {
            Some(_) => Ok(()),
            None if map::is_unreadable(bytes) => Err(Missing::Unreadable(place)),
            None if is_punched(copy, place) => Err(Missing::GroupExpiry),
            None => Err(Missing::Damaged(place)),
        }
    }
}

/// True when a record that cannot be read, from that place in its file on, has lost whole blocks: expire gave them back, which a
/// reader that looked before does not know yet.
pub(super) fn is_punched(bytes: &[u8], place: u64) -> bool {
    let to_block = BLOCK_BYTES - place as usize % BLOCK_BYTES;
    let (first, rest) = bytes.split_at_checked(to_block).unwrap_or((bytes, b""));
    let mut parts = std::iter::once(first).chain(rest.chunks(BLOCK_BYTES));
    parts.any(|part| part.iter().all(|&b| b == 0))
}
