//! Errors of feeds.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a feed. The message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// An error of the operating system. `doing` is a verb phrase.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// Both slots of a cursor are damaged.
    #[error(
        "{} cannot be read, so the position of the site is unknown; use `broadsheet feed reset SITE --to WHERE`, with oldest if in doubt: the site refuses articles that it has as duplicates",
        .0.display()
    )]
    Cursor(PathBuf),
    /// The site had a cursor, which is gone.
    #[error(
        "the cursor of {site} is missing (feeds/{site}/cursor), so the position of the site is unknown; use `broadsheet feed reset {site} --to WHERE', with oldest if in doubt: the site refuses articles that it has as duplicates",
        site = .0
    )]
    NoCursor(String),
    /// No site has this name.
    #[error("no feed `{0}'; `broadsheet feed list` shows the feeds, `broadsheet check` the sites")]
    Unknown(String),
    /// Another program serves the site.
    #[error("another program serves {0}; wait until it ends")]
    Busy(String),
    /// The site's name is not a valid file name.
    #[error("site `{0}' cannot have a feed: its name is not a valid file name")]
    Name(String),
    /// A batch could not be written to a directory.
    #[error(transparent)]
    Directory(Box<relay::Error>),
    /// The list of deferred articles is full.
    #[error(
        "more than {limit} articles for {site} are deferred; the feed stops until the site takes them"
    )]
    TooManyDeferred {
        /// The site.
        site: String,
        /// The maximum number.
        limit: usize,
    },
    /// The directory tree of a site is not the site's own, or something is in the way there.
    #[error("{}: {what}", path.display())]
    Tree {
        /// The file or directory.
        path: PathBuf,
        /// The problem and its solution.
        what: String,
    },
    /// A batch could not be compressed.
    #[error("cannot compress a batch for {site}: {source}")]
    Wrapping {
        /// The site.
        site: String,
        /// Why.
        source: io::Error,
    },
    /// The program that takes batches could not be started.
    #[error("cannot run `{program}': {source}; is it installed, and on the PATH?")]
    NotStarted {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The program failed to take a batch, or an article.
    #[error("`{program}' did not take {what}: {how}{}", stderr_text(.stderr))]
    Refused {
        /// The program.
        program: String,
        /// The batch, or the message-id of the article.
        what: String,
        /// The program's end.
        how: String,
        /// The end of its standard error.
        stderr: String,
    },
    /// The site's name cannot be part of an argument or path.
    #[error("`{0}' cannot be the name of a site: use only letters, digits, `.', `-' and `_'")]
    SiteName(String),
    /// There are no batch parameters for the site.
    #[error(
        "batches for {site} have no destination: add a line for it, class {class}, to batchparms, or `via = {{ batch = ... }}' to its [[site]]"
    )]
    NoParms {
        /// The site.
        site: String,
        /// The requested class.
        class: char,
    },
    /// A site for replies to messages whose name lacks the suffix.
    #[error(
        "{site} answers messages of another site, so its name must be HOST{suffix}, with the name of that site as HOST"
    )]
    NoHost {
        /// The site.
        site: String,
        /// The suffix of the name.
        suffix: &'static str,
    },
    /// Invalid lines of batchparms.
    #[error("{}", error_lines(.path, .errors))]
    Batchparms {
        /// The file.
        path: PathBuf,
        /// The errors, in order.
        errors: Vec<BatchparmsError>,
    },
}

impl Error {
    /// Wraps a system error with the operation and the file.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    }
}

/// An invalid line of `batchparms`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct BatchparmsError {
    /// Counted from 1.
    pub line: usize,
    /// The problem and its solution.
    pub what: String,
}

fn stderr_text(stderr: &str) -> String {
    match stderr {
        "" => String::new(),
        stderr => format!("; its standard error: {stderr}"),
    }
}

fn error_lines(path: &Path, errors: &[BatchparmsError]) -> String {
    let lines = errors.iter();
    let lines = lines.map(|error| format!("{}: {error}", path.display()));
    lines.collect::<Vec<_>>().join("\n")
}
