//! Repacks a sealed segment: rewrites it without its dead records. Positions stay valid through a table at
//! the end of the file ([`crate::log::relocation`]).

use std::path::Path;

use crate::Error;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::io::append_file::AppendFile;
use crate::io::disk::{BLOCK_BYTES, Disk, Open};
use crate::io::replace::fresh_path;
use crate::log::art::Art;
use crate::log::pending::{Pending, SPILL_BYTES};
use crate::log::record::{self, Commit, Kind, Record};
use crate::log::relocation::Relocation;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};

/// Rewrites the `.art` of a sealed segment without dead records, and replaces the old file. `dead` has the
/// positions of the dead articles by their history lines, ascending; the line in each record, which has a checksum, is checked
/// again before the record is left out. `None` checks all records.
///
/// # Errors
/// A damaged segment stays unchanged, because the data in its gaps would be lost. After any error the old file is still there.
pub fn repack(
    segments: &Segments,
    base: u64,
    alive: Visibility<'_>,
    dead: Option<&[u64]>,
) -> Result<(), Error> {
    let disk = &**segments.disk();
    let path = segments.path(base, SegmentFile::Art);
    let fresh = fresh_path(&path);
    let done = write(disk, &path, &fresh, alive, dead).and_then(|()| {
        // After a power cut either file is correct; the caller syncs the directory.
        disk.rename(&fresh, &path)
            .map_err(|source| Error::io("put in place", &path, source))
    });
    if done.is_err() {
        // The disk may be full because of it. The next run of expire removes a remaining file.
        let _ = disk.remove(&fresh);
    }
    done
}

fn write(
    disk: &dyn Disk,
    path: &Path,
    fresh: &Path,
    alive: Visibility<'_>,
    dead: Option<&[u64]>,
) -> Result<(), Error> {
    let at = |source| Error::io("read", path, source);
    let old = disk.open(path, Open::Read).map_err(at)?;
    let header = SegmentHeader::read(&*old, path)?;
    let mut walk = Walk::new(&*old, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
    let mut art = Art {
        append: AppendFile::open(disk, fresh.to_owned(), Open::Truncate, 0)?,
        header,
        pending: Pending::default(),
    };
    art.pending.restart(0);
    art.pending.out().extend_from_slice(&header.to_bytes());
    let mut moved = Relocation::default();
    // The header is written again at the end, as part of a whole block, which need not be read for that.
    let mut first = Vec::new();
    let mut dead = dead.map(|dead| dead.iter().copied().peekable());
    while let Some(step) = walk.next().map_err(at)? {
        match step {
            Step::Gap { empty: true, .. } => {}
            Step::Gap { from, .. } => {
                return Err(Error::Damaged {
                    path: path.to_owned(),
                    offset: from,
                    what: "it cannot be repacked",
                });
            }
            Step::Record(position, record) => {
                let is_asked = dead.as_mut().is_none_or(|dead| {
                    while dead.next_if(|dead| *dead < position).is_some() {}
                    record.head.kind != Kind::Article || dead.peek() == Some(&position)
                });
                if is_asked && is_gone(&record, alive) {
                    continue;
                }
                moved.note(position, art.next(), record.bytes().len() as u64);
                art.pending.out().extend_from_slice(record.bytes());
                if art.pending.len() >= SPILL_BYTES {
                    keep_first_block(&mut first, &art.pending);
                    art.spill(true)?;
                }
            }
        }
    }
    let moved_at = art.next();
    // It belongs to no commit.
    let commit = Commit {
        commit_sequence: 0,
        start: art.pending.commit_start(),
    };
    record::push_text(
        art.pending.out(),
        Kind::Relocation,
        commit,
        &moved.to_bytes(),
    );
    keep_first_block(&mut first, &art.pending);
    art.write_pending(true, 0)?;
    let header = SegmentHeader { moved_at, ..header }.to_bytes();
    first.splice(..header.len().min(first.len()), header);
    art.append
        .file
        .write_at(&first, 0)
        .map_err(|source| Error::io("write", fresh, source))?;
    art.append.sync()
}

/// Keeps what the file begins with, if this is it.
fn keep_first_block(first: &mut Vec<u8>, pending: &Pending) {
    if first.is_empty() {
        let bytes = pending.bytes();
        first.extend_from_slice(bytes.get(..BLOCK_BYTES).unwrap_or(bytes));
    }
}

/// Whether a record is not needed any more: a dead article, or padding.
pub fn is_gone(record: &Record<'_>, alive: Visibility<'_>) -> bool {
    match record.head.kind {
        Kind::Article => HistoryLine::parse(record.line()).is_some_and(|line| alive.is_dead(&line)),
        Kind::Pad | Kind::Hole | Kind::Relocation => true,
        Kind::Seen
        | Kind::Cancel
        | Kind::Group
        | Kind::LowMarks
        | Kind::Active
        | Kind::PendingCancel
        | Kind::Serials
        | Kind::Descriptions
        | Kind::Creations => false,
    }
}
