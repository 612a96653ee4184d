//! What can go wrong with a feed.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a feed. The message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The operating system refused. `doing` is a verb phrase.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file it was done to.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// Neither slot of a cursor can be read.
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
    /// Another program serves the site now.
    #[error("{0} is being served by another program; wait for it to end")]
    Busy(String),
    /// A site's name cannot be the name of a directory.
    #[error("site `{0}' cannot have a feed: its name is no file name")]
    Name(String),
    /// A batch could not be dropped into a directory.
    #[error(transparent)]
    Directory(Box<relay::Error>),
    /// More articles are deferred than are kept.
    #[error(
        "more than {limit} articles for {site} are deferred; the feed stops there until they are taken"
    )]
    TooManyDeferred {
        /// The site.
        site: String,
        /// The most that are kept.
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
        /// What the system says.
        source: io::Error,
    },
    /// The program did not take the batch.
    #[error("`{program}' did not take the batch: {how}{}", said(.complaint))]
    Refused {
        /// The program.
        program: String,
        /// How it ended.
        how: String,
        /// The end of what it wrote on its standard error.
        complaint: String,
    },
    /// A site's name that cannot be part of an argument or of a path.
    #[error("`{0}' cannot be a site's name: letters, digits, `.', `-' and `_' only")]
    SiteName(String),
    /// Nothing says how batches for a site are to be made.
    #[error(
        "nothing says where batches for {site} go: write a line for it, class {class}, in batchparms, or `via = {{ batch = ... }}' in its [[site]]"
    )]
    NoParms {
        /// The site.
        site: String,
        /// The class that was looked for.
        class: char,
    },
    /// A site that is to answer messages of another one, which its name does not tell.
    #[error(
        "{site} is to answer messages of another site, and its name does not tell of which: call it HOST{suffix}"
    )]
    NoHost {
        /// The site.
        site: String,
        /// The end of the name.
        suffix: &'static str,
    },
    /// Lines of batchparms that are wrong.
    #[error("{}", all_of(.path, .faults))]
    Batchparms {
        /// The file.
        path: PathBuf,
        /// Its faults, in their order.
        faults: Vec<BatchparmsFault>,
    },
}

impl Error {
    /// Wraps a system error with what was being done to which file.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    }
}

/// A line of `batchparms` that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct BatchparmsFault {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, and what to do.
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
