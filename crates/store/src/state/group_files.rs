//! `newsgroups` and `active.times`, the files beside `active`. They are classic: the administrator may edit them, so each use reads them. The
//! log has every change that the store makes, and whole copies; a lost file is restored from there.
//!
//! The text of a record is lines `+ LINE`, a line of the file, and `- GROUP`.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use groups::Newsgroups;
use groups::newsgroups::TEXT_BYTES_MAX;
use groups::times::{self, GroupCreation};

use crate::Error;
use crate::io::replace::{read_whole, replace};
use crate::log::record::Kind;
use crate::log::segments::Segments;
use crate::state::fold::{WHOLE_COPY, each_text};

/// One of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupFile {
    /// The kind of its records.
    pub kind: Kind,
    /// Its name in the news directory.
    pub name: &'static str,
}

/// The descriptions of groups.
pub const NEWSGROUPS: GroupFile = GroupFile {
    kind: Kind::Descriptions,
    name: "newsgroups",
};
/// The creation times and creators of groups.
pub const ACTIVE_TIMES: GroupFile = GroupFile {
    kind: Kind::Creations,
    name: "active.times",
};
/// Both.
pub const GROUP_FILES: [GroupFile; 2] = [NEWSGROUPS, ACTIVE_TIMES];

impl GroupFile {
    /// Its path.
    pub fn path(self, dir: &Path) -> PathBuf {
        dir.join(self.name)
    }

    /// The text of the file. `None`: it is missing.
    pub fn read(self, segments: &Segments, dir: &Path) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path(dir);
        match read_whole(&**segments.disk(), &path)? {
            Some(text) if text.len() > TEXT_BYTES_MAX => {
                let source = io::Error::other("it is larger than it may be");
                Err(Error::io("read", &path, source))
            }
            text => Ok(text),
        }
    }

    /// The text of the file as the log has it.
    pub fn fold(self, segments: &Segments, dir: &Path) -> Result<Vec<u8>, Error> {
        let mut text = Vec::new();
        each_text(segments, dir, self.kind, |record| {
            text = apply(&text, record);
        })?;
        Ok(text)
    }

    /// Replaces the file durably.
    pub fn write(self, segments: &Segments, dir: &Path, text: &[u8]) -> Result<(), Error> {
        replace(&**segments.disk(), &self.path(dir), |file| {
            file.write_at(text, 0)
        })
    }
}

/// Changes to the lines of groups; other groups keep theirs.
#[derive(Debug, Default)]
pub struct GroupEdits<'a> {
    /// Group and description; `None` removes its line.
    pub descriptions: Vec<(&'a [u8], Option<&'a [u8]>)>,
    /// New groups, in order of creation.
    pub creations: Vec<GroupCreation<'a>>,
    /// Groups whose line in active.times is removed.
    pub removed: Vec<&'a [u8]>,
}

impl GroupEdits<'_> {
    /// The texts of the records for each file.
    pub(crate) fn records(&self) -> [(GroupFile, Vec<u8>); 2] {
        let (mut descriptions, mut creations) = (Vec::new(), Vec::new());
        for (group, description) in &self.descriptions {
            let mut one = Newsgroups::default();
            match description {
                // An unsafe name gets no line; no client can select such a group.
                Some(text) if one.set(group, text).is_ok() => {
                    push(&mut descriptions, b"+ ", one.text())
                }
                _ => push(&mut descriptions, b"- ", group),
            }
        }
        for group in &self.removed {
            push(&mut creations, b"- ", group);
        }
        for creation in &self.creations {
            let mut line = Vec::new();
            // Removed first: the newest is the last.
            push(&mut creations, b"- ", creation.group);
            if times::push(&mut line, *creation) {
                push(&mut creations, b"+ ", &line);
            }
        }
        [(NEWSGROUPS, descriptions), (ACTIVE_TIMES, creations)]
    }
}

/// Appends a line of a record.
fn push(out: &mut Vec<u8>, verb: &[u8], line: &[u8]) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if !line.is_empty() && !line.contains(&b'\n') {
        out.extend_from_slice(verb);
        out.extend_from_slice(line);
        out.push(b'\n');
    }
}

/// The change to the lines of one group.
#[derive(Debug, Default)]
struct Change<'a> {
    /// Its new line takes the place of the first one.
    is_in_place: bool,
    line: Option<&'a [u8]>,
}

/// The text of a file after the changes of a record. To apply a record twice is the same as once.
pub fn apply(text: &[u8], record: &[u8]) -> Vec<u8> {
    if let Some(copy) = record.strip_prefix(WHOLE_COPY) {
        return copy.to_vec();
    }
    let mut changes: HashMap<&[u8], Change<'_>> = HashMap::new();
    let mut order = Vec::new();
    for line in record.split_inclusive(|&byte| byte == b'\n') {
        if let Some(line) = line.strip_prefix(b"- ") {
            changes.insert(group_of(line), Change::default());
        } else if let Some(line) = line.strip_prefix(b"+ ") {
            let group = group_of(line);
            let is_in_place = !changes.contains_key(group);
            let change = changes.entry(group).or_insert(Change {
                is_in_place,
                line: None,
            });
            change.line = Some(line);
            order.push(group);
        }
    }
    let mut out = Vec::with_capacity(text.len() + record.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let group = group_of(line);
        match changes.get_mut(group).filter(|_| !group.is_empty()) {
            // Its first line is replaced, others are removed.
            Some(change) if change.is_in_place => {
                out.extend(change.line.take().unwrap_or_default())
            }
            Some(_) => {}
            None => {
                out.extend_from_slice(line);
                if !line.ends_with(b"\n") {
                    out.push(b'\n');
                }
            }
        }
    }
    for group in order {
        let line = changes.get_mut(group).and_then(|change| change.line.take());
        out.extend(line.unwrap_or_default());
    }
    out
}

/// The first word of a line.
fn group_of(line: &[u8]) -> &[u8] {
    let mut words = line.split(u8::is_ascii_whitespace);
    words.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_replaced_added_and_removed_in_one_pass() {
        let mut newsgroups =
            b"# ours\na.b\tOld.\na.c\t\tStays.\n\na.d\tGoes.\na.b\tTwice.\nno end".to_vec();
        let mut times = b"a.c 1 x\na.e 1 x\na.d 2 y\n".to_vec();
        let creation = GroupCreation {
            group: b"a.e",
            seconds: 3,
            creator: b"z\nz",
        };
        let edits = GroupEdits {
            descriptions: vec![
                (b"a.b", Some(b"New.\r\nevil\tline")),
                (b"a.d", None),
                (b"a.e", Some(b"More.")),
            ],
            creations: vec![creation],
            removed: vec![b"a.d"],
        };
        let [(_, descriptions), (_, creations)] = edits.records();
        for _ in 0..2 {
            newsgroups = apply(&newsgroups, &descriptions);
            let told = String::from_utf8_lossy(&newsgroups);
            assert_eq!(
                told,
                "# ours\na.b\t\t\tNew.  evil line\na.c\t\tStays.\n\nno end\na.e\t\t\tMore.\n"
            );
            times = apply(&times, &creations);
            assert_eq!(String::from_utf8_lossy(&times), "a.c 1 x\na.e 3 z_z\n");
        }
        assert_eq!(apply(&newsgroups, b"=\na.x\ty\n"), b"a.x\ty\n");
        let none = GroupEdits::default().records();
        assert!(none.iter().all(|(_, record)| record.is_empty()));
    }
}
