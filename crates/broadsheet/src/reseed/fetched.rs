//! The record of the files of a copy: an interrupted run goes on by it. docs/formats/cluster.md has its lines.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cluster::reseed;

/// The name of the file.
const FILE: &str = "fetched";

/// A file of a segment: its base, and the end of its name.
pub type Name = (u64, String);
/// Inode, time of the last change, and length at the node; `None`: articles were appended to it.
type Version = Option<(u64, i64, u64)>;

/// The files that are here, as far as they are.
pub struct Fetched {
    path: PathBuf,
    segments: PathBuf,
    file: File,
    /// The files, and whether they are whole.
    files: HashMap<Name, (Version, bool)>,
}

impl Fetched {
    /// The node of the copy in a directory, if there is one.
    pub fn node_of(staged: &Path) -> Option<String> {
        let text = store::regular::read_to_string(&staged.join(FILE)).ok()?;
        let (_, node) = text.lines().next()?.strip_prefix("of ")?.split_once(' ')?;
        Some(node.to_owned())
    }

    /// The record of a copy of the segments of a node of this log. Files of another copy are removed.
    ///
    /// # Errors
    /// An I/O error.
    pub fn open(staged: &Path, log: &str, node: &str) -> io::Result<Fetched> {
        let path = staged.join(FILE);
        let head = format!("of {log} {node}\n");
        let mut text = match store::regular::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let segments = staged.join("segments");
        if !text.starts_with(&head) {
            match fs::remove_dir_all(&segments) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => fs::write(&path, &head)?,
            }
            text.clear();
        }
        let mut fetched = Fetched {
            file: OpenOptions::new().append(true).open(&path)?,
            path,
            segments,
            files: HashMap::new(),
        };
        for line in text.split_inclusive('\n').skip(1) {
            if let Some((name, version, is_whole)) = parse(line) {
                fetched.files.insert(name, (version, is_whole));
            }
        }
        // A torn line must not spoil the next.
        if !text.is_empty() && !text.ends_with('\n') {
            fetched.file.write_all(b"\n")?;
        }
        Ok(fetched)
    }

    /// The path of a listed file in the copy.
    pub fn path_of(&self, listed: &reseed::File) -> PathBuf {
        self.segments
            .join(format!("{:020}.{}", listed.base, listed.kind))
    }

    /// Whether a file is here as the node lists it.
    pub fn is_whole(&self, listed: &reseed::File) -> bool {
        let known = self.files.get(&name_of(listed));
        let is_known = listed.version.is_some() && known == Some(&(listed.version, true));
        // The record may be older than what is here.
        is_known && self.length_of(listed) == Some(listed.length)
    }

    /// The first listed file that the copy lacks. Only files of articles and of history count: the others are made again from them, with
    /// other lengths perhaps, and so is the end of the current segment.
    pub fn lacks<'a>(&self, listed: &'a [reseed::File]) -> Option<&'a reseed::File> {
        listed.iter().find(|file| {
            let length = self.length_of(file);
            match (file.kind.as_str(), file.version) {
                ("art", Some(_)) => length != Some(file.length),
                ("art" | "his", _) => length.is_none(),
                _ => false,
            }
        })
    }

    fn length_of(&self, listed: &reseed::File) -> Option<u64> {
        let facts = fs::metadata(self.path_of(listed));
        facts.ok().map(|facts| facts.len())
    }

    /// Whether the bytes that are here may be the first of a file that the node lists. The hash tells.
    pub fn is_begun(&self, listed: &reseed::File) -> bool {
        let known = self.files.get(&name_of(listed));
        known.is_some_and(|(version, _)| version.is_none() || *version == listed.version)
    }

    /// The fetching of a file begins, or it is whole and on the disk.
    ///
    /// # Errors
    /// An I/O error.
    pub fn put(&mut self, listed: &reseed::File, is_whole: bool) -> io::Result<()> {
        let word = if is_whole { "whole" } else { "begun" };
        let version = match listed.version {
            Some((inode, changed, length)) => format!("{inode} {changed} {length}"),
            None => "-".to_owned(),
        };
        let line = format!("{word} {} {} {version}\n", listed.base, listed.kind);
        self.file.write_all(line.as_bytes())?;
        self.files
            .insert(name_of(listed), (listed.version, is_whole));
        Ok(())
    }

    /// For messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The name of a listed file.
pub fn name_of(listed: &reseed::File) -> Name {
    (listed.base, listed.kind.clone())
}

fn parse(line: &str) -> Option<(Name, Version, bool)> {
    let mut words = line.strip_suffix('\n')?.split(' ');
    let is_whole = match words.next()? {
        "whole" => true,
        "begun" => false,
        _ => return None,
    };
    let name = (words.next()?.parse().ok()?, words.next()?.to_owned());
    let version = match words.next()? {
        "-" => None,
        inode => Some((
            inode.parse().ok()?,
            words.next()?.parse().ok()?,
            words.next()?.parse().ok()?,
        )),
    };
    words.next().is_none().then_some((name, version, is_whole))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn listed(version: Version) -> reseed::File {
        reseed::File {
            base: 4096,
            kind: "art".to_owned(),
            length: 7,
            allocated: 7,
            version,
        }
    }

    #[test]
    fn an_interrupted_run_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let mut fetched = Fetched::open(dir.path(), "log", "b").unwrap();
        fs::create_dir(dir.path().join("segments")).unwrap();
        let (old, new) = (listed(Some((1, -2, 7))), listed(Some((1, -1, 7))));
        assert!(!fetched.is_begun(&old) && !fetched.is_whole(&old));
        fetched.put(&listed(None), false).unwrap();
        // It was sealed meanwhile.
        assert!(fetched.is_begun(&old) && !fetched.is_whole(&old));
        fetched.put(&old, true).unwrap();
        // What is listed there is not always here.
        let path = fetched.path_of(&old);
        assert!(!fetched.is_whole(&old));
        assert_eq!(fetched.lacks(std::slice::from_ref(&old)), Some(&old));
        fs::write(&path, b"short").unwrap();
        assert!(!fetched.is_whole(&old) && fetched.lacks(std::slice::from_ref(&old)).is_some());
        assert_eq!(fetched.lacks(&[listed(None)]), None);
        fs::write(&path, b"7 bytes").unwrap();
        assert!(fetched.is_whole(&old) && fetched.lacks(std::slice::from_ref(&old)).is_none());
        let history = reseed::File {
            kind: "his".to_owned(),
            ..old.clone()
        };
        assert_eq!(
            fetched.lacks(&[old.clone(), history.clone()]),
            Some(&history)
        );
        drop(fetched);
        // Torn by a power cut.
        let path = dir.path().join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}whole 9 ar")).unwrap();
        let mut fetched = Fetched::open(dir.path(), "log", "b").unwrap();
        assert!(fetched.is_whole(&old) && !fetched.is_whole(&new) && !fetched.is_begun(&new));
        fetched.put(&new, false).unwrap();
        let fetched = Fetched::open(dir.path(), "log", "b").unwrap();
        assert!(fetched.is_begun(&new) && !fetched.is_whole(&old));
        assert_eq!(Fetched::node_of(dir.path()).as_deref(), Some("b"));
        assert!(dir.path().join("segments").exists());
        // Nothing of another node is used.
        let other = Fetched::open(dir.path(), "log", "c").unwrap();
        assert!(!other.is_begun(&new));
        assert!(!dir.path().join("segments").exists());
    }
}
