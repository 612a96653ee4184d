//! Counts failed attempts at batches, so that a batch that cannot be filed does not block the others.
//!
//! A file has lines `TRIES END NAME` for the next newsrun; END is the end of the log at the first attempt. It is a hint: without it,
//! batches count as new.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use article::decimal;
use store::Error as StoreError;
use store::disk::RealDisk;

use super::name::Name;
use crate::Error;

/// The file in the news directory.
pub const FILE: &str = "in.coming.tries";
/// Failed attempts after which a batch is moved to bad/, if others were filed meanwhile.
pub const TRIES_MAX: u64 = 3;
/// Maximum number of remembered batches; more count as new.
pub const REMEMBERED_MAX: usize = 1_000;

/// The attempts at a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Attempts {
    times: u64,
    /// End of the log at the first attempt.
    end: u64,
}

/// The batches with failed attempts.
#[derive(Debug)]
pub(super) struct Tries {
    path: PathBuf,
    by_name: BTreeMap<Name, Attempts>,
}

impl Tries {
    /// Reads the file of a news directory.
    pub fn read(news: &Path) -> Tries {
        let path = news.join(FILE);
        let text = store::regular::read(&path).unwrap_or_default();
        let by_name = text.split(|&byte| byte == b'\n').filter_map(|line| {
            let mut words = line.split(|&byte| byte == b' ');
            let times = decimal::parse(words.next()?)?;
            let end = decimal::parse(words.next()?)?;
            Some((Name::parse(words.next()?)?, Attempts { times, end }))
        });
        Tries {
            by_name: by_name.take(REMEMBERED_MAX).collect(),
            path,
        }
    }

    /// Whether an attempt at this batch failed. Then it is filed alone, after the others.
    pub fn has(&self, name: &Name) -> bool {
        self.by_name.contains_key(name)
    }

    /// Whether to move a batch to bad/: it failed often enough, and others were filed meanwhile, so the cause is the batch and not the
    /// disk. `end` is the end of the log.
    pub fn is_hopeless(&self, name: &Name, end: u64) -> bool {
        let attempts = self.by_name.get(name);
        attempts.is_some_and(|attempts| attempts.times >= TRIES_MAX && attempts.end != end)
    }

    /// Counts a failed attempt, and returns their number. One that only needs room never has all attempts.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, name: &Name, end: u64, needs_room: bool) -> Result<u64, Error> {
        let first = Attempts { times: 0, end };
        let attempts = self.by_name.entry(name.clone()).or_insert(first);
        attempts.times += 1;
        if needs_room {
            attempts.times = attempts.times.min(TRIES_MAX - 1);
        }
        let times = attempts.times;
        if self.by_name.len() > REMEMBERED_MAX {
            self.by_name.remove(name);
        }
        self.write()?;
        Ok(times)
    }

    /// Removes a batch.
    ///
    /// # Errors
    /// As [`Tries::add`].
    pub fn forget(&mut self, name: &Name) -> Result<(), Error> {
        match self.by_name.remove(name) {
            Some(_) => self.write(),
            None => Ok(()),
        }
    }

    fn write(&self) -> Result<(), Error> {
        if self.by_name.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(StoreError::io("remove", &self.path, error).into())
                }
                _ => Ok(()),
            };
        }
        let lines = self.by_name.iter();
        let text: String = lines
            .map(|(name, attempts)| format!("{} {} {name}\n", attempts.times, attempts.end))
            .collect();
        store::replace(&RealDisk, &self.path, |file| {
            file.write_at(text.as_bytes(), 0)
        })?;
        Ok(())
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
            assert_eq!(tries.add(&bad, 400, false).unwrap(), times);
        }
        let mut tries = Tries::read(dir.path());
        assert!(tries.has(&bad) && !tries.has(&other));
        // Nothing was filed since: the disk may be the cause.
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
        assert_eq!(tries.by_name.len(), REMEMBERED_MAX);
        tries.add(&name("4.750123456a.Z"), 7, true).unwrap();
        assert_eq!(tries.by_name.len(), REMEMBERED_MAX);
    }
}
