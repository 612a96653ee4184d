//! Where a replay of the log starts, and what is known about the log behind it.

use std::path::Path;

use crate::Error;
use crate::check::derived_files::rebuild_lost;
use crate::check::lost_ends::split_at_end;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::index::Index;
use crate::index::watermark::Watermark;
use crate::io::disk::{Open, RunId};
use crate::log::segment::{FIRST_BASE, SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::spool::options::Options;

/// The notice of a start without a usable index.
pub const INDEX_MADE: &str = "the index was missing or damaged: made again from the history lines";

/// Where the replay begins.
pub struct Start {
    pub mark: Watermark,
    /// The mark was set in this run of the machine: what is before it needs no look.
    pub sure: bool,
    /// The file `cancels` is good up to the mark; else the whole log is asked.
    pub cancels_known: bool,
    /// The index and the derived files of the segment are made anew, in the place of the old ones: somebody may have mapped those.
    pub anew: bool,
    /// Up to here the log was whole once.
    pub whole: Option<Place>,
    /// From here on the log was written in this run of the machine, and nobody knows whether the disk has it.
    pub doubtful: Option<Place>,
    /// Up to here `active` and `expired` know the log.
    pub settled: Option<Place>,
    /// Nothing tells what was synced.
    pub is_end_unknown: bool,
}

/// A segment's base and an offset in it.
pub type Place = (u64, u64);

fn place(mark: Watermark) -> Place {
    (mark.base, mark.art_end)
}

impl Start {
    pub fn at(base: u64) -> Start {
        let mark = Watermark {
            sequence: 1,
            base,
            art_end: SEGMENT_HEADER_BYTES,
            his_end: 0,
            ovr_end: 0,
            cancels_end: 0,
            exp_end: 0,
            newest: 0,
        };
        Start {
            mark,
            sure: false,
            cancels_known: true,
            anew: false,
            whole: None,
            doubtful: None,
            settled: None,
            is_end_unknown: false,
        }
    }

    /// As the index tells.
    pub fn of(index: &Index, run: RunId, notices: &mut Vec<String>) -> Start {
        let published = index.published().filter(|_| index.is_of_boot(run));
        let (applied, checkpoint) = (index.applied(run), index.checkpoint());
        let start = Start::at(FIRST_BASE);
        let start = match (applied, published, checkpoint) {
            (Some(mark), ..) => Start {
                mark,
                sure: true,
                ..start
            },
            (None, Some(published), _) if index.is_doubted(run) => {
                notices.push(
                    "an earlier sync failed or was cut short: what is derived from .art is made anew".into(),
                );
                let cancels_end = checkpoint.map_or(0, |mark| mark.cancels_end);
                Start {
                    mark: Watermark {
                        cancels_end,
                        ..Start::at(published.base).mark
                    },
                    cancels_known: checkpoint.is_some(),
                    anew: true,
                    ..start
                }
            }
            (None, _, checkpoint) => Start {
                mark: checkpoint.unwrap_or(start.mark),
                ..start
            },
        };
        let synced = index.synced().map(place);
        let is_perhaps_of_this_run = published.is_some() || run.boot == [0, 0];
        let first = (start.mark.base, SEGMENT_HEADER_BYTES);
        Start {
            whole: synced.max(published.filter(|_| index.is_of(run)).map(place)),
            doubtful: is_perhaps_of_this_run.then(|| synced.unwrap_or(first)),
            settled: applied.or(checkpoint).map(place),
            ..start
        }
    }

    /// What there is to know of the segment at `base`.
    pub fn in_segment(&self, base: u64) -> Known {
        let upto = |place: Option<Place>| match place {
            Some((there, end)) if there == base => end,
            Some((there, _)) if there > base => u64::MAX,
            _ => 0,
        };
        Known {
            whole: upto(self.whole.filter(|(there, _)| *there == base)),
            doubtful: self
                .doubtful
                .and_then(|(there, from)| match there.cmp(&base) {
                    std::cmp::Ordering::Less => Some(SEGMENT_HEADER_BYTES),
                    std::cmp::Ordering::Equal => Some(from),
                    std::cmp::Ordering::Greater => None,
                }),
            settled: upto(self.settled),
            is_end_unknown: self.is_end_unknown,
        }
    }

    /// There is no index: a new news directory, or a lost file.
    pub fn from_last(
        segments: &Segments,
        dir: &Path,
        (options, is_newest_lost): (Options, bool),
        notices: &mut Vec<String>,
    ) -> Result<Start, Error> {
        let mut bases = segments.bases()?;
        let begin = |base| {
            let header = SegmentHeader::plain(base, options.segment_bytes);
            segments.create(header)
        };
        let Some(&last) = bases.last() else {
            begin(FIRST_BASE)?;
            return Ok(Start::at(FIRST_BASE));
        };
        let length = art_length(segments, last)?;
        if length <= SEGMENT_HEADER_BYTES {
            // The sync of its header may have failed.
            begin(last)?;
        }
        let sealed_end = end_if_sealed(segments, last, is_newest_lost)?;
        if let Some(end) = sealed_end {
            begin(end)?;
        }
        let current = sealed_end.unwrap_or(last);
        bases.retain(|&base| base < current);
        notices.push(INDEX_MADE.to_owned());
        bases.retain(|&base| !can_be_read(segments, base));
        let damaged = rebuild_lost(segments, dir, &bases)?;
        let whole = told_by_history(segments, current).map(|end| (current, end));
        notices.extend(bases.iter().map(|base| {
            format!(
                "segments/{base:020}.his was missing or could not be read: made again from .art"
            )
        }));
        notices.extend(damaged);
        Ok(Start {
            cancels_known: false,
            anew: true,
            is_end_unknown: true,
            whole,
            ..Start::at(current)
        })
    }
}

/// What is known of one segment: offsets in it, as [`Start`] has them.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub whole: u64,
    pub doubtful: Option<u64>,
    pub settled: u64,
    pub is_end_unknown: bool,
}

/// True when the history of a segment is there and the disk can read all of it.
pub fn can_be_read(segments: &Segments, base: u64) -> bool {
    let map = segments
        .open(base, SegmentFile::His, Open::Read)
        .and_then(|file| file.map(file.length()?));
    map.is_ok_and(|map| {
        let lines = memchr::memchr_iter(b'\n', map.bytes()).count();
        std::hint::black_box(lines);
        map.unreadable_from().is_none()
    })
}

/// An offset in a segment up to which it was synced: its history has a line of an article only after that.
pub fn told_by_history(segments: &Segments, base: u64) -> Option<u64> {
    let file = segments.open(base, SegmentFile::His, Open::Read).ok()?;
    let map = file.map(file.length().ok()?).ok()?;
    let art = segments.open(base, SegmentFile::Art, Open::Read).ok();
    let length = art.as_ref().map_or(Ok(0), |art| art.length()).ok()?;
    let range = segments.range(base).ok()?;
    let (last, behind) = split_at_end(History::of_map(&map), range, (art.as_deref(), length));
    let end =
        |(offset, line): &(u64, HistoryLine<'_>)| offset.saturating_add(line.size.unwrap_or(0));
    // A size may be damaged, too.
    let last = last.as_ref().map(|last| end(last).min(length));
    last.into_iter().chain(behind.iter().map(end)).max()
}

/// Where the last segment ends, if the current one behind it is lost: what was sealed may have been punched or written anew,
/// and nothing is filed into it any more.
fn end_if_sealed(
    segments: &Segments,
    last: u64,
    is_newest_lost: bool,
) -> Result<Option<u64>, Error> {
    let path = segments.path(last, SegmentFile::Art);
    let file = segments
        .open(last, SegmentFile::Art, Open::Read)
        .map_err(|source| Error::io("read", &path, source))?;
    // Without a header it may be the newest, whose making was cut short; if not, opening it tells.
    let header = SegmentHeader::read(&*file, &path).ok();
    let sealed = header.filter(|header| is_newest_lost || header.moved_at != 0);
    Ok(sealed.map(|header| last + header.span))
}

/// The bytes of all `.art`, for the progress of what reads them.
pub fn art_bytes(segments: &Segments) -> u64 {
    let bases = segments.bases().unwrap_or_default();
    let lengths = bases.iter().map(|&base| art_length(segments, base));
    lengths.map(|length| length.unwrap_or(0)).sum()
}

/// The length of an `.art` file, bytes.
pub fn art_length(segments: &Segments, base: u64) -> Result<u64, Error> {
    segments
        .length(base, SegmentFile::Art)
        .map_err(|source| Error::io("read", &segments.path(base, SegmentFile::Art), source))
}
