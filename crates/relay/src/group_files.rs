//! `newsgroups` and `active.times`, the files beside `active`: each is replaced atomically and durably.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use groups::newsgroups::TEXT_BYTES_MAX;
use groups::times::GroupCreation;
use groups::{Newsgroups, times};
use store::disk::RealDisk;

use crate::error::Error;

/// The descriptions of groups.
pub const NEWSGROUPS: &str = "newsgroups";
/// The creation times and creators of groups.
pub const TIMES: &str = "active.times";

/// Changes to the lines of groups; other groups keep theirs.
#[derive(Debug, Default)]
pub struct Edits<'a> {
    /// Group and description; `None` removes its line.
    pub descriptions: Vec<(&'a [u8], Option<&'a [u8]>)>,
    /// New groups, in order of creation.
    pub creations: Vec<GroupCreation<'a>>,
    /// Groups whose line in active.times is removed.
    pub removed: Vec<&'a [u8]>,
}

impl Edits<'_> {
    /// Rewrites the files that change. It is idempotent.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn write(&self, news: &Path) -> Result<(), Error> {
        if !self.descriptions.is_empty() {
            let mut changes: HashMap<&[u8], Option<&[u8]>> =
                self.descriptions.iter().copied().collect();
            let mut text = remaining_lines(&read(&news.join(NEWSGROUPS))?, |group, out| {
                match changes.get_mut(group) {
                    None => false,
                    Some(description) => {
                        // Its first line is replaced, others are removed.
                        if let Some(text) = description.take() {
                            push_description(out, group, text);
                        }
                        true
                    }
                }
            });
            for (group, _) in &self.descriptions {
                if let Some(description) = changes.get_mut(group).and_then(Option::take) {
                    push_description(&mut text, group, description);
                }
            }
            replace(&news.join(NEWSGROUPS), &text)?;
        }
        if !self.creations.is_empty() || !self.removed.is_empty() {
            let removed: std::collections::HashSet<&[u8]> = self
                .removed
                .iter()
                .copied()
                .chain(self.creations.iter().map(|creation| creation.group))
                .collect();
            let mut text = remaining_lines(&read(&news.join(TIMES))?, |group, _| {
                removed.contains(group)
            });
            for creation in &self.creations {
                times::push(&mut text, *creation);
            }
            replace(&news.join(TIMES), &text)?;
        }
        Ok(())
    }
}

/// Reads the descriptions; a missing file has none.
///
/// # Errors
/// The file cannot be read, or is too large.
pub fn descriptions(news: &Path) -> Result<Newsgroups, Error> {
    let path = news.join(NEWSGROUPS);
    Newsgroups::parse(read(&path)?).map_err(|error| Error::GroupFile {
        doing: "use",
        path,
        source: io::Error::other(error),
    })
}

/// The remaining lines. `replace` decides whether the line of a group is removed or replaced.
fn remaining_lines(text: &[u8], mut replace: impl FnMut(&[u8], &mut Vec<u8>) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let group = line
            .split(u8::is_ascii_whitespace)
            .next()
            .unwrap_or_default();
        if group.is_empty() || !replace(group, &mut out) {
            out.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                out.push(b'\n');
            }
        }
    }
    out
}

/// Appends a line of `newsgroups`, a single line for any description.
fn push_description(out: &mut Vec<u8>, group: &[u8], description: &[u8]) {
    // An unsafe name gets no line; no client can select such a group.
    if let Ok(mut one) = Newsgroups::parse(Vec::new())
        && one.set(group, description).is_ok()
    {
        out.extend_from_slice(one.text());
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let read = File::open(path)
        .and_then(|file| file.take(TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut text));
    match read {
        Ok(_) if text.len() <= TEXT_BYTES_MAX => Ok(text),
        Ok(_) => Err(fault("read", path)(io::Error::other(
            "it is larger than it may be",
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(fault("read", path)(error)),
    }
}

/// Replaces a file durably.
///
/// # Errors
/// An I/O error.
pub(crate) fn replace(path: &Path, text: &[u8]) -> Result<(), Error> {
    store::replace(&RealDisk, path, |file| file.write_at(text, 0))?;
    Ok(())
}

pub(crate) fn fault(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::GroupFile {
        doing,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_replaced_added_and_removed_in_one_pass() {
        let dir = tempfile::tempdir().unwrap();
        let old = "# ours\na.b\tOld.\na.c\t\tStays.\n\na.d\tGoes.\na.b\tTwice.\nno end";
        std::fs::write(dir.path().join(NEWSGROUPS), old).unwrap();
        std::fs::write(dir.path().join(TIMES), "a.c 1 x\na.d 2 y\n").unwrap();
        let creation = GroupCreation {
            group: b"a.e",
            seconds: 3,
            creator: b"z\nz",
        };
        let edits = Edits {
            descriptions: vec![
                (b"a.b", Some(b"New.\r\nevil\tline")),
                (b"a.d", None),
                (b"a.e", Some(b"More.")),
            ],
            creations: vec![creation],
            removed: vec![b"a.d"],
        };
        for _ in 0..2 {
            edits.write(dir.path()).unwrap();
            let text = std::fs::read_to_string(dir.path().join(NEWSGROUPS)).unwrap();
            assert_eq!(
                text,
                "# ours\na.b\t\t\tNew.  evil line\na.c\t\tStays.\n\nno end\na.e\t\t\tMore.\n"
            );
            let text = std::fs::read_to_string(dir.path().join(TIMES)).unwrap();
            assert_eq!(text, "a.c 1 x\na.e 3 z_z\n");
        }
    }

    #[test]
    fn absent_files_are_made_only_when_there_is_something_in_them() {
        let dir = tempfile::tempdir().unwrap();
        Edits::default().write(dir.path()).unwrap();
        assert!(!dir.path().join(NEWSGROUPS).exists());
        assert!(descriptions(dir.path()).unwrap().text().is_empty());
        let edits = Edits {
            descriptions: vec![(b"a.b", Some(b"x"))],
            ..Edits::default()
        };
        edits.write(dir.path()).unwrap();
        assert_eq!(
            descriptions(dir.path()).unwrap().description(b"a.b"),
            Some(&b"x"[..])
        );
    }
}
