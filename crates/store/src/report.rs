//! The result of a check.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::history::HistoryLine;
use crate::io::disk::{Disk, Open};

/// The file of ids of lost articles in `bad/`: one on each line, as `broadsheet batchsm` reads them.
pub const LOST_IDS: &str = "lost.ids";

/// Maximum number of findings reported individually; more are only counted.
pub const FINDINGS_MAX: usize = 1000;

/// Maximum number of reported ids of lost articles.
pub const LOST_IDS_MAX: usize = 100_000;

/// Maximum number of lost articles in one message.
const LOST_NAMED: usize = 10;

/// One error found by a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// The offset of the error, bytes.
    pub offset: u64,
    /// The error, as a sentence.
    pub what: String,
    /// Whether it was repaired.
    pub repaired: bool,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether errors were to be repaired.
    pub repairs: bool,
    /// Number of checked segments.
    pub segments: u64,
    /// Number of those whose articles are in the object store.
    pub offloaded: u64,
    /// Number of valid articles.
    pub articles: u64,
    /// Number of history lines.
    pub lines: u64,
    /// Bytes of valid records.
    pub bytes: u64,
    /// Holes: runs of zeros where expire has reclaimed space.
    pub holes: u64,
    /// Places with articles lost to damage; only another copy can restore them.
    pub lost: u64,
    /// The ids of lost articles that history has, the first [`LOST_IDS_MAX`]: they can be requested again.
    pub lost_ids: Vec<Vec<u8>>,
    /// Repairs made by opening the spool.
    pub notices: Vec<String>,
    /// The errors, the first [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// Total number of errors.
    pub faults: u64,
}

impl Report {
    /// The errors, and where the ids of lost articles are, as sentences.
    pub(crate) fn told(&self) -> Vec<String> {
        let text = |found: &Finding| format!("{}: {}", found.path.display(), found.what);
        let mut told: Vec<String> = self.findings.iter().map(text).collect();
        if !self.lost_ids.is_empty() {
            told.push(format!(
                "the ids of {} lost articles are in bad/{LOST_IDS}",
                self.lost_ids.len()
            ));
        }
        told
    }

    pub(crate) fn tell(
        &mut self,
        path: &Path,
        offset: u64,
        what: impl Into<String>,
        repaired: bool,
    ) {
        self.faults += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding {
                path: path.to_owned(),
                offset,
                what: what.into(),
                repaired,
            });
        }
    }

    /// Adds an error that is not repaired, unless it was found already.
    pub(crate) fn tell_once(&mut self, path: &Path, offset: u64, what: impl Into<String>) {
        let is_it = |found: &Finding| found.path == path && found.offset == offset;
        if !self.findings.iter().any(is_it) {
            self.tell(path, offset, what, false);
        }
    }

    /// Whether there are no errors, or all of them were repaired.
    pub fn is_clean(&self) -> bool {
        self.faults == 0
            || (self.faults <= FINDINGS_MAX as u64
                && self.findings.iter().all(|finding| finding.repaired))
    }

    /// Adds the ids of lost articles to the list in `bad/`.
    ///
    /// # Errors
    /// The list cannot be written.
    pub(crate) fn list_lost(&self, disk: &dyn Disk, dir: &Path) -> Result<(), Error> {
        if self.lost_ids.is_empty() {
            return Ok(());
        }
        let bad = dir.join("bad");
        let path = bad.join(LOST_IDS);
        let mut text = self.lost_ids.join(&b'\n');
        text.push(b'\n');
        let added = disk.open(&path, Open::Create).and_then(|file| {
            file.write_at(&text, file.length()?)?;
            file.sync()
        });
        added
            .and_then(|()| disk.sync_directory(&bad))
            .map_err(|source| Error::io("write", &path, source))
    }
}

/// A description of the lost articles; the first ones by name.
pub fn names_of(lost: &[&HistoryLine<'_>]) -> String {
    let names: Vec<_> = lost
        .iter()
        .take(LOST_NAMED)
        .map(|line| {
            let (id, links) = [line.id, line.links]
                .map(|bytes| String::from_utf8_lossy(bytes))
                .into();
            format!("{id} ({links})")
        })
        .collect();
    match (names.as_slice(), lost.len().saturating_sub(names.len())) {
        ([], _) => "an article was lost to damage".to_owned(),
        (names, 0) => format!("lost to damage: {}", names.join(", ")),
        (names, more) => format!("lost to damage: {} and {more} more", names.join(", ")),
    }
}
