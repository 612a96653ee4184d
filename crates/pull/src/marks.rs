//! How far each group of a server was read: the file `pull/NAME` in the news directory, see docs/formats/pull.md.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use store::Position;
use store::disk::RealDisk;

use crate::error::Error;

/// Most message-ids remembered of one visit; with more, some articles may be fetched twice.
pub const REMEMBERED_MAX: usize = 100_000;
/// The directory of the files, in the news directory.
pub const DIRECTORY: &str = "pull";
/// The first line of the file.
const HEADING: &str = "# broadsheet pull 1";
/// The first word of the line with the position of posts.
const POSTS: &str = "*posts";
/// The first word of the line with the time for NEWNEWS.
const NEWNEWS: &str = "*newnews";
/// The first word of the line with the time when all groups were read by number.
const BY_NUMBER: &str = "*numbers";
/// The first word of a line with an article that the server refuses.
const REFUSED: &str = "*refused";
/// The first word of the line with the article at which the connection broke.
const BROKEN: &str = "*broken";

/// How far a group was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The highest number that needs no further attention.
    pub number: u64,
    /// The message-id of the article with that number, if there was one: it shows whether the server has numbered anew.
    pub id: Option<Box<[u8]>>,
}

/// The time for NEWNEWS by two clocks, seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewNewsTime {
    /// By the server's clock.
    pub server: i64,
    /// By the clock of this machine.
    pub ours: i64,
}

/// The marks of one server.
#[derive(Debug)]
pub struct Marks {
    path: PathBuf,
    groups: BTreeMap<Vec<u8>, Mark>,
    /// Posts before this position of the log have gone up.
    pub posts: Option<Position>,
    /// The time at the begin of the last visit: NEWNEWS goes on there.
    pub newnews: Option<NewNewsTime>,
    /// When all groups were read by number last, seconds since 1970 by the clock of this machine; only with NEWNEWS.
    by_number: Option<i64>,
    /// Articles that the server refuses, with the time since when, seconds since 1970.
    refused: BTreeMap<Box<[u8]>, i64>,
    /// The article, or the post, at which the connection of the last visits broke, and how many there were in succession.
    broken: Option<(Box<[u8]>, u64)>,
    is_changed: bool,
}

impl Marks {
    /// Reads the marks of a server.
    ///
    /// # Errors
    /// The file cannot be read, or a line is damaged.
    pub fn read(news: &Path, name: &str) -> Result<Marks, Error> {
        let path = news.join(DIRECTORY).join(name);
        let text = match store::regular::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|error| Error::Marks {
                path: path.clone(),
                error,
            })?,
        };
        let mut marks = Marks {
            path,
            groups: BTreeMap::new(),
            posts: None,
            newnews: None,
            by_number: None,
            refused: BTreeMap::new(),
            broken: None,
            is_changed: false,
        };
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            marks.line(line).ok_or_else(|| Error::Damaged {
                path: marks.path.clone(),
                line: at + 1,
            })?;
        }
        Ok(marks)
    }

    fn line(&mut self, line: &[u8]) -> Option<()> {
        let mut words = line.split(|byte| *byte == b' ');
        let (group, number, id) = (words.next()?, words.next()?, words.next());
        let number = std::str::from_utf8(number).ok()?;
        if group == NEWNEWS.as_bytes() {
            let server = number.parse().ok()?;
            let ours = std::str::from_utf8(id?).ok()?.parse().ok()?;
            self.newnews = Some(NewNewsTime { server, ours });
            return Some(());
        }
        if group == BY_NUMBER.as_bytes() {
            self.by_number = Some(number.parse().ok()?);
            return Some(());
        }
        if group == REFUSED.as_bytes() {
            self.refused.insert(id?.into(), number.parse().ok()?);
            return Some(());
        }
        if group == BROKEN.as_bytes() {
            self.broken = Some((id?.into(), number.parse().ok()?));
            return Some(());
        }
        let number = number.parse().ok()?;
        if group == POSTS.as_bytes() {
            self.posts = Some(Position(number));
            return Some(());
        }
        let id = match id? {
            b"-" => None,
            id => Some(id.into()),
        };
        self.groups.insert(group.to_vec(), Mark { number, id });
        Some(())
    }

    /// The mark of a group; `None` before it was read for the first time.
    pub fn get(&self, group: &[u8]) -> Option<&Mark> {
        self.groups.get(group)
    }

    /// Sets the mark of a group, in memory.
    pub fn set(&mut self, group: &[u8], mark: Mark) {
        if self.groups.get(group) != Some(&mark) {
            self.groups.insert(group.to_vec(), mark);
            self.is_changed = true;
        }
    }

    /// Sets the position of posts, in memory.
    pub fn set_posts(&mut self, position: Position) {
        self.is_changed |= self.posts != Some(position);
        self.posts = Some(position);
    }

    /// Sets the time for NEWNEWS, in memory.
    pub fn set_newnews(&mut self, time: Option<NewNewsTime>) {
        self.is_changed |= self.newnews != time;
        self.newnews = time;
    }

    /// When all groups were read by number last, seconds since 1970 by the clock of this machine.
    pub fn by_number(&self) -> Option<i64> {
        self.by_number
    }

    /// Sets the time when all groups were read by number, in memory.
    pub fn set_by_number(&mut self, time: Option<i64>) {
        self.is_changed |= self.by_number != time;
        self.by_number = time;
    }

    /// Whether the server refused an article in an earlier visit, or in this one.
    pub fn is_refused(&self, id: &[u8]) -> bool {
        self.refused.contains_key(id)
    }

    /// Notes, in memory, that the server refuses an article now. Returns since when it does, seconds since 1970; of more than
    /// [`REMEMBERED_MAX`] articles, some are not remembered.
    pub fn refuse(&mut self, id: &[u8], now: i64) -> i64 {
        if let Some(since) = self.refused.get(id) {
            // The clock may have been ahead.
            return now.min(*since);
        }
        if self.refused.len() < REMEMBERED_MAX {
            self.refused.insert(id.into(), now);
            self.is_changed = true;
        }
        now
    }

    /// Forgets, in memory, all refused articles but these.
    pub fn keep_refused(&mut self, ids: &HashSet<Box<[u8]>>) {
        let before = self.refused.len();
        self.refused.retain(|id, _| ids.contains(id));
        self.is_changed |= self.refused.len() != before;
    }

    /// How many connections in succession broke at an article.
    fn breaks_at(&self, id: &[u8]) -> u64 {
        match &self.broken {
            Some((broken, count)) if **broken == *id => *count,
            _ => 0,
        }
    }

    /// Whether the connection of the last visit broke at an article, and none came to its end since.
    pub fn has_break(&self) -> bool {
        self.broken.is_some()
    }

    /// Notes, in memory, that the connection broke at an article. Returns how many did in succession.
    pub fn note_break(&mut self, id: &[u8]) -> u64 {
        let count = self.breaks_at(id).saturating_add(1);
        self.broken = Some((id.into(), count));
        self.is_changed = true;
        count
    }

    /// Forgets, in memory, that the connection broke at an article that has come since, or at a post that has gone up.
    pub fn pass_break(&mut self, id: &[u8]) {
        if self.breaks_at(id) > 0 {
            self.forget_break();
        }
    }

    /// Forgets, in memory, where the connection broke.
    pub fn forget_break(&mut self) {
        self.is_changed |= self.broken.take().is_some();
    }

    /// Writes the file, durably, if something has changed.
    ///
    /// # Errors
    /// An I/O error; the file stays as it was.
    pub fn save(&mut self) -> Result<(), Error> {
        if !self.is_changed {
            return Ok(());
        }
        let mut text = format!("{HEADING}\n").into_bytes();
        if let Some(position) = self.posts {
            text.extend_from_slice(format!("{POSTS} {}\n", position.0).as_bytes());
        }
        if let Some(NewNewsTime { server, ours }) = self.newnews {
            text.extend_from_slice(format!("{NEWNEWS} {server} {ours}\n").as_bytes());
        }
        if let Some(time) = self.by_number {
            text.extend_from_slice(format!("{BY_NUMBER} {time}\n").as_bytes());
        }
        for (id, since) in &self.refused {
            text.extend_from_slice(format!("{REFUSED} {since} ").as_bytes());
            text.extend_from_slice(id);
            text.push(b'\n');
        }
        if let Some((id, count)) = &self.broken {
            text.extend_from_slice(format!("{BROKEN} {count} ").as_bytes());
            text.extend_from_slice(id);
            text.push(b'\n');
        }
        for (group, mark) in &self.groups {
            text.extend_from_slice(group);
            text.extend_from_slice(format!(" {} ", mark.number).as_bytes());
            text.extend_from_slice(mark.id.as_deref().unwrap_or(b"-"));
            text.push(b'\n');
        }
        store::replace(&RealDisk, &self.path, |file| file.write_at(&text, 0))?;
        self.is_changed = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn what_is_saved_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(DIRECTORY)).unwrap();
        let mut marks = Marks::read(dir.path(), "a.b").unwrap();
        assert_eq!((marks.get(b"x"), marks.posts), (None, None));
        marks.save().unwrap();
        let path = dir.path().join("pull/a.b");
        assert!(!path.exists(), "nothing has changed");
        let mark = |number, id: Option<&[u8]>| Mark {
            number,
            id: id.map(Into::into),
        };
        marks.set(b"comp.test", mark(17, Some(b"<a@b>")));
        marks.set(b"comp.empty", mark(3, None));
        marks.set_posts(Position(4096));
        let time = NewNewsTime {
            server: 1_700_000_000,
            ours: 1_700_000_003,
        };
        marks.set_newnews(Some(time));
        marks.set_by_number(Some(1_700_000_007));
        assert_eq!(marks.refuse(b"<r@b>", 50), 50);
        assert_eq!(marks.refuse(b"<r@b>", 60), 50);
        assert_eq!(marks.note_break(b"<c@b>"), 1);
        assert_eq!(marks.note_break(b"<b@b>"), 1);
        assert_eq!(marks.note_break(b"<b@b>"), 2);
        marks.save().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "# broadsheet pull 1\n*posts 4096\n*newnews 1700000000 1700000003\n*numbers 1700000007\n*refused 50 <r@b>\n*broken 2 <b@b>\ncomp.empty 3 -\ncomp.test 17 <a@b>\n"
        );
        let mut again = Marks::read(dir.path(), "a.b").unwrap();
        assert_eq!(again.get(b"comp.test"), Some(&mark(17, Some(b"<a@b>"))));
        assert_eq!(again.get(b"comp.empty"), Some(&mark(3, None)));
        assert_eq!(again.posts, Some(Position(4096)));
        assert_eq!(again.newnews, Some(time));
        assert_eq!(again.by_number(), Some(1_700_000_007));
        assert!(again.is_refused(b"<r@b>") && !again.is_refused(b"<a@b>"));
        assert_eq!(
            (again.breaks_at(b"<b@b>"), again.breaks_at(b"<c@b>")),
            (2, 0)
        );
        again.pass_break(b"<c@b>");
        assert!(again.has_break());
        again.pass_break(b"<b@b>");
        assert!(!again.has_break());
        let mode = || std::fs::metadata(&path).unwrap().mode() & 0o777;
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        again.set(b"comp.other", mark(1, None));
        again.save().unwrap();
        assert_eq!(mode(), 0o640);
        for line in [
            "*refused 5",
            "*broken x <a@b>",
            "*newnews 5 x",
            "*numbers x",
            "comp.test",
            "comp.test x <a@b>",
            "comp.test 17",
            "*posts",
        ] {
            std::fs::write(&path, format!("{HEADING}\n{line}\n")).unwrap();
            let damaged = Marks::read(dir.path(), "a.b");
            assert!(matches!(damaged, Err(Error::Damaged { line: 2, .. })));
        }
        again.keep_refused(&HashSet::new());
        again.save().unwrap();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("*refused"));
    }
}
