//! How far a site is: `feeds/SITE/cursor`, two slots of text of which the newer sound one counts.
//!
//! A slot is written in place and in turn, so a torn write leaves the other one. An older cursor is never wrong: what was
//! sent since goes out again and is refused as duplicate.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use article::decimal;
use store::Position;

use crate::error::Error;

/// The file's name in the site's directory.
pub const FILE: &str = "cursor";
/// Bytes of a slot.
pub const SLOT_BYTES: usize = 256;

/// The file that tells from where on records name the site: a decimal number. Written by who files; where it is missing or cannot
/// be read, the site's subscription is asked about every article, which takes longer and finds the same.
pub const SELECTED: &str = "selected";

/// No record lies there.
const NOWHERE: Position = Position(u64::MAX);

const MAGIC: &[u8] = b"BScursor1";

/// How far a site is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Everything before it has been sent, or need not be.
    pub position: Position,
    /// From here on records name the site if it gets the article; before, they may not have. Kept in a file of its own, [`SELECTED`].
    pub selected_from: Position,
    /// The last article passed, and the stamp of its record. Where the log has another one there, it lost its end.
    pub last: Option<(Position, u64)>,
    /// Articles sent.
    pub sent: u64,
    /// Their bytes, in native form.
    pub sent_bytes: u64,
    /// Articles that were gone before they could be sent: expired or cancelled.
    pub skipped: u64,
    /// When something was last sent, epoch seconds; 0: never.
    pub sent_at: u64,
}

impl Cursor {
    /// A cursor for a site that has got nothing yet, and that nobody who files knows of.
    pub fn new(position: Position) -> Cursor {
        Cursor {
            position,
            selected_from: NOWHERE,
            last: None,
            sent: 0,
            sent_bytes: 0,
            skipped: 0,
            sent_at: 0,
        }
    }

    fn to_slot(self, sequence: u64) -> [u8; SLOT_BYTES] {
        let (last, commit_sequence) = self
            .last
            .map_or((0, 0), |(last, commit_sequence)| (last.0, commit_sequence));
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
        ] {
            text.push(b' ');
            decimal::push(&mut text, number);
        }
        let sum = crc32c::crc32c(&text);
        text.push(b' ');
        decimal::push(&mut text, u64::from(sum));
        let mut slot = [b' '; SLOT_BYTES];
        // Nine numbers of at most twenty digits: under 210 bytes.
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
        let cursor = Cursor {
            position,
            selected_from: NOWHERE,
            last: (last > 0).then_some((Position(last), commit_sequence)),
            sent: number()?,
            sent_bytes: number()?,
            skipped: number()?,
            sent_at: number()?,
        };
        Some((sequence, cursor))
    }
}

/// The file of a cursor, open.
#[derive(Debug)]
pub struct CursorFile {
    file: File,
    sequence: u64,
}

impl CursorFile {
    /// Reads the cursor in a site's directory. `None`: there is none.
    ///
    /// # Errors
    /// [`Error::Cursor`] when both slots are damaged.
    pub fn read(dir: &Path) -> Result<Option<Cursor>, Error> {
        Ok(CursorFile::open(dir, false)?.map(|(_, cursor)| cursor))
    }

    /// Opens the cursor in a site's directory, to move it. `None`: there is none.
    ///
    /// # Errors
    /// [`Error::Cursor`] when both slots are damaged.
    pub fn open(dir: &Path, write: bool) -> Result<Option<(CursorFile, Cursor)>, Error> {
        let path = dir.join(FILE);
        let file = match OpenOptions::new().read(true).write(write).open(&path) {
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

    /// Makes the file anew with this cursor, durably.
    ///
    /// # Errors
    /// The disk's.
    pub fn create(dir: &Path, cursor: Cursor) -> Result<(), Error> {
        store::replace(&store::disk::RealDisk, &dir.join(FILE), |file| {
            file.write_at(&both_slots(cursor), 0)
        })?;
        Ok(())
    }

    /// As [`CursorFile::create`], but only where there is none yet (false), and nothing is forced to the disk: for who makes
    /// many, and syncs once.
    ///
    /// # Errors
    /// The disk's.
    pub fn create_first(dir: &Path, cursor: Cursor) -> Result<bool, Error> {
        let path = dir.join(FILE);
        let fresh = dir.join(format!("{FILE}.{}", std::process::id()));
        std::fs::write(&fresh, both_slots(cursor)).map_err(Error::io("write", &fresh))?;
        // Another program may be at it: the first one counts.
        let linked = std::fs::hard_link(&fresh, &path);
        std::fs::remove_file(&fresh).map_err(Error::io("remove", &fresh))?;
        match linked {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true).map_err(Error::io("make", &path)),
        }
    }

    /// Moves the cursor. A program that is killed then does not lose it; a power cut does not either when `durable`.
    ///
    /// # Errors
    /// The disk's; the cursor is then where it was, or where it should be.
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

/// From here on records name a site. The caller files, so nobody else can say it; and syncs, once for all sites.
///
/// # Errors
/// The disk's.
pub fn select_from(dir: &Path, position: Position) -> Result<(), Error> {
    let path = dir.join(SELECTED);
    let fresh = dir.join(format!("{SELECTED}.new"));
    std::fs::write(&fresh, format!("{}\n", position.0)).map_err(Error::io("write", &fresh))?;
    std::fs::rename(&fresh, &path).map_err(Error::io("put in place", &path))
}

fn selected_from(dir: &Path) -> Position {
    let told = std::fs::read(dir.join(SELECTED)).ok();
    let told = told.and_then(|text| decimal::parse(text.trim_ascii()));
    told.map_or(NOWHERE, Position)
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
            // A moved cursor goes on from there.
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
