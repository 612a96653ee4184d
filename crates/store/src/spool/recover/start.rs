//! The place where the replay of a log starts, and what is known about the log behind it.

use crate::index::watermark::Watermark;
use crate::log::place::LogPlace;
use crate::log::segment::{FIRST_BASE, SEGMENT_HEADER_BYTES};
use crate::spool::recover::evidence::{IndexEvidence, MarkRun, Marks, Syncs};

/// The reason to believe in the mark where a replay starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// An *applied* mark of this run of the machine: nothing before it needs a check.
    Applied,
    /// A *checkpoint*: the disk has all that lies before it.
    Checkpoint,
    /// A sync failed: only `.art` and the cancels up to the checkpoint count.
    Doubted,
    /// There is no index, and nothing tells what was synced.
    LogOnly,
    /// There is no segment either.
    NewLog,
}

/// The start of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The derived files are believed up to here.
    pub mark: Watermark,
    /// The reason.
    pub basis: Basis,
    /// The log was whole up to here once: a gap before this place is damage, not a torn commit.
    pub whole: Option<LogPlace>,
    /// From here on the log was written in this run of the machine, and nobody knows whether the disk has it.
    pub doubtful: Option<LogPlace>,
    /// `active` and `expired` know the log up to here.
    pub settled: Option<LogPlace>,
}

/// The place of a mark in the log.
pub fn place_of(mark: Watermark) -> LogPlace {
    LogPlace {
        base: mark.base,
        offset: mark.art_end,
    }
}

/// The mark of a segment of which nothing is derived yet.
pub fn start_of_segment(base: u64) -> Watermark {
    Watermark {
        sequence: 1,
        base,
        art_end: SEGMENT_HEADER_BYTES,
        his_end: 0,
        ovr_end: 0,
        cancels_end: 0,
        exp_end: 0,
        newest: 0,
    }
}

impl IndexEvidence {
    /// The start that the index gives. `None`: no mark counts.
    pub fn start(&self) -> Option<Start> {
        match self {
            IndexEvidence::Missing | IndexEvidence::OfLostSegment => None,
            IndexEvidence::Found(marks) => Start::of_marks(marks),
        }
    }
}

impl Start {
    /// The start at the beginning of a segment, without a mark.
    pub fn without_mark(base: u64, basis: Basis) -> Start {
        Start {
            mark: start_of_segment(base),
            basis,
            whole: None,
            doubtful: None,
            settled: None,
        }
    }

    /// The start in an empty log.
    pub fn of_new_log() -> Start {
        Start::without_mark(FIRST_BASE, Basis::NewLog)
    }

    fn of_marks(marks: &Marks) -> Option<Start> {
        let is_of_boot = matches!(marks.run, MarkRun::SinceMount | MarkRun::BeforeMount);
        let published = marks.published.filter(|_| is_of_boot);
        let of_this_mount = published.filter(|_| marks.run == MarkRun::SinceMount);
        let applied = of_this_mount.filter(|_| marks.syncs == Syncs::Good);
        let (mark, basis) = match (applied, published, marks.checkpoint) {
            (Some(applied), ..) => (applied, Basis::Applied),
            (None, Some(published), Some(checkpoint)) if marks.syncs == Syncs::Doubted => {
                let mark = Watermark {
                    cancels_end: checkpoint.cancels_end,
                    ..start_of_segment(published.base)
                };
                (mark, Basis::Doubted)
            }
            (None, _, Some(checkpoint)) => (checkpoint, Basis::Checkpoint),
            (None, _, None) => return None,
        };
        let is_perhaps_of_boot = published.is_some() || marks.run == MarkRun::Unknown;
        let begin = LogPlace {
            base: mark.base,
            offset: SEGMENT_HEADER_BYTES,
        };
        Some(Start {
            mark,
            basis,
            whole: marks.synced.max(of_this_mount.map(place_of)),
            doubtful: is_perhaps_of_boot.then(|| marks.synced.unwrap_or(begin)),
            settled: applied.or(marks.checkpoint).map(place_of),
        })
    }

    /// What is known of the segment at `base`.
    pub fn in_segment(&self, base: u64) -> Known {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let offset_in =
            |place: Option<LogPlace>| place.map(|place| (place.base.cmp(&base), place.offset));
        Known {
            whole: match offset_in(self.whole) {
                Some((Equal, end)) => end,
                _ => 0,
            },
            doubtful: match offset_in(self.doubtful) {
                Some((Less, _)) => Some(SEGMENT_HEADER_BYTES),
                Some((Equal, from)) => Some(from),
                Some((Greater, _)) | None => None,
            },
            settled: match offset_in(self.settled) {
                Some((Equal, end)) => end,
                Some((Greater, _)) => u64::MAX,
                Some((Less, _)) | None => 0,
            },
            torn_commits: match self.basis {
                Basis::LogOnly => TornCommits::MayBeWhole,
                Basis::Applied | Basis::Checkpoint | Basis::Doubted | Basis::NewLog => {
                    TornCommits::AreCut
                }
            },
        }
    }
}

/// What is known of one segment: offsets in it, as [`Start`] has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The segment was whole up to here once.
    pub whole: u64,
    /// From here on nobody knows whether the disk has the records.
    pub doubtful: Option<u64>,
    /// `active` and `expired` know the records before this offset.
    pub settled: u64,
    /// What becomes of a commit with a gap at the end of the log.
    pub torn_commits: TornCommits,
}

/// What becomes of a commit with a gap at the end of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TornCommits {
    /// It was never reported, and is cut off.
    AreCut,
    /// Nothing tells what was synced: its readable records stay.
    MayBeWhole,
}
