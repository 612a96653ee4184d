//! One run of expire: decide without the lock, archive, then have the store take it over.

use std::path::Path;
use std::time::{Duration, Instant};

use store::{Options, Reader, Reclaimed, Spool};

use crate::archiving::{self, Archived, Archiving};
use crate::decide::{Plan, decide};
use crate::policy::{Policy, Warning};
use crate::{Error, Explist};

/// Between two runs that remove nothing, the horizon of memory moves only when it has moved this far, seconds.
const FORGET_STEP_SECONDS: i64 = 600;

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// The time to decide by, epoch seconds.
    pub now: i64,
    /// Decide only.
    pub dry: bool,
    /// Also when more than `max_fraction` would go.
    pub force: bool,
    /// Part of all links that one run may remove, 0 to 1.
    pub max_fraction: f64,
    /// Part of a segment, 0 to 1, above which its scattered dead articles are worth writing it anew.
    pub dead_fraction: f64,
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
    let _one = store::Lock::take_named(dir, "lock.expire", false)?;
    let reader = Reader::open(dir)?;
    let (policy, warnings) = Policy::compile(list, reader.active())?;
    let mut plan = decide(&reader, &policy, order.now)?;
    let mut archive = archiving::Run::new(dir, (&reader, &policy), order.options, &archiving);
    archive.hold(&mut plan)?;
    let part = plan.going as f64 / plan.live.max(1) as f64;
    if !order.dry && !order.force && plan.going > 0 && part > order.max_fraction {
        return Err(Failure::TooMuch {
            going: plan.going,
            live: plan.live,
            max_percent: order.max_fraction * 100.0,
        });
    }
    if !order.dry {
        archive.copy(&mut plan, archiving.index)?;
    }
    let archived = archive.finish();
    let forget = policy.forget_before(order.now).min(order.now);
    let known = reader.expired().forget_before();
    if !plan.expiry.removes_nothing()
        || forget < known
        || forget.saturating_sub(known) >= FORGET_STEP_SECONDS
    {
        plan.expiry.forget_before = (forget != known).then_some(forget);
    }
    let mut outcome = Outcome {
        plan,
        warnings,
        archived,
        reclaimed: Reclaimed::default(),
        deciding: started.elapsed(),
        reclaiming: Duration::ZERO,
    };
    drop(reader);
    if order.dry {
        return Ok(outcome);
    }
    if !outcome.plan.expiry.is_empty() {
        let mut spool = Spool::open(dir, order.options)?;
        spool.expire(&outcome.plan.expiry)?;
        outcome.deciding = started.elapsed();
    }
    if !outcome.plan.expiry.is_empty() || store::is_unreclaimed(dir)? {
        outcome.reclaimed = store::reclaim(dir, order.options, order.dead_fraction)?;
        outcome.reclaiming = started.elapsed().saturating_sub(outcome.deciding);
    }
    Ok(outcome)
}

/// Why expire did not run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The policy.
    #[error(transparent)]
    Policy(#[from] Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The index lines of what is archived (`-p`).
    #[error(
        "cannot print what is archived: {0}; nothing was removed, what was copied is found again by the next run"
    )]
    Index(#[source] std::io::Error),
    /// More would go than one run may remove.
    #[error(
        "{going} of {live} articles would go, more than {max_percent:.0} %; look with `broadsheet expire -n', then say --force"
    )]
    TooMuch {
        /// Links that would go.
        going: u64,
        /// Links there are.
        live: u64,
        /// The limit, percent.
        max_percent: f64,
    },
}
