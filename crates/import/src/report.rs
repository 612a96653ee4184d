//! The report of an import: for each line of the other system's files that says something, whether it comes over, and why not.

use std::path::{Path, PathBuf};

/// Entries of one report; further ones are only counted.
pub const ENTRIES_MAX: usize = 100_000;

/// The result for one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It comes over with the same meaning.
    Kept,
    /// It does not come over, and nothing is to be done: this system does it in another way, or needs it not.
    Unneeded,
    /// It comes over with another meaning, which the text tells: look at it.
    Changed,
    /// It does not come over: an administrator acts, or does without it.
    Dropped,
}

impl Fate {
    /// All, in the order of the report: what asks for the most comes last, where a terminal shows it.
    pub const ALL: [Fate; 4] = [Fate::Kept, Fate::Unneeded, Fate::Changed, Fate::Dropped];

    /// The line above the entries with this fate.
    pub fn heading(self) -> &'static str {
        match self {
            Fate::Kept => "Comes over as it is:",
            Fate::Unneeded => "Nothing to do:",
            Fate::Changed => "Comes over with another meaning: look at each.",
            Fate::Dropped => "You must act: these do not come over.",
        }
    }

    /// The word in the report.
    pub fn word(self) -> &'static str {
        match self {
            Fate::Kept => "kept",
            Fate::Unneeded => "not needed",
            Fate::Changed => "CHANGED",
            Fate::Dropped => "NOT KEPT",
        }
    }
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The file of the other system.
    pub path: PathBuf,
    /// The line, from 1; 0: the whole file.
    pub line: usize,
    /// Its result.
    pub fate: Fate,
    /// Its content and its result, in words.
    pub text: String,
}

/// The report.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The entries, in the order in which the files were read.
    pub entries: Vec<Entry>,
    /// Entries beyond [`ENTRIES_MAX`].
    pub more: usize,
}

impl Report {
    /// Adds an entry.
    pub fn add(&mut self, (path, line): (&Path, usize), fate: Fate, text: impl Into<String>) {
        if self.entries.len() >= ENTRIES_MAX {
            self.more += 1;
            return;
        }
        self.entries.push(Entry {
            path: path.to_owned(),
            line,
            fate,
            text: text.into(),
        });
    }

    /// The number of entries with a fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.entries
            .iter()
            .filter(|entry| entry.fate == fate)
            .count()
    }
}
