//! The list of the files of one backup.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};
use store::disk::RealDisk;
use store::regular;

use super::contents::{Checksum, hexadecimal};

/// The first line.
const MAGIC: &str = "broadsheet backup 1";
/// Extension of the lists.
const EXTENSION: &str = "list";
/// Largest list that is read, bytes.
pub const LIST_BYTES_MAX: u64 = 1 << 30;

/// The state of a file that changes whenever its content does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    /// Times of the last change of the content, and of the file, ns since 1970.
    modified: i128,
    changed: i128,
}

impl Stamp {
    /// The stamp of a file.
    pub fn of(data: &fs::Metadata) -> Stamp {
        let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
        Stamp {
            inode: data.ino(),
            modified: ns(data.mtime(), data.mtime_nsec()),
            changed: ns(data.ctime(), data.ctime_nsec()),
        }
    }

    /// A stamp that no file has: the next backup reads the file again.
    pub fn of_none(self) -> Stamp {
        Stamp { inode: 0, ..self }
    }

    /// Whether the last change was before a time, seconds since 1970.
    pub fn is_older_than(&self, time: i64) -> bool {
        self.changed.max(self.modified) < i128::from(time) * 1_000_000_000
    }
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Checksum of its content.
    pub checksum: Checksum,
    /// Bytes.
    pub size: u64,
    /// Permissions.
    pub mode: u32,
    /// The state of the original when it was copied.
    pub stamp: Stamp,
    /// Its place below the news directory.
    pub path: PathBuf,
}

/// One backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The time of the backup, seconds since 1970.
    pub time: i64,
    /// Its files, by path.
    pub entries: Vec<Entry>,
}

impl Manifest {
    /// The file name of a backup of this time.
    pub fn name(time: i64) -> String {
        format!("{time:012}.{EXTENSION}")
    }

    /// The list as text.
    fn text(&self) -> String {
        let mut text = format!("{MAGIC}\ntime {}\n", self.time);
        for entry in &self.entries {
            let (stamp, path) = (entry.stamp, escaped(entry.path.as_os_str()));
            // Writing to a String does not fail.
            let _ = writeln!(
                text,
                "{} {} {:o} {} {} {} {path}",
                hexadecimal(&entry.checksum),
                entry.size,
                entry.mode,
                stamp.inode,
                stamp.modified,
                stamp.changed,
            );
        }
        let checksum: Checksum = Sha256::digest(text.as_bytes()).into();
        let _ = writeln!(text, "end {}", hexadecimal(&checksum));
        text
    }

    /// Writes the list durably: with it the backup counts.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, backups: &Path) -> anyhow::Result<()> {
        let path = backups.join(Manifest::name(self.time));
        let text = self.text();
        store::replace(&RealDisk, &path, |file| file.write_at(text.as_bytes(), 0))?;
        Ok(())
    }

    /// Reads a list.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn read(path: &Path) -> anyhow::Result<Manifest> {
        let file = regular::open(path);
        let size = file.and_then(|file| Ok(file.metadata()?.len()));
        let size = size.with_context(|| format!("cannot read {}", path.display()))?;
        ensure!(
            size <= LIST_BYTES_MAX,
            "{}: larger than {LIST_BYTES_MAX} bytes",
            path.display()
        );
        let text = regular::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        Manifest::parse(&text).with_context(|| {
            format!(
                "{}: damaged; choose another backup with --at",
                path.display()
            )
        })
    }

    fn parse(text: &str) -> anyhow::Result<Manifest> {
        let body = text.strip_suffix('\n').context("no last line")?;
        let (body, end) = body.rsplit_once('\n').context("no last line")?;
        let mut sum = Sha256::new();
        sum.update(body.as_bytes());
        sum.update(b"\n");
        let sum: Checksum = sum.finalize().into();
        let is_whole = end.strip_prefix("end ") == Some(&hexadecimal(&sum));
        ensure!(is_whole, "the checksum of the list is wrong");
        let mut lines = body.split('\n');
        ensure!(
            lines.next() == Some(MAGIC),
            "not a list of a backup that this release knows"
        );
        let time = lines.next().and_then(|line| line.strip_prefix("time "));
        let time = time.and_then(|word| word.parse().ok()).context("no time")?;
        let entries = lines.map(|line| entry(line).with_context(|| format!("the line `{line}'")));
        let entries = entries.collect::<anyhow::Result<_>>()?;
        Ok(Manifest { time, entries })
    }
}

/// The times of the backups in a directory, the oldest first.
///
/// # Errors
/// The directory cannot be read.
pub fn times(backups: &Path) -> anyhow::Result<Vec<i64>> {
    let read = fs::read_dir(backups);
    let entries = read.with_context(|| format!("cannot read {}", backups.display()))?;
    let mut times = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let is_list = path.extension() == Some(OsStr::new(EXTENSION));
        let time = path.file_stem().and_then(OsStr::to_str);
        if let Some(time) = time.filter(|_| is_list).and_then(|stem| stem.parse().ok()) {
            times.push(time);
        }
    }
    times.sort_unstable();
    Ok(times)
}

fn entry(line: &str) -> anyhow::Result<Entry> {
    let mut words = line.splitn(7, ' ');
    let mut word = || words.next().context("a word is missing");
    let checksum = super::contents::parse(word()?).context("not a checksum")?;
    let size = word()?.parse()?;
    let mode = u32::from_str_radix(word()?, 8)? & 0o777;
    let stamp = Stamp {
        inode: word()?.parse()?,
        modified: word()?.parse()?,
        changed: word()?.parse()?,
    };
    let path = unescaped(word()?).context("not a path")?;
    // The list may come from anywhere: nothing is written outside the new news directory.
    let mut parts = path.components();
    let is_inside = parts.next().is_some()
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
    if !is_inside {
        bail!("the path leads out of the news directory");
    }
    Ok(Entry {
        checksum,
        size,
        mode,
        stamp,
        path,
    })
}

/// A path with `\xHH` for bytes other than printable ASCII, and for the backslash.
fn escaped(path: &OsStr) -> String {
    let mut text = String::new();
    for byte in path.as_bytes() {
        match byte {
            b'\\' | 0..=b' ' | 0x7f.. => {
                let _ = write!(text, "\\x{byte:02x}");
            }
            byte => text.push(char::from(*byte)),
        }
    }
    text
}

fn unescaped(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let (code, after) = after.strip_prefix(b"x")?.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()?);
        rest = after;
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(paths: &[&[u8]]) -> Manifest {
        let entries = paths.iter().enumerate().map(|(index, path)| Entry {
            checksum: [index as u8; 32],
            size: index as u64,
            mode: 0o640,
            stamp: Stamp {
                inode: 7,
                modified: -1,
                changed: 1 << 70,
            },
            path: PathBuf::from(OsString::from_vec(path.to_vec())),
        });
        Manifest {
            time: 1,
            entries: entries.collect(),
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let manifest = list(&[b"active", b"feeds/a b\\\xff\n/cursor", b"..x"]);
        let text = manifest.text();
        assert_eq!(Manifest::parse(&text).unwrap(), manifest);
        for (at, _) in text.char_indices().skip(1) {
            assert!(Manifest::parse(&text[..at]).is_err(), "cut at {at}");
        }
        let changed = text.replacen(" 640 ", " 600 ", 1);
        assert!(Manifest::parse(&changed).is_err());
    }

    #[test]
    fn no_path_leads_out() {
        for path in [
            &b"/etc/passwd"[..],
            b"../x",
            b"a/../../x",
            b"",
            b"./a",
            b"a/..",
        ] {
            let read = Manifest::parse(&list(&[path]).text());
            assert!(read.is_err(), "{}", path.escape_ascii());
        }
    }
}
