//! The finding of `broadsheet check` about peers that are fed by NNTP: each is called once. The daemon notices a peer that does not answer when
//! something waits for it, and calls no peer for which nothing waits.

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use feed::nntp::PeerPlan;
use feed::site_state;
use relay::Now;
use settings::{Settings, SystemZone};

use crate::control_file::{FAULTS_TOLD_MAX, counted};
use crate::directory::NewsDirectory;
use crate::peer::checks::{Checks, Verdict};
use crate::peer::probe::{Probe, fed_at, probe};
use crate::site_review;

/// Most peers that are called.
pub const CALLED_MAX: usize = 100;
/// Most seconds for all of them: they are called at the same time.
pub const CALLS_SECONDS_MAX: u64 = 10;

/// Calls the peers that are fed now. `None`: there are none, or the sites cannot be read, which another finding reports.
pub fn peers(directory: &NewsDirectory, settings: &Settings) -> Option<String> {
    let sites = directory.sys(settings).ok()?;
    let zone = SystemZone::read();
    let now = Now::read().seconds;
    let plans = sites
        .feeds()
        .filter_map(|(name, site)| PeerPlan::of(name, site, zone));
    let mut plans: Vec<PeerPlan> = plans.collect();
    let left_out = plans.len().saturating_sub(CALLED_MAX);
    plans.truncate(CALLED_MAX);
    if plans.is_empty() || site_review::is_fed_elsewhere(directory, settings) {
        return None;
    }
    let (sender, results) = channel();
    let (mut waiting, mut warnings) = (BTreeSet::new(), Vec::new());
    for plan in &plans {
        let is_paused = site_state::paused(directory.root(), &plan.name);
        let rests = is_paused.is_ok_and(|why| why.is_some()) || plan.seconds_to_hours(now) > 0;
        if rests {
            continue;
        }
        let (name, server) = (groups::shown(&plan.name), plan.via.server.clone());
        let fed_at = fed_at(directory.root(), &plan.name);
        let (root, own) = (directory.root().to_owned(), settings.name.clone());
        let sender = sender.clone();
        let named = name.clone();
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
                waiting.insert(named);
            }
            Err(error) => warnings.push(format!("{named}: cannot start a thread: {error}")),
        }
    }
    drop(sender);
    let until = Instant::now() + Duration::from_secs(CALLS_SECONDS_MAX);
    let called = waiting.len();
    while let Ok((name, checks)) =
        results.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        waiting.remove(&name);
        warnings.extend(failed(&checks).map(|why| format!("{name}: {why}")));
    }
    warnings.extend(waiting.iter().map(|name| {
        format!("{name}: no result within {CALLS_SECONDS_MAX} s; `broadsheet peer test {name}' waits longer")
    }));
    warnings.sort();
    let rest = plans.len() - called;
    let mut told = format!("{} called", counted(called, "peer"));
    if rest > 0 {
        told.push_str(&format!(", {rest} paused or outside their hours"));
    }
    if left_out > 0 {
        told.push_str(&format!(", {left_out} left out"));
    }
    if warnings.is_empty() && called > 0 {
        told.push_str(": no errors");
    }
    for warning in warnings.iter().take(FAULTS_TOLD_MAX) {
        told.push_str(&format!("\n    warning: {warning}"));
    }
    Some(told)
}

/// The first step that failed, with its advice.
fn failed(checks: &Checks) -> Option<String> {
    let mut all = checks.all.iter();
    let check = all.find(|check| check.verdict == Verdict::Failed)?;
    let advice = match check.advice.as_str() {
        "" => String::new(),
        advice => format!("; {advice}"),
    };
    Some(format!("{}: {}{advice}", check.what, check.found))
}
