//! The position of a site in the log: `feeds/SITE/cursor`, two slots of text, of which the newer valid one counts.
//!
//! The slots are overwritten alternately, so a torn write leaves the other one. An older cursor is never wrong: later articles are sent
//! again, and the site refuses them as duplicates.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use article::decimal;
use store::Position;

use crate::error::Error;

/// The file's name in the site's directory.
pub const FILE: &str = "cursor";
/// Size of a slot, bytes.
const SLOT_BYTES: usize = 256;

/// The file with the position from which records name the site: a decimal number, and its checksum. The filer writes it; if it is missing,
/// unreadable or damaged, the subscription is evaluated for each article, which is slower with the same result.
pub const SELECTED: &str = "selected";

/// A position without a record.
pub(crate) const NOWHERE: Position = Position(u64::MAX);

const MAGIC: &[u8] = b"BScursor1";

/// The state of a site's delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// All articles before it are delivered, or need no delivery.
    pub position: Position,
    /// From this position on, records name the site if it gets the article. Stored in the file [`SELECTED`].
    pub selected_from: Position,
    /// The last article passed, and the commit sequence number of its record. Another record at that position means that the log lost its
    /// end.
    pub last: Option<(Position, u64)>,
    /// Number of delivered articles.
    pub sent: u64,
    /// Their size in native form, bytes.
    pub sent_bytes: u64,
    /// Number of articles that expired or were cancelled before delivery.
    pub skipped: u64,
    /// Time of the last delivery, seconds since 1970; 0 for never.
    pub sent_at: u64,
    /// Positions `from..to` behind the cursor whose articles are delivered as well: new articles do not wait for an older backlog.
    pub ahead: Option<(Position, Position)>,
}

impl Cursor {
    /// A cursor for a site without deliveries that the filer does not know.
    pub fn new(position: Position) -> Cursor {
        Cursor {
            position,
            selected_from: NOWHERE,
            last: None,
            sent: 0,
            sent_bytes: 0,
            skipped: 0,
            sent_at: 0,
            ahead: None,
        }
    }

    /// Whether the article at a position is delivered, or needs no delivery.
    pub fn has_passed(&self, position: Position) -> bool {
        let is_ahead = |(from, to)| (from..to).contains(&position);
        position < self.position || self.ahead.is_some_and(is_ahead)
    }

    /// Moves the position forward, and over what is delivered behind it.
    pub fn advance(&mut self, position: Position) {
        self.position = self.position.max(position);
        if let Some((from, to)) = self.ahead
            && self.position >= from
        {
            self.position = self.position.max(to);
            self.ahead = None;
        }
    }

    /// The cursor without what lies beyond the end of the log.
    pub fn within(self, end: Position) -> Cursor {
        let ahead = self.ahead.map(|(from, to)| (from, to.min(end)));
        Cursor {
            position: self.position.min(end),
            last: self.last.filter(|(last, _)| *last < end),
            ahead: ahead.filter(|(from, to)| from < to),
            ..self
        }
    }

    fn to_slot(self, sequence: u64) -> [u8; SLOT_BYTES] {
        let (last, commit_sequence) = self
            .last
            .map_or((0, 0), |(last, commit_sequence)| (last.0, commit_sequence));
        let (from, to) = self.ahead.unwrap_or((Position(0), Position(0)));
        let mut text = MAGIC.to_vec();
        for number in [
            sequence,
            self.position.0,
            last,
            commit_sequence,
            self.sent,
            self.sent_bytes,
            self.skipped,
            self.sent_at,
            from.0,
            to.0,
        ] {
            text.push(b' ');
            decimal::push(&mut text, number);
        }
        let sum = crc32c::crc32c(&text);
        text.push(b' ');
        decimal::push(&mut text, u64::from(sum));
        let mut slot = [b' '; SLOT_BYTES];
        // Eleven numbers of at most twenty digits: under 250 bytes.
        for (place, byte) in slot.iter_mut().zip(&text) {
            *place = *byte;
        }
        if let Some(last) = slot.last_mut() {
            *last = b'\n';
        }
        slot
    }

    fn of_slot(slot: &[u8]) -> Option<(u64, Cursor)> {
        let text = slot.trim_ascii_end();
        let at = memchr::memrchr(b' ', text)?;
        let (said, sum) = text.split_at_checked(at)?;
        if decimal::parse(sum.get(1..)?)? != u64::from(crc32c::crc32c(said)) {
            return None;
        }
        let mut words = said.split(|&byte| byte == b' ');
        if words.next()? != MAGIC {
            return None;
        }
        let mut number = || decimal::parse(words.next()?);
        let sequence = number()?;
        let position = Position(number()?);
        let (last, commit_sequence) = (number()?, number()?);
        let mut cursor = Cursor {
            position,
            selected_from: NOWHERE,
            last: (last > 0).then_some((Position(last), commit_sequence)),
            sent: number()?,
            sent_bytes: number()?,
            skipped: number()?,
            sent_at: number()?,
            ahead: None,
        };
        let range = (Position(number()?), Position(number()?));
        cursor.ahead = (range.0 < range.1).then_some(range);
        Some((sequence, cursor))
    }
}

/// The open file of a cursor.
#[derive(Debug)]
pub struct CursorFile {
    file: File,
    sequence: u64,
}

impl CursorFile {
    /// Reads the cursor in a site's directory; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Cursor`] if both slots are damaged.
    pub fn read(dir: &Path) -> Result<Option<Cursor>, Error> {
        Ok(CursorFile::open(dir, false)?.map(|(_, cursor)| cursor))
    }

    /// Opens the cursor in a site's directory for writing; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Cursor`] if both slots are damaged.
    pub fn open(dir: &Path, write: bool) -> Result<Option<(CursorFile, Cursor)>, Error> {
        let path = dir.join(FILE);
        let file =
            match store::regular::at_once(OpenOptions::new().read(true).write(write)).open(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                opened => opened.map_err(Error::io("open", &path))?,
            };
        let mut bytes = vec![0; 2 * SLOT_BYTES];
        let mut got = 0;
        while let Some(rest) = bytes.get_mut(got..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, got as u64) {
                Ok(0) => break,
                Ok(count) => got += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &path)(error)),
            }
        }
        let slots = bytes.chunks_exact(SLOT_BYTES).filter_map(Cursor::of_slot);
        let newest = slots.max_by_key(|(sequence, _)| *sequence);
        let (sequence, mut cursor) = newest.ok_or(Error::Cursor(path))?;
        cursor.selected_from = selected_from(dir);
        Ok(Some((CursorFile { file, sequence }, cursor)))
    }

    /// Creates the file with this cursor, durably.
    ///
    /// # Errors
    /// An I/O error.
    pub fn create(dir: &Path, cursor: Cursor) -> Result<(), Error> {
        store::replace(&store::disk::RealDisk, &dir.join(FILE), |file| {
            file.write_at(&both_slots(cursor), 0)
        })?;
        Ok(())
    }

    /// Creates the file unless it exists: false. The name is not synced: the caller does it once for many files.
    ///
    /// # Errors
    /// An I/O error.
    pub fn create_first(dir: &Path, cursor: Cursor) -> Result<bool, Error> {
        let path = dir.join(FILE);
        let fresh = dir.join(format!("{FILE}.{}", std::process::id()));
        let written = File::create(&fresh).and_then(|file| {
            file.write_all_at(&both_slots(cursor), 0)?;
            // A power cut leaves no name of a file without its content.
            file.sync_all()
        });
        // Another program may do the same: the first one counts.
        let linked = written.and_then(|()| std::fs::hard_link(&fresh, &path));
        let _ = std::fs::remove_file(&fresh);
        match linked {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true).map_err(Error::io("make", &path)),
        }
    }

    /// Writes the cursor. It survives a killed program, and, if `durable`, a power cut.
    ///
    /// # Errors
    /// An I/O error; the file then has the old or the new cursor.
    pub fn write(&mut self, cursor: Cursor, durable: bool) -> std::io::Result<()> {
        let sequence = self.sequence + 1;
        let place = (sequence % 2) * SLOT_BYTES as u64;
        self.file.write_all_at(&cursor.to_slot(sequence), place)?;
        self.sequence = sequence;
        if durable {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

/// Writes the position from which records name a site. Only the filer calls it, and syncs once for all sites.
///
/// # Errors
/// An I/O error.
pub fn select_from(dir: &Path, position: Position) -> Result<(), Error> {
    let path = dir.join(SELECTED);
    let fresh = dir.join(format!("{SELECTED}.new"));
    let number = position.0.to_string();
    let sum = crc32c::crc32c(number.as_bytes());
    std::fs::write(&fresh, format!("{number} {sum}\n")).map_err(Error::io("write", &fresh))?;
    std::fs::rename(&fresh, &path).map_err(Error::io("put in place", &path))
}

/// The position from which records name a site: [`NOWHERE`] before its enrolment.
pub(crate) fn selected_from(dir: &Path) -> Position {
    let told = store::regular::read(&dir.join(SELECTED)).ok();
    told.and_then(|text| parse_selected(&text))
        .unwrap_or(NOWHERE)
}

/// A smaller number than was written would leave out articles: records before it may not name the site.
fn parse_selected(text: &[u8]) -> Option<Position> {
    let line = text.strip_suffix(b"\n")?;
    let (number, sum) = line.split_at_checked(memchr::memchr(b' ', line)?)?;
    let is_right = decimal::parse(sum.get(1..)?)? == u64::from(crc32c::crc32c(number));
    decimal::parse(number).filter(|_| is_right).map(Position)
}

fn both_slots(cursor: Cursor) -> Vec<u8> {
    [cursor.to_slot(0), cursor.to_slot(1)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(position: u64) -> Cursor {
        Cursor {
            last: Some((Position(position - 8), u64::MAX)),
            sent: u64::MAX,
            sent_bytes: u64::MAX,
            skipped: u64::MAX,
            sent_at: u64::MAX,
            ahead: Some((Position(u64::MAX - 1), Position(u64::MAX))),
            ..Cursor::new(Position(position))
        }
    }

    #[test]
    fn a_cursor_moves() {
        let dir = tempfile::tempdir().unwrap();
        assert!(CursorFile::read(dir.path()).unwrap().is_none());
        CursorFile::create(dir.path(), at(4096)).unwrap();
        let (mut file, _) = CursorFile::open(dir.path(), true).unwrap().unwrap();
        for position in 4097..4110 {
            file.write(at(position), false).unwrap();
            assert_eq!(CursorFile::read(dir.path()).unwrap(), Some(at(position)));
        }
    }

    /// Every flip of one bit of a file, which is whole again afterwards.
    fn each_flip(path: &Path, mut check: impl FnMut(usize)) {
        let whole = std::fs::read(path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(path, &flipped).unwrap();
            check(bit);
        }
        std::fs::write(path, &whole).unwrap();
    }

    #[test]
    fn a_flipped_bit_moves_no_cursor_forward() {
        let dir = tempfile::tempdir().unwrap();
        CursorFile::create(dir.path(), at(4096)).unwrap();
        let (mut file, _) = CursorFile::open(dir.path(), true).unwrap().unwrap();
        file.write(at(5000), false).unwrap();
        each_flip(&dir.path().join(FILE), |bit| {
            let read = CursorFile::read(dir.path()).unwrap().unwrap();
            assert!(read == at(4096) || read == at(5000), "bit {bit}");
        });
        select_from(dir.path(), Position(272_836_304)).unwrap();
        assert_eq!(selected_from(dir.path()), Position(272_836_304));
        each_flip(&dir.path().join(SELECTED), |bit| {
            assert_eq!(selected_from(dir.path()), NOWHERE, "bit {bit}");
        });
    }

    #[test]
    fn a_torn_write_leaves_the_cursor_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        CursorFile::create(dir.path(), at(4096)).unwrap();
        let (mut file, _) = CursorFile::open(dir.path(), true).unwrap().unwrap();
        file.write(at(5000), false).unwrap();
        let before = std::fs::read(&path).unwrap();
        file.write(at(6001), false).unwrap();
        let after = std::fs::read(&path).unwrap();
        for torn in 0..before.len() {
            let mixed = [&after[..torn], &before[torn..]].concat();
            std::fs::write(&path, &mixed).unwrap();
            let read = CursorFile::read(dir.path()).unwrap().unwrap();
            assert!(read == at(5000) || read == at(6001), "torn at {torn}");
            // The next write continues from there.
            let (mut file, read) = CursorFile::open(dir.path(), true).unwrap().unwrap();
            let next = Cursor {
                position: Position(read.position.0 + 8),
                ..read
            };
            file.write(next, true).unwrap();
            assert_eq!(CursorFile::read(dir.path()).unwrap(), Some(next));
        }
    }

    #[test]
    fn what_is_delivered_ahead_is_stepped_over() {
        let mut cursor = Cursor {
            ahead: Some((Position(200), Position(300))),
            ..Cursor::new(Position(100))
        };
        let passed = [99, 100, 199, 200, 299, 300].map(|at| cursor.has_passed(Position(at)));
        assert_eq!(passed, [true, false, false, true, true, false]);
        cursor.advance(Position(150));
        assert_eq!(cursor.ahead, Some((Position(200), Position(300))));
        cursor.advance(Position(200));
        assert_eq!((cursor.position, cursor.ahead), (Position(300), None));
    }

    #[test]
    fn damage_of_both_slots_is_told() {
        let dir = tempfile::tempdir().unwrap();
        CursorFile::create(dir.path(), at(4096)).unwrap();
        let path = dir.path().join(FILE);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(CursorFile::read(dir.path()).unwrap(), Some(at(4096)));
        bytes[SLOT_BYTES + 20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(
            CursorFile::read(dir.path()),
            Err(Error::Cursor(_))
        ));
        std::fs::write(&path, b"").unwrap();
        assert!(matches!(
            CursorFile::read(dir.path()),
            Err(Error::Cursor(_))
        ));
    }
}
