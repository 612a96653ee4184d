//! Measures expire: the cost of a run that removes nothing, one that removes a fifth by one policy, and one that removes a
//! fifth scattered by mixed policies; and the effect on filing.
//!
//! The real binary files the articles in two parts one second apart, so that they have two
//! arrival times; the clock passed to expire is a day later.

mod beside;
mod large;
mod policy;
mod spool;
mod usual;

use anyhow::Result;

pub use beside::rows as beside_filing;
pub use large::rows as large;

use crate::report::{Goal, figure, median};
use crate::site::{Site, settle};
use spool::{DAY, ExpireResult, Settings, Spool};

/// Number of articles of the rows.
pub const ARTICLES: u64 = 100_000;
/// Number of groups of the rows.
pub const GROUPS: usize = 500;
/// Runs per row.
const RUNS: usize = 5;
/// Runs of the row that removes nothing; they are short.
const EMPTY_RUNS: u64 = 15;
/// Clock step between these runs, seconds: enough for the forget time to move, as it does from night to night.
const CLOCK_STEP_SECONDS: u64 = 1_200;
/// Small segments, so that there are sealed ones to reclaim; an article is at most half as large as a segment.
const SETTINGS: Settings<'static> = &["segment_bytes = \"4 MiB\"", "article_bytes_max = \"2 MiB\""];

const NOTHING_MS: Goal = Goal {
    reach: 10.0,
    aim: 3.0,
};

/// A row that removes a fifth.
struct Row {
    name: &'static str,
    policy: String,
    decided_ms: Goal,
    freed_us: Goal,
    /// Goal for the bytes not reclaimed, percent of the dead bytes.
    held: Option<Goal>,
}

fn rows_of(groups: &[String]) -> [Row; 2] {
    [
        Row {
            name: "one policy",
            policy: policy::ONE.to_owned(),
            decided_ms: Goal {
                reach: 50.0,
                aim: 10.0,
            },
            freed_us: Goal {
                reach: 5.0,
                aim: 2.0,
            },
            held: None,
        },
        Row {
            name: "mixed policies",
            policy: policy::mixed(groups),
            decided_ms: Goal {
                reach: 100.0,
                aim: 30.0,
            },
            freed_us: Goal {
                reach: 15.0,
                aim: 5.0,
            },
            held: Some(Goal {
                reach: 30.0,
                aim: 10.0,
            }),
        },
    ]
}

/// Measures the rows and formats them.
///
/// # Errors
/// The binary fails.
pub fn rows(site: &mut Site, articles: u64) -> Result<String> {
    let batch = spool::groups_of(site, GROUPS)?;
    let groups = spool::group_names(&batch)?;
    let mut result = format!("\nexpire, {articles} articles in {GROUPS} groups, medians\n");
    let whole = Spool::fill(site, &batch, SETTINGS, ("tiny", articles))?;
    result.push_str(&nothing(site, &whole)?);
    for row in rows_of(&groups) {
        result.push_str(&a_fifth(site, &whole, &row)?);
    }
    whole.remove()?;
    result.push_str(&usual::rows(site)?);
    Ok(result)
}

/// Removes nothing, night after night; the first run, which examines everything once, does not count.
fn nothing(site: &Site, whole: &Spool) -> Result<String> {
    whole.expire(site, policy::NOTHING, whole.middle)?;
    let (mut cpu, mut real) = (Vec::new(), Vec::new());
    for night in 1..=EMPTY_RUNS {
        let result = whole.expire(
            site,
            policy::NOTHING,
            whole.middle + night * CLOCK_STEP_SECONDS,
        )?;
        cpu.push(result.usages.cpu().as_secs_f64() * 1e3);
        real.push(result.usages.real.as_secs_f64() * 1e3);
    }
    Ok(figure(
        "nothing to expire, whole run",
        median(real),
        "ms",
        NOTHING_MS,
    ) + &format!("    cpu {:.2} ms\n", median(cpu)))
}

fn a_fifth(site: &mut Site, whole: &Spool, row: &Row) -> Result<String> {
    let (mut cpu, mut decided, mut freed, mut held) = (vec![], vec![], vec![], vec![]);
    let (mut last, mut blocks) = (ExpireResult::default(), (0, 0));
    for _ in 0..RUNS {
        let spool = whole.copy(site)?;
        // The index does not know the files of a copy, so a first run examines them.
        spool.expire(site, policy::NOTHING, whole.middle)?;
        settle();
        let (art, before) = spool.disk_bytes()?;
        last = spool.expire(site, &row.policy, whole.middle + DAY + 1)?;
        settle();
        let (left, after) = spool.disk_bytes()?;
        blocks = (before, after);
        cpu.push(last.usages.cpu().as_secs_f64() * 1e6 / last.articles.max(1) as f64);
        decided.push(last.decided_ms);
        freed.push(last.reclaimed_us());
        // All articles have the same size.
        let dead = art as f64 * last.articles as f64 / whole.articles as f64;
        held.push((dead - art.saturating_sub(left) as f64) / dead * 100.0);
        spool.remove()?;
    }
    let name = |what| format!("a fifth goes, {}: {what}", row.name);
    let mut result = figure(&name("decided"), median(decided), "ms", row.decided_ms);
    result += &figure(
        &name("space given back"),
        median(freed),
        "µs an article freed",
        row.freed_us,
    );
    if let Some(goal) = row.held {
        result += &figure(&name("held back"), median(held), "% of dead bytes", goal);
    }
    result += &format!(
        "    cpu {:.2} µs an article, {:.1} MB of disk before, {:.1} MB after\n    {}\n",
        median(cpu),
        blocks.0 as f64 / 1e6,
        blocks.1 as f64 / 1e6,
        last.line,
    );
    Ok(result)
}
