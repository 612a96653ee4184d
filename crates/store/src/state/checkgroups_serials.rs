//! Serial numbers of applied checkgroups messages, so that an older list is never applied later (RFC 5537, 5.2.3).
//!
//! Each key has its own numbers: the key of a part of a hierarchy must not block the key of the whole hierarchy.

use std::collections::BTreeMap;
use std::path::Path;

use article::decimal;

use crate::Error;
use crate::io::disk::RealDisk;
use crate::io::replace::read_whole;
use crate::log::record::Kind;
use crate::state::state_file::LogState;

/// Maximum number of hierarchies and keys with a serial number.
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
    /// Whether it takes the place of a newer one, because the administrator says so.
    pub replaces: bool,
}

/// The word at the end of a line whose number takes the place of a newer one.
const REPLACES: &[u8] = b"=";

impl Serial {
    /// Its lines: `HIERARCHY blank NUMBER blank KEY`, and ` =` if it takes the place of a newer one.
    pub(crate) fn lines(&self) -> Vec<u8> {
        let key = match self.replaces {
            true => [self.key.as_bytes(), b" ", REPLACES].concat(),
            false => self.key.clone().into_bytes(),
        };
        let mut out = Vec::new();
        for hierarchy in &self.hierarchies {
            push_line(&mut out, hierarchy, self.number, &key);
        }
        out
    }
}

/// The newest number of each hierarchy and key.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Serials(BTreeMap<(Vec<u8>, Vec<u8>), u64>);

impl Serials {
    /// Reads the file of a news directory; a missing file has none.
    pub fn read(dir: &Path) -> Result<Serials, Error> {
        let text = read_whole(&RealDisk, &dir.join(Serials::FILE))?;
        let mut serials = Serials::default();
        serials.apply(&text.unwrap_or_default());
        Ok(serials)
    }

    /// Returns a known number newer than that of `list`, of one of its hierarchies and its key.
    pub fn newer(&self, list: &Serial) -> Option<u64> {
        let numbers = list.hierarchies.iter().filter_map(|hierarchy| {
            let place = (hierarchy.clone(), list.key.clone().into_bytes());
            self.0.get(&place).copied()
        });
        numbers.into_iter().find(|known| *known > list.number)
    }
}

impl LogState for Serials {
    const KIND: Kind = Kind::Serials;
    const FILE: &'static str = "checkgroups.serials";
    // The file is small and changes seldom: every change rewrites it.
    const FILE_BYTES_MAX: u64 = 0;

    fn apply_line(&mut self, line: &[u8]) -> bool {
        let mut fields = line.split(|&byte| byte == b' ');
        let (Some(hierarchy), Some(number)) =
            (fields.next(), fields.next().and_then(decimal::parse))
        else {
            return false;
        };
        let place = (hierarchy.to_vec(), fields.next().unwrap_or(b"-").to_vec());
        if self.0.len() >= HIERARCHIES_MAX && !self.0.contains_key(&place) {
            return false;
        }
        let replaces = fields.next() == Some(REPLACES);
        let known = self.0.entry(place).or_default();
        let before = *known;
        *known = if replaces { number } else { number.max(before) };
        *known != before
    }

    fn push_lines(&self, out: &mut Vec<u8>, bytes_max: usize) {
        for ((hierarchy, key), number) in &self.0 {
            let end = out.len();
            push_line(out, hierarchy, *number, key);
            if out.len() > bytes_max {
                out.truncate(end);
                return;
            }
        }
    }
}

fn push_line(out: &mut Vec<u8>, hierarchy: &[u8], number: u64, key: &[u8]) {
    out.extend_from_slice(hierarchy);
    out.push(b' ');
    decimal::push(out, number);
    out.push(b' ');
    out.extend_from_slice(key);
    out.push(b'\n');
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
            replaces: false,
        }
    }

    #[test]
    fn the_administrator_sets_a_lower_number() {
        let mut serials = Serials::default();
        serials.apply(&serial(&["de", "fr"], "A1", u64::MAX).lines());
        let lower = Serial {
            replaces: true,
            ..serial(&["de"], "A1", 7)
        };
        assert_eq!(lower.lines(), b"de 7 A1 =\n");
        assert!(serials.apply_line(b"de 7 A1 =") && !serials.apply_line(b"de 7 A1 ="));
        assert_eq!(serials.newer(&serial(&["de"], "A1", 7)), None);
        assert_eq!(serials.newer(&serial(&["de"], "A1", 6)), Some(7));
        assert_eq!(serials.newer(&serial(&["fr"], "A1", 7)), Some(u64::MAX));
        let mut text = Vec::new();
        serials.push_lines(&mut text, usize::MAX);
        assert_eq!(text, b"de 7 A1\nfr 18446744073709551615 A1\n");
    }

    #[test]
    fn older_numbers_are_told() {
        let mut serials = Serials::default();
        assert_eq!(serials.newer(&serial(&["de"], "-", 1)), None);
        let both = serial(&["de", "fr"], "A1", 2009);
        serials.apply(&both.lines());
        let older = serial(&["x", "fr"], "A1", 2008);
        serials.apply(&older.lines());
        let mut text = Vec::new();
        serials.push_lines(&mut text, usize::MAX);
        assert_eq!(text, b"de 2009 A1\nfr 2009 A1\nx 2008 A1\n");
        let mut serials = Serials::default();
        serials.apply(&text);
        assert_eq!(serials.newer(&older), Some(2009));
        assert_eq!(serials.newer(&both), None);
        // Another key's numbers are its own.
        assert_eq!(serials.newer(&serial(&["fr"], "B2", 1)), None);
        // As an older program wrote it.
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Serials::read(dir.path()).unwrap(), Serials::default());
        std::fs::write(dir.path().join(Serials::FILE), "de 5\n").unwrap();
        let serials = Serials::read(dir.path()).unwrap();
        assert_eq!(serials.newer(&serial(&["de"], "-", 4)), Some(5));
    }
}
