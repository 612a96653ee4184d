//! The inspection of a news directory: it reads the disk, and changes nothing.

use std::io::ErrorKind;
use std::path::Path;

use article::message_id::HashKey;

use crate::Error;
use crate::expiry::state::ExpiryStateFile;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::index::watermark::Watermark;
use crate::index::{self, Index, key};
use crate::io::append_file::AppendFile;
use crate::io::disk::{Disk, Open, RunId};
use crate::log::art::Art;
use crate::log::place::LogPlace;
use crate::log::segment::SegmentHeader;
use crate::log::segments::{SegmentFile, Segments};
use crate::segment_repair::lost_ends::split_at_end;
use crate::spool::active_file::ActiveFile;
use crate::spool::derived::{Derived, DerivedFiles};
use crate::spool::options::Options;
use crate::spool::recover::absent_file::AbsentFile;
use crate::spool::recover::evidence::{
    ActiveEvidence, ArtEvidence, CancelsEvidence, DerivedContent, Evidence, IndexEvidence,
    KeyEvidence, LogSurvey, Losses, MarkRun, MarkedSegment, Marks, Presence, Role, SegmentEvidence,
    SegmentForm, Syncs,
};
use crate::spool::recover::start::{Basis, Start, place_of};

/// The files that an inspection opened, for the steps that follow.
#[derive(Debug)]
pub struct OpenFiles {
    /// This run of the machine.
    pub run: RunId,
    /// `index`, if its marks count.
    pub index: Option<Index>,
    /// The key in `index.key`.
    pub key: Option<HashKey>,
    /// `active`.
    pub active: Option<ActiveFile>,
    /// The `.art` file of the marked segment.
    pub art: Option<Art>,
    /// Its derived files, if all are there.
    pub derived: Option<Derived>,
}

/// Inspects a news directory for an opening with these options.
///
/// # Errors
/// A file cannot be read, or is one that another build wrote.
pub fn inspect(
    segments: &Segments,
    dir: &Path,
    options: Options,
    known_whole: Option<LogPlace>,
) -> Result<(Evidence, OpenFiles), Error> {
    let mut files = OpenFiles {
        run: segments.run_id(),
        index: None,
        key: None,
        active: None,
        art: None,
        derived: None,
    };
    let losses = match options.repair {
        true => Losses::Accept,
        false => Losses::Refuse,
    };
    let index = inspect_index(segments, dir, losses, &mut files)?;
    let start = index.start();
    let has_segments = start.is_none() || losses == Losses::Accept || !segments.is_empty()?;
    let active = inspect_active(segments, dir, &mut files)?;
    let key = inspect_key(&**segments.disk(), dir, losses, &mut files)?;
    let (marked, cancels) = match start.filter(|_| has_segments) {
        Some(start) => {
            let (marked, cancels) = inspect_marked(segments, dir, &start, options, &mut files)?;
            (Some(marked), cancels)
        }
        None => match segments.disk().open(&dir.join("cancels"), Open::Read) {
            Ok(_) => (None, CancelsEvidence::Unmarked),
            Err(_) => (None, CancelsEvidence::Missing),
        },
    };
    let mut evidence = Evidence {
        segment_bytes: options.segment_bytes,
        losses,
        role: match options.follows_log {
            true => Role::Node,
            false => Role::Alone,
        },
        known_whole,
        index,
        key,
        active,
        expired: match ExpiryStateFile::new(segments.disk(), dir).is_missing() {
            true => Presence::Missing,
            false => Presence::Present,
        },
        cancels,
        marked,
        survey: None,
    };
    let is_as_left =
        start.is_some_and(|start| start.basis == Basis::Applied && evidence.ends_at(&start.mark));
    if has_segments && !is_as_left {
        evidence.survey = Some(survey(segments, start.as_ref())?);
    }
    Ok((evidence, files))
}

fn inspect_index(
    segments: &Segments,
    dir: &Path,
    losses: Losses,
    files: &mut OpenFiles,
) -> Result<IndexEvidence, Error> {
    let opened = Index::open(&**segments.disk(), &dir.join(index::FILE), Open::Write)?;
    let Some(index) = opened else {
        return Ok(IndexEvidence::Missing);
    };
    let marks = marks_of(&index, files.run);
    let evidence = IndexEvidence::Found(marks);
    if evidence.start().is_none() {
        // Damage may have left neither mark.
        return Ok(IndexEvidence::Missing);
    }
    if losses == Losses::Accept {
        let bases = segments.bases()?;
        let mut marked = [marks.published, marks.checkpoint].into_iter().flatten();
        if !marked.all(|mark| bases.contains(&mark.base)) {
            return Ok(IndexEvidence::OfLostSegment);
        }
    }
    files.index = Some(index);
    Ok(evidence)
}

fn marks_of(index: &Index, run: RunId) -> Marks {
    Marks {
        run: match run {
            _ if index.is_of(run) => MarkRun::SinceMount,
            _ if index.is_of_boot(run) => MarkRun::BeforeMount,
            RunId { boot: [0, 0], .. } => MarkRun::Unknown,
            _ => MarkRun::Earlier,
        },
        syncs: match index.is_doubted(run) {
            true => Syncs::Doubted,
            false => Syncs::Good,
        },
        published: index.published(),
        checkpoint: index.checkpoint(),
        synced: index.synced().map(place_of),
    }
}

fn inspect_active(
    segments: &Segments,
    dir: &Path,
    files: &mut OpenFiles,
) -> Result<ActiveEvidence, Error> {
    let active = match ActiveFile::open(segments.disk(), dir) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Ok(ActiveEvidence::Missing);
        }
        opened => opened?,
    };
    let evidence = match &files.index {
        Some(index) => active_against(index, &active)?,
        None => ActiveEvidence::Unrecorded,
    };
    files.active = Some(active);
    Ok(evidence)
}

fn active_against(index: &Index, active: &ActiveFile) -> Result<ActiveEvidence, Error> {
    let [known, now] = [index.active_identity(), active.identity()?];
    let [[_, length_known, _], [_, length, _]] = [known, now];
    Ok(
        if known == now && index.had_active_sum(active.table.checksum()) {
            ActiveEvidence::AsWritten
        } else if length_known != length || active.table.is_empty() {
            ActiveEvidence::Resized
        } else {
            ActiveEvidence::Touched
        },
    )
}

fn inspect_key(
    disk: &dyn Disk,
    dir: &Path,
    losses: Losses,
    files: &mut OpenFiles,
) -> Result<KeyEvidence, Error> {
    files.key = match key::read(disk, dir) {
        Err(_) if losses == Losses::Accept => None,
        key => key?,
    };
    Ok(match (&files.key, &files.index) {
        (None, _) => KeyEvidence::Missing,
        (Some(key), Some(index)) if !index.is_made_with(key) => KeyEvidence::Wrong,
        (Some(_), _) => KeyEvidence::Right,
    })
}

/// Inspects the files of the segment that the mark names, and `cancels`, which the mark covers too.
fn inspect_marked(
    segments: &Segments,
    dir: &Path,
    start: &Start,
    options: Options,
    files: &mut OpenFiles,
) -> Result<(MarkedSegment, CancelsEvidence), Error> {
    let art = inspect_marked_art(segments, &start.mark, files)?;
    let OpenDerived {
        opened,
        cancels,
        is_complete,
    } = open_derived(segments, dir, &start.mark, files)?;
    let mut marked = MarkedSegment {
        art,
        his: opened.his.length()?,
        ovr: opened.ovr.length()?,
        exp: opened.exp.length()?,
        content: DerivedContent::Fits,
    };
    let is_at_mark = start.basis == Basis::Applied && marked.ends_at(&start.mark, cancels);
    marked.content = match (art, is_at_mark) {
        (ArtEvidence::Sound { .. }, true) => inspect_lines(&opened, start, options)?,
        (ArtEvidence::Sound { .. }, false) => inspect_content(&opened, &marked, start, options)?,
        _ => DerivedContent::DoesNotFit,
    };
    files.derived = Some(opened).filter(|_| is_complete && files.art.is_some());
    Ok((marked, cancels))
}

fn inspect_marked_art(
    segments: &Segments,
    mark: &Watermark,
    files: &mut OpenFiles,
) -> Result<ArtEvidence, Error> {
    match Art::open(segments, mark.base, mark.art_end) {
        Ok(art) => {
            let evidence = sound(art.append.length()?, art.header);
            files.art = Some(art);
            Ok(evidence)
        }
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            Ok(ArtEvidence::Missing)
        }
        Err(Error::Damaged { offset, what, .. }) => Ok(ArtEvidence::Damaged {
            length: segments.art_length(mark.base)?,
            offset,
            what,
        }),
        Err(error) => Err(error),
    }
}

fn sound(length: u64, header: SegmentHeader) -> ArtEvidence {
    ArtEvidence::Sound {
        length,
        span: header.span,
        form: match header.moved_at {
            0 => SegmentForm::Plain,
            _ => SegmentForm::Rewritten,
        },
    }
}

/// The derived files of the marked segment.
struct OpenDerived {
    opened: Derived,
    cancels: CancelsEvidence,
    is_complete: bool,
}

fn open_derived(
    segments: &Segments,
    dir: &Path,
    mark: &Watermark,
    files: &OpenFiles,
) -> Result<OpenDerived, Error> {
    let open = |path, end| match AppendFile::open(&**segments.disk(), path, Open::Write, end) {
        Err(Error::Io { source, path, .. }) if source.kind() == ErrorKind::NotFound => {
            let file = Box::new(AbsentFile);
            Ok((AppendFile { path, file, end }, Presence::Missing))
        }
        opened => opened.map(|file| (file, Presence::Present)),
    };
    let path = |file| segments.path(mark.base, file);
    let (his, has_his) = open(path(SegmentFile::His), mark.his_end)?;
    let (ovr, has_ovr) = open(path(SegmentFile::Ovr), mark.ovr_end)?;
    let (cancels, has_cancels) = open(dir.join("cancels"), mark.cancels_end)?;
    let (exp, has_exp) = open(path(SegmentFile::Exp), mark.exp_end)?;
    let is_complete = ![has_his, has_ovr, has_cancels, has_exp].contains(&Presence::Missing);
    let files_of_mark = DerivedFiles {
        his,
        ovr,
        cancels,
        exp,
    };
    let span = files.art.as_ref().map_or(0, |art| art.header.span);
    let opened = Derived::of_files(files_of_mark, span, mark)?;
    let cancels = match (has_cancels, opened.were_cancels_whole) {
        (Presence::Missing, _) => CancelsEvidence::Missing,
        (Presence::Present, false) => CancelsEvidence::Damaged,
        (Presence::Present, true) => CancelsEvidence::Whole {
            length: opened.cancels.length()?,
        },
    };
    Ok(OpenDerived {
        opened,
        cancels,
        is_complete,
    })
}

/// Compares the derived files with the mark.
fn inspect_content(
    derived: &Derived,
    marked: &MarkedSegment,
    start: &Start,
    options: Options,
) -> Result<DerivedContent, Error> {
    if marked.his < derived.his.end
        || marked.exp < derived.exp.end
        || !derived.overview_ends_at(derived.ovr.end)?
    {
        return Ok(DerivedContent::DoesNotFit);
    }
    inspect_lines(derived, start, options)
}

/// Reads the last lines before the mark. Fsck, which compares all lines, does not ask.
fn inspect_lines(
    derived: &Derived,
    start: &Start,
    options: Options,
) -> Result<DerivedContent, Error> {
    let has_lines = options.is_fsck || derived.end_in_lines(place_of(start.mark))?;
    Ok(match has_lines {
        true => DerivedContent::Fits,
        false => DerivedContent::Overwritten,
    })
}

/// Lists the segments from the start on. Without a start, the newest one and the histories of all count.
fn survey(segments: &Segments, start: Option<&Start>) -> Result<LogSurvey, Error> {
    let bases = segments.bases()?;
    let Some(&newest) = bases.last() else {
        return Ok(LogSurvey {
            segments: Vec::new(),
            newest_history_end: None,
            unreadable_histories: Vec::new(),
        });
    };
    let first = start.map_or(newest, |start| start.mark.base);
    let listed = bases.iter().filter(|base| **base >= first);
    let listed: Vec<SegmentEvidence> = listed
        .map(|&base| inspect_segment(segments, base))
        .collect::<Result<_, Error>>()?;
    let is_empty = listed.last().is_some_and(|last| last.art.is_empty());
    let newest_history_end = match start.is_none() || is_empty {
        true => history_end(segments, newest),
        false => None,
    };
    let unreadable_histories = match start {
        Some(_) => Vec::new(),
        None => {
            let mut unreadable = bases;
            unreadable.retain(|&base| !can_be_read(segments, base));
            unreadable
        }
    };
    Ok(LogSurvey {
        segments: listed,
        newest_history_end,
        unreadable_histories,
    })
}

fn inspect_segment(segments: &Segments, base: u64) -> Result<SegmentEvidence, Error> {
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let file = segments
        .open(base, SegmentFile::Art, Open::Read)
        .map_err(at)?;
    let length = file.length().map_err(at)?;
    let header = SegmentHeader::read(&*file, &path)
        .and_then(|header| header.check_base(base, &path).map(|()| header));
    let art = match header {
        Ok(header) => sound(length, header),
        Err(Error::Damaged { offset, what, .. }) => ArtEvidence::Damaged {
            length,
            offset,
            what,
        },
        Err(error) => return Err(error),
    };
    Ok(SegmentEvidence { base, art })
}

/// True when the history of a segment is there and the disk can read all of it.
fn can_be_read(segments: &Segments, base: u64) -> bool {
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
fn history_end(segments: &Segments, base: u64) -> Option<u64> {
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
