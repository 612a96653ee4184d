//! Giving back the space of what has expired, off the lock: segments in which nothing is alive are removed. May be killed
//! at any moment; the next run finishes.

use std::path::Path;
use std::sync::Arc;

use crate::disk::{Disk, Open, RealDisk};
use crate::position::{View, segment_path};
use crate::segment::list_views;
use crate::spool::{Options, Spool};
use crate::{Error, Reader};

/// What was given back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Segments removed.
    pub segments: u64,
    /// Bytes of their articles.
    pub bytes: u64,
}

/// Removes the segments in which no article is left, oldest or not; and their history when all its ids may be forgotten.
/// One run at a time (`lock.expire`).
pub fn reclaim(dir: &Path, options: Options) -> Result<Reclaimed, Error> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let reader = Reader::open_on(disk.clone(), dir)?;
    let segments = dir.join("segments");
    let (_, sealed) = reader.segments().split_last().unwrap_or((&0, &[]));
    let mut dead = Vec::new();
    for &base in sealed {
        if is_dead(&reader, base)? {
            dead.push(base);
        }
    }
    let mut told = Reclaimed::default();
    if !dead.is_empty() {
        let mut spool = Spool::open_on(disk.clone(), dir, options)?;
        if !spool.let_go(&dead)? {
            return Ok(told);
        }
    }
    for base in dead {
        let art = segment_path(&segments, base, View::Art);
        told.segments += 1;
        told.bytes += disk
            .open(&art, Open::Read)
            .and_then(|file| file.length())
            .unwrap_or(0);
        // First its rows, none of which is to be seen any more: an empty file tells readers and fsck the same.
        let ovr = segment_path(&segments, base, View::Ovr);
        empty(&*disk, &ovr).map_err(|source| Error::io("empty", &ovr, source))?;
        disk.remove(&art)
            .map_err(|source| Error::io("remove", &art, source))?;
    }
    sweep(&*disk, &reader, &segments)?;
    Ok(told)
}

/// Puts an empty file in place of one that readers may have mapped.
fn empty(disk: &dyn Disk, path: &Path) -> std::io::Result<()> {
    let fresh = path.with_extension("ovr.new");
    disk.open(&fresh, Open::Truncate)?;
    disk.rename(&fresh, path)
}

/// True when nothing of a sealed segment is kept. Looks no further than the first article that is.
fn is_dead(reader: &Reader, base: u64) -> Result<bool, Error> {
    let survey = reader.survey(base)?;
    let expired = reader.expired();
    let kept = survey.groups().any(|rows| {
        let cut = expired.cut(rows.name);
        let (first, last) = (rows.number_at(0), rows.last_number());
        let survives = expired
            .survivors(rows.name)
            .any(|number| (first..=last).contains(&number));
        survives
            || rows
                .range(cut, last)
                .any(|row| expired.keeps(rows.name, row.number))
    });
    Ok(!kept)
}

/// Removes what is left of segments whose articles are gone.
fn sweep(disk: &dyn Disk, reader: &Reader, segments: &Path) -> Result<(), Error> {
    let whole = list_views(disk, segments, &[View::Art])?;
    let newest = reader.segments().last().copied().unwrap_or(0);
    for base in list_views(disk, segments, &[View::Ovr, View::Exp, View::His])? {
        if base >= newest || whole.contains(&base) {
            continue;
        }
        for view in [View::Ovr, View::Exp] {
            let path = segment_path(segments, base, view);
            if disk.open(&path, Open::Read).is_ok() {
                disk.remove(&path)
                    .map_err(|source| Error::io("remove", &path, source))?;
            }
        }
        let path = segment_path(segments, base, View::His);
        if reader.forgets_all(&path)? {
            disk.remove(&path)
                .map_err(|source| Error::io("remove", &path, source))?;
        }
    }
    Ok(())
}
