//! What stops expire before it starts. All of it is the administrator's to mend.

use thiserror::Error;

use crate::dates::DatesError;

/// Why there is no policy to expire by. Nothing has been touched.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no policy file.
    #[error("no expiry policy: {file} does not exist; nothing is expired without one")]
    Missing {
        /// Its name.
        file: String,
    },
    /// The policy file has no rule in it.
    #[error("no expiry policy: {file} contains no rule; nothing is expired without one")]
    Empty {
        /// Its name.
        file: String,
    },
    /// The policy file is too large to be one.
    #[error("{file} is larger than {max} bytes; is it an expiry policy?")]
    Size {
        /// Its name.
        file: String,
        /// The limit.
        max: u64,
    },
    /// The policy file cannot be read.
    #[error("cannot read {file}: {fault}")]
    Read {
        /// Its name.
        file: String,
        /// What the system said.
        fault: std::io::Error,
    },
    /// A line, or a table of `broadsheet.toml`, is wrong.
    #[error("{file}:{line}: {fault}")]
    Line {
        /// The file's name.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        fault: LineFault,
    },
    /// A group of the active file has no rule.
    #[error(
        "{file}: no line covers group `{group}'{}; add one (a last line `all x 14 -' covers everything)",
        more(*others)
    )]
    Uncovered {
        /// The policy file's name.
        file: String,
        /// The first such group, in the order of the active file.
        group: String,
        /// How many more there are.
        others: usize,
    },
}

fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " (nor 1 other)".to_owned(),
        others => format!(" (nor {others} others)"),
    }
}

/// What is wrong with one line of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LineFault {
    /// Not four fields.
    #[error("has {0} fields where `patterns {{m|u|x}} dates directory' has 4")]
    Fields(usize),
    /// A second field other than m, u, x.
    #[error("has `{0}' where m (moderated), u (unmoderated) or x (any) belongs")]
    Moderation(String),
    /// A line for expire itself that is not known.
    #[error("starts with `{0}'; only /bounds/ and /expired/ are known")]
    Special(String),
    /// A second `/expired/` line.
    #[error("is a second /expired/ line; the first is line {0}")]
    ExpiredTwice(usize),
    /// The dates are wrong.
    #[error(transparent)]
    Dates(#[from] DatesError),
    /// `@`, but nobody said where to.
    #[error(
        "archives to `@', but no archive directory was given (expire -a, or archive_directory)"
    )]
    NoArchive,
    /// A directory that is none.
    #[error("has `{0}' where an archive directory, `-' or `@' belongs")]
    Directory(String),
    /// More than there may be.
    #[error("is rule number {number}; there may be {max}")]
    TooManyRules {
        /// Which it is, from 1.
        number: usize,
        /// The limit.
        max: usize,
    },
    /// A key of a table is wrong.
    #[error("{0}")]
    Key(String),
}
