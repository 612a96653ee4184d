//! When readers last asked for each group: the file `pull.interest` in the news directory, see docs/formats/pull.md. Groups of a
//! `[[pull]]` with `rest_days` that nobody asks for rest, as in leafnode.
//!
//! The daemon notes it in memory, and writes the file now and then. What a kill loses lets a group rest a little earlier.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use groups::wildmat::Wildmat;
use store::disk::RealDisk;

use crate::error::Error;
use crate::source::Source;

/// The file, in the news directory.
pub const FILE: &str = "pull.interest";
/// The first line of the file.
const HEADING: &str = "# broadsheet interest 1";
/// The first word of the line with the beginning of the counting.
const SINCE: &str = "*since";
/// The beginning of the counting before its line is read.
const UNKNOWN: i64 = i64::MIN;
/// A group that is asked for again within this time is not noted again, seconds.
const NOTED_SECONDS: i64 = 60;
const DAY: i64 = 86_400;

/// When a group was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The last time, seconds since 1970.
    pub last: i64,
    /// When it was asked for after a rest, seconds since 1970.
    pub woken: Option<i64>,
}

/// The groups that readers have asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interest {
    /// The beginning of the counting: until then no group rests.
    since: i64,
    groups: HashMap<Box<[u8]>, Asked>,
}

impl Interest {
    /// Nobody has asked for anything; the counting begins.
    pub fn new(now: i64) -> Interest {
        Interest {
            since: now,
            groups: HashMap::new(),
        }
    }

    /// Reads the file. `None`: there is none, so that no group rests. A file without its first two lines counts as none: it lost its bytes, and
    /// a beginning in 1970 would let all groups rest.
    ///
    /// # Errors
    /// The file cannot be read, or a line is damaged.
    pub fn read(news: &Path) -> Result<Option<Interest>, Error> {
        let path = news.join(FILE);
        let text = match store::regular::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::Marks { path, error }),
            Ok(text) => text,
        };
        let mut lines = text.split(|byte| *byte == b'\n');
        if lines.next() != Some(HEADING.as_bytes()) {
            return Ok(None);
        }
        let mut interest = Interest::new(UNKNOWN);
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            interest.line(line).ok_or_else(|| Error::DamagedInterest {
                path: path.clone(),
                line: at + 1,
            })?;
        }
        Ok(Some(interest).filter(|interest| interest.since != UNKNOWN))
    }

    fn line(&mut self, line: &[u8]) -> Option<()> {
        let mut words = std::str::from_utf8(line).ok()?.split(' ');
        let (group, last, woken) = (words.next()?, words.next()?, words.next());
        let last = last.parse().ok()?;
        if group == SINCE {
            self.since = last;
            return Some(());
        }
        let woken = match woken? {
            "-" => None,
            woken => Some(woken.parse().ok()?),
        };
        let asked = Asked { last, woken };
        self.groups.insert(group.as_bytes().into(), asked);
        Some(())
    }

    /// When a group was asked for; `None`: never.
    pub fn get(&self, group: &[u8]) -> Option<Asked> {
        self.groups.get(group).copied()
    }

    /// Whether a group rests: nobody has asked for it in so many days.
    pub fn rests(&self, group: &[u8], rest_days: u32, now: i64) -> bool {
        let last = self.get(group).map_or(self.since, |asked| asked.last);
        now.saturating_sub(last) > i64::from(rest_days).saturating_mul(DAY)
    }

    /// Notes that a reader asks for a group; returns whether that is news.
    pub fn ask(&mut self, group: &[u8], has_rested: bool, now: i64) -> bool {
        let before = self.get(group);
        // The clock may have been set back.
        let is_recent = |asked: Asked| (0..NOTED_SECONDS).contains(&(now - asked.last));
        if before.is_some_and(is_recent) && !has_rested {
            return false;
        }
        let woken = if has_rested {
            Some(now)
        } else {
            before.and_then(|asked| asked.woken)
        };
        self.groups.insert(group.into(), Asked { last: now, woken });
        true
    }

    /// Writes the file. Its data are on the disk before its name is, so that a power cut leaves the old file or the new one: a lost line lets a
    /// group rest earlier.
    ///
    /// # Errors
    /// An I/O error; the file stays as it was.
    pub fn save(&self, news: &Path) -> Result<(), Error> {
        let mut lines: Vec<(&[u8], Asked)> = self
            .groups
            .iter()
            .map(|(group, asked)| (&**group, *asked))
            .collect();
        lines.sort_unstable_by_key(|(group, _)| *group);
        let mut text = format!("{HEADING}\n{SINCE} {}\n", self.since).into_bytes();
        for (group, asked) in lines {
            text.extend_from_slice(group);
            let woken = asked.woken.map_or("-".to_owned(), |at| at.to_string());
            text.extend_from_slice(format!(" {} {woken}\n", asked.last).as_bytes());
        }
        let path = news.join(FILE);
        store::replace(&RealDisk, &path, |file| file.write_at(&text, 0))?;
        Ok(())
    }
}

/// The servers whose groups rest, as the daemon watches them.
#[derive(Debug)]
pub struct Watched {
    interest: Interest,
    sources: Vec<(String, Wildmat, u32)>,
    is_changed: bool,
}

impl Watched {
    /// The servers with `rest_days`. `None` without any. The counting begins where there is no file, or none that can be read: the second
    /// value is the reason then.
    pub fn open(news: &Path, sources: &[Source], now: i64) -> (Option<Watched>, Option<Error>) {
        let resting = sources.iter().filter_map(|source| {
            let wildmat = Wildmat::parse(source.groups.as_bytes());
            Some((source.name.clone(), wildmat, source.rest_days?))
        });
        let sources: Vec<_> = resting.collect();
        if sources.is_empty() {
            return (None, None);
        }
        let (read, error) = match Interest::read(news) {
            Ok(read) => (read, None),
            Err(error) => (None, Some(error)),
        };
        let watched = Watched {
            is_changed: read.is_none(),
            interest: read.unwrap_or_else(|| Interest::new(now)),
            sources,
        };
        (Some(watched), error)
    }

    /// Whether the file is behind.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Notes that a reader asks for a group; calls `wake` with the name of each server of which the group has rested.
    pub fn ask(&mut self, group: &[u8], now: i64, mut wake: impl FnMut(&str)) {
        let interest = &self.interest;
        let mut fitting = self
            .sources
            .iter()
            .filter(|(_, groups, _)| groups.matches(group));
        let Some(first) = fitting.next() else { return };
        let mut has_rested = false;
        for (name, _, rest_days) in std::iter::once(first).chain(fitting) {
            if interest.rests(group, *rest_days, now) {
                has_rested = true;
                wake(name);
            }
        }
        self.is_changed |= self.interest.ask(group, has_rested, now);
    }

    /// Writes the file, if it is behind.
    ///
    /// # Errors
    /// An I/O error; the file stays as it was.
    pub fn save(&mut self, news: &Path) -> Result<(), Error> {
        if self.is_changed {
            self.interest.save(news)?;
            self.is_changed = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asks_for_rests_until_somebody_does() {
        let mut interest = Interest::new(1_000);
        assert!(!interest.rests(b"comp.test", 2, 1_000 + 2 * DAY));
        assert!(interest.rests(b"comp.test", 2, 1_001 + 2 * DAY));
        let now = 5 * DAY;
        assert!(interest.ask(b"comp.test", true, now));
        assert!(!interest.rests(b"comp.test", 2, now + 2 * DAY));
        // Not for every command.
        assert!(!interest.ask(b"comp.test", false, now + 59));
        assert!(interest.ask(b"comp.test", false, now + 60));
        let asked = Asked {
            last: now + 60,
            woken: Some(now),
        };
        assert_eq!(interest.get(b"comp.test"), Some(asked));
        // The clock was set back.
        assert!(interest.ask(b"comp.test", false, now - DAY));
    }

    #[test]
    fn what_is_saved_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Interest::read(dir.path()).unwrap(), None);
        let mut interest = Interest::new(17);
        interest.ask(b"comp.test", true, 1_700_000_000);
        interest.ask(b"comp.other", false, 1_800_000_000);
        interest.save(dir.path()).unwrap();
        let text = std::fs::read_to_string(dir.path().join(FILE)).unwrap();
        assert_eq!(
            text,
            "# broadsheet interest 1\n*since 17\ncomp.other 1800000000 -\ncomp.test 1700000000 1700000000\n"
        );
        assert_eq!(Interest::read(dir.path()).unwrap(), Some(interest));
        for line in [
            "comp.test",
            "comp.test x -",
            "comp.test 17",
            "comp.test 17 x",
        ] {
            std::fs::write(dir.path().join(FILE), format!("{HEADING}\n{line}\n")).unwrap();
            let damaged = Interest::read(dir.path());
            assert!(matches!(
                damaged,
                Err(Error::DamagedInterest { line: 2, .. })
            ));
        }
    }

    #[test]
    fn a_file_that_lost_its_bytes_lets_no_group_rest() {
        let dir = tempfile::tempdir().unwrap();
        for text in [
            String::new(),
            "\0".repeat(100),
            "*since 17\n".to_owned(),
            format!("{HEADING}\n"),
            format!("{HEADING}\ncomp.test 17 -\n"),
        ] {
            std::fs::write(dir.path().join(FILE), &text).unwrap();
            assert_eq!(Interest::read(dir.path()).unwrap(), None, "{text:?}");
        }
    }
}
