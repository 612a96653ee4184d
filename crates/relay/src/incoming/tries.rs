//! Batches at which filing stopped: how often each was tried, so that one that cannot be filed does not keep the others waiting.
//!
//! They are kept in a file of lines `TRIES END NAME`, for the next newsrun: END is where the log ended at the first try. It is a
//! hint; lost or damaged, the batches are tried as if for the first time.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use article::decimal;

use super::name::Name;
use crate::Error;
use crate::group_files::{fault, replace};

/// The file in the news directory.
pub const FILE: &str = "in.coming.tries";
/// A batch at which filing stopped so often, while others were filed, goes to bad/.
pub const TRIES_MAX: u64 = 3;
/// So many batches are remembered; more are tried as if for the first time.
pub const REMEMBERED_MAX: usize = 1_000;

/// How a batch was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tried {
    times: u64,
    /// Where the log ended the first time.
    end: u64,
}

/// The batches that were tried in vain.
#[derive(Debug)]
pub(super) struct Tries {
    path: PathBuf,
    of: BTreeMap<Name, Tried>,
}

impl Tries {
    /// Those of a news directory.
    pub fn read(news: &Path) -> Tries {
        let path = news.join(FILE);
        let text = fs::read(&path).unwrap_or_default();
        let of = text.split(|&byte| byte == b'\n').filter_map(|line| {
            let mut words = line.split(|&byte| byte == b' ');
            let times = decimal::parse(words.next()?)?;
            let end = decimal::parse(words.next()?)?;
            Some((Name::parse(words.next()?)?, Tried { times, end }))
        });
        Tries {
            of: of.take(REMEMBERED_MAX).collect(),
            path,
        }
    }

    /// Was filing stopped at this one before? Then it is filed by itself, behind the others.
    pub fn has(&self, name: &Name) -> bool {
        self.of.contains_key(name)
    }

    /// Is a batch to be put aside? It was tried often enough, and others were filed meanwhile, so it is the batch and not the disk.
    /// `end`: where the log ends now.
    pub fn is_hopeless(&self, name: &Name, end: u64) -> bool {
        let tried = self.of.get(name);
        tried.is_some_and(|tried| tried.times >= TRIES_MAX && tried.end != end)
    }

    /// Filing stopped at this batch. How often it has by now.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, name: &Name, end: u64) -> Result<u64, Error> {
        let first = Tried { times: 0, end };
        let tried = self.of.entry(name.clone()).or_insert(first);
        tried.times += 1;
        let times = tried.times;
        if self.of.len() > REMEMBERED_MAX {
            self.of.remove(name);
        }
        self.write()?;
        Ok(times)
    }

    /// A batch is gone.
    ///
    /// # Errors
    /// As [`Tries::add`].
    pub fn forget(&mut self, name: &Name) -> Result<(), Error> {
        match self.of.remove(name) {
            Some(_) => self.write(),
            None => Ok(()),
        }
    }

    fn write(&self) -> Result<(), Error> {
        if self.of.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(fault("remove", &self.path)(error))
                }
                _ => Ok(()),
            };
        }
        let lines = self.of.iter();
        let text: String = lines
            .map(|(name, tried)| format!("{} {} {name}\n", tried.times, tried.end))
            .collect();
        replace(&self.path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_batch_is_hopeless_when_others_were_filed_between_its_tries() {
        let dir = tempfile::tempdir().unwrap();
        let (bad, other) = (name("7501234560.t"), name("4.750123456a.Z"));
        for times in 1..=TRIES_MAX {
            let mut tries = Tries::read(dir.path());
            assert!(!tries.is_hopeless(&bad, 500));
            assert_eq!(tries.add(&bad, 400).unwrap(), times);
        }
        let mut tries = Tries::read(dir.path());
        assert!(tries.has(&bad) && !tries.has(&other));
        // Nothing was filed since: it may be the disk.
        assert!(!tries.is_hopeless(&bad, 400));
        assert!(tries.is_hopeless(&bad, 500));
        tries.forget(&other).unwrap();
        tries.forget(&bad).unwrap();
        assert!(!dir.path().join(FILE).exists());
    }

    #[test]
    fn what_is_no_line_is_passed_over_and_there_is_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let mut text = "3 4\nx\n1 2 stop\n-1 2 7501234560.t\n".to_owned();
        for second in 0..2 * REMEMBERED_MAX {
            text.push_str(&format!("1 2 {}0.t\n", 750_000_000 + second));
        }
        fs::write(dir.path().join(FILE), text).unwrap();
        let mut tries = Tries::read(dir.path());
        assert_eq!(tries.of.len(), REMEMBERED_MAX);
        tries.add(&name("4.750123456a.Z"), 7).unwrap();
        assert_eq!(tries.of.len(), REMEMBERED_MAX);
    }
}
