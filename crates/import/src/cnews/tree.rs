//! The tree of articles: `comp/lang/c/123` is article 123 of comp.lang.c. Articles of several groups are links of one file.

use std::ffi::OsStr;
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
/// Most directories of a tree that are searched for groups that `active` lacks; that there are more is reported.
pub const DIRECTORIES_MAX: usize = 1_000_000;

/// Directories beside the groups whose files are no articles. A name with a dot, such as `in.coming`, is part of no group.
const NO_GROUPS: [&str; 3] = ["bad", "tmp", "lost+found"];

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
            if let Some(number) = number_of(&entry?.file_name()) {
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

    /// The directories with articles of groups that are not known, as messages; and those that cannot be read. No symbolic link is followed.
    pub fn unknown(&self, is_known: &dyn Fn(&[u8]) -> bool) -> Vec<String> {
        let (mut told, mut waiting) = (Vec::new(), vec![String::new()]);
        for searched in 0usize.. {
            let Some(group) = waiting.pop() else {
                break;
            };
            if searched >= DIRECTORIES_MAX {
                told.push(format!(
                    "{}: more than {DIRECTORIES_MAX} directories: the others were not searched for groups that active does not have",
                    self.top.display()
                ));
                break;
            }
            let directory = self.top.join(group.replace('.', "/"));
            match search(&directory, &group, &mut waiting) {
                Ok(files) if files > 0 && !group.is_empty() && !is_known(group.as_bytes()) => {
                    told.push(format!(
                        "{}: {files} articles, and {group} is not in active: add it to active there, or here by `broadsheet group add {group}', then run the import again",
                        directory.display()
                    ));
                }
                Ok(_) => {}
                Err(error) => told.push(format!(
                    "{}: cannot be searched for groups that active does not have: {error}",
                    directory.display()
                )),
            }
        }
        told
    }
}

/// The number of an article's file. Not of `007`, which another program made.
fn number_of(name: &OsStr) -> Option<u64> {
    let number = decimal::parse(name.as_encoded_bytes())?;
    (*name == *number.to_string()).then_some(number)
}

/// Counts the articles of a directory, and adds the groups below its own.
fn search(directory: &Path, group: &str, below: &mut Vec<String>) -> io::Result<u64> {
    let mut files = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if !kind.is_dir() {
            let is_article = number_of(&name).is_some() && entry.path().is_file();
            files += u64::from(is_article);
            continue;
        }
        match name.to_str() {
            Some(name) if name.contains('.') => {}
            Some(name) if group.is_empty() && NO_GROUPS.contains(&name) => {}
            Some(name) if group.is_empty() => below.push(name.to_owned()),
            Some(name) => below.push(format!("{group}.{name}")),
            None => {}
        }
    }
    Ok(files)
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
