//! Rebuilds the derived files of a sealed segment from its `.art`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::expiry::state::ExpiryState;
use crate::expiry::visibility::Visibility;
use crate::history::cancels::{CancelLine, Cancels};
use crate::history::compacted::History;
use crate::history::exceptions::Exceptions;
use crate::history::{HistoryLine, push_filed};
use crate::io::append_file::AppendFile;
use crate::io::disk::{Disk, Open};
use crate::io::map::MapRef;
use crate::io::replace::{map_whole, read_whole, sync_parent};
use crate::log::position::SegmentRange;
use crate::log::record::{Kind, Record};
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};
use crate::notice::Notice;
use crate::overview;
use crate::overview::merge::merge_file;
use crate::overview::row::{OverviewFields, push_row, push_row_of};
use crate::progress::Work;
use crate::report::FINDINGS_MAX;
use crate::segment_repair::offloaded_header::check_header;
use crate::{Error, Expires, Position};

/// End of the temporary names.
const REMAKE: &str = ".remake";

/// Size of pending rows that are written together, bytes.
const PIECE_BYTES: usize = 8 << 20;

/// Rebuilds `.his`, `.ovr` and `.exp` of a sealed segment from its `.art`. If the space of dead articles was
/// reclaimed, their lines are copied from the old `.his`, as far as it is readable, and `removals` supplies the ids of
/// the others that were cancelled or removed: their ids are still remembered.
/// Returns the number of articles, and a message for each place with damaged ones.
///
/// # Errors
/// The articles cannot be reached ([`Error::is_of_object_store`]): the old files stay. A file cannot be read or written.
pub fn rebuild_derived(
    segments: &Segments,
    dir: &Path,
    base: u64,
    removals: &Removals,
) -> Result<(u64, Vec<Notice>), Error> {
    let done = rebuild_files(segments, dir, base, removals);
    if done.is_err() {
        // The disk may be full because of them.
        for view in SegmentFile::DERIVED {
            let _ = segments
                .disk()
                .remove(&remake_path(&segments.path(base, view)));
        }
    }
    done
}

/// The temporary name of a derived file.
fn remake_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(REMAKE);
    name.into()
}

/// Removes the temporary files of a rebuild that was killed. The caller holds the lock of the store.
pub fn remove_unfinished_rebuild(segments: &Segments) -> Result<(), Error> {
    let (disk, folder) = (segments.disk(), segments.folder());
    let names = disk
        .list(folder)
        .map_err(|source| Error::io("list", folder, source))?;
    let is_unfinished = |name: &&PathBuf| name.as_os_str().as_bytes().ends_with(REMAKE.as_bytes());
    for name in names.iter().filter(is_unfinished) {
        let path = folder.join(name);
        disk.remove(&path)
            .map_err(|source| Error::io("remove", &path, source))?;
    }
    Ok(())
}

fn rebuild_files(
    segments: &Segments,
    dir: &Path,
    base: u64,
    removals: &Removals,
) -> Result<(u64, Vec<Notice>), Error> {
    let disk = &**segments.disk();
    check_header(segments, base)?;
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let file = segments
        .open(base, SegmentFile::Art, Open::Read)
        .map_err(at)?;
    let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
    let mut derived = DerivedFiles::open(segments, base)?;
    let expired = match ExpiryState::read(disk, dir)? {
        Some(expired) => expired,
        None => ExpiryState::fold(segments)?,
    };
    let alive = Visibility {
        expired: &expired,
        cancelled: &removals.cancelled,
    };
    // The history of a segment may outlive it, and has the ids of its own.
    let range = segments.range(base)?;
    derived.find_gone(disk, range, (alive, removals))?;
    derived.add_removed(removals, range, &expired);
    let mut articles = 0;
    let mut damaged = Vec::new();
    while let Some(step) = walk.next().map_err(at)? {
        match step {
            Step::Record(offset, record) => {
                articles += u64::from(record.head.kind == Kind::Article);
                derived.add(offset, &record)?;
            }
            Step::Gap { empty: true, .. } => {}
            Step::Gap { from, .. } if damaged.len() < FINDINGS_MAX => {
                let path = path.clone();
                damaged.push(Notice::Damaged { path, from });
            }
            Step::Gap { .. } => {}
        }
    }
    derived.merge_gone();
    derived.finish(disk).map(|()| (articles, damaged))
}

/// As [`rebuild_derived`], for sealed segments whose files are lost, before the spool is open: `cancels` may be lost too, so the log
/// supplies the cancels. Returns a message for each place with damaged articles.
pub fn rebuild_lost(segments: &Segments, dir: &Path, bases: &[u64]) -> Result<Vec<Notice>, Error> {
    let mut damaged = Vec::new();
    if bases.is_empty() {
        return Ok(damaged);
    }
    let removals = Removals::of_log(segments, dir)?;
    let bytes = |base| segments.length(base, SegmentFile::Art).unwrap_or(0);
    let mut work = Work::begin("rebuilding", || bases.iter().map(|&base| bytes(base)).sum());
    for &base in bases {
        damaged.extend(rebuild_derived(segments, dir, base, &removals)?.1);
        work.advance(bytes(base));
    }
    Ok(damaged)
}

/// The cancelled and removed articles, with the lines that name them.
#[derive(Debug, Default)]
pub struct Removals {
    pub(crate) cancelled: Cancels,
    /// Lines in the format of the file `cancels`.
    text: Vec<u8>,
    /// The ids in these lines, and their positions: in a history line, or here, one of the two may be damaged.
    ids: HashMap<Vec<u8>, Position>,
}

impl Removals {
    /// From the file `cancels`, which the open store found whole.
    pub fn of_file(disk: &dyn Disk, dir: &Path) -> Result<Removals, Error> {
        let text = read_whole(disk, &dir.join("cancels"))?.unwrap_or_default();
        let cancelled = Cancels::parse(&text);
        let lines = crate::history::lines(&text);
        let lines = lines.filter_map(|(_, line)| CancelLine::parse(line));
        let ids = lines
            .map(|line| (line.id.to_vec(), line.position))
            .collect();
        Ok(Removals {
            cancelled,
            text,
            ids,
        })
    }

    /// From that file, as far as it can be read, and the log, whose lines count.
    pub(crate) fn of_log(segments: &Segments, dir: &Path) -> Result<Removals, Error> {
        let mut removals = Removals::of_file(&**segments.disk(), dir).unwrap_or_default();
        Cancels::each_of_log(segments, |line| {
            removals.cancelled.apply(&line);
            line.push(&mut removals.text);
            removals.ids.insert(line.id.to_vec(), line.position);
        })?;
        Ok(removals)
    }
}

/// The derived files of a segment, under temporary names.
struct DerivedFiles {
    base: u64,
    his: AppendFile,
    ovr: AppendFile,
    exp: AppendFile,
    lines: Vec<u8>,
    /// The offsets in the segment of the records of these lines, ascending, and whether they are articles, which tell their positions: where the table of
    /// a repacked segment was lost, others may have that of an article before them.
    offsets: Vec<(u64, bool)>,
    /// Lines of dead articles, newlines included, with the offsets that they name; their records may be missing.
    gone: Vec<(u64, Vec<u8>)>,
    /// The old `.ovr`: its rows have checksums, and tell whether the numbers in a line without a record are its own.
    old_ovr: MapRef,
    rows: crate::overview::rows::Rows,
    block: Vec<u8>,
    targets: [PathBuf; 3],
}

impl DerivedFiles {
    fn open(segments: &Segments, base: u64) -> Result<DerivedFiles, Error> {
        let targets = SegmentFile::DERIVED.map(|view| segments.path(base, view));
        let fresh = |path: &PathBuf| {
            AppendFile::open(&**segments.disk(), remake_path(path), Open::Truncate, 0)
        };
        let [his, ovr, exp] = &targets;
        Ok(DerivedFiles {
            base,
            his: fresh(his)?,
            ovr: fresh(ovr)?,
            exp: fresh(exp)?,
            lines: Vec::new(),
            offsets: Vec::new(),
            gone: Vec::new(),
            old_ovr: MapRef::default(),
            rows: Default::default(),
            block: Vec::new(),
            targets,
        })
    }

    fn add(&mut self, offset: u64, record: &Record<'_>) -> Result<(), Error> {
        if !record.head.kind.has_history_line() {
            return Ok(());
        }
        self.lines.extend_from_slice(record.line());
        self.offsets
            .push((offset, record.head.kind == Kind::Article));
        if let Some(line) = HistoryLine::parse(record.line())
            && record.head.kind == Kind::Article
        {
            self.rows.add(offset as u32, line.links(), |out| {
                push_row_of(out, record, line.id);
            });
        }
        if self.rows.bytes() > PIECE_BYTES {
            self.flush_rows()
        } else {
            Ok(())
        }
    }

    /// Finds the lines of dead articles in the old `.his`. (A visible article without a record was damaged: it may
    /// be sent again, so its id must not be known.) Of an expired one whose line names no position of this segment, the id stays known: it gets a
    /// position behind the line before.
    fn find_gone(
        &mut self,
        disk: &dyn Disk,
        range: SegmentRange,
        (alive, removals): (Visibility<'_>, &Removals),
    ) -> Result<(), Error> {
        let [path, ovr_path, _] = &self.targets;
        self.old_ovr = map_whole(disk, ovr_path).unwrap_or_default();
        let Ok(old) = disk.open(path, Open::Read) else {
            return Ok(());
        };
        let map = old
            .length()
            .and_then(|length| old.map(length))
            .map_err(|source| Error::io("read", path, source))?;
        let mut last = 0;
        for (_, text) in crate::history::lines(History::of_map(&map).text()) {
            let Some(line) = HistoryLine::parse(text) else {
                continue;
            };
            let named = line.position.and_then(|position| range.offset(position));
            // Of an article that was restored there is a record.
            let removed = removals.ids.get(line.id).copied();
            let offset = match (named, removed) {
                (Some(offset), _) if alive.is_dead(&line) => Some(offset),
                (_, Some(position)) => range.offset(position).or(named),
                (None, None) if line.is_filed() && !alive.expired.keeps_any(&line) => {
                    Some(last + 1)
                }
                _ => None,
            };
            if let Some(offset) = offset {
                let position = Position(range.base() + offset);
                self.gone.push((offset, readable_part(&line, position)));
            }
            last = offset.or(named).unwrap_or(last);
        }
        Ok(())
    }

    /// Adds a line for each cancelled or removed article of the segment whose line the old `.his` lacks: its id, as of the time of its removal. Where the
    /// log still has the record, its line is taken instead.
    fn add_removed(&mut self, removals: &Removals, range: SegmentRange, expired: &ExpiryState) {
        let known: BTreeSet<u64> = self.gone.iter().map(|(offset, _)| *offset).collect();
        let removed = removals.cancelled.between(range.base(), range.end());
        let is_lacking = |position: &Position| !known.contains(&(position.0 - range.base()));
        let wanted: BTreeSet<Position> = removed.filter(is_lacking).collect();
        if wanted.is_empty() {
            return;
        }
        let mut lacking: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for (_, text) in crate::history::lines(&removals.text) {
            if let Some(line) = CancelLine::parse(text)
                && wanted.contains(&line.position)
            {
                let seconds = line.note.map_or_else(crate::now, |note| note.seconds);
                let mut text = Vec::new();
                let place = (line.position, false);
                push_filed(
                    &mut text,
                    line.id,
                    (seconds, Expires::Absent),
                    0,
                    place,
                    &[],
                );
                // A compacted history lacks those on purpose.
                if !expired.forgets_line(&text) {
                    lacking.insert(line.position.0 - range.base(), text);
                }
            }
        }
        self.gone.extend(lacking);
    }

    /// Adds the lines of the dead articles whose records are missing, each at its position. Their numbers must stay known until expire has passed them
    /// (a cancelled article waits for that), so each gets a row. A line with the id of a record or of an earlier line is damaged, and so is a number that
    /// the old overview, if it is sound, does not have for this article.
    fn merge_gone(&mut self) {
        let gone = std::mem::take(&mut self.gone);
        let of_gone = gone.iter().filter_map(|(_, text)| HistoryLine::parse(text));
        let mut ids: HashSet<&[u8]> = of_gone.map(|line| line.id).collect();
        let recorded = self.lines.split_inclusive(|&byte| byte == b'\n');
        if !gone.is_empty() {
            for line in recorded.clone().filter_map(HistoryLine::parse) {
                ids.remove(line.id);
            }
        }
        let has_record = |offset: u64| self.offsets.binary_search(&(offset, true)).is_ok();
        let missing = gone.iter().filter(|(offset, _)| !has_record(*offset));
        let missing =
            missing.filter_map(|(offset, text)| Some((*offset, HistoryLine::parse(text)?)));
        let mut missing: Vec<_> = missing.filter(|(_, line)| ids.remove(line.id)).collect();
        if missing.is_empty() {
            return;
        }
        missing.sort_by_key(|(offset, _)| *offset);
        let old: Vec<_> = overview::blocks(self.old_ovr.bytes()).collect();
        let is_old_sound = !old.is_empty() && old.iter().all(|block| block.is_sound());
        let mut merged = Vec::with_capacity(self.lines.len());
        let mut last = 0;
        let mut missing = missing.into_iter().peekable();
        let offsets = self.offsets.iter().map(|record| Some(*record));
        for (next, record_line) in offsets.zip(recorded).chain([(None, &b""[..])]) {
            let is_before = |(at, _): &(u64, _)| next.is_none_or(|(next, _)| *at < next);
            while let Some((at, line)) = missing.next_if(is_before) {
                let links = line.links();
                let links = links.filter(|link| !is_old_sound || has_row(&old, at, *link));
                // Two lines may name one position.
                last = at.max(last + 1);
                merged.extend_from_slice(&readable_part(&line, Position(self.base + last)));
                self.rows.add(last as u32, links, |out| {
                    let fields = OverviewFields {
                        id: line.id,
                        ..OverviewFields::default()
                    };
                    push_row(out, &fields, line.size.unwrap_or(0), 0);
                });
            }
            merged.extend_from_slice(record_line);
            if let Some((offset, true)) = next {
                last = offset;
            }
        }
        self.lines = merged;
    }

    fn flush_rows(&mut self) -> Result<(), Error> {
        self.block.clear();
        if !self.rows.is_empty() {
            self.rows.build(&mut self.block);
        }
        self.ovr.append(&self.block)
    }

    fn finish(mut self, disk: &dyn Disk) -> Result<(), Error> {
        self.flush_rows()?;
        merge_file(disk, &self.ovr.path, self.ovr.end)?;
        let mut exceptions = Exceptions::default();
        for line in self.lines.split_inclusive(|&b| b == b'\n') {
            exceptions.look_at_any(line);
        }
        self.his.append(&self.lines)?;
        self.exp.append(exceptions.lines())?;
        for (from, to) in [&self.his, &self.ovr, &self.exp].iter().zip(&self.targets) {
            from.sync()?;
            disk.rename(&from.path, to)
                .map_err(|source| Error::io("put in place", to, source))?;
        }
        // An index is made from them.
        let [his, ..] = &self.targets;
        sync_parent(disk, his)
    }
}

/// Whether rows name the record at an offset by this number in this group.
fn has_row(blocks: &[overview::Block<'_>], record: u64, (group, number): (&[u8], u64)) -> bool {
    let mut rows = blocks.iter().filter_map(|block| block.find(group));
    rows.any(|rows| {
        let mut found = rows.range(number, number);
        found.any(|row| u64::from(row.record) == record)
    })
}

/// The line of a dead article at a position, newline included. Of a damaged one, what can be read: its id stays known.
pub fn readable_part(line: &HistoryLine<'_>, position: Position) -> Vec<u8> {
    if line.is_intact() && line.position == Some(position) {
        return [line.text, b"\n"].concat();
    }
    let mut text = Vec::new();
    let dates = (line.arrival.unwrap_or_else(crate::now), line.expires);
    let links: Vec<_> = line.links().collect();
    let place = (position, line.is_late);
    push_filed(
        &mut text,
        line.id,
        dates,
        line.size.unwrap_or(0),
        place,
        &links,
    );
    text
}
