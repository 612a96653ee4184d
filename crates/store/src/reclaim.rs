//! Reclaims the space of expired articles without the lock: removes segments without visible articles, and shrinks other ones that
//! lost articles. A kill at any moment is safe; the next run finishes.

pub(crate) mod punch;
pub(crate) mod repack;
pub(crate) mod shrink;

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::io::disk::{Disk, RealDisk};
use crate::io::lock::Lock;
use crate::log::repack_reserve;
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::{SegmentFile, Segments};
use crate::offload::object_name::ObjectName;
use crate::offload::{self, cache, unnamed};
use crate::reclaim::shrink::{dead_part, shrink};
use crate::spool::Spool;
use crate::spool::options::Options;
use crate::state::unreclaimed;
use crate::state::unreclaimed::{Due, NOW};
use crate::{Error, Snapshot};

/// Smallest current segment that is sealed early, bytes, whatever part of it is dead.
pub const SEAL_BYTES_MIN: u64 = 1 << 20;

/// Longest pause between two segments while other programs file.
const GIVE_WAY_MAX: Duration = Duration::from_secs(1);
/// Length of such a pause, as a multiple of the work before it.
const GIVE_WAY_TIMES: u32 = 4;
/// How long a run on a full disk waits in vain until readers have closed a replaced file.
const CLOSED_WITHIN: Duration = Duration::from_secs(10);
const CLOSED_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The notice that no space can be reclaimed.
const TOO_SMALL: &str = "no space is given back: a segment is too small for copies of active and of what has expired; raise store.segment_bytes";

/// The result of reclaiming.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Number of removed segments.
    pub segments: u64,
    /// Number of repacked segments.
    pub repacked: u64,
    /// Number of punched holes.
    pub holes: u64,
    /// Bytes returned to the disk.
    pub bytes: u64,
    /// Dead bytes that stay for now, in segments with too few of them.
    pub held: u64,
    /// The file system does not support holes: those segments stay until more of them is dead.
    pub no_holes: bool,
    /// Segments that could not be shrunk, with the reasons. The next run tries them again.
    pub faults: Vec<String>,
}

/// How much dead space is worth the work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReclaimPolicy {
    /// Share of scattered dead articles, 0 to 1, above which a segment is repacked.
    pub dead_part: f64,
    /// Examines all segments, including those without removals since the last run.
    pub everywhere: bool,
    /// The time, seconds since 1970: the space of articles that can still be restored stays.
    pub now: i64,
}

impl ReclaimPolicy {
    /// Examines segments with removals, and repacks them above this share.
    pub fn usual(dead_part: f64) -> ReclaimPolicy {
        ReclaimPolicy {
            dead_part,
            everywhere: false,
            now: crate::now(),
        }
    }
}

/// Reclaims the space that [`Spool::expire`] has freed. One run at a time (`lock.expire`).
pub fn reclaim(dir: &Path, options: Options, eagerness: ReclaimPolicy) -> Result<Reclaimed, Error> {
    reclaim_on(Arc::new(RealDisk), dir, options, eagerness)
}

/// Whether there may be space to reclaim, if ids that arrived before a time may be forgotten.
pub fn is_unreclaimed(dir: &Path, forget_before: i64) -> Result<bool, Error> {
    let listed = unreclaimed::read(&RealDisk, dir)?.filter(|_| !unreclaimed::is_all_marked(dir));
    Ok(listed.is_none_or(|due| due.values().any(|time| *time <= forget_before)))
}

/// As [`reclaim`], on another disk.
pub fn reclaim_on(
    disk: Arc<dyn Disk>,
    dir: &Path,
    options: Options,
    ReclaimPolicy {
        dead_part: dead_part_max,
        everywhere,
        now,
    }: ReclaimPolicy,
) -> Result<Reclaimed, Error> {
    let segments = Segments::of(&disk, dir);
    unreclaimed::take_mark(&*disk, dir)?;
    let known = unreclaimed::read(&*disk, dir)?;
    let listed = known.clone().filter(|_| !everywhere);
    if listed.as_ref().is_some_and(|due| due.is_empty()) && !has_remains(&segments)? {
        return Ok(Reclaimed::default());
    }
    let mut snapshot = Snapshot::open_on(disk.clone(), dir)?;
    snapshot.spare_restorable(now);
    if options.follows_log {
        // A power cut must not take back what lets files go: what is applied again would not find them.
        Spool::open_on(disk.clone(), dir, options)?.checkpoint()?;
    }
    let current = snapshot.segments().last().copied().unwrap_or(0);
    let forget_before = snapshot.expired().forget_before();
    let is_listed = |base: &u64| {
        let listed = listed.as_ref();
        listed.is_none_or(|due| due.get(base).is_some_and(|time| *time <= forget_before))
    };
    let mut left = listed.clone().unwrap_or_default();
    left.retain(|base, _| !is_listed(base));
    if is_listed(&current) {
        let bytes = segments.art_bytes(current).0;
        let part = dead_part(&snapshot.survey(current)?, &snapshot);
        let is_worth = part > dead_part_max && bytes >= SEAL_BYTES_MIN;
        let is_much = part * bytes as f64 >= SEAL_BYTES_MIN as f64;
        let seal = || Spool::open_on(disk.clone(), dir, options)?.seal_for_reclaim(is_worth);
        if (is_worth || is_much) && seal()? {
            snapshot = Snapshot::open_on(disk.clone(), dir)?;
            snapshot.spare_restorable(now);
        } else if part > 0.0 {
            left.insert(current, NOW);
        }
    }
    let reserve = repack_reserve::fit(&segments)?;
    let has_reserve = repack_reserve::make(&segments, reserve);
    let mut job = Job {
        disk,
        dir,
        segments,
        snapshot,
        options,
        reserve,
        waits_for_space: Cell::new(has_reserve),
        told: Reclaimed::default(),
    };
    let (_, sealed) = job.snapshot.segments().split_last().unwrap_or((&0, &[]));
    let sealed: Vec<u64> = sealed.iter().copied().filter(is_listed).collect();
    let (mut dead, mut half) = (Vec::new(), Vec::new());
    for base in sealed {
        match job.is_dead(base) {
            Ok(true) => dead.push(base),
            Ok(false) => half.push(base),
            Err(error) => job.fault(&mut left, base, &error),
        }
    }
    let dead = job.with_header(dead, &mut left);
    if !job.remove(&dead)? {
        left.extend(dead.iter().map(|base| (*base, NOW)));
    }
    job.shrink(&half, dead_part_max, &mut left)?;
    job.sweep()?;
    repack_reserve::make(&job.segments, repack_reserve::fit(&job.segments)?);
    if let Err(error) = offload::delete_unnamed(&job.segments) {
        job.told.faults.push(error.to_string());
    }
    // With the lock of the store, so that no removal is noted meanwhile.
    let spool = Spool::open_on(job.disk.clone(), dir, options)?;
    let noted = unreclaimed::read(&*job.disk, dir)?;
    let is_new = |base: &u64| known.as_ref().is_none_or(|due| !due.contains_key(base));
    left.extend(noted.iter().flatten().filter(|(base, _)| is_new(base)));
    left.extend(
        spool
            .restorable_segments(now)?
            .into_iter()
            .map(|base| (base, NOW)),
    );
    if noted.as_ref() != Some(&left) {
        unreclaimed::write(&*job.disk, dir, &left)?;
    }
    Ok(job.told)
}

/// Whether there are derived files of segments whose articles were removed.
fn has_remains(segments: &Segments) -> Result<bool, Error> {
    let whole = segments.bases()?;
    let all = segments.bases_with(&SegmentFile::ALL)?;
    Ok(whole.len() < all.len())
}

struct Job<'d> {
    disk: Arc<dyn Disk>,
    dir: &'d Path,
    segments: Segments,
    snapshot: Snapshot,
    options: Options,
    /// Size of the reserve for repacking, bytes.
    reserve: u64,
    /// The space of a repacked segment comes back when readers have closed the old file.
    waits_for_space: Cell<bool>,
    told: Reclaimed,
}

impl Job<'_> {
    fn fault(&mut self, left: &mut Due, base: u64, error: &Error) {
        left.insert(base, NOW);
        self.told.faults.push(error.to_string());
    }

    /// Returns the segments with a readable header, which tells whether an object store has their articles.
    fn with_header(&mut self, mut dead: Vec<u64>, left: &mut Due) -> Vec<u64> {
        dead.retain(|&base| match self.segments.header(base) {
            Ok(_) => true,
            Err(error) => {
                self.fault(left, base, &error);
                false
            }
        });
        dead
    }

    /// Removes segments without visible articles. Returns false for a segment that is still needed.
    fn remove(&mut self, dead: &[u64]) -> Result<bool, Error> {
        if dead.is_empty() {
            return Ok(true);
        }
        let mut spool = Spool::open_on(self.disk.clone(), self.dir, self.options)?;
        if !spool.let_go(dead)? {
            self.told.faults.push(TOO_SMALL.to_owned());
            return Ok(false);
        }
        drop(spool);
        let before: u64 = dead.iter().map(|base| self.segments.allocated(*base)).sum();
        // First the rows, none of which is visible any more: an empty file has the same meaning for readers and fsck.
        for &base in dead {
            self.segments.replace(base, SegmentFile::Ovr, |_| Ok(()))?;
        }
        self.segments.sync()?;
        let mut objects = Vec::new();
        for &base in dead {
            let sum = self.segments.header(base)?.and_then(|header| header.object);
            objects.extend(sum.map(|sum| ObjectName { base, sum }));
        }
        if !objects.is_empty() {
            unnamed::add(&self.segments, &objects)?;
        }
        // Nobody puts an empty file in the place of a removed one.
        let lock = cache::lock(&self.segments)?;
        for &base in dead {
            let started = Instant::now();
            self.segments.remove(base, SegmentFile::Art)?;
            self.told.segments += 1;
            self.give_way(started.elapsed());
        }
        // Then the articles, before the remaining files of their segments ([`Job::sweep`]).
        self.segments.sync()?;
        drop(lock);
        Spool::open_on(self.disk.clone(), self.dir, self.options)?.prune_cancels()?;
        let after: u64 = dead.iter().map(|base| self.segments.allocated(*base)).sum();
        self.told.bytes += before.saturating_sub(after);
        Ok(true)
    }

    /// Shrinks segments with some visible articles. After an error a segment is unchanged.
    fn shrink(&mut self, half: &[u64], part: f64, left: &mut Due) -> Result<(), Error> {
        let Some(&newest) = half.iter().max() else {
            return Ok(());
        };
        let mut spool = Spool::open_on(self.disk.clone(), self.dir, self.options)?;
        if !spool.stand_alone_behind(newest)? {
            left.extend(half.iter().map(|base| (*base, NOW)));
            self.told.faults.push(TOO_SMALL.to_owned());
            return Ok(());
        }
        drop(spool);
        for &base in half {
            let started = Instant::now();
            let before = self.segments.allocated(base);
            let renew = || self.renew_reserve();
            match shrink(&self.segments, &self.snapshot, base, part, &renew) {
                Ok(shrunk) => {
                    self.told.repacked += u64::from(shrunk.repacked);
                    self.told.holes += shrunk.holes;
                    self.told.held += shrunk.held;
                    self.told.no_holes |= shrunk.refused > 0;
                    left.extend(shrunk.due.map(|due| (base, due)));
                    if shrunk.is_unfinished {
                        left.insert(base, NOW);
                        self.told.faults.push(self.too_full(base, shrunk.held));
                    }
                }
                Err(error) => self.fault(left, base, &error),
            }
            self.told.bytes += before.saturating_sub(self.segments.allocated(base));
            self.give_way(started.elapsed());
        }
        // Syncs the replaced files before the list records that nothing is left to do.
        self.segments.sync()
    }

    /// Makes the reserve again after a segment was repacked into it. The space of the old file is free when the last reader has closed it.
    fn renew_reserve(&self) {
        let (began, mut pause) = (Instant::now(), CLOSED_CHECK_INTERVAL);
        while !repack_reserve::make(&self.segments, self.reserve) && self.waits_for_space.get() {
            // A daemon that gets its lock back has its readers open all files anew. It takes nothing in meanwhile, so that the pauses grow.
            let lent = Lock::take(self.dir, self.options.patience);
            let is_over = lent.is_err() || began.elapsed() > CLOSED_WITHIN;
            drop(lent);
            self.waits_for_space.set(!is_over);
            std::thread::sleep(pause);
            pause *= 2;
        }
    }

    /// The notice that a segment needs more free space than there is.
    fn too_full(&self, base: u64, held: u64) -> String {
        format!(
            "{}: the disk is too full to write it anew: every dead block was given back, but {held} bytes of dead articles lie between living ones. \
             Make room for {} bytes, or let more articles expire (explist, or [expiry] keep_free); then `broadsheet expire' goes on",
            self.segments.path(base, SegmentFile::Art).display(),
            self.segments.art_bytes(base).1.saturating_sub(held),
        )
    }

    /// While other programs file, they get the disk for four fifths of the time: reclaiming keeps it busy (a freed segment
    /// is discarded before the next sync completes), and is not urgent.
    fn give_way(&self, took: Duration) {
        if Lock::is_held(self.dir) {
            std::thread::sleep((took * GIVE_WAY_TIMES).min(GIVE_WAY_MAX));
        }
    }

    /// Whether no article of a sealed segment is kept. Stops at the first row that is; without one, history
    /// must confirm it, because its articles are about to be removed.
    fn is_dead(&self, base: u64) -> Result<bool, Error> {
        let survey = self.snapshot.survey(base)?;
        let expired = self.snapshot.expired();
        let kept = survey.groups().any(|rows| {
            let cut = expired.cut(rows.name);
            let in_group = expired.in_group(rows.name);
            let (first, last) = (rows.number_at(0), rows.last_number());
            let mut survivors = expired.survivors_in(rows.name, (first, last));
            // Between numbers of late articles there may be those of other segments.
            let survives = survivors.any(|number| rows.range(number, number).next().is_some());
            survives || rows.range(cut, last).any(|row| in_group.keeps(row.number))
        });
        if kept {
            return Ok(false);
        }
        let damaged = |view, what| Error::Damaged {
            path: self.segments.path(base, view),
            offset: 0,
            what,
        };
        if !survey.is_whole() {
            return Err(damaged(SegmentFile::Ovr, "its rows are not whole"));
        }
        let length = self.segments.length(base, SegmentFile::Art);
        if survey.history_lines().next().is_none()
            && !survey.is_compacted()
            && length.is_ok_and(|length| length > SEGMENT_HEADER_BYTES)
            && survey.has_articles()?
        {
            return Err(damaged(
                SegmentFile::His,
                "it has no lines, and .art has articles",
            ));
        }
        if survey
            .lines()
            // The rows of an erased article are gone.
            .any(|line| line.is_filed() && self.snapshot.is_alive(&line))
        {
            return Err(damaged(
                SegmentFile::Ovr,
                "it has no rows of articles that are alive",
            ));
        }
        survey.was_readable()?;
        Ok(true)
    }

    /// Removes the remaining files of segments whose articles were removed, and of an interrupted run; removes the history of a
    /// segment when all its ids may be forgotten.
    fn sweep(&mut self) -> Result<(), Error> {
        let whole = self.segments.bases()?;
        let newest = self.snapshot.segments().last().copied().unwrap_or(0);
        for base in self.segments.bases_with(&SegmentFile::ALL)? {
            if base >= newest {
                continue;
            }
            self.segments.remove_unfinished(base)?;
            if whole.contains(&base) {
                continue;
            }
            let rows = self.segments.length(base, SegmentFile::Ovr);
            if rows.is_ok_and(|length| length > 0) {
                // Expire empties the rows before it removes the articles.
                self.told.faults.push(format!(
                    "{}: its .art is missing, and expire did not remove it: run `broadsheet fsck`",
                    self.segments.path(base, SegmentFile::Ovr).display()
                ));
                continue;
            }
            for file in [SegmentFile::Ovr, SegmentFile::Exp, SegmentFile::Clk] {
                self.segments.remove(base, file)?;
            }
            if self.snapshot.forgets_all(base)? {
                self.segments.remove(base, SegmentFile::His)?;
            }
        }
        Ok(())
    }
}
