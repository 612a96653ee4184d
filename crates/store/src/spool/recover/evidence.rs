//! The state of a news directory as a recovery finds it: plain data, without open files.

use crate::index::watermark::Watermark;
use crate::log::place::LogPlace;
use crate::log::segment::SEGMENT_HEADER_BYTES;

/// All that the plan of a recovery depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Span of a new segment, bytes.
    pub segment_bytes: u64,
    /// What an opening does about lost articles.
    pub losses: Losses,
    /// The source of the log.
    pub role: Role,
    /// A repair that removed the index knows that the log was whole up to here.
    pub known_whole: Option<LogPlace>,
    /// The marks in the index.
    pub index: IndexEvidence,
    /// The key of the index.
    pub key: KeyEvidence,
    /// The file `active`.
    pub active: ActiveEvidence,
    /// The file `expired`.
    pub expired: Presence,
    /// The file `cancels`.
    pub cancels: CancelsEvidence,
    /// The files of the segment that the mark names. `None`: no mark counts.
    pub marked: Option<MarkedSegment>,
    /// The other segments. `None`: every file ends where the mark says, so that nobody listed them.
    pub survey: Option<LogSurvey>,
}

/// What an opening does where articles were lost by damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Losses {
    /// It fails, and reports the file.
    Refuse,
    /// It goes on without them: a repair.
    Accept,
}

/// The source of the log of a news directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// This news directory.
    Alone,
    /// The log of a cluster: lost articles come from there again.
    Node,
}

/// Whether a file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It can be opened.
    Present,
    /// It cannot.
    Missing,
}

/// The file `index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexEvidence {
    /// It is missing, or has a damaged header or no mark.
    Missing,
    /// A repair found that the segment of a mark is missing.
    OfLostSegment,
    /// It has marks.
    Found(Marks),
}

/// The marks in the header of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The run of the machine that set the newest *applied* mark.
    pub run: MarkRun,
    /// Whether the last syncs of the derived files succeeded, as far as this run of the machine knows.
    pub syncs: Syncs,
    /// The newest *applied* mark, of any run.
    pub published: Option<Watermark>,
    /// The *checkpoint* mark.
    pub checkpoint: Option<Watermark>,
    /// The end of the articles that are known to be on the disk.
    pub synced: Option<LogPlace>,
}

/// The run of the machine in which a mark was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkRun {
    /// This one, since the file system was mounted.
    SinceMount,
    /// This one, before the file system was mounted.
    BeforeMount,
    /// An earlier one.
    Earlier,
    /// The system gives its runs no numbers.
    Unknown,
}

/// The syncs of the derived files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syncs {
    /// None failed.
    Good,
    /// One failed, or was interrupted.
    Doubted,
}

/// The key of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyEvidence {
    /// The index was made with it, or there is no index.
    Right,
    /// The index was made with another.
    Wrong,
    /// It is missing or invalid.
    Missing,
}

/// The file `active`, compared with the last write of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActiveEvidence {
    /// It is missing.
    Missing,
    /// Time, length and checksum are those of the last write.
    AsWritten,
    /// Time or checksum differ. After a power cut they say little.
    Touched,
    /// The length differs too, or the file is empty.
    Resized,
    /// Without an index, nothing records the last write.
    Unrecorded,
}

/// The file `cancels`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelsEvidence {
    /// It is missing.
    Missing,
    /// It is there, and no mark tells how much of it counts.
    Unmarked,
    /// Every line up to the mark is valid.
    Whole {
        /// Length of the file, bytes.
        length: u64,
    },
    /// It is shorter than the mark says, or a line before the mark is invalid.
    Damaged,
}

/// The files of the segment that the mark names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkedSegment {
    /// The file of the articles.
    pub art: ArtEvidence,
    /// Length of `.his`, bytes; 0 for a missing file.
    pub his: u64,
    /// Length of `.ovr`.
    pub ovr: u64,
    /// Length of `.exp`.
    pub exp: u64,
    /// The bytes before the mark.
    pub content: DerivedContent,
}

/// The bytes of `.his`, `.ovr` and `.exp` before the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DerivedContent {
    /// They fit the mark. The blocks of `.ovr` are read only if some file does not end at the mark.
    Fits,
    /// A file is shorter, or the blocks of `.ovr` were merged meanwhile.
    DoesNotFit,
    /// `.his` or `.exp` ends with bytes that are no history lines of the segment.
    Overwritten,
}

/// An `.art` file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtEvidence {
    /// It is missing.
    Missing,
    /// Its header is valid.
    Sound {
        /// Length of the file, bytes; of the object, if an object has the articles.
        length: u64,
        /// Positions of the segment.
        span: u64,
        /// Whether the segment was rewritten to return space, as only sealed ones are.
        form: SegmentForm,
    },
    /// Its header is damaged.
    Damaged {
        /// Length of the file, bytes.
        length: u64,
        /// Offset of the damage.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
}

/// Where the records of a segment lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentForm {
    /// At their positions.
    Plain,
    /// Elsewhere: the segment was rewritten.
    Rewritten,
}

impl ArtEvidence {
    /// Length of the file, bytes.
    pub fn length(self) -> u64 {
        match self {
            ArtEvidence::Missing => 0,
            ArtEvidence::Sound { length, .. } | ArtEvidence::Damaged { length, .. } => length,
        }
    }

    /// Whether no record was ever written to it.
    pub fn is_empty(self) -> bool {
        self.length() <= SEGMENT_HEADER_BYTES
    }
}

/// The segments, where not every file ends at the mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSurvey {
    /// The segments from the marked one on, ascending; the newest one alone, if there is no mark.
    pub segments: Vec<SegmentEvidence>,
    /// The end of the last article of the newest segment, as its history has it. Read where there is no mark, or the segment is empty.
    pub newest_history_end: Option<u64>,
    /// Segments whose history is missing or cannot be read; searched where there is no mark.
    pub unreadable_histories: Vec<u64>,
}

/// One segment of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentEvidence {
    /// Its base.
    pub base: u64,
    /// Its articles.
    pub art: ArtEvidence,
}

impl Evidence {
    /// The newest segment, if the segments were listed and there is one.
    pub fn newest(&self) -> Option<SegmentEvidence> {
        self.survey.as_ref()?.segments.last().copied()
    }

    /// Whether the files end at a mark, and fit it: the normal end of a program.
    pub fn ends_at(&self, mark: &Watermark) -> bool {
        self.marked.is_some_and(|files| {
            files.content == DerivedContent::Fits && files.ends_at(mark, self.cancels)
        })
    }
}

impl MarkedSegment {
    /// Whether the files, and a file `cancels`, end at a mark.
    pub fn ends_at(&self, mark: &Watermark, cancels: CancelsEvidence) -> bool {
        let cancels_end = match cancels {
            CancelsEvidence::Whole { length } => Some(length),
            CancelsEvidence::Missing => Some(0),
            CancelsEvidence::Unmarked | CancelsEvidence::Damaged => None,
        };
        matches!(self.art, ArtEvidence::Sound { .. })
            && (self.art.length(), self.his, self.ovr, self.exp)
                == (mark.art_end, mark.his_end, mark.ovr_end, mark.exp_end)
            && cancels_end == Some(mark.cancels_end)
    }
}
