//! One view of a segment, mapped for long: the current segment's grow while they are mapped.

use std::io;
use std::sync::Arc;

use crate::io::disk::File;
use crate::io::map::MapRef;

/// Mapped ahead of what a view has, bytes: addresses only, no memory. Touched no further than what is published, so that no
/// page beyond the file's end ever is.
const ROOM_BYTES: u64 = 64 << 20;

/// A mapped view.
#[derive(Debug, Default, Clone)]
pub struct GrowingMap {
    map: Arc<MapRef>,
    /// How far it may be looked at.
    end: u64,
    /// The file, and how much is mapped, where it still grows. The file is kept, because another may take its name.
    append: Option<(Arc<dyn File>, u64)>,
}

impl GrowingMap {
    /// A view that does not change any more, as far as `length`.
    pub fn whole(file: &dyn File, length: u64) -> io::Result<GrowingMap> {
        Ok(GrowingMap {
            map: Arc::new(file.map(length)?),
            end: length,
            append: None,
        })
    }

    /// A view that grows, of which so much is published.
    pub fn append(file: Box<dyn File>, end: u64) -> io::Result<GrowingMap> {
        let room = room(end);
        Ok(GrowingMap {
            map: Arc::new(file.map(room)?),
            end,
            append: Some((file.into(), room)),
        })
    }

    /// More of it was published. Mapped anew when the room is used up; who holds the old map goes on with it.
    pub fn grow_to(&mut self, end: u64) -> io::Result<()> {
        let Some((file, mapped)) = self.append.as_mut().filter(|_| end > self.end) else {
            return Ok(());
        };
        if end > *mapped {
            let room = room(end);
            self.map = Arc::new(file.map(room)?);
            *mapped = room;
        }
        self.end = end;
        Ok(())
    }

    /// What is published of it.
    pub fn bytes(&self) -> &[u8] {
        self.map
            .bytes()
            .get(..self.end as usize)
            .unwrap_or_default()
    }

    /// The map, to be kept by others: it may reach further than [`GrowingMap::bytes`] and must not be touched there.
    pub fn map(&self) -> &Arc<MapRef> {
        &self.map
    }
}

fn room(end: u64) -> u64 {
    end.saturating_mul(2).saturating_add(ROOM_BYTES)
}
