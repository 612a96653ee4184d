//! The reports of an opening to the administrator.

use std::fmt;
use std::path::PathBuf;

/// A repair that an opening made, or damage that it found. Its text is a sentence for the administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The index was missing or damaged.
    IndexRebuilt,
    /// The key of the index was missing, invalid, or another.
    KeyLost,
    /// `active` was missing.
    ActiveRebuilt,
    /// `expired` was missing.
    ExpiredRebuilt,
    /// `cancels` was damaged.
    CancelsRebuilt,
    /// The history of a sealed segment, given by its base, was missing or could not be read.
    HistoryRebuilt(u64),
    /// A sync of the derived files failed, or was interrupted.
    SyncDoubted,
    /// A segment lost its end, and a repair goes on without it.
    TailLost {
        /// The file of the articles.
        path: PathBuf,
        /// Its length, bytes.
        length: u64,
    },
    /// The derived files of the segment at this base ended before the mark, or between two blocks.
    DerivedDidNotFit(u64),
    /// The history of the segment at this base ended with bytes of another file.
    DerivedWereOverwritten(u64),
    /// The end of the log was written again, and the file system does not let the disk itself be read.
    Unverified(PathBuf),
    /// Records are damaged: from this byte of the file on.
    Damaged {
        /// The file of the articles.
        path: PathBuf,
        /// The offset of the damage in the file.
        from: u64,
    },
    /// So many articles were recovered from the log after an interruption.
    Recovered(u64),
    /// Somebody edited `active` on a node of a cluster.
    EditUndone,
    /// Any other report.
    Other(String),
}

impl Notice {
    /// Whether it reports damaged articles.
    pub fn is_damage(&self) -> bool {
        matches!(self, Notice::Damaged { .. })
    }
}

impl From<String> for Notice {
    fn from(text: String) -> Notice {
        Notice::Other(text)
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::IndexRebuilt => out.write_str(
                "the index was missing or damaged: made again from the history lines",
            ),
            Notice::KeyLost => out.write_str(
                "index.key was lost or changed: the index is made again with another",
            ),
            Notice::ActiveRebuilt => out.write_str("active was missing: made again from the log"),
            Notice::ExpiredRebuilt => out.write_str("expired was missing: made again from the log"),
            Notice::CancelsRebuilt => out.write_str("cancels was damaged: made again from the log"),
            Notice::HistoryRebuilt(base) => write!(
                out,
                "segments/{base:020}.his was missing or could not be read: made again from .art"
            ),
            Notice::SyncDoubted => out.write_str(
                "an earlier sync failed or was cut short: what is derived from .art is made anew",
            ),
            Notice::TailLost { path, length } => {
                write!(out, "{} lost its tail from byte {length} on", path.display())
            }
            Notice::DerivedDidNotFit(base) => write!(
                out,
                "the derived files of segment {base:020} did not fit: made again from .art"
            ),
            Notice::DerivedWereOverwritten(base) => write!(
                out,
                "segments/{base:020}.his or .exp ends with bytes that are no history lines of the segment, as a file system can leave them after a \
                 power cut: made again from .art"
            ),
            Notice::Unverified(path) => write!(
                out,
                "{}: a sync failed, or the file system was mounted again, and the end of the log was written again; the file system does not let \
                 the disk itself be read, so that nothing verifies that the disk has it",
                path.display()
            ),
            Notice::Damaged { path, from } => {
                write!(out, "{} is damaged at byte {from}: run `broadsheet fsck`", path.display())
            }
            Notice::Recovered(articles) => {
                match articles {
                    1 => out.write_str("1 article was")?,
                    _ => write!(out, "{articles} articles were")?,
                }
                out.write_str(" taken up again from the log after an interruption")
            }
            Notice::EditUndone => out.write_str(
                "active was edited: the edit is undone, because the groups of a cluster change by its log",
            ),
            Notice::Other(text) => out.write_str(text),
        }
    }
}
