//! Opening a news directory, and making the derived files agree with the log.
//!
//! Three cases. The index says that its marks are from this run of the machine, and every file ends where the marks say:
//! nothing to do. The files are longer (a program was killed) or the marks are from an earlier run (the power
//! failed): the log is replayed from the last mark that is sure. No index: it is made again from the history
//! lines, and the last segment is replayed whole.

pub mod log_end;
mod lost_end;
pub mod replay;
mod replayed_groups;
pub mod start;

use std::collections::BTreeSet;
use std::path::Path;

use article::message_id::HashKey;
use groups::active::BAD_LINES_MAX;

use crate::check::derived_files::remove_unfinished_rebuild;
use crate::expiry::state::ExpiryStateFile;
use crate::history::sealed::SealedHistory;
use crate::history::seen_hashes::SeenHashes;
use crate::index::watermark::Watermark;
use crate::index::{self, Index};
use crate::io::disk::{Disk, Open};
use crate::io::lock::Lock;
use crate::log::art::Art;
use crate::log::known_bases::KnownBases;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::reclaim::repack_reserve;
use crate::spool::Spool;
use crate::spool::active_file::ActiveFile;
use crate::spool::active_from_log::rebuild_active;
use crate::spool::derived::Derived;
use crate::spool::follow_log::is_of_cluster;
use crate::spool::options::{Options, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};
use crate::spool::recover::start::{Place, Start, art_length};
use crate::state::States;
use crate::{Error, index::key, reclaim::unreclaimed};

/// Files in the making when a program that holds the lock is killed.
const UNFINISHED: [&str; 3] = ["index.new", "index.key.new", "active.new"];

/// Opens the news directory `dir`.
pub fn open(segments: &Segments, dir: &Path, options: Options, lock: Lock) -> Result<Spool, Error> {
    open_known(segments, dir, options, lock, None)
}

/// Opens the news directory after a repair that removed the index. The log was whole up to the place `whole`.
pub fn open_known(
    segments: &Segments,
    dir: &Path,
    mut options: Options,
    lock: Lock,
    whole: Option<Place>,
) -> Result<Spool, Error> {
    options.segment_bytes = options
        .segment_bytes
        .clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX)
        .next_multiple_of(4096);
    if !options.follows_log && !options.repair && is_of_cluster(dir) {
        return Err(Error::OfCluster(dir.to_owned()));
    }
    let disk = segments.disk().clone();
    let run = segments.run_id();
    let index_path = dir.join(index::FILE);
    let mut notices = Vec::new();
    remove_unfinished(&*disk, dir)?;
    // Damage may have left neither mark.
    let mut found = Index::open(&*disk, &index_path, Open::Write)?
        .filter(|index| index.applied(run).or(index.checkpoint()).is_some());
    if found.is_none() {
        // Whatever rebuilds derived files removes the index before.
        remove_unfinished_rebuild(segments)?;
    }
    if found.is_some() && !options.repair && segments.is_empty()? {
        return Err(segments.none_error());
    }
    let is_newest_lost = options.repair && !knows_segment(segments, &found)?;
    if is_newest_lost {
        found = None;
    }
    let is_sure = found
        .as_ref()
        .is_some_and(|index| index.applied(run).is_some());
    if !is_sure && lost_end::is_listed(options) {
        lost_end::list_of_emptied(segments, dir, &mut notices)?;
    }
    let mut start = match &found {
        Some(index) => Start::of(index, run, &mut notices),
        None => Start::from_last(segments, dir, (options, is_newest_lost), &mut notices)?,
    };
    start.whole = start.whole.max(whole);
    let active = open_active(segments, dir, &mut notices)?;
    let key = key_of_index(&*disk, dir, found.as_ref(), options, &mut notices)?;
    let art = open_art(segments, &start.mark, options)?;
    // Whoever filed up to here has made it, or had no room.
    let reserve = repack_reserve::size_for(art.append.end);
    // It is made empty otherwise.
    let had_cancels = disk.open(&dir.join("cancels"), Open::Read).is_ok();
    let derived = Derived::open(segments, dir, art.header, &start.mark)?;
    let sealed = SealedHistory::new(segments, start.mark.base);
    let mut index = match found {
        Some(index) => index,
        // It gets its name when it is whole: if this is interrupted, it is made again from the beginning.
        None => Index::of_lines(&*disk, &index_path, (key, None), |put| {
            sealed.each_line(put)
        })?,
    };
    let is_of_another_key = !index.is_made_with(&key);
    index.set_key(key);
    let checkpointed = index
        .checkpoint()
        .filter(|mark| mark.base == start.mark.base)
        .map_or(SEGMENT_HEADER_BYTES, |mark| mark.art_end);
    let expired = ExpiryStateFile::new(&disk, dir);
    let seen_hashes = SeenHashes::open(&*disk, dir)?;
    let states = States::new(segments, dir);
    let mut spool = Spool {
        disk,
        dir: dir.to_owned(),
        segments: segments.clone(),
        options,
        run,
        active,
        index,
        art,
        derived,
        sealed,
        bases: KnownBases::default(),
        expired,
        states,
        commit_sequence: 0,
        checkpointed,
        is_poisoned: false,
        notices,
        taken_up: 0,
        used: None,
        seen_hashes,
        lock,
        publisher: None,
        size_checked: None,
        without_pause_max: None,
        reserve,
        unreclaimed: BTreeSet::new(),
        removals: BTreeSet::new(),
    };
    let is_edited = spool.active_is_edited(start.sure)?;
    let is_perhaps_edited = !start.sure && !options.follows_log && spool.active_is_another()?;
    if is_edited {
        note_bad_lines(&mut spool);
    }
    // A node takes the table from the log in these cases.
    if (is_edited || !start.sure) && !options.follows_log {
        spool.check_groups(is_edited)?;
    }
    // A new news directory, or a lost file.
    let is_new = spool.expired.is_missing();
    if is_new {
        make_expired(&mut spool, dir)?;
    }
    if is_of_another_key {
        // Its marks are good: nothing else has to be made again.
        spool.rebuild_index()?;
    }
    // An index that was made again knows no file: nobody edited it.
    let edited = (is_edited && spool.index.active_identity() != [0; 3])
        .then(|| spool.active.table.image().to_vec());
    let caught_up = spool.catch_up(start, had_cancels);
    if caught_up.is_err() {
        spool.index.abandon(&*spool.disk);
    }
    // A node takes the table from the log.
    let is_edited = caught_up? && !options.follows_log || is_edited;
    let is_edited = is_edited || is_perhaps_edited && spool.active_differs_from_log()?;
    // A repair finishes them when their segments are whole.
    if !spool.options.repair {
        spool.try_to_finish_erasures();
    }
    if is_new {
        // Otherwise the first article would make the one file, and wait for two more syncs; and the first seal the other, from the whole log.
        spool.states.pending_cancels.prepare()?;
        spool.states.serials.prepare()?;
    }
    if is_edited && options.follows_log {
        spool.take_state_from_log()?;
        spool.active.rewrite()?;
        // The index knows the file from here on.
        spool.publish()?;
        if edited.is_some_and(|edited| edited != spool.active.table.image()) {
            spool.notices.push(
                "active was edited: the edit is undone, because the groups of a cluster change by its log".into(),
            );
        }
    } else if is_edited {
        spool.take_up_active()?;
    }
    Ok(spool)
}

/// Reports the bad lines and the dangling aliases of an edited active file.
fn note_bad_lines(spool: &mut Spool) {
    let faults = spool.bad_lines_of_active();
    spool.notices.extend(faults);
    let aliases = spool.active.table.dangling_aliases();
    spool
        .notices
        .extend(aliases.take(BAD_LINES_MAX).map(|alias| {
            let alias = groups::escaped(alias);
            format!("active: {alias} is an alias that leads to no group")
        }));
}

/// Makes the file `expired`, of a new news directory or from the log.
fn make_expired(spool: &mut Spool, dir: &Path) -> Result<(), Error> {
    if spool.index.published().is_some() {
        spool
            .notices
            .push("expired was missing: made again from the log".into());
    }
    let nothing_expired = spool.expired.state_mut()?.is_fresh();
    spool.expired.flush()?;
    if nothing_expired {
        unreclaimed::write(&*spool.disk, dir, &unreclaimed::Due::new())?;
    }
    Ok(())
}

/// Removes what a program that was killed had not finished. All these are written by who holds the lock.
fn remove_unfinished(disk: &dyn Disk, dir: &Path) -> Result<(), Error> {
    for name in UNFINISHED {
        let path = dir.join(name);
        match disk.remove(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &path, source));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The key that ids are hashed with. Where there is none, a new one: of a new news directory, or of one whose key was lost.
fn key_of_index(
    disk: &dyn Disk,
    dir: &Path,
    index: Option<&Index>,
    options: Options,
    notices: &mut Vec<String>,
) -> Result<HashKey, Error> {
    let key = match key::read(disk, dir) {
        Err(_) if options.repair => None,
        key => key?,
    };
    let is_right = |key: &HashKey| index.is_none_or(|index| index.is_made_with(key));
    if !key.as_ref().is_some_and(is_right) && index.is_some() {
        notices.push("index.key was lost or changed: the index is made again with another".into());
    }
    match key {
        Some(key) => Ok(key),
        None => key::make(disk, dir),
    }
}

/// False when the segment that the index calls the current one is gone.
fn knows_segment(segments: &Segments, index: &Option<Index>) -> Result<bool, Error> {
    let bases = segments.bases()?;
    let marks = index
        .iter()
        .flat_map(|index| [index.published(), index.checkpoint()]);
    Ok(marks.flatten().all(|mark| bases.contains(&mark.base)))
}

/// Opens the `.art` file of a mark. Where the file was not even given its header, its creation was cut short and
/// nothing was ever committed to it: it is made again.
fn open_art(segments: &Segments, mark: &Watermark, options: Options) -> Result<Art, Error> {
    let path = segments.path(mark.base, SegmentFile::Art);
    let fault = match Art::open(segments, mark.base, mark.art_end) {
        Err(fault @ Error::Damaged { .. }) => fault,
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::Damaged {
                path,
                offset: 0,
                what: "it is missing",
            });
        }
        other => return other,
    };
    let length = art_length(segments, mark.base)?;
    let is_last = segments.bases()?.last() == Some(&mark.base);
    if !is_last || length > SEGMENT_HEADER_BYTES || mark.art_end > SEGMENT_HEADER_BYTES {
        return Err(fault);
    }
    let header = SegmentHeader::plain(mark.base, options.segment_bytes);
    segments.create(header)?;
    Art::open(segments, mark.base, mark.art_end)
}

/// Opens active; when it is missing, makes it again from the log.
fn open_active(
    segments: &Segments,
    dir: &Path,
    notices: &mut Vec<String>,
) -> Result<ActiveFile, Error> {
    let disk = segments.disk();
    match ActiveFile::open(disk, dir) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            let table = rebuild_active(segments, dir)?;
            notices.push("active was missing: made again from the log".into());
            ActiveFile::create(disk, dir, table)
        }
        other => other,
    }
}
