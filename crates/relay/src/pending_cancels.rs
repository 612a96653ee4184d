//! Cancels that came before their article, with a Cancel-Key: kept until the article comes, and then its Cancel-Lock decides.
//!
//! A file of lines `SECONDS tab ID tab CANCEL-ID tab KEYS`, added to and synced before the cancel itself is filed. It is bounded:
//! the oldest are forgotten, and all after a while.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use article::{decimal, message_id};

use crate::cancel_lock::{self, Element};
use crate::error::Error;
use crate::group_files::{fault, replace};

/// The file in the news directory.
pub const FILE: &str = "cancels.early";
/// The most cancels that wait; beyond it the oldest are forgotten.
pub const EARLY_MAX: usize = 5_000;
/// How long they wait, in seconds: ten days.
pub const EARLY_SECONDS_MAX: i64 = 10 * 86_400;
/// The most keys that wait for one article, those of all its cancels together. More than one cancel is kept, for somebody else
/// may have sent a wrong one first.
pub const KEYS_MAX: usize = 16;
/// A file that has grown to this many bytes is written anew.
pub const FILE_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug)]
struct Entry {
    seconds: i64,
    id: Vec<u8>,
    by: Vec<u8>,
    keys: Vec<Element>,
}

impl Entry {
    fn push_line(&self, out: &mut Vec<u8>) {
        decimal::push_signed(out, self.seconds);
        for field in [&self.id, &self.by] {
            out.push(b'\t');
            out.extend(field.iter().filter(|byte| !byte.is_ascii_control()));
        }
        let mut before = b'\t';
        for key in &self.keys {
            out.push(before);
            out.extend_from_slice(key.to_string().as_bytes());
            before = b' ';
        }
        out.push(b'\n');
    }
}

/// The cancels that wait.
#[derive(Debug)]
pub struct PendingCancels {
    path: PathBuf,
    /// By the [folded](message_id::folded) id: ids that are the same have one.
    entries: HashMap<Vec<u8>, Entry>,
    /// The same ids, the oldest first.
    order: VecDeque<Vec<u8>>,
    file: Option<File>,
    /// Where the next line goes.
    bytes: u64,
}

impl PendingCancels {
    /// Reads those of a news directory that have not waited too long.
    ///
    /// # Errors
    /// The system's.
    pub fn read(news: &Path, now: i64) -> Result<PendingCancels, Error> {
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
        // What follows the last newline was torn off, and the next line goes there.
        let end = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
        let mut pending_cancels = PendingCancels {
            path,
            entries: HashMap::new(),
            order: VecDeque::new(),
            file: None,
            bytes: end as u64,
        };
        let lines = text.get(..end).unwrap_or_default();
        for line in lines.split(|&byte| byte == b'\n') {
            let mut fields = line.split(|&byte| byte == b'\t');
            let (Some(seconds), Some(id), Some(by), Some(keys)) =
                (fields.next(), fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            if let Some(seconds) = decimal::parse_signed(seconds)
                && seconds > oldest(now)
            {
                pending_cancels.put(Entry {
                    seconds,
                    id: id.to_vec(),
                    by: by.to_vec(),
                    keys: cancel_lock::elements_of(keys),
                });
            }
        }
        Ok(pending_cancels)
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keeps a cancel, durably: the id it is for, its own id, its Cancel-Key. False: there is no key in it that could be kept.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&mut self, id: &[u8], by: &[u8], key: &[u8], now: i64) -> Result<bool, Error> {
        let entry = Entry {
            seconds: now,
            id: id.to_vec(),
            by: by.to_vec(),
            keys: cancel_lock::elements_of(key),
        };
        let mut line = Vec::new();
        entry.push_line(&mut line);
        if !self.put(entry) {
            return Ok(false);
        }
        self.write(&line)?;
        Ok(true)
    }

    /// The id of the cancel that takes away an article with this id and Cancel-Lock.
    pub fn cancels(&self, id: &[u8], lock: Option<&[u8]>, now: i64) -> Option<&[u8]> {
        let entry = self.entries.get(&message_id::folded(id))?;
        let fits = entry.seconds > oldest(now) && cancel_lock::opens(&entry.keys, lock?);
        fits.then_some(&entry.by)
    }

    fn put(&mut self, entry: Entry) -> bool {
        let id = message_id::folded(&entry.id);
        if let Some(known) = self.entries.get_mut(&id) {
            let mut is_new = false;
            for key in entry.keys {
                if known.keys.len() < KEYS_MAX && !known.keys.contains(&key) {
                    known.keys.push(key);
                    is_new = true;
                }
            }
            return is_new;
        }
        if entry.keys.is_empty() {
            return false;
        }
        if self.order.len() >= EARLY_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
        self.order.push_back(id.clone());
        self.entries.insert(id, entry);
        true
    }

    fn write(&mut self, line: &[u8]) -> Result<(), Error> {
        // The name of a new file must be on the disk as well.
        let is_new = self.bytes == 0;
        if is_new || self.bytes.saturating_add(line.len() as u64) > FILE_BYTES_MAX {
            return self.write_anew();
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let file = OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(&self.path)
                    .map_err(fault("open", &self.path))?;
                file.set_len(self.bytes).map_err(fault("cut", &self.path))?;
                file
            }
        };
        // Before the spool can commit the cancel: it would not come again.
        (&file)
            .write_all(line)
            .and_then(|()| file.sync_data())
            .map_err(fault("write", &self.path))?;
        self.file = Some(file);
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        Ok(())
    }

    fn write_anew(&mut self) -> Result<(), Error> {
        let mut text = Vec::new();
        for entry in self.order.iter().filter_map(|id| self.entries.get(id)) {
            entry.push_line(&mut text);
        }
        replace(&self.path, &text)?;
        self.bytes = text.len() as u64;
        self.file = None;
        Ok(())
    }
}

/// What came at this second or before has waited too long.
fn oldest(now: i64) -> i64 {
    now.saturating_sub(EARLY_SECONDS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_read_again_and_grow_old() {
        let dir = tempfile::tempdir().unwrap();
        let mut pending_cancels = PendingCancels::read(dir.path(), 0).unwrap();
        assert!(pending_cancels.is_empty());
        let key = b"sha256:aa\n\tsha1:bb (unclosed sha1:cc";
        assert!(pending_cancels.add(b"<1@a>", b"<c@a>", key, 5).unwrap());
        for junk in [&b"(unclosed sha1:a"[..], b"nonsense", &[b'x'; 9000]] {
            assert!(!pending_cancels.add(b"<2@a>", b"<d@a>", junk, 5).unwrap());
        }
        let file = dir.path().join(FILE);
        let line = "5\t<1@a>\t<c@a>\tsha256:aa sha1:bb\n";
        assert_eq!(std::fs::read_to_string(&file).unwrap(), line);
        let lock = b"sha1:vbSA3mVapux1ygWMhJxPrzwPdbE=";
        let pending_cancels = PendingCancels::read(dir.path(), 6).unwrap();
        assert_eq!(pending_cancels.entries.len(), 1);
        assert_eq!(pending_cancels.cancels(b"<1@a>", None, 6), None);
        assert_eq!(
            pending_cancels.cancels(b"<1@A>", Some(LOCK), 6),
            Some(&b"<c@a>"[..])
        );
        assert_eq!(pending_cancels.cancels(b"<1@a>", Some(lock), 6), None);
        let late = EARLY_SECONDS_MAX + 5;
        assert_eq!(pending_cancels.cancels(b"<1@a>", Some(LOCK), late), None);
        let pending_cancels = PendingCancels::read(dir.path(), late).unwrap();
        assert!(pending_cancels.is_empty());
    }

    /// Of the key `bb`.
    const LOCK: &[u8] = b"sha1:mpAPU4llpCaZTh6QYAkgr/C06NI=";

    #[test]
    fn what_follows_a_torn_line_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        std::fs::write(&file, "5\t<1@a>\t<c@a>\tsha1:bb\n5\t<2@a>\t<to").unwrap();
        let mut pending_cancels = PendingCancels::read(dir.path(), 6).unwrap();
        assert!(
            pending_cancels
                .add(b"<3@a>", b"<d@a>", b"sha1:bb", 6)
                .unwrap()
        );
        assert!(
            pending_cancels
                .add(b"<4@a>", b"<d@a>", b"sha1:bb", 6)
                .unwrap()
        );
        let pending_cancels = PendingCancels::read(dir.path(), 6).unwrap();
        assert_eq!(pending_cancels.entries.len(), 3);
        assert!(pending_cancels.cancels(b"<3@a>", Some(LOCK), 6).is_some());
    }

    #[test]
    fn a_flood_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let mut pending_cancels = PendingCancels::read(dir.path(), 0).unwrap();
        let entry = |id: &str, key: &str| Entry {
            seconds: 1,
            id: id.as_bytes().to_vec(),
            by: b"<c@a>".to_vec(),
            keys: cancel_lock::elements_of(key.as_bytes()),
        };
        for number in 0..EARLY_MAX + 10 {
            assert!(pending_cancels.put(entry(&format!("<{number}@a>"), "sha1:bb")));
        }
        assert_eq!(pending_cancels.entries.len(), EARLY_MAX);
        assert_eq!(pending_cancels.cancels(b"<0@a>", Some(LOCK), 1), None);
        // The keys of others that come later change nothing, and the same one again takes no place.
        for number in 0..2 * KEYS_MAX {
            pending_cancels.put(entry("<5000@a>", "sha1:bb"));
            pending_cancels.put(entry("<5000@a>", &format!("sha1:{number}")));
        }
        assert_eq!(
            pending_cancels.entries[&b"<5000@a>"[..]].keys.len(),
            KEYS_MAX
        );
        assert!(
            pending_cancels
                .cancels(b"<5000@a>", Some(LOCK), 1)
                .is_some()
        );
        pending_cancels.write_anew().unwrap();
        let again = PendingCancels::read(dir.path(), 1).unwrap();
        assert_eq!(again.entries.len(), EARLY_MAX);
    }
}
