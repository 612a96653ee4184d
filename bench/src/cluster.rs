//! `bench cluster`: three nodes with a log in three NATS servers, all on this machine, beside a site of one machine.
//!
//! Each article is filed three times and stored three times more by the servers, with six processes on the same processors: what a
//! cluster of three machines does must be more.

mod reseed;
mod silence;
mod start;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::machine;
use crate::nntp::articles::Prepared;
use crate::nntp::client::Client;
use crate::nntp::process;
use crate::nntp::running::Running;
use crate::nntp::transit::{quiet_ihave, windowed};
use crate::nntp::{groups_alone, number, ours, reading};
use crate::plan::Plan;
use crate::site::{Site, settle};
use start::{Cluster, PATIENCE};

/// Default number of rounds.
pub const ROUNDS: u32 = 3;
/// Articles that are streamed, and with `--quick`.
const ARTICLES: u64 = 100_000;
const ARTICLES_QUICK: u64 = 20_000;
/// Articles in flight, of the row with a window.
const WINDOW: usize = 200;
/// Articles of the latency row.
const QUIET_ARTICLES: u64 = 500;
/// Articles of which the lag is measured, and the pause between two looks at a node.
const LAG_SAMPLES: usize = 200;
const LAG_PAUSE: Duration = Duration::from_millis(2);
/// Articles that a node misses while it is down, about 1 GB, and with `--quick`.
const MISSED: u64 = 330_000;
const MISSED_QUICK: u64 = 33_000;
/// With `--large` the node that fetches segments misses [`MISSED`] articles this many times, 12 GB.
const LARGE_PARTS: u64 = 10;
/// Duration of a reader's row.
const READ_TIME: Duration = Duration::from_secs(2);
/// The rows that `--only` names.
const ROWS: [&str; 7] = [
    "takethis", "window", "quiet", "readers", "silence", "rejoin", "reseed",
];

/// Measures and prints.
///
/// # Errors
/// A wrong reply, or a server that does not start.
pub fn run(plan: &Plan) -> Result<()> {
    let wants = |row: &str| plan.only.as_ref().is_none_or(|only| only == row);
    ensure!(
        ROWS.iter().any(|row| wants(row)),
        "--only takes one of: {}",
        ROWS.join(", ")
    );
    let mut site = Site::new(plan)?;
    let articles = if plan.quick { ARTICLES_QUICK } else { ARTICLES };
    let prepared = Prepared::new(articles);
    let batch = groups_alone(&site, &prepared)?;
    println!("{}", machine::description());
    if ["takethis", "window", "quiet", "readers"]
        .into_iter()
        .any(&wants)
    {
        for round in 1..=plan.rounds {
            let alone = ours::start(&mut site, &batch)?;
            measure(
                &format!("{round}: one machine"),
                &prepared,
                &[&alone],
                &[],
                &wants,
            )?;
            drop(alone);
            let cluster = Cluster::start(&mut site, &batch)?;
            let servers: Vec<u32> = cluster.servers.iter().map(start::Server::id).collect();
            let what = format!("{round}: three nodes");
            measure(&what, &prepared, &cluster.running(), &servers, &wants)?;
        }
    }
    if wants("silence") {
        let mut cluster = Cluster::start(&mut site, &batch)?;
        silence::measure(&mut cluster, &prepared)?;
    }
    drop(prepared);
    let missed = if plan.quick { MISSED_QUICK } else { MISSED };
    if wants("rejoin") {
        rejoin(&mut site, missed)?;
    }
    if wants("reseed") {
        let parts = if plan.large { LARGE_PARTS } else { 1 };
        reseed::measure(&mut site, missed, parts)?;
    }
    Ok(())
}

/// The rows of a site of one machine and of a cluster.
fn measure(
    what: &str,
    prepared: &Prepared,
    nodes: &[&Running],
    servers: &[u32],
    wants: &dyn Fn(&str) -> bool,
) -> Result<()> {
    let first = *nodes.first().context("no node")?;
    let count = prepared.ids.len();
    let first_part = count / 5;
    let processes = Processes { nodes, servers };
    for (row, range, window) in [
        ("window", (0, first_part), WINDOW),
        ("takethis", (first_part, count), usize::MAX / 2),
    ] {
        if wants(row) || wants("readers") {
            let streamed = processes.stream(prepared, range, window)?;
            println!("{what}: {row}: {streamed}");
        }
    }
    if wants("quiet") {
        settle();
        let times = quiet_ihave(first, &prepared.further(QUIET_ARTICLES))?;
        println!(
            "{what}: one article, quiet, to its reply: {}",
            quantiles(times)
        );
    }
    if wants("readers") {
        for (place, node) in nodes.iter().enumerate() {
            println!("{what}: readers at node {place}: {}", read(node, prepared)?);
        }
    }
    Ok(())
}

/// The processes of a row; the first node gets the articles.
struct Processes<'a> {
    nodes: &'a [&'a Running],
    servers: &'a [u32],
}

impl Processes<'_> {
    /// CPU time of the first node, of all nodes, and of the servers.
    fn cpu(&self) -> Result<[Duration; 3]> {
        let ids: Vec<u32> = self.nodes.iter().map(|node| node.id()).collect();
        let servers = match self.servers.is_empty() {
            true => Duration::ZERO,
            false => process::cpu(self.servers)?,
        };
        let first = ids.first().copied().context("no node")?;
        Ok([process::cpu(&[first])?, process::cpu(&ids)?, servers])
    }

    /// Sends articles to the first node, and watches when the others have them. Returns the line about it.
    fn stream(
        &self,
        prepared: &Prepared,
        (from, to): (usize, usize),
        window: usize,
    ) -> Result<String> {
        settle();
        let first = *self.nodes.first().context("no node")?;
        let ids = prepared.ids.get(from..to).unwrap_or_default();
        let step = (ids.len() / LAG_SAMPLES).max(1);
        let sampled: Vec<&String> = ids.iter().step_by(step).collect();
        let before = self.cpu()?;
        let begin = Instant::now();
        let (streamed, seen) = std::thread::scope(|scope| {
            let watchers: Vec<_> = self
                .nodes
                .iter()
                .map(|node| {
                    let sampled = &sampled;
                    // A site of one machine has no followers.
                    let is_watched = self.nodes.len() > 1;
                    scope.spawn(move || {
                        if is_watched {
                            watch(node, sampled)
                        } else {
                            Ok(Vec::new())
                        }
                    })
                })
                .collect();
            let streamed = windowed(first, prepared, (from, to), window);
            let seen: Result<Vec<Vec<Instant>>> = watchers
                .into_iter()
                .map(|watcher| watcher.join().map_err(|_| anyhow!("a watcher failed"))?)
                .collect();
            (streamed, seen)
        });
        let ((answered, time), seen) = (streamed?, seen?);
        ensure!(
            answered == ids.len() as u64,
            "{answered} of {} were answered",
            ids.len()
        );
        if let Some(last) = ids.last() {
            self.nodes
                .iter()
                .try_for_each(|node| until_there(node, last))?;
        }
        let all = begin.elapsed();
        let after = self.cpu()?;
        let each = |place: usize| {
            let (after, before) = (after.get(place), before.get(place));
            let used = after.zip(before).map_or(Duration::ZERO, |(after, before)| {
                after.saturating_sub(*before)
            });
            number(used.as_secs_f64() * 1e6 / ids.len().max(1) as f64)
        };
        let mut lags = Vec::new();
        if let Some((leader, followers)) = seen.split_first() {
            for follower in followers {
                lags.extend(
                    leader
                        .iter()
                        .zip(follower)
                        .map(|(at, later)| later.saturating_duration_since(*at)),
                );
            }
        }
        Ok(format!(
            "{} articles/s; CPU, \u{b5}s an article: node {}, nodes {}, servers {}; followers behind: {}; all nodes had all after {} ms more",
            number(answered as f64 / time.as_secs_f64()),
            each(0),
            each(1),
            each(2),
            quantiles(lags),
            number(all.saturating_sub(time).as_secs_f64() * 1e3),
        ))
    }
}

/// Waits for these articles in their order; returns when each was there.
fn watch(node: &Running, ids: &[&String]) -> Result<Vec<Instant>> {
    let mut reader = Client::reader(node.address)?;
    let mut seen = Vec::with_capacity(ids.len());
    for id in ids {
        until_seen(&mut reader, id)?;
        seen.push(Instant::now());
    }
    Ok(seen)
}

/// Waits until a node has an article.
fn until_there(node: &Running, id: &str) -> Result<()> {
    until_seen(&mut Client::reader(node.address)?, id)
}

fn until_seen(reader: &mut Client, id: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        let line = reader.ask(&format!("STAT {id}"), "")?;
        if line.starts_with("223 ") {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            bail!("a node lacks {id}: {line}");
        }
        std::thread::sleep(LAG_PAUSE);
    }
}

/// The readers' rows of `bench nntp`, a second each.
fn read(node: &Running, prepared: &Prepared) -> Result<String> {
    let group = reading::select_group(node, prepared)?;
    let rate = |(count, time): (u64, Duration)| number(count as f64 / time.as_secs_f64());
    Ok(format!(
        "OVER {} (8 connections: {}), ARTICLE {} (8, pipelined: {}), connections {}",
        rate(reading::over(node, &group, 1, READ_TIME)?),
        rate(reading::over(node, &group, 8, READ_TIME)?),
        rate(reading::articles_one_by_one(
            node, &group, false, READ_TIME
        )?),
        rate(reading::articles_pipelined(
            node, &group, 8, false, READ_TIME
        )?),
        rate(reading::connect_and_quit(node.readers, 1, READ_TIME)?),
    ))
}

/// A node is down while another takes articles: the time from its start until it has all of them.
fn rejoin(site: &mut Site, articles: u64) -> Result<()> {
    let missed = Prepared::new(articles);
    let batch = groups_alone(site, &missed)?;
    let mut cluster = Cluster::start(site, &batch)?;
    let down = cluster
        .nodes
        .last_mut()
        .and_then(|node| node.running.take());
    down.context("no node")?.stop()?;
    let first = cluster.nodes.first().and_then(|node| node.running.as_ref());
    let (_, time) = windowed(
        first.context("no node")?,
        &missed,
        (0, missed.ids.len()),
        usize::MAX / 2,
    )?;
    let begin = Instant::now();
    cluster.restart_node(start::NODES - 1)?;
    let up = begin.elapsed();
    let last = missed.ids.last().context("no articles")?;
    let node = cluster.nodes.last().and_then(|node| node.running.as_ref());
    until_there(node.context("no node")?, last)?;
    println!(
        "rejoin: {articles} articles, {} MB, which arrived in {} s: {} s until the node has all of them (it serves after {} s)",
        number(missed.takethis.part(0, missed.ids.len()).len() as f64 / 1e6),
        number(time.as_secs_f64()),
        number(begin.elapsed().as_secs_f64()),
        number(up.as_secs_f64()),
    );
    Ok(())
}

/// Median, 99 % and the longest, ms.
fn quantiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |part: f64| {
        let place = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
        times
            .get(place)
            .map_or_else(|| "-".to_owned(), |time| number(time.as_secs_f64() * 1e3))
    };
    format!(
        "median {} ms, 99 % {} ms, longest {} ms",
        at(0.5),
        at(0.99),
        at(1.0)
    )
}
