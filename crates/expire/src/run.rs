//! One run of expire: decides without the lock, archives, then has the store apply the decision.

use std::path::Path;
use std::time::{Duration, Instant};

use store::{ExpiryDecision, Options, ReclaimPolicy, Reclaimed, Reserve, Snapshot, Spool, Survey};

use crate::Explist;
use crate::archiving::{self, Archived, Archiving};
use crate::count::{hierarchy, live_links, unexpired_links};
use crate::decide::{Plan, decide_on};
use crate::oldest::oldest_kept;
use crate::policy::{Policy, Warning};
use crate::restored::RemovedArticles;
use crate::run_error::RunError;
use crate::space::{DiskSpace, Shortage, decide_by_space};
use crate::tables::SpaceLimits;
use crate::trace::{Removal, removals};

/// Smallest step of the forget time in a run that removes nothing, seconds.
const FORGET_STEP_SECONDS: i64 = 600;

/// Dead fraction above which a segment is rewritten when space is short. Small, because expired articles count as free space,
/// so their space must be reclaimed.
const SHORTAGE_DEAD_FRACTION: f64 = 0.02;

/// More links than a cancelled article has on an average: if the part is allowed without so many, they need not be counted.
const CANCELLED_LINKS: u64 = 4;

/// The options of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// The time of the decision, seconds since 1970.
    pub now: i64,
    /// Only decide.
    pub dry: bool,
    /// Run even if more than `max_fraction` would be removed.
    pub force: bool,
    /// List each removal ([`RunReport::removals`]), including those of groups with an archive, and only decide.
    pub trace: bool,
    /// The limits on space, the fraction of all links that one run may remove, and the dead fraction above which a segment is rewritten.
    pub space: SpaceLimits,
    /// The state of the disk. `None`: ask the system if `space` has a limit.
    pub disk: Option<DiskSpace>,
    /// The options for opening the store.
    pub store: Options,
}

/// The result of a run.
#[derive(Debug)]
pub struct RunReport {
    /// The decision.
    pub plan: Plan,
    /// Warnings about the policy.
    pub warnings: Vec<Warning>,
    /// In a dry run without `force`: the error with which another run refuses.
    pub refusal: Option<RunError>,
    /// The copies made (or, in a dry run, to be made) before removal.
    pub archived: Archived,
    /// The removals for lack of space, besides those by date. `None`: there was no need.
    pub shortage: Option<Shortage>,
    /// The single removals, if requested.
    pub removals: Vec<Removal>,
    /// Ids in the index before the run, including stale ones.
    pub ids: u64,
    /// Segments before the run.
    pub segments: u64,
    /// The disk space reclaimed.
    pub reclaimed: Reclaimed,
    /// Time until the articles were removed, including archiving.
    pub deciding: Duration,
    /// Time after that for reclaiming the disk space.
    pub reclaiming: Duration,
}

/// Runs expire over a news directory.
///
/// # Errors
/// No usable policy; the run would remove too much; the index lines cannot be written; an error of the store. In these cases
/// nothing has been removed. A failed copy is not such an error: the result reports it, and its article is kept.
pub fn run(
    dir: &Path,
    list: Explist,
    options: &RunOptions,
    archiving: Archiving<'_>,
) -> Result<RunReport, RunError> {
    let notice = archiving.notice;
    let apply = |expiry: &mut ExpiryDecision, removed: &RemovedArticles| {
        Ok(apply_decision(
            dir,
            (options.store, notice),
            expiry,
            removed,
        )?)
    };
    carry_out(dir, list, options, archiving, &apply)
}

/// As [`run`]; `apply` has the nodes of a cluster apply the decision.
///
/// # Errors
/// Those of [`run`], and of `apply`.
pub fn run_with(
    dir: &Path,
    list: Explist,
    options: &RunOptions,
    archiving: Archiving<'_>,
    apply: &dyn Fn(&ExpiryDecision) -> Result<(), RunError>,
) -> Result<RunReport, RunError> {
    let apply = |expiry: &mut ExpiryDecision, removed: &RemovedArticles| {
        let kept = removed.keep_restored(&Snapshot::open(dir)?, expiry)?;
        apply(expiry)?;
        Ok(kept)
    };
    carry_out(dir, list, options, archiving, &apply)
}

/// Applies a decision without the articles that were restored meanwhile; returns their links, which stay.
type Apply<'a> =
    dyn Fn(&mut ExpiryDecision, &RemovedArticles) -> Result<Vec<(Vec<u8>, u64)>, RunError> + 'a;

fn carry_out(
    dir: &Path,
    list: Explist,
    options: &RunOptions,
    archiving: Archiving<'_>,
    apply: &Apply<'_>,
) -> Result<RunReport, RunError> {
    let started = Instant::now();
    let is_dry = options.dry || options.trace;
    let lock = || store::Lock::take_named(dir, "lock.expire", true);
    let lock = || Reserve::of_expire(dir).with(lock);
    let _one = (!is_dry).then(lock).transpose()?;
    // Opening a news directory without an index makes one.
    let open = || Snapshot::open(dir);
    let snapshot = if is_dry {
        open()?
    } else {
        Reserve::of_expire(dir).with(open)?
    };
    for found in snapshot.notices() {
        (archiving.notice)(found);
    }
    if let Some(fault) = snapshot.active().bad_lines().first() {
        return Err(RunError::Active(fault.to_string()));
    }
    let removed = if is_dry {
        None
    } else {
        Some(RemovedArticles::of(&snapshot)?)
    };
    let (mut policy, warnings) = Policy::compile(list, snapshot.active())?;
    let bases = snapshot.segments().iter();
    let surveys: Result<Vec<Survey>, _> = bases.map(|&base| snapshot.survey(base)).collect();
    let surveys = surveys?;
    let mut plan = decide_on(&snapshot, &surveys, &policy, options.now, &|_| false);
    let mut archive =
        archiving::ArchiveRun::new(dir, (&snapshot, &policy), options.store, &archiving)?;
    if !options.trace {
        archive.hold((&policy, &surveys), &mut plan)?;
    }
    let (mut shortage, mut is_short) = (None, false);
    let mut by_dates = None;
    if options.space.has_limit() {
        by_dates = Some(plan.clone());
        let disk = match options.disk {
            Some(disk) => disk,
            None => DiskSpace::of(&dir.join("segments")).map_err(RunError::FreeSpace)?,
        };
        is_short = disk.missing(&options.space, 0) > 0;
        let store = (&snapshot, surveys.as_slice());
        let limits = (&options.space, disk);
        let held = archive.held_groups(&policy);
        let is_held = |id| held.binary_search(&id).is_ok();
        shortage = decide_by_space(store, limits, &mut policy, options.now, &is_held, &mut plan);
        if shortage.is_some() && !options.trace {
            archive.hold((&policy, &surveys), &mut plan)?;
        }
    }
    check_exceptions(&snapshot, &surveys, &plan)?;
    let mut refusal = None;
    if !options.force {
        let most = options.space.max_fraction;
        count_live(&snapshot, &surveys, most, &mut plan);
        refusal = check_fraction(&plan, shortage.is_some(), most).err();
        if let (Some(error), Some(shortage), Some(mut by_dates)) =
            (&refusal, &mut shortage, by_dates)
        {
            // A full disk, or a limit that cannot be reached, does not keep the articles whose time has come.
            count_live(&snapshot, &surveys, most, &mut by_dates);
            if by_dates.total.links > 0 && check_fraction(&by_dates, false, most).is_ok() {
                shortage.refuse(error);
                refusal = None;
                plan = by_dates;
                if !options.trace {
                    archive.hold((&policy, &surveys), &mut plan)?;
                }
            }
        }
    }
    if let Some(error) = refusal.take_if(|_| !is_dry) {
        return Err(error);
    }
    if !is_dry {
        archive.copy((&policy, &surveys), &mut plan, archiving.index)?;
    }
    record_oldest(&snapshot, &surveys, is_dry, &mut plan);
    let removals = if options.trace {
        removals(&snapshot, &surveys, &policy, &plan)
    } else {
        Vec::new()
    };
    let (segments, ids) = (snapshot.segments().len(), snapshot.ids());
    let forget_before = set_horizon(
        (&snapshot, &surveys),
        &policy,
        options.now,
        &mut plan.expiry,
    );
    let mut deciding = started.elapsed();
    let removes = !plan.expiry.is_empty();
    if let Some(removed) = removed.filter(|_| removes) {
        let kept = apply(&mut plan.expiry, &removed)?;
        if !kept.is_empty() {
            archive.are_kept(&policy, &kept);
            plan.count(&snapshot, surveys.iter());
        }
        deciding = started.elapsed();
    }
    let archived = if options.trace {
        Archived::default()
    } else {
        archive.finish()
    };
    let mut report = RunReport {
        plan,
        warnings,
        refusal,
        archived,
        shortage,
        removals,
        ids,
        segments: segments as u64,
        reclaimed: Reclaimed::default(),
        deciding,
        reclaiming: Duration::ZERO,
    };
    drop(surveys);
    drop(snapshot);
    if is_dry {
        return Ok(report);
    }
    if removes || is_short || store::is_unreclaimed(dir, forget_before)? {
        let reclaim_policy = reclaim_policy(&options.space, is_short, options.now);
        report.reclaimed = store::reclaim(dir, options.store, reclaim_policy)?;
        report.reclaiming = started.elapsed().saturating_sub(report.deciding);
    }
    Reserve::of_expire(dir).create();
    Ok(report)
}

/// Sets the time before which ids are forgotten, if it has moved far enough. Returns the time that holds after the run.
fn set_horizon(
    (snapshot, surveys): (&Snapshot, &[Survey]),
    policy: &Policy,
    now: i64,
    expiry: &mut ExpiryDecision,
) -> i64 {
    // However far the clock is ahead, ids that arrive later must be remembered.
    let newest = surveys.iter().rev().find_map(Survey::last_arrival);
    let forget = policy
        .forget_before(now)
        .min(now)
        .min(newest.unwrap_or(i64::MIN).saturating_add(1));
    let known = snapshot.expired().forget_before();
    // The clock was ahead, and with it the newest article. Lines that are gone meanwhile stay gone; all others must count again.
    if known > now {
        expiry.forget_before = Some(forget);
        return forget;
    }
    // Else it never moves back, because the lines before it may be gone.
    let is_far = !expiry.removes_nothing() || forget.saturating_sub(known) >= FORGET_STEP_SECONDS;
    if forget > known && is_far {
        expiry.forget_before = Some(forget);
    }
    forget.max(known)
}

/// Has the store apply the decision; decides again on what was restored, under the lock.
fn apply_decision(
    dir: &Path,
    (options, notice): (Options, &dyn Fn(&str)),
    expiry: &mut ExpiryDecision,
    removed: &RemovedArticles,
) -> Result<Vec<(Vec<u8>, u64)>, store::Error> {
    let (kept, revised) = Reserve::of_expire(dir).with(|| {
        let mut spool = Spool::open(dir, options)?;
        for found in &spool.notices() {
            notice(found);
        }
        let mut revised = expiry.clone();
        let kept = removed.keep_restored(&spool.snapshot()?, &mut revised)?;
        spool.expire(&revised)?;
        Ok((kept, revised))
    })?;
    *expiry = revised;
    Ok(kept)
}

fn reclaim_policy(space: &SpaceLimits, is_short: bool, now: i64) -> ReclaimPolicy {
    if is_short {
        ReclaimPolicy {
            dead_part: space.dead_fraction.min(SHORTAGE_DEAD_FRACTION),
            everywhere: true,
            now,
        }
    } else {
        ReclaimPolicy {
            now,
            ..ReclaimPolicy::usual(space.dead_fraction)
        }
    }
}

/// Refuses to run if a derived file could not be read, or does not list all live articles with an Expires of their own: the default would remove them.
fn check_exceptions(
    snapshot: &Snapshot,
    surveys: &[Survey],
    plan: &Plan,
) -> Result<(), store::Error> {
    for survey in surveys {
        survey.was_readable()?;
    }
    let touched = |survey: &&Survey| plan.expiry.touched.contains(&survey.base());
    let mut touched = surveys.iter().filter(touched);
    touched.try_for_each(|survey| survey.check_exceptions(snapshot.expired()))
}

/// Counts the links of which one run may remove a part, as exactly as the part asks for. The marks of a group count what is long gone
/// between its oldest article and the next, and the rows what no segment was rewritten for.
fn count_live(snapshot: &Snapshot, surveys: &[Survey], max_fraction: f64, plan: &mut Plan) {
    if plan.total.links == 0 {
        return;
    }
    plan.live = unexpired_links(snapshot.expired(), surveys);
    let cancelled = CANCELLED_LINKS.saturating_mul(snapshot.cancelled_count() as u64);
    let certain = plan.live.saturating_sub(cancelled);
    if plan.total.links as f64 > max_fraction * certain as f64 {
        plan.live = live_links(snapshot, surveys);
    }
}

/// Refuses to run if it would remove more than one run may.
fn check_fraction(plan: &Plan, is_short: bool, max_fraction: f64) -> Result<(), RunError> {
    let part = plan.total.links as f64 / plan.live.max(1) as f64;
    if plan.total.links == 0 || part <= max_fraction {
        return Ok(());
    }
    Err(RunError::TooMuch {
        going: plan.total.links,
        live: plan.live,
        max_percent: max_fraction * 100.0,
        why: if is_short {
            " because space is short"
        } else {
            ""
        },
    })
}

/// Records the oldest kept article of each hierarchy with removals; in a dry run, of every hierarchy.
fn record_oldest(snapshot: &Snapshot, surveys: &[Survey], all: bool, plan: &mut Plan) {
    if all {
        let active = snapshot.active();
        for id in active.ids() {
            let name = hierarchy(active.name(id)).to_vec();
            plan.hierarchies.entry(name).or_default();
        }
    }
    let names: Vec<Vec<u8>> = plan.hierarchies.keys().cloned().collect();
    if names.is_empty() {
        return;
    }
    let after = snapshot.expired().after(&plan.expiry);
    let oldest = oldest_kept(snapshot, surveys, &after, &names);
    for (name, count) in &mut plan.hierarchies {
        count.oldest_kept = oldest.get(name).copied();
    }
    plan.total.oldest_kept = oldest.values().min().copied();
}
