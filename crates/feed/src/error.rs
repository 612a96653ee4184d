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
        "{} cannot be read: nobody knows how far the site is; say `broadsheet feed reset SITE --to WHERE`, oldest if in doubt: what it has already is refused as duplicate",
        .0.display()
    )]
    Cursor(PathBuf),
    /// The site has no cursor.
    #[error(
        "no feed `{0}'; `broadsheet feed list` shows all of them, `broadsheet check` the sites"
    )]
    Unknown(String),
    /// Another program serves the site.
    #[error("{0} is being served by another program; wait for it to end")]
    Busy(String),
    /// The site's name is not a valid file name.
    #[error("site `{0}' cannot have a feed: its name is no file name")]
    Name(String),
    /// A batch could not be written to a directory.
    #[error(transparent)]
    Directory(Box<relay::Error>),
    /// The list of deferred articles is full.
    #[error(
        "more than {limit} articles for {site} are deferred; the feed stops there until they are taken"
    )]
    TooManyDeferred {
        /// The site.
        site: String,
        /// The maximum number.
        limit: usize,
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
    /// The program failed to take the batch.
    #[error("`{program}' did not take the batch: {how}{}", said(.complaint))]
    Refused {
        /// The program.
        program: String,
        /// The program's end.
        how: String,
        /// The end of its standard error.
        complaint: String,
    },
    /// The site's name cannot be part of an argument or path.
    #[error("`{0}' cannot be a site's name: letters, digits, `.', `-' and `_' only")]
    SiteName(String),
    /// There are no batch parameters for the site.
    #[error(
        "nothing says where batches for {site} go: write a line for it, class {class}, in batchparms, or `via = {{ batch = ... }}' in its [[site]]"
    )]
    NoParms {
        /// The site.
        site: String,
        /// The requested class.
        class: char,
    },
    /// A site for replies to messages whose name lacks the suffix.
    #[error(
        "{site} is to answer messages of another site, and its name does not tell of which: call it HOST{suffix}"
    )]
    NoHost {
        /// The site.
        site: String,
        /// The suffix of the name.
        suffix: &'static str,
    },
    /// Invalid lines of batchparms.
    #[error("{}", all_of(.path, .faults))]
    Batchparms {
        /// The file.
        path: PathBuf,
        /// The errors, in order.
        faults: Vec<BatchparmsFault>,
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
pub struct BatchparmsFault {
    /// Counted from 1.
    pub line: usize,
    /// The problem and its solution.
    pub what: String,
}

fn said(complaint: &str) -> String {
    match complaint {
        "" => String::new(),
        complaint => format!("; it said: {complaint}"),
    }
}

fn all_of(path: &Path, faults: &[BatchparmsFault]) -> String {
    let lines = faults.iter();
    let lines = lines.map(|fault| format!("{}: {fault}", path.display()));
    lines.collect::<Vec<_>>().join("\n")
}
