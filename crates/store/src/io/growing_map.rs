//! A derived file of a segment, mapped for a long time: those of the current segment grow while they are mapped.

use std::io;
use std::sync::Arc;

use crate::io::disk::File;
use crate::io::map::MapRef;

/// Length mapped beyond the file's end, bytes: addresses only, no memory. Only published bytes are accessed, so that no
/// page beyond the end ever is.
const ROOM_BYTES: u64 = 64 << 20;

/// A mapped file.
#[derive(Debug, Default, Clone)]
pub struct GrowingMap {
    map: Arc<MapRef>,
    /// The published length.
    end: u64,
    /// The file and the mapped length, if it still grows. The file stays open, because another may get its name.
    append: Option<(Arc<dyn File>, u64)>,
}

impl GrowingMap {
    /// A map of a file that no longer changes, up to `length`.
    pub fn whole(file: &dyn File, length: u64) -> io::Result<GrowingMap> {
        Ok(GrowingMap {
            map: Arc::new(file.map(length)?),
            end: length,
            append: None,
        })
    }

    /// A map of a growing file with this published length.
    pub fn append(file: Box<dyn File>, end: u64) -> io::Result<GrowingMap> {
        let room = room(end);
        Ok(GrowingMap {
            map: Arc::new(file.map(room)?),
            end,
            append: Some((file.into(), room)),
        })
    }

    /// Extends the published length. Maps the file again if the mapped length is used up; users of the old map keep it.
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

    /// The published bytes.
    pub fn bytes(&self) -> &[u8] {
        self.map
            .bytes()
            .get(..self.end as usize)
            .unwrap_or_default()
    }

    /// The map, for other owners: it may be longer than [`GrowingMap::bytes`], and must not be accessed there.
    pub fn map(&self) -> &Arc<MapRef> {
        &self.map
    }
}

fn room(end: u64) -> u64 {
    end.saturating_mul(2).saturating_add(ROOM_BYTES)
}
