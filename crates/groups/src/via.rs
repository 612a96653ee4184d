//! How a site's articles travel.

use std::path::PathBuf;

use crate::command_line::CommandLine;
use crate::nntp_server::{Hours, NntpServer};
use crate::when::When;

/// Default size of a batch before compression, bytes.
pub const BATCH_BYTES: u64 = 100_000;

/// Default factor between the size of batches and the size above which a batch of one article is reported.
pub const BATCH_OVERSIZE: u64 = 3;

/// How a site's articles travel.
///
/// The `Debug` form of this type is part of a file, see [`FeedNames`](crate::sites::FeedNames): renaming a type, variant or field
/// in it changes the names of feeds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Via {
    /// Batches, made from the log after a cursor.
    Batch(BatchVia),
    /// A file with a line for each article (a *togo* file), for a program of the administrator that renames and reads
    /// it.
    FileList {
        /// The content of a line.
        form: ListForm,
        /// The file, relative to the news directory unless absolute.
        path: PathBuf,
    },
    /// A program that keeps running and reads articles, or their ids, from its standard input.
    Program {
        /// The program and its arguments.
        command: CommandLine,
        /// The input of the program.
        gives: Gives,
    },
    /// A command that runs once for each article, with the article on standard input, and in the file `%s` if the
    /// command contains it.
    Command(CommandLine),
    /// Filing into another news directory on this machine.
    News {
        /// The directory, relative to ours unless absolute.
        directory: PathBuf,
    },
    /// A file for each article in a directory tree, as C News filed them: `comp/lang/c/123`.
    Tree {
        /// The top directory, relative to the news directory unless absolute.
        directory: PathBuf,
        /// Whether each group's directory has an overview in the file `.overview`.
        overview: bool,
    },
    /// A peer that gets articles by NNTP.
    Nntp(NntpVia),
}

/// A peer that gets articles by NNTP.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NntpVia {
    /// The peer.
    pub server: NntpServer,
    /// Most connections.
    pub connections: u32,
    /// Most bytes a second, of all connections together; `None` for no limit.
    pub rate: Option<u64>,
    /// When articles are sent; `None` for always.
    pub hours: Option<Hours>,
    /// Whether articles go without their bodies (MODE HEADFEED, as Diablo has it).
    pub headfeed: bool,
}

impl Via {
    /// The name of the kind: `batch`, `files`, `program`, `command`, `news`, `tree`, `nntp`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Batch(_) => "batch",
            Self::FileList { .. } => "files",
            Self::Program { .. } => "program",
            Self::Command(_) => "command",
            Self::News { .. } => "news",
            Self::Tree { .. } => "tree",
            Self::Nntp(_) => "nntp",
        }
    }
}

/// The content of a line of a file list. Article names are `group/name/number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListForm {
    /// `f`: name and size in bytes.
    NameSize,
    /// `F`: name.
    Name,
    /// `n`: name and message-id.
    NameId,
    /// `I`: message-id.
    Id,
}

impl ListForm {
    /// The form of a flag of `sys`.
    pub fn of(letter: u8) -> Option<Self> {
        Some(match letter {
            b'f' => Self::NameSize,
            b'F' => Self::Name,
            b'n' => Self::NameId,
            b'I' => Self::Id,
            _ => return None,
        })
    }
}

/// The input of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gives {
    /// One message-id per line.
    Id,
    /// Each article framed as in a batch: `#! rnews N`, a newline, and N bytes.
    Article,
}

/// Batches made from a cursor. A field that is `None` is taken from `batchparms`, or has its default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct BatchVia {
    /// Size of a batch before compression, bytes; default [`BATCH_BYTES`].
    pub size: Option<u64>,
    /// Size, in bytes, above which a batch of one article is reported; default [`BATCH_OVERSIZE`] times the size. (An article
    /// larger than `size` becomes a batch of its own, however large it is.)
    pub size_max: Option<u64>,
    /// The content of a batch; default: that of the line of `batchparms`.
    pub build: Option<Build>,
    /// The compression; default none.
    pub compress: Option<Compress>,
    /// The destination; default: that of `batchparms`.
    pub to: Option<To>,
    /// Most batches that may wait there; default unlimited.
    pub queue: Option<Queue>,
    /// The class of the site's line in `batchparms`; default `u`, as in C News.
    pub class: Option<u8>,
    /// When the daemon sends batches; default: `[schedule] sendbatches`.
    pub schedule: Option<When>,
}

impl BatchVia {
    /// Fills the fields that are `None` from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            size: self.size.or(other.size),
            // The other's limit belongs to the other's size.
            size_max: match self.size {
                None => self.size_max.or(other.size_max),
                Some(_) => self.size_max,
            },
            build: self.build.or(other.build),
            compress: self.compress.or(other.compress),
            to: self.to.or(other.to),
            queue: self.queue.or(other.queue),
            class: self.class.or(other.class),
            schedule: self.schedule.or(other.schedule),
        }
    }

    /// Size of a batch before compression, bytes.
    pub fn size(&self) -> u64 {
        self.size.unwrap_or(BATCH_BYTES)
    }

    /// Size above which a batch of one article is reported, bytes.
    pub fn size_max(&self) -> u64 {
        self.size_max
            .unwrap_or_else(|| self.size().saturating_mul(BATCH_OVERSIZE))
    }
}

/// The content of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Build {
    /// The waiting articles: `batcher`.
    #[default]
    Articles,
    /// An ihave message with the ids of the waiting articles: `batchih`.
    Ihave,
    /// A sendme message for the articles missing here, at the site `HOST.ihave`, which gets the ihave messages of HOST: `batchsm`.
    Sendme,
    /// The requested articles, at the site `HOST.sendme`, which gets the sendme messages of HOST: `batchra`.
    Requested,
}

impl Build {
    /// Every value with its name in settings.
    pub const ALL: &[(&str, Build)] = &[
        ("articles", Build::Articles),
        ("ihave", Build::Ihave),
        ("sendme", Build::Sendme),
        ("requested", Build::Requested),
    ];

    /// The value for a classic builder program.
    pub fn of_program(program: &[u8]) -> Option<Self> {
        Some(match program {
            b"batcher" => Self::Articles,
            b"batchih" => Self::Ihave,
            b"batchsm" => Self::Sendme,
            b"batchra" => Self::Requested,
            _ => return None,
        })
    }

    /// The required suffix of the site's name: the site `HOST.suffix` gets the messages of HOST, and the batches answer them.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Articles | Self::Ihave => "",
            Self::Sendme => ".ihave",
            Self::Requested => ".sendme",
        }
    }

    /// The site that the batches go to, and the value of `SITE`: HOST of `HOST.ihave` and `HOST.sendme`. `None` if the name lacks
    /// the required suffix.
    pub fn peer(self, site: &[u8]) -> Option<&[u8]> {
        let host = site.strip_suffix(self.suffix().as_bytes());
        host.filter(|host| !host.is_empty())
    }
}

/// The destination of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum To {
    /// A command that reads the batch on standard input.
    Command(CommandLine),
    /// A directory to put the batch into, such as another site's `in.coming`; relative to the news directory unless
    /// absolute.
    Directory(PathBuf),
}

/// Most batches that may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Queue {
    /// No limit.
    Unlimited,
    /// At most this number.
    Batches(u32),
}

/// The compression of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compress {
    /// No compression.
    #[default]
    None,
    /// compress, LZW.
    Compress,
    /// gzip.
    Gzip,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
    /// zstd.
    Zstd,
}

impl Compress {
    /// Every value with its name in settings.
    pub const ALL: &[(&str, Compress)] = &[
        ("none", Compress::None),
        ("compress", Compress::Compress),
        ("gzip", Compress::Gzip),
        ("bzip2", Compress::Bzip2),
        ("xz", Compress::Xz),
        ("zstd", Compress::Zstd),
    ];

    /// The name in settings.
    pub fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, compress)| *compress == self);
        found.map_or("none", |(word, _)| word)
    }

    /// The value for a name in settings.
    pub fn of(word: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == word);
        found.map(|(_, compress)| *compress)
    }
}
