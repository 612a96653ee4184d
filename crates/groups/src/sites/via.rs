//! How a site's articles travel.

use std::path::PathBuf;

use crate::command_line::CommandLine;

/// Bytes of a batch before compression, unless said.
pub const BATCH_BYTES: u64 = 100_000;

/// A batch holds at most so many times its size, unless said: the most one oversize article adds.
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
    /// Bytes a batch may have because of its last article; a larger article gets a batch of its own. Else
    /// [`BATCH_OVERSIZE`] times the size.
    pub size_max: Option<u64>,
    /// What it is compressed with; else it is not.
    pub compress: Option<Compress>,
    /// Where it goes; else as `batchparms` says.
    pub to: Option<To>,
    /// How many batches may wait there; else as many as come.
    pub queue: Option<Queue>,
    /// The class of the line of `batchparms` that is meant; else `u`, as in C News.
    pub class: Option<u8>,
    /// When batches are made, in the words of the daemon; else when there is enough for one.
    pub schedule: Option<String>,
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

    /// Bytes a batch may have because of its last article.
    pub fn size_max(&self) -> u64 {
        self.size_max
            .unwrap_or_else(|| self.size().saturating_mul(BATCH_OVERSIZE))
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
