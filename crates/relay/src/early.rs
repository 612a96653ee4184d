//! Cancels that came before their article, with a Cancel-Key: kept until the article comes, and then its Cancel-Lock decides.
//!
//! A file of lines `SECONDS tab ID tab CANCEL-ID tab KEYS`, added to before the cancel itself is filed. It is bounded: the
//! oldest are forgotten, and all after a while.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use article::decimal;

use crate::cancel_lock;
use crate::error::Error;
use crate::group_files::{fault, replace};

/// The file in the news directory.
pub const FILE: &str = "cancels.early";
/// The most cancels that wait; beyond it the oldest are forgotten.
pub const EARLY_MAX: usize = 5_000;
/// How long they wait, in seconds: ten days.
pub const EARLY_SECONDS_MAX: i64 = 10 * 86_400;
/// Longest Cancel-Key that is kept, in bytes, all cancels of one article together.
pub const KEYS_BYTES_MAX: usize = 1_024;
/// A file that has grown to this many bytes is written anew.
pub const FILE_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug)]
struct Entry {
    seconds: i64,
    by: Vec<u8>,
    keys: Vec<u8>,
}

/// The cancels that wait.
#[derive(Debug)]
pub struct Early {
    path: PathBuf,
    entries: HashMap<Vec<u8>, Entry>,
    /// The ids, the oldest first.
    order: VecDeque<Vec<u8>>,
    file: Option<File>,
    bytes: u64,
    is_synced: bool,
}

impl Early {
    /// Reads those of a news directory that have not waited too long.
    ///
    /// # Errors
    /// The system's.
    pub fn read(news: &Path, now: i64) -> Result<Early, Error> {
        let path = news.join(FILE);
        let mut text = Vec::new();
        let read =
            File::open(&path).and_then(|file| file.take(2 * FILE_BYTES_MAX).read_to_end(&mut text));
        match read {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(fault("read", &path)(error));
            }
            _ => {}
        }
        let mut early = Early {
            path,
            entries: HashMap::new(),
            order: VecDeque::new(),
            file: None,
            bytes: text.len() as u64,
            is_synced: true,
        };
        // What follows the last newline was torn off.
        let end = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
        for line in text
            .get(..end)
            .unwrap_or_default()
            .split(|&byte| byte == b'\n')
        {
            let mut fields = line.split(|&byte| byte == b'\t');
            let (Some(seconds), Some(id), Some(by), Some(keys)) =
                (fields.next(), fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            if let Some(seconds) = decimal::parse_signed(seconds)
                && seconds > now.saturating_sub(EARLY_SECONDS_MAX)
            {
                early.put(id, by, keys, seconds);
            }
        }
        Ok(early)
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keeps a cancel: the id it is for, its own id, its Cancel-Key. False: the key is too long to be kept.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&mut self, id: &[u8], by: &[u8], key: &[u8], now: i64) -> Result<bool, Error> {
        let words = key
            .split(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
            .filter(|word| !word.is_empty());
        let keys = words.collect::<Vec<_>>().join(&b' ');
        if !self.put(id, by, &keys, now) {
            return Ok(false);
        }
        let mut line = Vec::new();
        decimal::push_signed(&mut line, now);
        let plain = |bytes: &[u8]| -> Vec<u8> {
            bytes
                .iter()
                .copied()
                .filter(|byte| !byte.is_ascii_control())
                .collect()
        };
        for field in [plain(id), plain(by), keys] {
            line.push(b'\t');
            line.extend_from_slice(&field);
        }
        line.push(b'\n');
        self.write(&line)?;
        Ok(true)
    }

    /// The id of the cancel that takes away an article with this id and Cancel-Lock.
    pub fn cancels(&self, id: &[u8], lock: Option<&[u8]>) -> Option<&[u8]> {
        let entry = self.entries.get(id)?;
        cancel_lock::matches(lock?, &entry.keys).then_some(&entry.by)
    }

    /// Waits until all of them are on the disk.
    ///
    /// # Errors
    /// The system's.
    pub fn sync(&mut self) -> Result<(), Error> {
        if let (false, Some(file)) = (self.is_synced, &self.file) {
            file.sync_data().map_err(fault("sync", &self.path))?;
            self.is_synced = true;
        }
        Ok(())
    }

    fn put(&mut self, id: &[u8], by: &[u8], keys: &[u8], seconds: i64) -> bool {
        if keys.len() > KEYS_BYTES_MAX {
            return false;
        }
        if let Some(entry) = self.entries.get_mut(id) {
            // Somebody else may have sent a wrong one first.
            if entry.keys.len().saturating_add(keys.len()) >= KEYS_BYTES_MAX {
                return false;
            }
            entry.keys.push(b' ');
            entry.keys.extend_from_slice(keys);
            return true;
        }
        if self.order.len() >= EARLY_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
        self.order.push_back(id.to_vec());
        let entry = Entry {
            seconds,
            by: by.to_vec(),
            keys: keys.to_vec(),
        };
        self.entries.insert(id.to_vec(), entry);
        true
    }

    fn write(&mut self, line: &[u8]) -> Result<(), Error> {
        if self.bytes.saturating_add(line.len() as u64) > FILE_BYTES_MAX {
            return self.write_anew();
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => OpenOptions::new()
                .append(true)
                .create(true)
                .open(&self.path)
                .map_err(fault("open", &self.path))?,
        };
        (&file)
            .write_all(line)
            .map_err(fault("write", &self.path))?;
        self.file = Some(file);
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        self.is_synced = false;
        Ok(())
    }

    fn write_anew(&mut self) -> Result<(), Error> {
        let mut text = Vec::new();
        for id in &self.order {
            let Some(entry) = self.entries.get(id) else {
                continue;
            };
            decimal::push_signed(&mut text, entry.seconds);
            for field in [id, &entry.by, &entry.keys] {
                text.push(b'\t');
                text.extend_from_slice(field);
            }
            text.push(b'\n');
        }
        replace(&self.path, &text)?;
        self.bytes = text.len() as u64;
        self.file = None;
        self.is_synced = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_read_again_and_grow_old() {
        let dir = tempfile::tempdir().unwrap();
        let mut early = Early::read(dir.path(), 0).unwrap();
        assert!(early.is_empty());
        assert!(
            early
                .add(b"<1@a>", b"<c@a>", b"sha256:aa\n\tsha1:b", 5)
                .unwrap()
        );
        assert!(
            !early
                .add(b"<2@a>", b"<d@a>", &[b'x'; KEYS_BYTES_MAX + 1], 5)
                .unwrap()
        );
        early.sync().unwrap();
        let file = dir.path().join(FILE);
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "5\t<1@a>\t<c@a>\tsha256:aa sha1:b\n"
        );
        let early = Early::read(dir.path(), 6).unwrap();
        assert_eq!(early.entries.len(), 1);
        assert_eq!(early.cancels(b"<1@a>", None), None);
        let early = Early::read(dir.path(), EARLY_SECONDS_MAX + 6).unwrap();
        assert!(early.is_empty());
    }

    #[test]
    fn a_flood_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let mut early = Early::read(dir.path(), 0).unwrap();
        for number in 0..EARLY_MAX + 10 {
            let id = format!("<{number}@a>");
            assert!(early.add(id.as_bytes(), b"<c@a>", b"sha1:b", 1).unwrap());
        }
        assert_eq!(early.entries.len(), EARLY_MAX);
        assert!(!early.entries.contains_key(&b"<0@a>"[..]));
        for _ in 0..KEYS_BYTES_MAX {
            early.add(b"<5000@a>", b"<c@a>", b"sha1:b", 1).unwrap();
        }
        assert!(early.entries[&b"<5000@a>"[..]].keys.len() <= KEYS_BYTES_MAX);
        early.write_anew().unwrap();
        let again = Early::read(dir.path(), 1).unwrap();
        assert_eq!(again.entries.len(), EARLY_MAX);
    }
}
