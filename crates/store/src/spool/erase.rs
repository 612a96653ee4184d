//! Erases the bytes of removed articles on the disk, at once.
//!
//! The file `erasing` names the articles first; then the log removes them (from that commit on no reader sees them); then their records and
//! overview rows are overwritten, and the file goes. After an interruption or an error the next writer tries to finish: an article that the log
//! does not remove stays as it was.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::history::HistoryLine;
use crate::history::cancels::{RemovalNote, RemovedBy};
use crate::io::blocks::Blocks;
use crate::io::disk::{BLOCK_BYTES, Disk, File, Open};
use crate::io::replace::{read_whole, replace, sync_parent};
use crate::log::position::Position;
use crate::log::record::{ALIGN, HEADER_BYTES, Head, Kind, Record, hole};
use crate::log::relocation::Relocation;
use crate::log::segments::{SegmentFile, base_of};
use crate::offload;
use crate::overview::merge::merge_rows;
use crate::overview::{GroupRows, blocks};
use crate::spool::Spool;

/// The names of the articles that are being erased.
pub(crate) const ERASING: &str = "erasing";
/// Zeros written at a time, bytes.
const PIECE_BYTES: usize = 64 << 10;

/// The result of erasing an article.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Erased {
    /// Overwritten bytes of the record.
    pub bytes: u64,
    /// Removed overview rows.
    pub rows: u64,
    /// The disk itself was read afterwards, and had nothing but zeros. False where the file system may answer from its cache or its journal.
    pub is_verified: bool,
}

/// The record of an article to erase.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    position: Position,
    length: u64,
    id: Vec<u8>,
}

impl Target {
    fn parse(line: &[u8]) -> Option<Target> {
        let mut fields = line.splitn(3, |&byte| byte == b'\t');
        let position = Position(article::decimal::parse(fields.next()?)?);
        let length = article::decimal::parse(fields.next()?)?;
        let is_record = length >= HEADER_BYTES as u64
            && length.is_multiple_of(ALIGN as u64)
            && u32::try_from(length).is_ok();
        let id = fields.next()?.to_vec();
        is_record.then_some(Target {
            position,
            length,
            id,
        })
    }
}

impl Spool {
    /// Removes an article and erases its record and its overview rows from the disk, durably. The caller holds `lock.expire`: no segment
    /// is rewritten meanwhile. An article whose space was given back already is removed, and nothing is left to erase.
    ///
    /// # Errors
    /// Those of filing, and of reading and writing the segment. Each later writer then tries to finish the erasure.
    pub fn erase(
        &mut self,
        position: Position,
        id: &[u8],
        note: RemovalNote<'_>,
    ) -> Result<Erased, Error> {
        self.commit()?;
        if position.0 >= self.current_base() {
            // A recovery reads the current segment, and must not meet a record that is being overwritten.
            self.seal_for_reclaim(true)?;
        } else {
            // Nor may it make the history of an earlier segment anew, where the line of the article would be missing: its id would be forgotten.
            self.checkpoint_if_behind()?;
        }
        self.recall_to_erase(position)?;
        let mut buffer = Vec::new();
        let length = match self.record(position, &mut buffer) {
            Ok(record) => record.map(|record| u64::from(record.head.length)),
            // Damage is erased, too, if its header tells the length.
            Err(Error::Damaged { .. }) => {
                self.head_at(position)?.map(|head| u64::from(head.length))
            }
            Err(error) => return Err(error),
        };
        let note = RemovalNote {
            by: RemovedBy::Erasure,
            until: i64::MIN,
            ..note
        };
        let target = length.map(|length| Target {
            position,
            length,
            id: id.to_vec(),
        });
        if let Some(Target { length, .. }) = &target {
            // The file may name articles of earlier attempts.
            let mut text = read_whole(&*self.disk, &self.erasing())?.unwrap_or_default();
            text.extend_from_slice(format!("{}\t{length}\t", position.0).as_bytes());
            text.extend_from_slice(id);
            text.push(b'\n');
            replace(&*self.disk, &self.erasing(), |file| file.write_at(&text, 0))?;
        }
        self.remove(position, id, note)?;
        self.commit()?;
        let Some(target) = target else {
            // An earlier attempt may have erased the record, and not the rows.
            if erasing_positions(&*self.disk, &self.dir)?.contains(&position.0) {
                return self.finish_erasures();
            }
            return Ok(Erased::default());
        };
        let mut erased = Erased {
            is_verified: true,
            ..Erased::default()
        };
        self.erase_target(&target, &mut erased)?;
        self.publish_files();
        self.publish()?;
        // The errors of earlier attempts are not those of this article.
        self.try_to_finish_erasures();
        Ok(erased)
    }

    /// Brings the segment of an article back from the object store, and overwrites the article in the cache: both would keep its bytes. The caller holds
    /// `lock.expire`.
    fn recall_to_erase(&mut self, position: Position) -> Result<(), Error> {
        let Some(base) = base_of(&self.segments.bases()?, position.0) else {
            return Ok(());
        };
        let Some(header) = self.segments.header(base)? else {
            return Ok(());
        };
        // Also one that an earlier attempt could not delete.
        offload::delete_unnamed(&self.segments)?;
        if header.object.is_none() {
            return Ok(());
        }
        let path = self.segments.path(base, SegmentFile::Art);
        let at = |source| Error::io("erase an article in", &path, source);
        let cache = self
            .segments
            .open(base, SegmentFile::Art, Open::Write)
            .map_err(at)?;
        offload::recall(&self.segments, base, &header)?;
        let length = self.head_at(position)?.map_or(0, |head| head.length);
        let place = self.place_of(position)?.map_or(0, |(_, place)| place);
        // What others have mapped of it becomes zeros; they read the new file then.
        cache
            .write_at(&vec![0; length as usize], place)
            .map_err(at)?;
        cache.sync().map_err(at)
    }

    fn erasing(&self) -> PathBuf {
        self.dir.join(ERASING)
    }

    /// Tries to finish interrupted erasures. Reports in the notices what keeps one from its end: that must not keep articles from being filed.
    pub(crate) fn try_to_finish_erasures(&mut self) {
        if let Err(error) = self.finish_erasures() {
            self.notices.push(unfinished(&error).into());
        }
    }

    /// Erases the articles that `erasing` names and that the log removed. After an error the file stays.
    pub(crate) fn finish_erasures(&mut self) -> Result<Erased, Error> {
        let path = self.erasing();
        let Some(text) = read_whole(&*self.disk, &path)? else {
            return Ok(Erased::default());
        };
        let mut erased = Erased {
            is_verified: true,
            ..Erased::default()
        };
        let mut failed = Ok(());
        for (_, line) in crate::history::lines(&text) {
            let Some(target) = Target::parse(line) else {
                continue;
            };
            if self.cancelled().until(target.position) == Some(i64::MIN) {
                let done = self.erase_target(&target, &mut erased);
                failed = failed.and(done);
            }
        }
        failed?;
        self.disk
            .remove(&path)
            .map_err(|source| Error::io("remove", &path, source))?;
        sync_parent(&*self.disk, &path)?;
        self.publish_files();
        self.publish()?;
        Ok(erased)
    }

    fn erase_target(&self, target: &Target, erased: &mut Erased) -> Result<(), Error> {
        let (bytes, is_verified) = self.erase_record(target)?;
        erased.bytes += bytes;
        erased.is_verified &= is_verified;
        erased.rows += self.erase_rows(target)?;
        Ok(())
    }

    /// The segment of a position, and the place of the record in its file. `None`: it is gone.
    fn place_of(&self, position: Position) -> Result<Option<(u64, u64)>, Error> {
        let Some(base) = base_of(&self.segments.bases()?, position.0) else {
            return Ok(None);
        };
        let (file, header) = self.segments.open_art(base, Open::Read)?;
        let offset = position.0 - base;
        let path = self.segments.path(base, SegmentFile::Art);
        let at = |source| Error::io("read", &path, source);
        let place = match header.moved_at {
            0 => Some(offset).filter(|offset| *offset < file.length().unwrap_or(0)),
            moved_at => {
                let moved = Relocation::read(&*file, moved_at).map_err(at)?;
                let moved = moved.ok_or_else(|| Error::Damaged {
                    path: path.clone(),
                    offset: moved_at,
                    what: "the table that tells where its articles lie",
                })?;
                moved.in_file(offset)
            }
        };
        Ok(place.map(|place| (base, place)))
    }

    fn head_at(&self, position: Position) -> Result<Option<Head>, Error> {
        let Some((base, place)) = self.place_of(position)? else {
            return Ok(None);
        };
        let path = self.segments.path(base, SegmentFile::Art);
        let (file, _) = self.segments.open_art(base, Open::Read)?;
        let mut head = [0; HEADER_BYTES];
        file.read_at(&mut head, place)
            .map_err(|source| Error::io("read", &path, source))?;
        Ok(Head::parse(&head).filter(|head| head.kind == Kind::Article))
    }

    /// Overwrites a record with a hole of zeros. Returns its bytes, and whether the disk was read again.
    fn erase_record(&self, target: &Target) -> Result<(u64, bool), Error> {
        let Some((base, place)) = self.place_of(target.position)? else {
            return Ok((0, true));
        };
        let path = self.segments.path(base, SegmentFile::Art);
        let at = |source| Error::io("erase an article in", &path, source);
        let (file, header) = self.segments.open_art(base, Open::Write)?;
        if header.object.is_some() {
            return Err(Error::Damaged {
                path,
                offset: place,
                what: "it was moved to the object store before the article was erased: run `broadsheet article remove --erase' again",
            });
        }
        let mut head = [0; HEADER_BYTES];
        file.read_at(&mut head, place).map_err(at)?;
        // The record tells its length, or the hole that an interrupted erasure made: a wrong number must not erase the articles behind it.
        let bytes = match Head::parse(&head) {
            Some(head) if head.kind == Kind::Hole => target.length.min(u64::from(head.length)),
            Some(head) => u64::from(head.length),
            None => target.length,
        };
        let end = place.saturating_add(bytes);
        if end > file.length().map_err(at)? {
            return Ok((0, true));
        }
        let mut whole = vec![0; usize::try_from(bytes).unwrap_or(0)];
        let got = file.read_at(&mut whole, place).map_err(at)?;
        let is_other = Record::parse(whole.get(..got).unwrap_or_default()).is_some_and(|record| {
            let line = HistoryLine::parse(record.line());
            record.head.kind == Kind::Article
                && line.is_some_and(|line| line.position != Some(target.position))
        });
        if is_other {
            return Ok((0, true));
        }
        drop(whole);
        let length = u32::try_from(bytes).unwrap_or(u32::MAX);
        // First its header, durably: a walk never finds half an article.
        file.write_at(&hole(length), place).map_err(at)?;
        file.sync().map_err(at)?;
        let zeros = vec![0; PIECE_BYTES];
        let mut from = place.saturating_add(HEADER_BYTES as u64);
        while from < end {
            let piece = (end - from).min(PIECE_BYTES as u64) as usize;
            let piece = zeros.get(..piece).unwrap_or_default();
            file.write_at(piece, from).map_err(at)?;
            from += piece.len() as u64;
        }
        file.sync().map_err(at)?;
        let is_verified =
            is_zero(&*file, place.saturating_add(HEADER_BYTES as u64), end).map_err(at)?;
        match is_verified {
            Some(false) => Err(Error::Damaged {
                path,
                offset: place,
                what: "the disk still has other bytes than the zeros written over an erased article",
            }),
            verified => Ok((bytes, verified.is_some())),
        }
    }

    /// Removes the overview rows of an article, and overwrites them in the old file.
    fn erase_rows(&self, target: &Target) -> Result<u64, Error> {
        let Some(base) = base_of(&self.segments.bases()?, target.position.0) else {
            return Ok(0);
        };
        let line = self.find(&target.id)?;
        let Some(line) = line.filter(|line| line.position == Some(target.position)) else {
            return Ok(0);
        };
        let links: Vec<(&[u8], u64)> = line.links().collect();
        let path = self.segments.path(base, SegmentFile::Ovr);
        let at = |source| Error::io("erase overview rows in", &path, source);
        let old = self
            .segments
            .open(base, SegmentFile::Ovr, Open::Write)
            .map_err(at)?;
        let length = old.length().map_err(at)?;
        let map = old.map(length).map_err(at)?;
        let bytes = map.bytes();
        let (mut kept, mut erased) = (Vec::new(), Vec::new());
        let mut sound = 0;
        for block in blocks(bytes).take_while(|block| block.is_sound()) {
            sound += block.bytes.len() as u64;
            for rows in block.groups() {
                let is_erased = |number| links.contains(&(rows.name, number));
                erased.extend(places_of(bytes, &rows, is_erased));
                kept.extend(rows.runs(|number| !is_erased(number)));
            }
        }
        if sound != length {
            return Err(Error::Damaged {
                path,
                offset: sound,
                what: "its rows are not whole: run `broadsheet fsck --repair', which also finishes the erasure",
            });
        }
        if erased.is_empty() {
            return Ok(0);
        }
        self.segments.replace(base, SegmentFile::Ovr, |file| {
            merge_rows(kept, |at, piece| file.write_at(piece, at)).map(drop)
        })?;
        self.segments.sync()?;
        let count = erased.len() as u64;
        for (from, length) in erased {
            old.write_at(&vec![0; length], from).map_err(at)?;
        }
        old.sync().map_err(at)?;
        Ok(count)
    }
}

/// The positions of the articles whose erasure is not finished.
pub(crate) fn erasing_positions(disk: &dyn Disk, dir: &Path) -> Result<Vec<u64>, Error> {
    let text = read_whole(disk, &dir.join(ERASING))?.unwrap_or_default();
    let targets = crate::history::lines(&text).filter_map(|(_, line)| Target::parse(line));
    Ok(targets.map(|target| target.position.0).collect())
}

/// The notice about an erasure that cannot be finished.
pub(crate) fn unfinished(error: &Error) -> String {
    format!(
        "an article is removed, but not erased yet: {error}; each command that files tries again"
    )
}

/// The places of rows in a file: offset and length.
fn places_of(
    bytes: &[u8],
    rows: &GroupRows<'_>,
    is_wanted: impl Fn(u64) -> bool,
) -> Vec<(u64, usize)> {
    let wanted = (0..rows.len()).filter_map(|place| rows.row(place));
    let wanted = wanted.filter(|row| is_wanted(row.number));
    let place = |row: crate::overview::Row<'_>| {
        let offset = (row.text.as_ptr() as usize).saturating_sub(bytes.as_ptr() as usize);
        (offset as u64, row.text.len())
    };
    wanted.map(place).collect()
}

/// Whether the disk has only zeros from an offset to another. `None` where the disk itself cannot be read.
fn is_zero(file: &dyn File, from: u64, to: u64) -> std::io::Result<Option<bool>> {
    if !file.reads_disk() {
        return Ok(None);
    }
    let block = BLOCK_BYTES as u64;
    let mut blocks = Blocks::new(PIECE_BYTES.next_multiple_of(BLOCK_BYTES));
    let mut at = from - from % block;
    while at < to {
        // A read that fills nothing must not look like zeros.
        blocks.bytes_mut().fill(u8::MAX);
        let Some(got) = file.read_direct(blocks.bytes_mut(), at)? else {
            return Ok(None);
        };
        if got == 0 {
            return Ok(Some(false));
        }
        let end = at + got as u64;
        let (first, last) = (from.max(at) - at, to.min(end) - at);
        let piece = blocks.bytes().get(first as usize..last as usize);
        if piece.is_some_and(|piece| piece.iter().any(|&byte| byte != 0)) {
            return Ok(Some(false));
        }
        at = end;
    }
    Ok(Some(true))
}
