//! Cancels that arrived before their article, with a Cancel-Key: they are kept until the article arrives, and then its Cancel-Lock decides.
//!
//! Lines `SECONDS tab ID tab CANCEL-ID tab KEYS`, in records of the log and in the file `cancels.early`, which is derived from them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use article::{decimal, message_id};

use crate::log::record::Kind;
use crate::state::state_file::LogState;

/// Maximum number of pending cancels; the oldest are dropped.
pub const PENDING_MAX: usize = 5_000;
/// Life of a pending cancel, seconds: ten days.
pub const PENDING_SECONDS_MAX: i64 = 10 * 86_400;
/// Maximum number of keys for one article, those of all its cancels together. More than one cancel is kept, because somebody else
/// may have sent a wrong one first.
pub const KEYS_MAX: usize = 16;
/// Length at which `cancels.early` is rewritten, bytes.
pub const FILE_BYTES_MAX: u64 = 16 << 20;

/// A cancel that waits for its article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCancel {
    /// Its arrival, seconds since 1970.
    pub seconds: i64,
    /// The id it cancels.
    pub id: Vec<u8>,
    /// Its own id.
    pub by: Vec<u8>,
    /// Its keys, in the form of a header; without blanks.
    pub keys: Vec<Vec<u8>>,
}

impl PendingCancel {
    pub(crate) fn parse(line: &[u8]) -> Option<PendingCancel> {
        let mut fields = line.split(|&byte| byte == b'\t');
        let (seconds, id, by, keys) = (
            fields.next()?,
            fields.next()?,
            fields.next()?,
            fields.next()?,
        );
        let keys = keys.split(|&byte| byte == b' ');
        Some(PendingCancel {
            seconds: decimal::parse_signed(seconds)?,
            id: id.to_vec(),
            by: by.to_vec(),
            keys: keys
                .filter(|key| !key.is_empty())
                .map(<[u8]>::to_vec)
                .collect(),
        })
    }

    /// Adds the keys that it lacks, as far as there is room. Returns false if there are none.
    fn add_keys(&mut self, keys: Vec<Vec<u8>>) -> bool {
        let before = self.keys.len();
        for key in keys {
            if self.keys.len() < KEYS_MAX && !self.keys.contains(&key) {
                self.keys.push(key);
            }
        }
        self.keys.len() > before
    }

    /// Appends its line.
    pub fn push_line(&self, out: &mut Vec<u8>) {
        decimal::push_signed(out, self.seconds);
        for field in [&self.id, &self.by] {
            out.push(b'\t');
            match field.iter().any(u8::is_ascii_control) {
                true => out.extend(field.iter().filter(|byte| !byte.is_ascii_control())),
                false => out.extend_from_slice(field),
            }
        }
        let mut before = b'\t';
        for key in &self.keys {
            out.push(before);
            out.extend_from_slice(key);
            before = b' ';
        }
        out.push(b'\n');
    }
}

/// Why a cancel is not kept until its article arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotKept {
    /// It has no key.
    NoKey,
    /// Its keys wait already.
    Known,
    /// [`KEYS_MAX`] other keys wait for the article.
    Full,
}

/// All pending cancels.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PendingCancels {
    /// By the [folded](message_id::folded) id: equal ids have one.
    entries: HashMap<Vec<u8>, PendingCancel>,
    /// The same ids and their arrivals, the oldest first.
    order: VecDeque<(i64, Vec<u8>)>,
}

impl PendingCancels {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The pending cancel for an id, unless it is too old.
    pub fn find(&self, id: &[u8], now: i64) -> Option<&PendingCancel> {
        let entry = self.entries.get(&message_id::folded(id))?;
        (entry.seconds > oldest(now)).then_some(entry)
    }

    /// Why adding a cancel would change nothing; `None`: it has a new key, and there is room for it. The first keys stay, so that nobody
    /// displaces the right one.
    pub fn not_kept(&self, cancel: &PendingCancel) -> Option<NotKept> {
        let known = match self.entries.get(&message_id::folded(&cancel.id)) {
            Some(known) => known.keys.as_slice(),
            None => &[],
        };
        if cancel.keys.is_empty() {
            Some(NotKept::NoKey)
        } else if cancel.keys.iter().all(|key| known.contains(key)) {
            Some(NotKept::Known)
        } else {
            (known.len() >= KEYS_MAX).then_some(NotKept::Full)
        }
    }

    /// Adds a cancel. Returns false if that changes nothing.
    fn put(&mut self, mut cancel: PendingCancel) -> bool {
        let keys = std::mem::take(&mut cancel.keys);
        match self.entries.entry(message_id::folded(&cancel.id)) {
            Entry::Occupied(mut known) => known.get_mut().add_keys(keys),
            Entry::Vacant(_) if keys.is_empty() => false,
            Entry::Vacant(slot) => {
                let came = cancel.seconds;
                self.order.push_back((came, slot.key().clone()));
                slot.insert(cancel).add_keys(keys);
                self.forget(came);
                true
            }
        }
    }

    /// Drops the oldest that are too old or too many.
    fn forget(&mut self, now: i64) {
        let is_old = |(came, _): &&(i64, _)| *came <= oldest(now);
        let aged = self.order.iter().take_while(is_old).count();
        let over = self.order.len().saturating_sub(PENDING_MAX);
        // The last one is new.
        let gone = aged.max(over).min(self.order.len().saturating_sub(1));
        for (_, id) in self.order.drain(..gone) {
            self.entries.remove(&id);
        }
    }
}

impl LogState for PendingCancels {
    const KIND: Kind = Kind::PendingCancel;
    const FILE: &'static str = "cancels.early";
    const FILE_BYTES_MAX: u64 = FILE_BYTES_MAX;

    fn apply_line(&mut self, line: &[u8]) -> bool {
        PendingCancel::parse(line).is_some_and(|cancel| self.put(cancel))
    }

    fn push_lines(&self, out: &mut Vec<u8>, bytes_max: usize) {
        let mut lines = Vec::new();
        let mut bytes = 0;
        for (_, id) in self.order.iter().rev() {
            let mut line = Vec::new();
            if let Some(entry) = self.entries.get(id) {
                entry.push_line(&mut line);
            }
            bytes += line.len();
            if bytes > bytes_max {
                break;
            }
            lines.push(line);
        }
        lines
            .iter()
            .rev()
            .for_each(|line| out.extend_from_slice(line));
    }
}

/// A cancel that arrived at this second or before is too old.
fn oldest(now: i64) -> i64 {
    now.saturating_sub(PENDING_SECONDS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seconds: i64, id: &str, key: &str) -> PendingCancel {
        PendingCancel {
            seconds,
            id: id.into(),
            by: b"<c@a>".to_vec(),
            keys: key.split(' ').map(|key| key.as_bytes().to_vec()).collect(),
        }
    }

    #[test]
    fn what_is_not_kept_has_its_reason() {
        let mut pending = PendingCancels::default();
        assert_eq!(pending.not_kept(&entry(5, "<1@a>", "sha1:bb")), None);
        let keyless = PendingCancel {
            keys: Vec::new(),
            ..entry(5, "<1@a>", "")
        };
        assert_eq!(pending.not_kept(&keyless), Some(NotKept::NoKey));
        for number in 0..KEYS_MAX {
            pending.put(entry(5, "<1@a>", &format!("sha1:{number}")));
        }
        let again = entry(6, "<1@a>", "sha1:3 sha1:0");
        assert_eq!(pending.not_kept(&again), Some(NotKept::Known));
        let more = entry(6, "<1@a>", "sha1:3 sha1:bb");
        assert_eq!(pending.not_kept(&more), Some(NotKept::Full));
    }

    #[test]
    fn they_are_told_in_lines_and_grow_old() {
        let mut pending = PendingCancels::default();
        assert!(pending.is_empty());
        assert!(pending.put(entry(5, "<1@a>", "sha256:aa sha1:bb")));
        assert!(!pending.put(PendingCancel {
            keys: Vec::new(),
            ..entry(5, "<2@a>", "")
        }));
        let mut text = Vec::new();
        pending.push_lines(&mut text, usize::MAX);
        assert_eq!(text, b"5\t<1@a>\t<c@a>\tsha256:aa sha1:bb\n");
        let mut again = PendingCancels::default();
        again.apply(&text);
        assert_eq!(again, pending);
        assert_eq!(pending.find(b"<1@A>", 6).unwrap().by, b"<c@a>");
        let late = PENDING_SECONDS_MAX + 5;
        assert_eq!(pending.find(b"<1@a>", late), None);
        assert!(pending.put(entry(late, "<3@a>", "sha1:cc")));
        assert_eq!(pending.len(), 1);
        // A copy replaces what was before.
        pending.apply(b"=\n7\t<9@a>\t<c@a>\tsha1:bb\nno line\n");
        assert_eq!(pending.len(), 1);
        assert!(pending.find(b"<9@a>", 8).is_some());
    }

    #[test]
    fn a_flood_is_bounded() {
        let mut pending = PendingCancels::default();
        for number in 0..PENDING_MAX + 10 {
            assert!(pending.put(entry(1, &format!("<{number}@a>"), "sha1:bb")));
        }
        assert_eq!(pending.len(), PENDING_MAX);
        assert_eq!(pending.find(b"<0@a>", 1), None);
        // The keys of others that come later change nothing, and the same one again takes no place.
        for number in 0..2 * KEYS_MAX {
            pending.put(entry(1, "<5000@a>", "sha1:bb"));
            pending.put(entry(1, "<5000@a>", &format!("sha1:{number}")));
        }
        let found = pending.find(b"<5000@a>", 1).unwrap();
        assert_eq!(found.keys.len(), KEYS_MAX);
        assert_eq!(found.keys[0], b"sha1:bb");
        let mut again = PendingCancels::default();
        again.apply(&pending.copy(usize::MAX));
        assert_eq!(again, pending);
        // Of a copy that may not be so long, the newest are kept.
        let mut fewer = PendingCancels::default();
        fewer.apply(&pending.copy(1000));
        assert!(fewer.len() > 10 && fewer.len() < 100);
        assert!(
            fewer
                .find(format!("<{}@a>", PENDING_MAX + 9).as_bytes(), 1)
                .is_some()
        );
    }
}
