//! The tree of articles: `comp/lang/c/123` is article 123 of comp.lang.c. Articles of several groups are links of one file.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use article::decimal;

use crate::regular;

/// Largest article that is read from a tree, bytes; larger ones are reported.
pub const ARTICLE_BYTES_MAX: u64 = 1 << 30;
/// Most articles of one group in a tree; further ones are not imported, and reported.
pub const GROUP_FILES_MAX: usize = 50_000_000;

/// A tree.
#[derive(Debug, Clone)]
pub struct Tree {
    top: PathBuf,
}

impl Tree {
    /// The tree below a directory.
    pub fn of(top: &Path) -> Tree {
        Tree {
            top: top.to_owned(),
        }
    }

    /// The directory of a group. `None`: the name leads elsewhere.
    pub fn directory(&self, group: &[u8]) -> Option<PathBuf> {
        let name = std::str::from_utf8(group).ok()?;
        let is_plain = |part: &str| !part.is_empty() && !part.contains('/') && part != "..";
        name.split('.')
            .all(is_plain)
            .then(|| self.top.join(name.replace('.', "/")))
    }

    /// The file of an article.
    pub fn file(&self, group: &[u8], number: u64) -> Option<PathBuf> {
        Some(self.directory(group)?.join(number.to_string()))
    }

    /// Opens the file of an article; `None`: there is none.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self, group: &[u8], number: u64) -> io::Result<Option<(File, Metadata)>> {
        let Some(path) = self.file(group, number) else {
            return Ok(None);
        };
        // Only regular files: a directory is that of another group.
        match fs::metadata(&path) {
            Ok(info) if info.is_file() => {}
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let file = regular::open(&path)?;
        let info = file.metadata()?;
        Ok(Some((file, info)))
    }

    /// Whether the file of another group and number is a link to an article, or a copy of it: `info` and `article` are its file and its bytes.
    /// A file that cannot be read is neither.
    pub fn is_same(&self, group: &[u8], number: u64, info: &Metadata, article: &[u8]) -> bool {
        let Ok(Some((mut file, other))) = self.open(group, number) else {
            return false;
        };
        let mut bytes = Vec::new();
        (other.dev(), other.ino()) == (info.dev(), info.ino())
            || other.len() == info.len()
                && read(&mut file, &other, &mut bytes).is_ok()
                && bytes == article
    }

    /// The numbers of the files of a group, ascending; without its directory, none.
    ///
    /// # Errors
    /// The directory cannot be read, or has more than [`GROUP_FILES_MAX`] of them.
    pub fn numbers(&self, group: &[u8]) -> io::Result<Vec<u64>> {
        let Some(directory) = self.directory(group) else {
            return Ok(Vec::new());
        };
        let entries = match fs::read_dir(&directory) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Vec::new());
            }
            entries => entries?,
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            // Not `007`, which another program made.
            let number = decimal::parse(name.as_encoded_bytes());
            if let Some(number) = number.filter(|number| *name == *number.to_string()) {
                if numbers.len() >= GROUP_FILES_MAX {
                    return Err(io::Error::other(format!(
                        "it has more than {GROUP_FILES_MAX} articles"
                    )));
                }
                numbers.push(number);
            }
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Reads an open article into a buffer.
///
/// # Errors
/// It cannot be read, or is too large.
pub fn read(file: &mut File, info: &Metadata, out: &mut Vec<u8>) -> io::Result<()> {
    out.clear();
    if info.len() > ARTICLE_BYTES_MAX {
        return Err(io::Error::other(format!("it has {} bytes", info.len())));
    }
    file.take(ARTICLE_BYTES_MAX).read_to_end(out).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_group_leads_out_of_the_tree() {
        let tree = Tree::of(Path::new("/t"));
        assert_eq!(
            tree.file(b"comp.lang.c", 7),
            Some(PathBuf::from("/t/comp/lang/c/7"))
        );
        for bad in [&b""[..], b"a..b", b".a", b"a/../b.c", b"/etc.x", b"\xff.x"] {
            assert_eq!(tree.directory(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn numbers_are_files_with_plain_names() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b/12")).unwrap();
        for name in [
            "10",
            "9",
            "007",
            "x",
            ".overview",
            "99999999999999999999999",
        ] {
            fs::write(dir.path().join("a/b").join(name), b"x").unwrap();
        }
        let tree = Tree::of(dir.path());
        assert_eq!(tree.numbers(b"a.b").unwrap(), [9, 10, 12]);
        // A directory: the group a.b.12.
        assert!(tree.open(b"a.b", 12).unwrap().is_none());
        assert!(tree.open(b"a.b", 10).unwrap().is_some());
        assert!(tree.numbers(b"none").unwrap().is_empty());
    }
}
