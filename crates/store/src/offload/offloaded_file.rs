//! The `.art` of a segment whose articles are in an object store, read from there: for those who read one from its beginning to its end. They
//! leave nothing in the cache.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::io::disk::{BLOCK_BYTES, File, MapRef, MapWords, Open};
use crate::log::segment::SegmentHeader;
use crate::log::segments::{SegmentFile, Segments};
use crate::offload::cache;
use crate::offload::object_name::ObjectName;
use crate::offload::objects::{self, ObjectStore};

/// Bytes that are read from the object store at once: 4 MiB.
const WINDOW_BYTES: u64 = 4 << 20;

/// The part of a segment's file that is always on this machine, at its beginning: the block with its header.
pub const HEAD_BYTES: u64 = BLOCK_BYTES as u64;

/// The file itself, or what reads its bytes from the object store if they are there.
pub fn over(file: Box<dyn File>, segments: &Segments, base: u64) -> Box<dyn File> {
    // A damaged header is reported by those who read it.
    let header = SegmentHeader::read(&*file, Path::new("")).ok();
    let Some((header, sum)) = header.and_then(|header| Some((header, header.object?))) else {
        return file;
    };
    Box::new(OffloadedFile {
        file,
        name: ObjectName { base, sum },
        tail: header.moved_at,
        segments: segments.clone(),
        state: Mutex::default(),
    })
}

#[derive(Debug)]
struct OffloadedFile {
    /// The local file.
    file: Box<dyn File>,
    name: ObjectName,
    /// From here on the bytes are on this machine, too: the table of a repacked segment. 0: none.
    tail: u64,
    segments: Segments,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    store: Option<Arc<ObjectStore>>,
    /// The file that has the same bytes, if the articles came back meanwhile.
    back: Option<Box<dyn File>>,
    window: Vec<u8>,
    start: u64,
}

impl OffloadedFile {
    /// The bytes of the file that are in the object store alone.
    fn away(&self) -> io::Result<Range<u64>> {
        let length = self.file.length()?;
        let end = if self.tail == 0 { length } else { self.tail };
        Ok(HEAD_BYTES.min(end)..end)
    }

    /// The file of the segment, if its articles came back since this one was opened, and lie in it as in the object.
    fn brought_back(&self) -> io::Result<Option<Box<dyn File>>> {
        let path = self.segments.path(self.name.base, SegmentFile::Art);
        let file = match self.segments.disk().open(&path, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let header = SegmentHeader::read(&*file, &path).map_err(io::Error::other)?;
        let is_same = header.object.is_none()
            && header.moved_at == self.tail
            && file.length()? == self.file.length()?;
        Ok(is_same.then_some(file))
    }

    /// Reads some bytes that are in the object store; fewer than asked for at the end of the window.
    fn read_away(&self, buffer: &mut [u8], offset: u64, end: u64) -> io::Result<usize> {
        if !self.segments.may_fetch() {
            return Err(io::Error::other("the articles are in the object store"));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(back) = &state.back {
            return back.read_at(buffer, offset);
        }
        let store = match &state.store {
            Some(store) => store.clone(),
            None => objects::of(self.segments.directory()).map_err(io::Error::other)?,
        };
        state.store = Some(store.clone());
        let has = state.start..state.start + state.window.len() as u64;
        if !has.contains(&offset) {
            let bytes = WINDOW_BYTES.max(buffer.len() as u64).min(end - offset);
            let mut window = std::mem::take(&mut state.window);
            window.resize(bytes as usize, 0);
            match store.read_if_up(self.name, offset, &mut window) {
                Err(error) if cache::is_lost(&error) => {
                    let back = self.brought_back()?;
                    let back = back
                        .ok_or_else(|| io::Error::other(cache::lost(&self.segments, self.name)))?;
                    let got = back.read_at(buffer, offset);
                    state.back = Some(back);
                    return got;
                }
                read => read
                    .map_err(objects::at("read", self.name))
                    .map_err(io::Error::other)?,
            }
            state.window = window;
            state.start = offset;
        }
        let from = (offset - state.start) as usize;
        let there = state.window.get(from..).unwrap_or_default();
        let length = there.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), there.get(..length)) {
            to.copy_from_slice(from);
        }
        Ok(length)
    }
}

impl File for OffloadedFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let away = self.away()?;
        let mut total = 0;
        while !buffer.is_empty() {
            let got = if away.contains(&offset) {
                let length = buffer.len().min((away.end - offset) as usize);
                let piece = buffer.get_mut(..length).unwrap_or_default();
                self.read_away(piece, offset, away.end)?
            } else {
                let here = match offset < away.start {
                    true => (away.start - offset) as usize,
                    false => buffer.len(),
                };
                let length = buffer.len().min(here);
                let piece = buffer.get_mut(..length).unwrap_or_default();
                self.file.read_at(piece, offset)?
            };
            if got == 0 {
                break;
            }
            total += got;
            offset += got as u64;
            buffer = buffer.get_mut(got..).unwrap_or_default();
        }
        Ok(total)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_length(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn holes_return_space(&self) -> bool {
        // The bytes that are away were never written here: nothing holds their space.
        true
    }

    fn allocated(&self) -> io::Result<u64> {
        self.file.allocated()
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn map(&self, length: u64) -> io::Result<MapRef> {
        self.file.map(length)
    }

    fn map_words(&self, length: u64) -> io::Result<MapWords> {
        self.file.map_words(length)
    }

    fn into_descriptor(self: Box<Self>) -> Option<OwnedFd> {
        self.file.into_descriptor()
    }

    fn is_offloaded(&self) -> bool {
        true
    }

    fn was_unreadable(&self, bytes: Range<u64>) -> bool {
        self.file.was_unreadable(bytes)
    }

    fn identity(&self) -> io::Result<[u64; 3]> {
        self.file.identity()
    }
}
