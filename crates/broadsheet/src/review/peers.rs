//! The review of the peers that are fed by NNTP: each is called once. The daemon notices a peer that does not answer when articles wait for it;
//! it calls no peer for which none waits.

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use feed::nntp::PeerPlan;
use feed::site_state;
use relay::Now;
use settings::{Finding, SystemZone};

use super::feeds::is_fed_elsewhere;
use super::{Content, Context, FINDINGS_SHOWN_MAX, counted};
use crate::peer::checks::{Checks, Verdict};
use crate::peer::probe::{Probe, fed_at, probe};

/// Most peers that are called.
pub const CALLED_MAX: usize = 100;
/// Most seconds for all of them: they are called at the same time.
pub const CALLS_SECONDS_MAX: u64 = 10;

/// The results of the calls. None: no peer is fed from here, or the sites cannot be read, which another review reports.
pub fn review(on: &Context<'_>) -> Option<Content> {
    let sites = on.directory.sys(on.settings()).ok()?;
    let zone = SystemZone::read();
    let plans = sites
        .feeds()
        .filter_map(|(name, site)| PeerPlan::of(name, site, zone));
    let plans: Vec<PeerPlan> = plans.collect();
    if plans.is_empty() || is_fed_elsewhere(on) {
        return None;
    }
    let now = Now::read().seconds;
    let is_fed_now = |plan: &&PeerPlan| {
        let is_paused = site_state::paused(on.root(), &plan.name);
        !is_paused.is_ok_and(|why| why.is_some()) && plan.seconds_to_hours(now) == 0
    };
    let mut called: Vec<&PeerPlan> = plans.iter().filter(is_fed_now).collect();
    let rest = plans.len() - called.len();
    let left_out = called.len().saturating_sub(CALLED_MAX);
    called.truncate(CALLED_MAX);
    let warnings = call(on, &called);
    let mut summary = format!("{} called", counted(called.len(), "peer"));
    if rest > 0 {
        summary.push_str(&format!(", {rest} paused or outside their hours"));
    }
    if left_out > 0 {
        summary.push_str(&format!(", {left_out} left out"));
    }
    if warnings.is_empty() && !called.is_empty() {
        summary.push_str(": no errors");
    }
    Some(Content::new(summary).with(warnings.into_iter().take(FINDINGS_SHOWN_MAX)))
}

/// Calls all of them at the same time. Returns a warning for each with which something is wrong.
fn call(on: &Context<'_>, plans: &[&PeerPlan]) -> Vec<Finding> {
    let (sender, results) = channel();
    let (mut waiting, mut warnings) = (BTreeSet::new(), Vec::new());
    for plan in plans {
        let (name, server) = (groups::shown(&plan.name), plan.via.server.clone());
        let fed_at = fed_at(on.root(), &plan.name);
        let (root, own) = (on.root().to_owned(), on.settings().name.clone());
        let sender = sender.clone();
        let peer = name.clone();
        // A call may outlast the wait: then the process ends first.
        let started = std::thread::Builder::new().spawn(move || {
            let probed = Probe {
                news: &root,
                own: &own,
                group: None,
                fed_at,
            };
            let _ = sender.send((name, probe(&server, &probed)));
        });
        match started {
            Ok(_) => {
                waiting.insert(peer);
            }
            Err(error) => {
                warnings.push(Finding::warning(format!("cannot start a thread: {error}")).at(peer));
            }
        }
    }
    // The results end when the last thread has dropped its sender.
    drop(sender);
    let until = Instant::now() + Duration::from_secs(CALLS_SECONDS_MAX);
    let left = || until.saturating_duration_since(Instant::now());
    while let Ok((name, checks)) = results.recv_timeout(left()) {
        waiting.remove(&name);
        warnings.extend(failed(&checks).map(|warning| warning.at(name)));
    }
    warnings.extend(waiting.into_iter().map(|name| {
        let remedy = format!("`broadsheet peer test {name}' waits longer");
        Finding::warning(format!("no result within {CALLS_SECONDS_MAX} s"))
            .at(name)
            .remedy(';', remedy)
    }));
    warnings.sort_by_cached_key(Finding::to_string);
    warnings
}

/// The first step that failed, with its advice.
fn failed(checks: &Checks) -> Option<Finding> {
    let mut all = checks.all.iter();
    let check = all.find(|check| check.verdict == Verdict::Failed)?;
    let warning = Finding::warning(format!("{}: {}", check.what, check.found));
    Some(if check.advice.is_empty() {
        warning
    } else {
        warning.remedy(';', check.advice.clone())
    })
}
