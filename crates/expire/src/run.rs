//! One run of expire: decide without the lock, archive, then have the store take it over.

use std::path::Path;
use std::time::{Duration, Instant};

use store::{ExpiryDecision, Options, Reader, ReclaimPolicy, Reclaimed, Spool, Survey};

use crate::Explist;
use crate::archiving::{self, Archived, Archiving};
use crate::count::hierarchy;
use crate::decide::{Plan, decide_on};
use crate::failure::Failure;
use crate::oldest::oldest_kept;
use crate::policy::{Policy, Warning};
use crate::reserve;
use crate::space::{Room, Shortage, decide_by_space};
use crate::tables::Space;
use crate::trace::{Removal, removals};

/// Between two runs that remove nothing, the horizon of memory moves only when it has moved this far, seconds.
const FORGET_STEP_SECONDS: i64 = 600;

/// When space is short, a segment is written anew for so small a part of it: what has expired is counted as free, so it
/// must come back.
const SHORT_DEAD_FRACTION: f64 = 0.02;

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// The time to decide by, epoch seconds.
    pub now: i64,
    /// Decide only.
    pub dry: bool,
    /// Also when more than `max_fraction` would go.
    pub force: bool,
    /// Tell each removal ([`Outcome::removals`]), those of groups that archive too, and decide only.
    pub trace: bool,
    /// Limits on space, the part of all links that one run may remove, and when a segment is written anew.
    pub space: Space,
    /// What the disk has. `None`: the system is asked when `space` has a limit.
    pub room: Option<Room>,
    /// How the store is opened.
    pub options: Options,
}

/// What a run did, or would do.
#[derive(Debug)]
pub struct Outcome {
    /// What goes.
    pub plan: Plan,
    /// What to tell of the policy.
    pub warnings: Vec<Warning>,
    /// What was copied to archives first, or would be.
    pub archived: Archived,
    /// What space asked for beyond the dates. `None`: nothing.
    pub shortage: Option<Shortage>,
    /// What goes, one by one, if that was wanted.
    pub removals: Vec<Removal>,
    /// Ids in the index before the run, stale ones included.
    pub ids: u64,
    /// Segments before the run.
    pub segments: u64,
    /// The space that was given back.
    pub reclaimed: Reclaimed,
    /// How long it took until what goes was gone, archiving included.
    pub deciding: Duration,
    /// How long it took after that to give its space back.
    pub reclaiming: Duration,
}

/// Runs expire over a news directory.
///
/// # Errors
/// No usable policy; too much would go; the index lines cannot be written; the store's own errors. Nothing has been
/// removed then. A copy that fails is no such error: it is told in the outcome, and its article stays.
pub fn run(
    dir: &Path,
    list: Explist,
    order: &Order,
    archiving: Archiving<'_>,
) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let only_look = order.dry || order.trace;
    let lock = || store::Lock::take_named(dir, "lock.expire", false);
    let _one = (!only_look).then(lock).transpose()?;
    let reader = Reader::open(dir)?;
    if let Some(fault) = reader.active().faults().first() {
        return Err(Failure::Active(fault.to_string()));
    }
    let (mut policy, warnings) = Policy::compile(list, reader.active())?;
    let bases = reader.segments().iter();
    let surveys: Result<Vec<Survey>, _> = bases.map(|&base| reader.survey(base)).collect();
    let surveys = surveys?;
    let mut plan = decide_on(&reader, &surveys, &policy, order.now, &|_| false);
    let mut archive = archiving::Run::new(dir, (&reader, &policy), order.options, &archiving);
    if !order.trace {
        archive.hold((&policy, &surveys), &mut plan)?;
    }
    let (mut shortage, mut is_short) = (None, false);
    if order.space.has_limit() {
        let room = match order.room {
            Some(room) => room,
            None => Room::of(&dir.join("segments")).map_err(Failure::Room)?,
        };
        is_short = room.missing(&order.space, 0) > 0;
        let store = (&reader, surveys.as_slice());
        let limits = (&order.space, room);
        let held = archive.held_groups(&policy);
        let is_held = |id| held.binary_search(&id).is_ok();
        shortage = decide_by_space(store, limits, &mut policy, order.now, &is_held, &mut plan);
        if shortage.is_some() && !order.trace {
            archive.hold((&policy, &surveys), &mut plan)?;
        }
    }
    check_exceptions(&reader, &surveys, &plan)?;
    if !only_look && !order.force {
        check_fraction(&plan, shortage.is_some(), order.space.max_fraction)?;
    }
    if !only_look {
        archive.copy((&policy, &surveys), &mut plan, archiving.index)?;
    }
    tell_oldest(&reader, &surveys, only_look, &mut plan);
    let removals = match order.trace {
        true => removals(&reader, &surveys, &policy, &plan),
        false => Vec::new(),
    };
    let archived = match order.trace {
        true => Archived::default(),
        false => archive.finish(),
    };
    let (segments, _, ids) = reader.extent();
    let forget_before = set_horizon((&reader, &surveys), &policy, order.now, &mut plan.expiry);
    let mut outcome = Outcome {
        plan,
        warnings,
        archived,
        shortage,
        removals,
        ids,
        segments: segments as u64,
        reclaimed: Reclaimed::default(),
        deciding: started.elapsed(),
        reclaiming: Duration::ZERO,
    };
    drop(surveys);
    drop(reader);
    if only_look {
        return Ok(outcome);
    }
    let removes = !outcome.plan.expiry.is_empty();
    if removes {
        take_over(dir, order.options, &outcome.plan.expiry)?;
        outcome.deciding = started.elapsed();
    }
    if removes || is_short || store::is_unreclaimed(dir, forget_before)? {
        let eagerness = eagerness(&order.space, is_short);
        outcome.reclaimed = store::reclaim(dir, order.options, eagerness)?;
        outcome.reclaiming = started.elapsed().saturating_sub(outcome.deciding);
    }
    reserve::keep(dir);
    Ok(outcome)
}

/// Sets from when on ids are remembered, when that has moved far enough. Returns what holds after the run.
fn set_horizon(
    (reader, surveys): (&Reader, &[Survey]),
    policy: &Policy,
    now: i64,
    expiry: &mut ExpiryDecision,
) -> i64 {
    // However far ahead a clock is, ids that are still to come will be remembered.
    let newest = surveys.iter().rev().find_map(Survey::last_arrival);
    let forget = policy
        .forget_before(now)
        .min(now)
        .min(newest.unwrap_or(i64::MIN).saturating_add(1));
    let known = reader.expired().forget_before();
    // What is forgotten stays so: its lines may be gone.
    let is_far = !expiry.removes_nothing() || forget.saturating_sub(known) >= FORGET_STEP_SECONDS;
    if forget > known && is_far {
        expiry.forget_before = Some(forget);
    }
    forget.max(known)
}

/// Has the store take over what goes; on a full disk, in the space that was kept back for it.
fn take_over(dir: &Path, options: Options, expiry: &ExpiryDecision) -> Result<(), store::Error> {
    let attempt = || Spool::open(dir, options)?.expire(expiry).map(drop);
    match attempt() {
        Err(error) if error.is_disk_full() && reserve::give_up(dir) => attempt(),
        done => done,
    }
}

fn eagerness(space: &Space, is_short: bool) -> ReclaimPolicy {
    match is_short {
        true => ReclaimPolicy {
            dead_part: space.dead_fraction.min(SHORT_DEAD_FRACTION),
            everywhere: true,
        },
        false => ReclaimPolicy::usual(space.dead_fraction),
    }
}

/// Refuses when the disk could not read a view, and when one does not name living articles with an Expires of their own: they would go by the default.
fn check_exceptions(reader: &Reader, surveys: &[Survey], plan: &Plan) -> Result<(), store::Error> {
    for survey in surveys {
        survey.was_readable()?;
    }
    let touched = |survey: &&Survey| plan.expiry.touched.contains(&survey.base());
    let mut touched = surveys.iter().filter(touched);
    touched.try_for_each(|survey| survey.check_exceptions(reader.expired()))
}

/// Refuses when more would go than one run may remove.
fn check_fraction(plan: &Plan, is_short: bool, max_fraction: f64) -> Result<(), Failure> {
    let part = plan.total.links as f64 / plan.live.max(1) as f64;
    if plan.total.links == 0 || part <= max_fraction {
        return Ok(());
    }
    Err(Failure::TooMuch {
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

/// Notes the oldest article that stays in each hierarchy that loses something; when only looking, in each there is.
fn tell_oldest(reader: &Reader, surveys: &[Survey], all: bool, plan: &mut Plan) {
    if all {
        let active = reader.active();
        for id in active.ids() {
            let name = hierarchy(active.name(id)).to_vec();
            plan.hierarchies.entry(name).or_default();
        }
    }
    let names: Vec<Vec<u8>> = plan.hierarchies.keys().cloned().collect();
    if names.is_empty() {
        return;
    }
    let after = reader.expired().after(&plan.expiry);
    let oldest = oldest_kept(reader, surveys, &after, &names);
    for (name, told) in &mut plan.hierarchies {
        told.oldest_kept = oldest.get(name).copied();
    }
    plan.total.oldest_kept = oldest.values().min().copied();
}
