//! Articles that the system sends from their file.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::io::disk::BLOCK_BYTES;
use crate::io::map::MapRef;
use crate::log::record::{HEADER_BYTES, Head, Kind, Record};
use crate::log::segments::SegmentFile;
use crate::read::log_view::LogView;
use crate::read::open_segments::{Missing, open_art, place_in_file};
use crate::{Error, Position};

/// An article in wire form as it lies in its file, to be sent by the system itself.
#[derive(Debug, Clone)]
pub struct Stretch {
    lying: Arc<RecordPlace>,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its length, bytes, terminator included.
    pub length: u64,
    /// Bytes of its header, blank line included.
    pub header_length: u64,
}

#[derive(Debug)]
struct RecordPlace {
    file: OwnedFd,
    map: MapRef,
    /// What tells whether it is there still, and the checksum of that.
    told: (Range<usize>, u32),
    head: (usize, Head),
}

impl Stretch {
    /// False when expire has given its space back: zeros may have been sent. To be asked before the last bytes go out; if it is
    /// false, the connection must end without them.
    pub fn is_still_there(&self) -> bool {
        let bytes = self.lying.map.bytes();
        let (at, head) = &self.lying.head;
        let (range, sum) = &self.lying.told;
        let told = bytes.get(range.clone()).unwrap_or_default();
        bytes.get(*at..).and_then(Head::parse) == Some(*head) && article::crc32c(told) == *sum
    }

    /// The article's bytes: they may become zeros at any moment.
    pub fn bytes(&self) -> &[u8] {
        let end = self.offset.saturating_add(self.length) as usize;
        let bytes = self.lying.map.bytes().get(self.offset as usize..end);
        bytes.unwrap_or_default()
    }
}

impl AsFd for Stretch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lying.file.as_fd()
    }
}

/// The article at a position, to be sent from its file; its checksum was found right. Some system calls each: for large ones.
///
/// # Errors
/// [`Error::NoArticle`] where it is gone, [`Error::Damaged`], or the segment cannot be read.
pub fn stretch(log: &LogView, position: Position) -> Result<Stretch, Error> {
    let base = log.base_of(position)?;
    let path = log.segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let (file, moved) = open_art((&log.segments, &log.tables), base, position)?;
    let mut length = file.length().map_err(at)?;
    if let Some(end) = log.art_end(base) {
        length = length.min(end);
    }
    let map = file.map(length).map_err(at)?;
    let gone = || Error::NoArticle(position);
    let place = place_in_file(moved.as_deref(), position.0 - base).map_err(|_| gone())? as usize;
    let bytes = map.bytes().get(place..).unwrap_or_default();
    let reason = |length: usize| {
        let bytes = bytes.get(..length).unwrap_or_default();
        Missing::reason(bytes, bytes, place as u64)
    };
    let head = Head::parse(bytes).filter(|head| head.kind == Kind::Article);
    let head = head.ok_or_else(|| match reason(HEADER_BYTES) {
        Missing::Unreadable(offset) => Error::unreadable(&path, offset),
        _ => gone(),
    })?;
    let record = Record::check(head, bytes);
    let record = record.ok_or_else(|| reason(head.covered()).error(&path, position))?;
    let end = place + record.bytes().len();
    if map.has_copies() {
        // The system would meet the bad sector beside the article.
        return Err(Error::unreadable(&path, place as u64));
    }
    let text = HEADER_BYTES + (head.line_length + head.sites_length) as usize;
    let range = telling(map.bytes(), (place, end));
    let sum = article::crc32c(map.bytes().get(range.clone()).unwrap_or_default());
    let unsupported = || at(io::ErrorKind::Unsupported.into());
    Ok(Stretch {
        lying: Arc::new(RecordPlace {
            file: file.into_descriptor().ok_or_else(unsupported)?,
            map,
            told: (range, sum),
            head: (place, head),
        }),
        offset: (place + text) as u64,
        length: u64::from(head.wire_length),
        header_length: u64::from(head.wire_header_length),
    })
}

/// The part of a record that tells whether its space was given back: that goes in whole blocks, all of a record at once, so the
/// last one does, unless it is empty anyway.
fn telling(bytes: &[u8], (start, end): (usize, usize)) -> Range<usize> {
    let last = end - end % BLOCK_BYTES;
    let block = last.saturating_sub(BLOCK_BYTES)..last;
    let is_inside = block.start >= (start + HEADER_BYTES).next_multiple_of(BLOCK_BYTES);
    let has_text = bytes
        .get(block.clone())
        .is_some_and(|block| block.iter().any(|&b| b != 0));
    match is_inside && has_text {
        true => block,
        false => start..end,
    }
}
