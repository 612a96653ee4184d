//! Checks every file of the store against `.art`, and repairs what can be repaired.

use std::path::Path;
use std::sync::Arc;

use crate::Error;
use crate::check::directory_files::{check_active, check_cancels, check_index};
use crate::check::kept_histories::check_kept_histories;
use crate::check::repair;
use crate::check::segment_files::{Seen, check_segment};
use crate::expiry::state::ExpiryState;
use crate::expiry::visibility::Visibility;
use crate::index::Index;
use crate::io::disk::{Disk, RealDisk};
use crate::io::free_space::is_mounted_read_only;
use crate::io::lock::Lock;
use crate::io::replace::map_whole;
use crate::io::salvage::Salvage;
use crate::log::segments::Segments;
use crate::progress::Work;
use crate::segment_repair::derived_files::Removals;
use crate::segment_repair::lost_ends::{current_fault, cut_files, lost_but_history};
use crate::spool::erase::{ERASING, unfinished};
use crate::spool::follow_log::is_of_cluster;
use crate::spool::options::Options;
use crate::spool::recover;

pub use crate::report::{FINDINGS_MAX, Finding, LOST_IDS_MAX, Report};

/// The notice of a check that could not open the news directory.
const UNOPENED: &str = "the news directory cannot be opened before it is repaired: only its segments were checked, not `index', `active' and `cancels'";

/// The notice of a check on a file system that is mounted read-only, where the lock cannot be taken.
const ONLY_READ: &str = "its file system is mounted read-only: only its segments were checked, not `index', `active' and `cancels'";

/// Checks a news directory, and holds its lock meanwhile.
pub fn fsck(dir: &Path, repair: bool) -> Result<Report, Error> {
    fsck_on(Arc::new(RealDisk), dir, repair)
}

/// As [`fsck`], on another disk.
pub fn fsck_on(disk: Arc<dyn Disk>, dir: &Path, repair: bool) -> Result<Report, Error> {
    let plain = Segments::find(&disk, dir)?;
    // Unreadable data counts as damage.
    let disk = Salvage::of(disk);
    let segments = Segments::of(&disk, dir);
    let mut report = Report {
        repairs: repair,
        ..Report::default()
    };
    let options = Options {
        repair,
        is_fsck: true,
        follows_log: is_of_cluster(dir),
        ..Options::default()
    };
    if !repair && is_mounted_read_only(dir) {
        check_unopened(&segments, dir, &mut report)?;
        report.notices = vec![ONLY_READ.to_owned()];
        return Ok(report);
    }
    // Removals by expire would look like damage.
    let _no_expire = Lock::take_named(dir, "lock.expire", options.patience.is_none())?;
    let lock = Lock::take(dir, options.patience)?;
    repair::check_segments(&segments, dir)?;
    if repair {
        repair::before_opening(&segments, dir, &mut report)?;
    }
    let expired_path = dir.join("expired");
    let expired_bad =
        map_whole(&*disk, &expired_path).is_some() && ExpiryState::read(&*disk, dir)?.is_none();
    // If a segment with cancels is lost, opening makes the file again without them.
    let cancels = map_whole(&*disk, &dir.join("cancels"));
    let cancels = cancels.map_or_else(Vec::new, |map| map.bytes().to_vec());
    // A replay truncates the log at a torn commit: without repair, it must not take a bad sector for one.
    let opened_on = if repair { &segments } else { &plain };
    let mut spool = match recover::open(opened_on, dir, options, lock) {
        Err(Error::Damaged { path, offset, what }) if !repair => {
            check_unopened(&segments, dir, &mut report)?;
            report.tell_once(&path, offset, what);
            return Ok(report);
        }
        Err(Error::Active { path, what }) if !repair => {
            check_unopened(&segments, dir, &mut report)?;
            report.tell_once(&path, 0, what);
            return Ok(report);
        }
        opened => opened?,
    };
    if expired_bad {
        report.tell(
            &expired_path,
            0,
            "it is damaged; the log tells what has expired",
            repair,
        );
        if repair {
            spool.rewrite_expired()?;
        }
    }
    report.notices = spool.notices();
    let mut seen = Seen {
        work: Work::begin("checking", || segments.log_bytes()),
        ..Seen::default()
    };
    let mut bad = Vec::new();
    for base in segments.bases()? {
        if base > spool.current_base() {
            // Its creation was interrupted before any article was filed in it; the next one replaces it.
            continue;
        }
        let end = match base == spool.current_base() {
            true => spool.end().0 - base,
            false => u64::MAX,
        };
        if check_segment(
            &segments,
            dir,
            (base, end),
            spool.visibility()?,
            &mut seen,
            &mut report,
            repair,
        )? {
            bad.push(base);
        }
        report.segments += 1;
    }
    seen.work = Work::default();
    // First, because rebuilt files keep the ids of cancelled articles.
    check_cancels(&mut spool, &seen, &cancels, &mut report, repair)?;
    spool.check_states(&segments, &mut report, repair)?;
    let histories = check_kept_histories(&segments, spool.visibility()?, &mut report, repair)?;
    let is_right = bad.is_empty() && histories.is_empty();
    if repair && !is_right {
        spool = repair::derived(spool, &bad, &histories)?;
    }
    for path in repair::orphans(&segments)? {
        report.tell(&path, 0, repair::ORPHAN, false);
    }
    if repair || is_right {
        loop {
            let doubles = check_index(&mut spool, &mut report, repair)?;
            if doubles.is_empty() {
                break;
            }
            spool = repair::leave_out(spool, &doubles)?;
        }
    }
    check_active(&mut spool, &seen.given, &mut report, repair)?;
    if repair {
        if let Err(error) = spool.finish_erasures() {
            report.tell(&dir.join(ERASING), 0, unfinished(&error), false);
        }
        spool.checkpoint()?;
        report.list_lost(&*disk, dir)?;
    }
    Ok(report)
}

/// Finds what is lost of the segments, each as an error: those without `.art`, those without a valid header, and those whose `.art` ends too
/// early. It does not read the articles; the caller holds the lock, or nobody can write.
///
/// # Errors
/// The directory of the segments cannot be read, or has none although the index knows of some.
pub fn segment_faults(dir: &Path) -> Result<Vec<Error>, Error> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let segments = Segments::find(&disk, dir)?;
    repair::must_have_segments(&segments, dir)?;
    let mut faults = segments.damaged_headers()?;
    let lost = segments.lost()?.into_iter();
    faults.extend(lost.map(|base| segments.lost_error(base)));
    faults.extend(cut_files(&segments)?);
    faults.extend(lost_but_history(&segments, dir)?);
    faults.extend(current_fault(&segments, dir)?);
    Ok(faults)
}

/// Checks the segments of a news directory that cannot be opened before it is repaired; what lies behind the last commit is passed over.
fn check_unopened(segments: &Segments, dir: &Path, report: &mut Report) -> Result<(), Error> {
    let disk = segments.disk();
    let index = Index::open_to_read(&**disk, dir, None).ok().flatten();
    let mark = index.and_then(|index| index.published());
    let expired = match ExpiryState::read(&**disk, dir)? {
        Some(expired) => expired,
        None => ExpiryState::fold(segments)?,
    };
    let cancelled = Removals::of_log(segments, dir)?.cancelled;
    let alive = Visibility {
        expired: &expired,
        cancelled: &cancelled,
    };
    let mut seen = Seen::default();
    for base in segments.bases()? {
        let end = match mark {
            Some(mark) if base > mark.base => continue,
            Some(mark) if base == mark.base => mark.art_end,
            _ => u64::MAX,
        };
        check_segment(segments, dir, (base, end), alive, &mut seen, report, false)?;
        report.segments += 1;
    }
    for path in repair::orphans(segments)? {
        report.tell(&path, 0, repair::ORPHAN, false);
    }
    report.notices.push(UNOPENED.to_owned());
    Ok(())
}
