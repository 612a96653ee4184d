//! The errors of reading a policy. The administrator has to correct all of them.

use thiserror::Error;

use crate::dates::DatesError;

/// The reason why there is no policy. Nothing has been removed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no policy file.
    #[error("no expiry policy: {file} does not exist; nothing is expired without one")]
    Missing {
        /// Name of the file.
        file: String,
    },
    /// The policy file contains no rule.
    #[error("no expiry policy: {file} contains no rule; nothing is expired without one")]
    Empty {
        /// Name of the file.
        file: String,
    },
    /// The policy file exceeds the size limit.
    #[error("{file} is larger than {max} bytes; check that it is an expiry policy")]
    Size {
        /// Name of the file.
        file: String,
        /// The limit, bytes.
        max: u64,
    },
    /// The policy file cannot be read.
    #[error("cannot read {file}: {fault}")]
    Read {
        /// Name of the file.
        file: String,
        /// The error of the system.
        fault: std::io::Error,
    },
    /// A line, or a table of `broadsheet.toml`, is invalid.
    #[error("{file}:{line}: {fault}")]
    Line {
        /// Name of the file.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// The error in the line.
        fault: PolicyLineError,
    },
    /// A group of the active file has no rule.
    #[error("{file}: no {} covers group `{group}'{}; {}", rule(*are_tables), more(*others), last_rule(*are_tables))]
    Uncovered {
        /// Name of the policy file.
        file: String,
        /// The first such group, in the order of the active file.
        group: String,
        /// How many more there are.
        others: usize,
        /// The policy is that of `broadsheet.toml`.
        are_tables: bool,
    },
}

fn rule(are_tables: bool) -> &'static str {
    if are_tables { "[[expire]]" } else { "line" }
}

fn last_rule(are_tables: bool) -> &'static str {
    if are_tables {
        "add one (a last one with patterns = \"all\" and keep_days = 14 covers everything)"
    } else {
        "add one (a last line `all x 14 -' covers everything)"
    }
}

fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " (nor 1 other)".to_owned(),
        others => format!(" (nor {others} others)"),
    }
}

/// The error in one line of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PolicyLineError {
    /// The line does not have four fields.
    #[error("has {0} fields; `patterns {{m|u|x}} dates directory' has 4")]
    Fields(usize),
    /// The second field is not m, u or x.
    #[error("has `{0}' in the second field; use m (moderated), u (unmoderated) or x (any)")]
    Moderation(String),
    /// An unknown line in slashes.
    #[error("starts with `{0}'; only /bounds/ and /expired/ are known")]
    Special(String),
    /// A second `/expired/` line.
    #[error("is a second /expired/ line; the first is line {0}")]
    ExpiredTwice(usize),
    /// The dates are invalid.
    #[error(transparent)]
    Dates(#[from] DatesError),
    /// `@`, but no archive directory is set.
    #[error("archives to `@', but no archive directory is set (expire -a, or archive_directory)")]
    NoArchive,
    /// An invalid archive directory.
    #[error("has `{0}' in place of an archive directory, `-' or `@'")]
    Directory(String),
    /// Too many rules.
    #[error("is rule number {number}; the limit is {max}")]
    TooManyRules {
        /// Number of the rule, from 1.
        number: usize,
        /// The limit.
        max: usize,
    },
    /// An invalid key of a table.
    #[error("{0}")]
    Key(String),
}
