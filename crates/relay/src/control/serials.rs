//! Serial numbers of checkgroups messages that were acted upon, so that an older list never comes back (RFC 5537, 5.2.3).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::group_files::{fault, replace};

/// The file in the news directory: `HIERARCHY blank NUMBER` on each line.
pub const FILE: &str = "checkgroups.serials";
/// The most hierarchies that are remembered.
pub const HIERARCHIES_MAX: usize = 10_000;

/// The newest number of each hierarchy.
#[derive(Debug, Default)]
pub struct Serials(BTreeMap<Vec<u8>, u64>);

impl Serials {
    /// Reads the file; without it there are none.
    ///
    /// # Errors
    /// The system's.
    pub fn read(news: &Path) -> Result<Serials, Error> {
        let path = news.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(fault("read", &path)(error)),
        };
        let line = |line: &[u8]| {
            let at = memchr::memchr(b' ', line)?;
            let (hierarchy, number) = line.split_at_checked(at)?;
            let number = article::decimal::parse(number.get(1..)?)?;
            Some((hierarchy.to_vec(), number))
        };
        let lines = text.split(|&byte| byte == b'\n').filter_map(line);
        Ok(Serials(lines.take(HIERARCHIES_MAX).collect()))
    }

    /// A number that is newer than this one, of one of the hierarchies.
    pub fn newer<'a>(
        &self,
        hierarchies: impl IntoIterator<Item = &'a [u8]>,
        serial: u64,
    ) -> Option<u64> {
        hierarchies
            .into_iter()
            .filter_map(|hierarchy| self.0.get(hierarchy).copied())
            .find(|known| *known > serial)
    }

    /// Remembers a number, durably.
    ///
    /// # Errors
    /// The system's.
    pub fn keep(&mut self, news: &Path, hierarchies: &[Vec<u8>], serial: u64) -> Result<(), Error> {
        for hierarchy in hierarchies {
            if self.0.len() < HIERARCHIES_MAX || self.0.contains_key(hierarchy) {
                self.0.insert(hierarchy.clone(), serial);
            }
        }
        let mut text = Vec::new();
        for (hierarchy, number) in &self.0 {
            text.extend_from_slice(hierarchy);
            text.push(b' ');
            article::decimal::push(&mut text, *number);
            text.push(b'\n');
        }
        replace(&news.join(FILE), &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_numbers_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut serials = Serials::read(dir.path()).unwrap();
        assert_eq!(serials.newer([&b"de"[..]], 1), None);
        serials
            .keep(dir.path(), &[b"de".to_vec(), b"fr".to_vec()], 2009)
            .unwrap();
        let serials = Serials::read(dir.path()).unwrap();
        assert_eq!(serials.newer([&b"x"[..], b"fr"], 2008), Some(2009));
        assert_eq!(serials.newer([&b"fr"[..]], 2009), None);
    }
}
