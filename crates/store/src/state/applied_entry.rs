//! The place of a node of a cluster in the log that the nodes share: everything up to an entry is applied here, and nothing after it.
//!
//! Each entry ends with a record of its place, so that a recovery can cut off what was applied of the next entry.

use std::path::Path;

use article::decimal;

use crate::Error;
use crate::io::disk::RealDisk;
use crate::io::replace::read_whole;
use crate::log::record::Kind;
use crate::state::state_file::LogState;

/// A place in the log of a cluster. The one of a news directory without a cluster is `AppliedEntry::default()`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppliedEntry {
    /// The random name of the log, without blanks. Empty: the news directory belongs to no cluster.
    pub log: String,
    /// The sequence number of the last applied entry; 0: none.
    pub sequence: u64,
    /// The chain hash up to it, without blanks.
    pub chain: String,
    /// The hash of the settings by which all nodes decide; 0: no entry has told it yet.
    pub rules: u64,
    /// A hash of what became of the entries here, without blanks: nodes compare theirs.
    pub outcome: String,
    /// The version of the decisions by which all nodes decide; 0: no entry has told it, and the first one is in force.
    pub decisions: u16,
}

impl AppliedEntry {
    /// The file in the news directory of a node; a site of one machine has none.
    pub const FILE: &str = "cluster.applied";

    /// Reads the file of a news directory; without a file it belongs to no cluster. A node that runs may be further.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(dir: &Path) -> Result<AppliedEntry, Error> {
        let text = read_whole(&RealDisk, &dir.join(AppliedEntry::FILE))?;
        let mut place = AppliedEntry::default();
        place.apply(&text.unwrap_or_default());
        Ok(place)
    }

    /// The version of the decisions in force.
    pub fn decisions_in_force(&self) -> u16 {
        self.decisions.max(1)
    }

    /// The line of the record and of the file, newline included.
    pub fn to_line(&self) -> String {
        let word = |text: &'_ str| if text.is_empty() { "-" } else { text }.to_owned();
        let decisions = match self.decisions {
            0 => String::new(),
            version => format!(" {version}"),
        };
        format!(
            "{} {} {} {} {}{decisions}\n",
            self.log,
            self.sequence,
            word(&self.chain),
            self.rules,
            word(&self.outcome)
        )
    }

    fn parse(line: &[u8]) -> Option<AppliedEntry> {
        let mut words = line.split(|&byte| byte == b' ');
        let mut text = || Some(std::str::from_utf8(words.next()?).ok()?.to_owned());
        let log = text().filter(|log| !log.is_empty())?;
        let mut number = || decimal::parse(text()?.as_bytes());
        let sequence = number()?;
        let chain = text()?;
        let rules = decimal::parse(text()?.as_bytes())?;
        let outcome = text().unwrap_or_default();
        let decisions = match text() {
            None => 0,
            Some(version) => version.parse().ok()?,
        };
        Some(AppliedEntry {
            log,
            sequence,
            chain,
            rules,
            outcome,
            decisions,
        })
    }
}

impl LogState for AppliedEntry {
    const KIND: Kind = Kind::Applied;
    const FILE: &'static str = AppliedEntry::FILE;
    const FILE_BYTES_MAX: u64 = 64 << 10;

    fn apply_line(&mut self, line: &[u8]) -> bool {
        match AppliedEntry::parse(line) {
            Some(place) if place != *self => {
                *self = place;
                true
            }
            _ => false,
        }
    }

    fn push_lines(&self, out: &mut Vec<u8>, _: usize) {
        if !self.log.is_empty() {
            out.extend_from_slice(self.to_line().as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let place = |sequence| AppliedEntry {
            log: "l1".to_owned(),
            sequence,
            chain: "ab".to_owned(),
            rules: 7,
            outcome: "cd".to_owned(),
            decisions: 0,
        };
        let mut state = AppliedEntry::default();
        state.apply(place(1).to_line().as_bytes());
        state.apply(place(2).to_line().as_bytes());
        state.apply(b"l1 3 ab\nl1 x ab 7\n\n");
        assert_eq!(state, place(2));
        let mut out = Vec::new();
        state.push_lines(&mut out, 0);
        assert_eq!(out, b"l1 2 ab 7 cd\n");
        let new = AppliedEntry {
            decisions: 2,
            ..place(3)
        };
        assert_eq!(new.to_line(), "l1 3 ab 7 cd 2\n");
        state.apply(new.to_line().as_bytes());
        state.apply(b"l1 4 ab 7 cd x\n");
        assert_eq!(state, new);
        let mut out = Vec::new();
        AppliedEntry::default().push_lines(&mut out, 0);
        assert_eq!(out, b"");
    }
}
