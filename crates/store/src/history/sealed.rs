//! The history of sealed segments, mapped when first asked for.

use std::sync::OnceLock;

use crate::Error;
use crate::history::compacted::History;
use crate::io::map::MapRef;
use crate::log::segments::{SegmentFile, Segments};
use crate::progress::Work;

/// The history files of all segments but the current one. Nothing is opened or listed before it is needed.
#[derive(Debug)]
pub struct SealedHistory {
    segments: Segments,
    current: u64,
    bases: OnceLock<Vec<(u64, OnceLock<Mapped>)>>,
}

/// The history of one segment.
#[derive(Debug)]
struct Mapped {
    map: MapRef,
    /// It is thinned, or its first byte cannot be read.
    has_table: bool,
}

impl SealedHistory {
    /// The sealed segments below `current`.
    pub fn new(segments: &Segments, current: u64) -> SealedHistory {
        SealedHistory {
            segments: segments.clone(),
            current,
            bases: OnceLock::new(),
        }
    }

    /// Segments were sealed since: those below `current` are. What is mapped stays mapped.
    pub fn advance(&mut self, current: u64) -> Result<(), Error> {
        let mut fresh = SealedHistory::new(&self.segments, current);
        if let Some(known) = self.bases.get_mut() {
            fresh.bases()?;
            let mut mapped = known.drain(..).peekable();
            for (base, cell) in fresh.bases.get_mut().into_iter().flatten() {
                while mapped.next_if(|(known, _)| *known < *base).is_some() {}
                if let Some((_, map)) = mapped.next_if(|(known, _)| *known == *base) {
                    *cell = map;
                }
            }
        }
        *self = fresh;
        Ok(())
    }

    /// Segments whose history is kept, ascending.
    pub fn histories(&self) -> Result<impl DoubleEndedIterator<Item = u64>, Error> {
        Ok(self.bases()?.iter().map(|(base, _)| *base))
    }

    /// The history of one of them.
    pub fn history(&self, base: u64) -> Result<Option<History<'_>>, Error> {
        let bases = self.bases()?;
        let place = bases.binary_search_by_key(&base, |(base, _)| *base);
        let Some((base, cell)) = place.ok().and_then(|place| bases.get(place)) else {
            return Ok(None);
        };
        self.mapped(*base, cell)
            .map(|mapped| Some(History::of_map(&mapped.map)))
    }

    fn mapped<'o>(&self, base: u64, cell: &'o OnceLock<Mapped>) -> Result<&'o Mapped, Error> {
        if let Some(mapped) = cell.get() {
            return Ok(mapped);
        }
        let map = self.segments.map_derived(base, SegmentFile::His)?;
        let has_table = matches!(map.bytes().first(), Some(b'\t' | 0));
        Ok(cell.get_or_init(|| Mapped { map, has_table }))
    }

    fn bases(&self) -> Result<&[(u64, OnceLock<Mapped>)], Error> {
        if let Some(bases) = self.bases.get() {
            return Ok(bases);
        }
        // A lost `.his` of a segment that has its articles is told when it is opened.
        let listed = self
            .segments
            .bases_with(&[SegmentFile::His, SegmentFile::Art])?;
        let bases = listed
            .into_iter()
            .filter(|&base| base < self.current)
            .map(|base| (base, OnceLock::new()))
            .collect();
        Ok(self.bases.get_or_init(|| bases))
    }

    /// The lowest base there is when the segments were listed already: addresses below it are stale. Else 0, so
    /// that nothing counts as stale.
    pub fn oldest_if_known(&self) -> u64 {
        self.bases.get().map_or(0, |bases| {
            bases.first().map_or(self.current, |(base, _)| *base)
        })
    }

    /// The error about a line that the disk cannot read, of a sealed segment or the current one.
    pub fn unreadable_line(&self, address: u64) -> Error {
        let bases = self.bases.get().map_or(&[][..], Vec::as_slice);
        let after = bases.partition_point(|(base, _)| *base <= address);
        let sealed = after.checked_sub(1).and_then(|place| bases.get(place));
        let base = match sealed {
            _ if address >= self.current => self.current,
            Some((base, _)) => *base,
            None => address,
        };
        Error::unreadable(&self.segments.path(base, SegmentFile::His), address - base)
    }

    /// The text of the history line at an address of a sealed segment, to the end of its file.
    /// `None`: stale, the segment is gone.
    pub fn text_at(&self, address: u64) -> Result<Option<&[u8]>, Error> {
        let bases = self.bases()?;
        let after = bases.partition_point(|(base, _)| *base <= address);
        let Some((base, cell)) = after.checked_sub(1).and_then(|place| bases.get(place)) else {
            return Ok(None);
        };
        let Mapped { map, has_table } = self.mapped(*base, cell)?;
        let history = History::of_map(map);
        if let Some(offset) = map.unreadable_from()
            && *has_table
        {
            // Perhaps a part of its table: then nothing is where it seems to be.
            return Err(Error::Damaged {
                path: self.segments.path(*base, SegmentFile::His),
                offset,
                what: "the disk cannot read a part of it, and its table may be that",
            });
        }
        Ok(history.text_at(address - base))
    }

    /// Every history line of the sealed segments with its address, oldest first.
    pub fn each_line(
        &self,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let bases = self.bases()?;
        let bytes =
            |(base, _): &(u64, _)| self.segments.length(*base, SegmentFile::His).unwrap_or(0);
        let mut work = Work::begin("reading the history", || bases.iter().map(bytes).sum());
        for (base, _) in bases {
            let map = self.segments.map_derived(*base, SegmentFile::His)?;
            for (offset, line) in History::of_map(&map).lines() {
                each(base + offset, line)?;
                work.advance(line.len() as u64 + 1);
            }
            if let Some(offset) = map.unreadable_from() {
                let path = self.segments.path(*base, SegmentFile::His);
                return Err(Error::unreadable(&path, offset));
            }
        }
        Ok(())
    }
}
