//! Serial numbers of applied checkgroups messages, so that an older list is never applied later (RFC 5537, 5.2.3).
//!
//! Each key has its own numbers: the key of a part of a hierarchy must not block the key of the whole hierarchy.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::group_files::{fault, replace};

/// The file in the news directory, with lines `HIERARCHY blank NUMBER blank KEY`. KEY is the id of the key, or the address of
/// the sender if no signature was required.
pub const FILE: &str = "checkgroups.serials";
/// Maximum number of remembered hierarchies.
pub const HIERARCHIES_MAX: usize = 10_000;

/// The serial number of one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serial {
    /// The hierarchies of the list that its sender may change and that have groups here.
    pub hierarchies: Vec<Vec<u8>>,
    /// The id of its key, or the address of its sender, without blanks.
    pub key: String,
    /// The number.
    pub number: u64,
}

/// The newest number of each hierarchy and key.
#[derive(Debug, Default)]
pub struct Serials(BTreeMap<(Vec<u8>, Vec<u8>), u64>);

impl Serials {
    /// Reads the file; a missing file has no numbers.
    ///
    /// # Errors
    /// An I/O error.
    pub fn read(news: &Path) -> Result<Serials, Error> {
        let path = news.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(fault("read", &path)(error)),
        };
        let line = |line: &[u8]| {
            let mut fields = line.split(|&byte| byte == b' ');
            let (hierarchy, number) = (fields.next()?, fields.next()?);
            let key = fields.next().unwrap_or(b"-");
            let number = article::decimal::parse(number)?;
            Some(((hierarchy.to_vec(), key.to_vec()), number))
        };
        let lines = text.split(|&byte| byte == b'\n').filter_map(line);
        Ok(Serials(lines.take(HIERARCHIES_MAX).collect()))
    }

    /// Returns a known number newer than that of `list`, of one of its hierarchies and its key.
    pub fn newer(&self, list: &Serial) -> Option<u64> {
        let numbers = list.hierarchies.iter().filter_map(|hierarchy| {
            let owner = (hierarchy.clone(), list.key.clone().into_bytes());
            self.0.get(&owner).copied()
        });
        numbers.into_iter().find(|known| *known > list.number)
    }

    /// Remembers a number durably, unless a newer one is known.
    ///
    /// # Errors
    /// An I/O error.
    pub fn keep(&mut self, news: &Path, list: &Serial) -> Result<(), Error> {
        for hierarchy in &list.hierarchies {
            let owner = (hierarchy.clone(), list.key.clone().into_bytes());
            if self.0.len() < HIERARCHIES_MAX || self.0.contains_key(&owner) {
                let number = self.0.entry(owner).or_default();
                *number = list.number.max(*number);
            }
        }
        let mut text = Vec::new();
        for ((hierarchy, key), number) in &self.0 {
            text.extend_from_slice(hierarchy);
            text.push(b' ');
            article::decimal::push(&mut text, *number);
            text.push(b' ');
            text.extend_from_slice(key);
            text.push(b'\n');
        }
        replace(&news.join(FILE), &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serial(hierarchies: &[&str], key: &str, number: u64) -> Serial {
        Serial {
            hierarchies: hierarchies
                .iter()
                .map(|name| name.as_bytes().to_vec())
                .collect(),
            key: key.to_owned(),
            number,
        }
    }

    #[test]
    fn older_numbers_are_recognized() {
        let dir = tempfile::tempdir().unwrap();
        let mut serials = Serials::read(dir.path()).unwrap();
        assert_eq!(serials.newer(&serial(&["de"], "-", 1)), None);
        let both = serial(&["de", "fr"], "A1", 2009);
        serials.keep(dir.path(), &both).unwrap();
        let older = serial(&["x", "fr"], "A1", 2008);
        serials.keep(dir.path(), &older).unwrap();
        let serials = Serials::read(dir.path()).unwrap();
        assert_eq!(serials.newer(&older), Some(2009));
        assert_eq!(serials.newer(&both), None);
        // Another key's numbers are its own.
        assert_eq!(serials.newer(&serial(&["fr"], "B2", 1)), None);
        // As an older program wrote it.
        std::fs::write(dir.path().join(FILE), "de 5\n").unwrap();
        let serials = Serials::read(dir.path()).unwrap();
        assert_eq!(serials.newer(&serial(&["de"], "-", 4)), Some(5));
    }
}
