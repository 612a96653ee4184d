//! The Cancel-Locks of a segment whose articles are in an object store (`.clk`): the writer decides about cancels by them, and so neither waits
//! for the store nor decides otherwise than where the articles are on the disk. Byte picture in docs/formats/offload.md.

use std::io;

use article::{Article, Form};

use crate::io::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::io::disk::{File, Open};
use crate::log::record::Kind;
use crate::log::segments::{SegmentFile, Segments};
use crate::{Error, Position};

/// Longest Cancel-Lock header that may let a cancel through, bytes.
pub const CANCEL_LOCK_BYTES_MAX: usize = 8192;

const MAGIC: &[u8; 8] = b"BSclocks";
const HEADER_BYTES: usize = 24;
const ROW_BYTES: usize = 24;
/// Bytes of locks that are written at once.
const PIECE_BYTES: usize = 256 << 10;

/// The Cancel-Lock header of an article, among those that count; empty without one.
pub fn of_article(wire: &[u8]) -> &[u8] {
    let article = Article::parse(wire, Form::Wire);
    let lock = article.find(b"Cancel-Lock").unwrap_or_default();
    match lock.len() <= CANCEL_LOCK_BYTES_MAX {
        true => lock,
        false => b"",
    }
}

/// Where a lock is in the file.
struct Row {
    /// Of the article, within the segment.
    position: u64,
    at: u64,
    length: u32,
    sum: u32,
}

impl Row {
    fn to_bytes(&self) -> [u8; ROW_BYTES] {
        let mut bytes = [0; ROW_BYTES];
        put_u64(&mut bytes, 0, self.position);
        put_u64(&mut bytes, 8, self.at);
        put_u32(&mut bytes, 16, self.length);
        put_u32(&mut bytes, 20, self.sum);
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Row> {
        Some(Row {
            position: u64_at(bytes, 0)?,
            at: u64_at(bytes, 8)?,
            length: u32_at(bytes, 16)?,
            sum: u32_at(bytes, 20)?,
        })
    }
}

/// Writes the file of a segment anew, from its articles, wherever these are. The caller syncs the folder.
///
/// # Errors
/// The articles cannot be read, or the file cannot be written.
pub fn write(segments: &Segments, base: u64) -> Result<(), Error> {
    let mut failed = None;
    let written = segments.replace(base, SegmentFile::Clk, |file| {
        let mut rows = Vec::new();
        let mut piece = Vec::new();
        let mut at = HEADER_BYTES as u64;
        let mut done = Ok(());
        let walked = segments.each_record(base, |position, record| {
            if record.head.kind != Kind::Article || done.is_err() {
                return;
            }
            let lock = of_article(record.wire_article());
            if lock.is_empty() {
                return;
            }
            let row = Row {
                position,
                at: at + piece.len() as u64,
                length: lock.len() as u32,
                sum: crc32c::crc32c(lock),
            };
            rows.extend_from_slice(&row.to_bytes());
            piece.extend_from_slice(lock);
            if piece.len() >= PIECE_BYTES {
                done = file.write_at(&piece, at);
                at += piece.len() as u64;
                piece.clear();
            }
        });
        if let Err(error) = walked {
            failed = Some(error);
            return Err(io::ErrorKind::Other.into());
        }
        done?;
        file.write_at(&piece, at)?;
        at += piece.len() as u64;
        file.write_at(&rows, at)?;
        let mut header = [0; HEADER_BYTES];
        if let Some(place) = header.get_mut(..8) {
            place.copy_from_slice(MAGIC);
        }
        put_u64(&mut header, 8, at);
        put_u32(&mut header, 16, (rows.len() / ROW_BYTES) as u32);
        let sum = sum_of(&header, &rows);
        put_u32(&mut header, 20, sum);
        file.write_at(&header, 0)
    });
    match failed {
        Some(error) => Err(error),
        None => written,
    }
}

/// Whether a segment has the file.
pub fn is_there(segments: &Segments, base: u64) -> bool {
    segments.open(base, SegmentFile::Clk, Open::Read).is_ok()
}

/// The Cancel-Lock of the article at a position; empty without one.
///
/// # Errors
/// [`Error::Damaged`] if the file of the segment is missing or damaged; the file cannot be read.
pub fn find(segments: &Segments, base: u64, position: Position) -> Result<Vec<u8>, Error> {
    let path = segments.path(base, SegmentFile::Clk);
    let damaged = |what| Error::Damaged {
        path: path.clone(),
        offset: 0,
        what,
    };
    let file = match segments.open(base, SegmentFile::Clk, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(damaged(
                "it is missing (run `broadsheet fsck --repair` to make it again)",
            ));
        }
        opened => opened.map_err(|source| Error::io("read", &path, source))?,
    };
    let found = look(&*file, position.0.saturating_sub(base));
    let found = found.map_err(|source| Error::io("read", &path, source))?;
    found.ok_or_else(|| {
        damaged("its checksum is wrong (run `broadsheet fsck --repair` to make it again)")
    })
}

/// The fault of the file of a segment, for fsck; `None`: it is whole.
///
/// # Errors
/// It cannot be read.
pub fn fault(segments: &Segments, base: u64) -> Result<Option<&'static str>, Error> {
    let path = segments.path(base, SegmentFile::Clk);
    let file = match segments.open(base, SegmentFile::Clk, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some("it is missing")),
        opened => opened.map_err(|source| Error::io("read", &path, source))?,
    };
    let whole = || {
        let Some(rows) = rows(&*file)? else {
            return Ok(false);
        };
        for row in rows.as_chunks::<ROW_BYTES>().0 {
            if Row::parse(row)
                .map(|row| lock(&*file, &row))
                .transpose()?
                .flatten()
                .is_none()
            {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let is_whole = whole().map_err(|source| Error::io("read", &path, source))?;
    Ok((!is_whole).then_some("its checksum is wrong"))
}

/// The lock of the article at a position within the segment. `None`: the file is damaged.
fn look(file: &dyn File, position: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(rows) = rows(file)? else {
        return Ok(None);
    };
    let (rows, _) = rows.as_chunks::<ROW_BYTES>();
    let place = rows.binary_search_by_key(&Some(position), |row| u64_at(row, 0));
    let row = place.ok().and_then(|place| Row::parse(rows.get(place)?));
    match row {
        Some(row) => lock(file, &row),
        None => Ok(Some(Vec::new())),
    }
}

/// The rows. `None`: they are damaged.
fn rows(file: &dyn File) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; HEADER_BYTES];
    let length = file.length()?;
    file.read_at(&mut header, 0)?;
    let (Some(MAGIC), Some(at), Some(count), Some(sum)) = (
        header.first_chunk::<8>(),
        u64_at(&header, 8),
        u32_at(&header, 16),
        u32_at(&header, 20),
    ) else {
        return Ok(None);
    };
    let bytes = u64::from(count) * ROW_BYTES as u64;
    if at.checked_add(bytes) != Some(length) {
        return Ok(None);
    }
    let mut rows = vec![0; bytes as usize];
    let got = file.read_at(&mut rows, at)?;
    Ok((got == rows.len() && sum_of(&header, &rows) == sum).then_some(rows))
}

/// The lock of a row. `None`: it is damaged.
fn lock(file: &dyn File, row: &Row) -> io::Result<Option<Vec<u8>>> {
    if row.length as usize > CANCEL_LOCK_BYTES_MAX {
        return Ok(None);
    }
    let mut lock = vec![0; row.length as usize];
    let got = file.read_at(&mut lock, row.at)?;
    Ok((got == lock.len() && crc32c::crc32c(&lock) == row.sum).then_some(lock))
}

/// The checksum of the header, without itself, and of the rows.
fn sum_of(header: &[u8; HEADER_BYTES], rows: &[u8]) -> u32 {
    let sum = crc32c::crc32c(header.get(..20).unwrap_or_default());
    crc32c::crc32c_append(sum, rows)
}
