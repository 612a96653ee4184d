//! Positions in the log, and the names of segments.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The place of a record in the log, in bytes from its beginning. It names an article for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// Positions stop here: the index keeps 48 bits of an address (256 TiB of log).
pub const POSITION_MAX: u64 = (1 << 48) - 1;

/// The views a segment holds of the same articles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SegmentFile {
    /// The articles: the truth.
    Art,
    /// History lines.
    His,
    /// Overview rows.
    Ovr,
    /// History lines that expire decides one by one.
    Exp,
}

impl SegmentFile {
    /// The file name's ending, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            SegmentFile::Art => "art",
            SegmentFile::His => "his",
            SegmentFile::Ovr => "ovr",
            SegmentFile::Exp => "exp",
        }
    }
}

/// The path of one view of the segment that begins at `base`.
pub fn segment_path(segments: &Path, base: u64, view: SegmentFile) -> PathBuf {
    segments.join(format!("{base:020}.{}", view.suffix()))
}

/// The base in the name of a file of one view; `None` for any other name.
pub fn base_of_file(name: &OsStr, view: SegmentFile) -> Option<u64> {
    let digits = name
        .to_str()?
        .strip_suffix(view.suffix())?
        .strip_suffix('.')?;
    (digits.len() == 20 && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_named_by_its_first_byte() {
        let path = segment_path(Path::new("segments"), 268_435_456, SegmentFile::Art);
        assert_eq!(path.to_str(), Some("segments/00000000000268435456.art"));
        assert_eq!(
            base_of_file(path.file_name().unwrap(), SegmentFile::Art),
            Some(268_435_456)
        );
        assert_eq!(
            base_of_file(OsStr::new("00000000000268435456.his"), SegmentFile::Art),
            None
        );
        assert_eq!(base_of_file(OsStr::new("x.art"), SegmentFile::Art), None);
    }
}
