//! How a site's articles travel.

use std::path::PathBuf;

use crate::command_line::CommandLine;
use crate::when::When;

/// Bytes of a batch before compression, unless said.
pub const BATCH_BYTES: u64 = 100_000;

/// A batch of one article that is larger than so many times the size of batches is told of, unless another largest size is said.
pub const BATCH_OVERSIZE: u64 = 3;

/// How a site's articles travel. (NNTP will be one kind more.)
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Via {
    /// Batches, made from the log behind a cursor.
    Batch(BatchVia),
    /// A line for each article in a file, for a program of the administrator's that moves it aside and reads
    /// it (a *togo* file).
    FileList {
        /// What a line says.
        form: ListForm,
        /// The file, relative to the news directory unless absolute.
        path: PathBuf,
    },
    /// A program that is kept running and reads articles, or their ids, from its standard input.
    Program {
        /// The program and its arguments.
        command: CommandLine,
        /// What it is given.
        gives: Gives,
    },
    /// A command run anew for each article, which it has on standard input, and in the file `%s` where the
    /// command names one.
    Command(CommandLine),
    /// Filed straight into another news directory on this machine.
    News {
        /// That directory, relative to ours unless absolute.
        directory: PathBuf,
    },
}

impl Via {
    /// A word for people: `batch`, `files`, `program`, `command`, `news`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Batch(_) => "batch",
            Self::FileList { .. } => "files",
            Self::Program { .. } => "program",
            Self::Command(_) => "command",
            Self::News { .. } => "news",
        }
    }
}

/// What a line of a file list says. Article names are `group/name/number`.
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

/// What a program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gives {
    /// A message-id a line.
    Id,
    /// Each article as a batch has it: `#! rnews N`, a newline, and N bytes.
    Article,
}

/// Batches by cursor. What is `None` is said by `batchparms`, or has its default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct BatchVia {
    /// Bytes of a batch before compression; else [`BATCH_BYTES`].
    pub size: Option<u64>,
    /// An article larger than `size` makes a batch of its own, however large it is; beyond so many bytes it is told of. Else
    /// [`BATCH_OVERSIZE`] times the size.
    pub size_max: Option<u64>,
    /// What it holds; else as the line of `batchparms` says.
    pub build: Option<Build>,
    /// What it is compressed with; else it is not.
    pub compress: Option<Compress>,
    /// Where it goes; else as `batchparms` says.
    pub to: Option<To>,
    /// How many batches may wait there; else as many as come.
    pub queue: Option<Queue>,
    /// The class of the line of `batchparms` that is meant; else `u`, as in C News.
    pub class: Option<u8>,
    /// When the daemon sends batches; else when it does so for all sites (`[schedule] sendbatches`).
    pub schedule: Option<When>,
}

impl BatchVia {
    /// The same, with what is not said taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            size: self.size.or(other.size),
            // Said of the other's size.
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

    /// Bytes of a batch before compression.
    pub fn size(&self) -> u64 {
        self.size.unwrap_or(BATCH_BYTES)
    }

    /// Bytes beyond which a batch of one article is told of.
    pub fn size_max(&self) -> u64 {
        self.size_max
            .unwrap_or_else(|| self.size().saturating_mul(BATCH_OVERSIZE))
    }
}

/// What a batch holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Build {
    /// The articles that wait: `batcher`.
    #[default]
    Articles,
    /// An ihave message with the ids of the articles that wait: `batchih`.
    Ihave,
    /// For the site `HOST.ihave`, which gets the ihave messages of HOST: a sendme message for what is not here: `batchsm`.
    Sendme,
    /// For the site `HOST.sendme`, which gets the sendme messages of HOST: the articles they ask for: `batchra`.
    Requested,
}

impl Build {
    /// Every choice with its word.
    pub const ALL: &[(&str, Build)] = &[
        ("articles", Build::Articles),
        ("ihave", Build::Ihave),
        ("sendme", Build::Sendme),
        ("requested", Build::Requested),
    ];

    /// The choice a classic builder stands for.
    pub fn of_program(program: &[u8]) -> Option<Self> {
        Some(match program {
            b"batcher" => Self::Articles,
            b"batchih" => Self::Ihave,
            b"batchsm" => Self::Sendme,
            b"batchra" => Self::Requested,
            _ => return None,
        })
    }

    /// The end of the names of sites it is for: they get the messages of the HOST in front of it, and it answers them.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Articles | Self::Ihave => "",
            Self::Sendme => ".ihave",
            Self::Requested => ".sendme",
        }
    }

    /// The site that its batches go to, which `SITE` stands for: HOST of `HOST.ihave` and `HOST.sendme`. `None`: the name has not
    /// the end it needs.
    pub fn peer(self, site: &[u8]) -> Option<&[u8]> {
        let host = site.strip_suffix(self.suffix().as_bytes());
        host.filter(|host| !host.is_empty())
    }
}

/// Where a batch goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum To {
    /// A command that has it on standard input.
    Command(CommandLine),
    /// A directory it is dropped in, such as another site's `in.coming`; relative to the news directory unless
    /// absolute.
    Directory(PathBuf),
}

/// How many batches may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Queue {
    /// As many as come.
    Unlimited,
    /// So many.
    Batches(u32),
}

/// What batches are compressed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compress {
    /// Nothing.
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
    /// Every choice with its word.
    pub const ALL: &[(&str, Compress)] = &[
        ("none", Compress::None),
        ("compress", Compress::Compress),
        ("gzip", Compress::Gzip),
        ("bzip2", Compress::Bzip2),
        ("xz", Compress::Xz),
        ("zstd", Compress::Zstd),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, compress)| *compress == self);
        found.map_or("none", |(word, _)| word)
    }

    /// The choice a word stands for.
    pub fn of(word: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == word);
        found.map(|(_, compress)| *compress)
    }
}
