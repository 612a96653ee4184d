//! What a check found.

use std::path::{Path, PathBuf};

/// Findings told one by one; more are only counted.
pub const FINDINGS_MAX: usize = 1000;

/// Ids of lost articles that are told.
pub const LOST_IDS_MAX: usize = 100_000;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// Where in it, bytes.
    pub offset: u64,
    /// What is wrong, in a sentence.
    pub what: String,
    /// True when it was mended.
    pub repaired: bool,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Segments looked at.
    pub segments: u64,
    /// Sound articles.
    pub articles: u64,
    /// History lines.
    pub lines: u64,
    /// Bytes of sound records.
    pub bytes: u64,
    /// Holes: runs of zeros where expire gave space back.
    pub holes: u64,
    /// Places where articles were lost to damage; nothing can bring them back but another copy.
    pub lost: u64,
    /// The ids of those that history names, the first [`LOST_IDS_MAX`]: they can be asked for again.
    pub lost_ids: Vec<Vec<u8>>,
    /// What opening mended by itself.
    pub notices: Vec<String>,
    /// What is wrong, the first [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// How much is wrong in all.
    pub faults: u64,
}

impl Report {
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

    /// True when nothing is wrong, or all of it was mended.
    pub fn is_clean(&self) -> bool {
        self.faults == 0
            || (self.faults <= FINDINGS_MAX as u64
                && self.findings.iter().all(|finding| finding.repaired))
    }
}
