//! Lending records of segments, for who reads many articles one after the other. Each is copied out of the map first, and the copy is
//! checked: expire may give space back at any moment, and what was right in the map may be zeros when it is used.

use std::sync::Arc;

use crate::disk::{MapRef, Open};
use crate::moved::Moved;
use crate::position::{View, segment_path};
use crate::reader::Reader;
use crate::record::{Head, Kind, Record};
use crate::{Error, Position};

/// Lends the records of a [`Reader`]'s articles. One segment is mapped at a time, so positions in order are cheap.
#[derive(Debug)]
pub struct Lender<'r> {
    reader: &'r Reader,
    open: Option<Shelf>,
    /// The record that is lent.
    copy: Vec<u8>,
}

/// A buffer that one large article made larger than this is given back: 1 MiB.
const COPY_BYTES_KEPT: usize = 1 << 20;

/// A mapped segment.
#[derive(Debug)]
struct Shelf {
    base: u64,
    map: MapRef,
    moved: Option<Arc<Moved>>,
}

/// Why a record was not found at the first attempt.
enum Missing {
    Gone,
    Damaged(u64),
}

impl Reader {
    /// Lends the records of articles, one at a time.
    pub fn lender(&self) -> Lender<'_> {
        Lender {
            reader: self,
            open: None,
            copy: Vec::new(),
        }
    }
}

impl Lender<'_> {
    /// The record of the article at a position, its checksum found right.
    ///
    /// # Errors
    /// [`Error::NoArticle`] where it is gone, [`Error::Damaged`], or the segment cannot be read.
    pub fn record(&mut self, position: Position) -> Result<Record<'_>, Error> {
        let bases = &self.reader.bases;
        let place = bases.partition_point(|&base| base <= position.0);
        let base = place.checked_sub(1).and_then(|place| bases.get(place));
        let base = *base.ok_or(Error::NoArticle(position))?;
        if self.open.as_ref().is_none_or(|shelf| shelf.base != base) {
            self.open = None;
            self.open = Some(self.shelf(base, position)?);
        }
        let mut place = self.place(position);
        if place.is_err() {
            // Expire may have given its space back, or written the segment anew, since this was mapped.
            self.open = Some(self.shelf(base, position)?);
            place = self.place(position);
        }
        place.map_err(|missing| match missing {
            Missing::Gone => Error::NoArticle(position),
            Missing::Damaged(offset) => Error::Damaged {
                path: segment_path(&self.reader.segments, base, View::Art),
                offset,
                what: "the checksum of the article is wrong",
            },
        })?;
        Record::trust(&self.copy).ok_or(Error::NoArticle(position))
    }

    fn place(&mut self, position: Position) -> Result<(), Missing> {
        let shelf = self.open.as_ref().ok_or(Missing::Gone)?;
        self.copy.clear();
        self.copy.shrink_to(COPY_BYTES_KEPT);
        shelf.copy(position, &mut self.copy)
    }

    fn shelf(&self, base: u64, position: Position) -> Result<Shelf, Error> {
        let path = segment_path(&self.reader.segments, base, View::Art);
        let at = |source| Error::io("read", &path, source);
        let file = match self.reader.disk.open(&path, Open::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::NoArticle(position));
            }
            opened => opened.map_err(at)?,
        };
        let moved = self.reader.tables.of_file(&*file, &path)?;
        let mut length = file.length().map_err(at)?;
        if base == self.reader.mark.base {
            length = length.min(self.reader.mark.art_end);
        }
        let map = file.map(length).map_err(at)?;
        Ok(Shelf { base, map, moved })
    }
}

impl Shelf {
    /// Copies the record; the checksum of the copy was found right.
    fn copy(&self, position: Position, copy: &mut Vec<u8>) -> Result<(), Missing> {
        let offset = position.0.saturating_sub(self.base);
        let place = match &self.moved {
            Some(moved) => moved.in_file(offset).ok_or(Missing::Gone)?,
            None => offset,
        };
        let bytes = self.map.bytes().get(place as usize..).unwrap_or_default();
        let damaged = Missing::Damaged(place);
        let Some(head) = Head::parse(bytes) else {
            let is_empty = bytes
                .iter()
                .take(crate::record::HEADER_BYTES)
                .all(|&b| b == 0);
            return Err(if is_empty { Missing::Gone } else { damaged });
        };
        if head.kind == Kind::Hole {
            return Err(Missing::Gone);
        }
        copy.extend_from_slice(bytes.get(..head.covered()).unwrap_or_default());
        match Record::parse(copy) {
            Some(_) => Ok(()),
            None => Err(damaged),
        }
    }
}
