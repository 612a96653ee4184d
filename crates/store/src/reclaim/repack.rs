//! Repacks a sealed segment: rewrites it without its dead records. Positions stay valid through a table at
//! the end of the file ([`crate::log::relocation`]).
//!
//! What stays is copied in long ranges, whose records are not checked: a damaged one stays as it is. Only what is left out is checked first. A second
//! thread writes one piece while the first one fills the next.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::Error;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::io::append_file::AppendFile;
use crate::io::disk::{BLOCK_BYTES, Disk, File, Open};
use crate::io::once::ReadOnce;
use crate::io::replace::fresh_path;
use crate::log::record::{self, Commit, Head, Kind, Record};
use crate::log::relocation::Relocation;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};

/// Size of one write, bytes.
const PIECE_BYTES: usize = 1 << 20;
/// Most bytes of whole records that are copied at once.
const RANGE_BYTES: u64 = 256 << 10;
/// Pieces in memory: one is filled while the other is written.
const PIECES: usize = 2;

/// Rewrites the `.art` of a sealed segment without dead records, and replaces the old file. `dead` has the ranges of the file in which dead articles
/// lie, ascending; the line in each record there, which has a checksum, is checked again before the record is left out. `None` checks all
/// records. The copy is written into a new file ([`Open::Truncate`]), or over the one that is there ([`Open::Write`]).
///
/// # Errors
/// A segment that is damaged between dead records stays unchanged, because the data in its gaps would be lost. After any error the old file is still
/// there.
pub fn repack(
    segments: &Segments,
    base: u64,
    alive: Visibility<'_>,
    dead: Option<&[(u64, u64)]>,
    how: Open,
) -> Result<(), Error> {
    let disk = &**segments.disk();
    let path = segments.path(base, SegmentFile::Art);
    let fresh = fresh_path(&path);
    let done = write(disk, &path, (&fresh, how), alive, dead).and_then(|()| {
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
    (fresh, how): (&Path, Open),
    alive: Visibility<'_>,
    dead: Option<&[(u64, u64)]>,
) -> Result<(), Error> {
    let at = |source| Error::io("read", path, source);
    let old = disk.open(path, Open::Read).map_err(at)?;
    let header = SegmentHeader::read(&*old, path)?;
    let old = ReadOnce::new(&*old).map_err(at)?;
    let append = AppendFile::open(disk, fresh.to_owned(), how, 0)?;
    let (full, pieces) = sync_channel::<Piece>(1);
    let (used, free) = sync_channel(PIECES);
    for _ in 0..PIECES {
        // There is room for all.
        let _ = used.send(Piece::new());
    }
    let append = &append;
    std::thread::scope(|threads| {
        let writer = threads.spawn(move || {
            for piece in pieces {
                append.write_behind(piece.bytes(), piece.offset, true)?;
                // Nobody waits for it after the last one.
                let _ = used.send(piece);
            }
            Ok(())
        });
        let made = Copy::new(&old, path, (full, free), header).and_then(|mut copy| {
            copy.all(alive, dead)?;
            copy.finish()
        });
        let written = writer.join().unwrap_or(Err(Error::Stopped));
        // If writing failed, copying ended because of that.
        written?;
        let (mut first, moved_at, end) = made?;
        let header = SegmentHeader { moved_at, ..header }.to_bytes();
        first.splice(..header.len().min(first.len()), header);
        append
            .file
            .write_at(&first, 0)
            .and_then(|()| match how.empties() {
                true => Ok(()),
                false => append.file.set_length(end),
            })
            .map_err(|source| Error::io("write", fresh, source))?;
        append.sync()
    })
}

/// A piece of the new file.
struct Piece {
    /// Longer than what is used of it, so that no read needs fresh zeros.
    buffer: Vec<u8>,
    /// What is used of it. An address and its offset in the file agree in their lower 12 bits, for writes past the page cache.
    lead: usize,
    end: usize,
    /// Where it begins in the new file.
    offset: u64,
}

impl Piece {
    fn new() -> Piece {
        Piece {
            buffer: vec![0; PIECE_BYTES + RANGE_BYTES as usize + BLOCK_BYTES],
            lead: 0,
            end: 0,
            offset: 0,
        }
    }

    fn restart(&mut self, offset: u64) {
        let wanted = (offset % BLOCK_BYTES as u64) as usize;
        let have = self.buffer.as_ptr() as usize % BLOCK_BYTES;
        self.lead = (wanted + BLOCK_BYTES - have) % BLOCK_BYTES;
        self.end = self.lead;
        self.offset = offset;
    }

    fn bytes(&self) -> &[u8] {
        self.buffer.get(self.lead..self.end).unwrap_or_default()
    }

    /// The offset in the new file of the next byte.
    fn next(&self) -> u64 {
        self.offset + (self.end - self.lead) as u64
    }

    /// The next bytes, unused as yet.
    fn room(&mut self, length: usize) -> &mut [u8] {
        let end = self.end + length;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        self.buffer.get_mut(self.end..end).unwrap_or_default()
    }

    fn push(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
        self.end += bytes.len();
    }
}

/// The copy of a segment in the making.
struct Copy<'f> {
    old: &'f dyn File,
    path: &'f Path,
    /// The table of the old file, if it was repacked before.
    table: Option<Relocation>,
    /// Where the records of the old file end.
    end: u64,
    moved: Relocation,
    /// What is not written yet.
    piece: Piece,
    /// What the copy begins with: the header is written again at the end, as part of a whole block, which need not be read for that.
    first: Vec<u8>,
    full: SyncSender<Piece>,
    free: Receiver<Piece>,
}

/// What lies at a place of the old file.
enum Found {
    /// So many bytes of whole records that stay; they are in the piece now.
    Whole(u64),
    /// One record, of so many bytes, that is padding, or too large for one read.
    Single(u64),
    /// Something else.
    Unknown,
}

impl<'f> Copy<'f> {
    fn new(
        old: &'f dyn File,
        path: &'f Path,
        (full, free): (SyncSender<Piece>, Receiver<Piece>),
        header: SegmentHeader,
    ) -> Result<Copy<'f>, Error> {
        let at = |source| Error::io("read", path, source);
        let (table, end) = match header.moved_at {
            0 => (None, old.length().map_err(at)?),
            moved_at => (Relocation::read(old, moved_at).map_err(at)?, moved_at),
        };
        let mut piece = free.recv().map_err(|_| Error::Stopped)?;
        piece.restart(0);
        piece.push(&header.to_bytes());
        Ok(Copy {
            old,
            path,
            table,
            end,
            moved: Relocation::default(),
            piece,
            first: Vec::new(),
            full,
            free,
        })
    }

    fn all(&mut self, alive: Visibility<'_>, dead: Option<&[(u64, u64)]>) -> Result<(), Error> {
        let Some(dead) = dead else {
            let walk = Walk::new(self.old, SEGMENT_HEADER_BYTES, u64::MAX);
            return self.checked(walk, alive, |position| position);
        };
        let mut from = SEGMENT_HEADER_BYTES;
        for &(start, end) in dead {
            self.range(from, start, alive)?;
            from = from.max(start);
            self.checked_range(from, end, alive)?;
            from = from.max(end);
        }
        self.range(from, self.end, alive)
    }

    /// Copies a range of records without dead articles.
    fn range(&mut self, from: u64, to: u64, alive: Visibility<'_>) -> Result<(), Error> {
        let mut at = from;
        while at < to {
            let end = match self.read(at, to)? {
                Found::Whole(bytes) => {
                    self.note(at, bytes);
                    self.send_if_full()?;
                    at += bytes;
                    continue;
                }
                Found::Single(bytes) => to.min(at + bytes),
                Found::Unknown => to,
            };
            self.checked_range(at, end, alive)?;
            at = end;
        }
        Ok(())
    }

    /// Reads as many whole records of a range as one read gets.
    fn read(&mut self, at: u64, to: u64) -> Result<Found, Error> {
        let room = self.piece.room((to - at).min(RANGE_BYTES) as usize);
        let got = self.old.read_at(room, at);
        let got = got.map_err(|source| Error::io("read", self.path, source))?;
        let bytes = room.get(..got).unwrap_or_default();
        let mut whole = 0;
        let mut next = None;
        while let Some(rest) = bytes.get(whole..) {
            next = Head::parse(rest);
            let stays = |head: &Head| {
                let is_padding = matches!(head.kind, Kind::Hole | Kind::Pad | Kind::Relocation);
                !is_padding && head.length as usize <= rest.len()
            };
            match next.as_ref().filter(|head| stays(head)) {
                Some(head) => whole += head.length as usize,
                None => break,
            }
        }
        self.piece.end += whole;
        Ok(match (whole, next) {
            (0, None) => Found::Unknown,
            (0, Some(head)) => Found::Single(u64::from(head.length)),
            (whole, _) => Found::Whole(whole as u64),
        })
    }

    /// Notes in the table where the last bytes of the piece come from.
    fn note(&mut self, at: u64, bytes: u64) {
        let file = self.piece.next() - bytes;
        let moved = &mut self.moved;
        match &self.table {
            None => moved.note(at, file, bytes),
            Some(table) => table.each_within((at, at + bytes), |position, place, bytes| {
                moved.note(position, file + (place - at), bytes);
            }),
        }
    }

    /// Copies the records of a range that stay.
    fn checked_range(&mut self, from: u64, to: u64, alive: Visibility<'_>) -> Result<(), Error> {
        if from >= to {
            return Ok(());
        }
        let table = self.table.take();
        let position = |at| table.as_ref().map_or(at, |table| table.position(at));
        let done = self.checked(Walk::as_it_lies(self.old, from, to), alive, position);
        self.table = table;
        done
    }

    fn checked(
        &mut self,
        walk: std::io::Result<Walk<'_>>,
        alive: Visibility<'_>,
        position: impl Fn(u64) -> u64,
    ) -> Result<(), Error> {
        let path = self.path;
        let at = |source| Error::io("read", path, source);
        let mut walk = walk.map_err(at)?;
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
                Step::Record(_, record) if is_gone(&record, alive) => {}
                Step::Record(place, record) => {
                    let bytes = record.bytes();
                    let file = self.piece.next();
                    self.moved.note(position(place), file, bytes.len() as u64);
                    self.piece.push(bytes);
                    self.send_if_full()?;
                }
            }
        }
        Ok(())
    }

    /// Passes whole blocks to the thread that writes.
    fn send_if_full(&mut self) -> Result<(), Error> {
        let length = self.piece.end - self.piece.lead;
        match length >= PIECE_BYTES {
            true => self.send(length - (self.piece.next() % BLOCK_BYTES as u64) as usize),
            false => Ok(()),
        }
    }

    /// Passes so many bytes of the piece to the thread that writes; the rest begins the next piece.
    fn send(&mut self, length: usize) -> Result<(), Error> {
        if self.first.is_empty() {
            let bytes = self.piece.bytes();
            let block = bytes.get(..BLOCK_BYTES).unwrap_or(bytes);
            self.first.extend_from_slice(block);
        }
        // The other thread ends early only with an error of its own.
        let mut next = self.free.recv().map_err(|_| Error::Stopped)?;
        next.restart(self.piece.offset + length as u64);
        next.push(self.piece.bytes().get(length..).unwrap_or_default());
        self.piece.end = self.piece.lead + length;
        let piece = std::mem::replace(&mut self.piece, next);
        let sent = self.full.send(piece);
        sent.map_err(|_| Error::Stopped)
    }

    /// Adds the table. Returns the first block, where the table lies, and where the file ends.
    fn finish(mut self) -> Result<(Vec<u8>, u64, u64), Error> {
        let moved_at = self.piece.next();
        // It belongs to no commit.
        let commit = Commit {
            commit_sequence: 0,
            start: 0,
        };
        let mut table = Vec::new();
        record::push_text(&mut table, Kind::Relocation, commit, &self.moved.to_bytes());
        self.piece.push(&table);
        // Whole blocks go past the page cache, the rest does not.
        let end = self.piece.next();
        let rest = (end % BLOCK_BYTES as u64) as usize;
        self.send((self.piece.end - self.piece.lead).saturating_sub(rest))?;
        self.send(self.piece.end - self.piece.lead)?;
        Ok((self.first, moved_at, end))
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
        | Kind::Creations
        | Kind::Applied => false,
    }
}
