//! Expire: what a run costs when nothing goes, when a fifth goes by one policy, and when it goes scattered over
//! mixed policies; and what a site notices of it.
//!
//! The articles are filed by the real binary in two parts with a second between them, so that they arrive at two
//! times; the clock that expire is given lies a day later.

mod beside;
mod large;
mod policy;
mod spool;

use anyhow::Result;

pub use beside::rows as beside_filing;
pub use large::rows as large;

use crate::report::{Goal, figure, median};
use crate::site::{Site, settle};
use spool::{DAY, Settings, Spool, Told};

/// Articles of the rows.
pub const ARTICLES: u64 = 100_000;
/// Groups of the rows.
pub const GROUPS: usize = 500;
/// Runs of each row.
const RUNS: usize = 5;
/// Runs of the row in which nothing goes: they are short.
const NIGHTS: u64 = 15;
/// Seconds between those: enough for the memory of ids to move on, as it does from night to night.
const NIGHT: u64 = 1_200;
/// Small segments, so that there are sealed ones to give back; an article is at most half of one.
const SETTINGS: Settings<'static> = &["segment_bytes = \"4 MiB\"", "article_bytes_max = \"2 MiB\""];

const NOTHING_MS: Goal = Goal {
    reach: 10.0,
    aim: 3.0,
};

/// A row in which a fifth goes.
struct Row {
    name: &'static str,
    policy: String,
    decided_ms: Goal,
    freed_us: Goal,
    /// Percent of the dead bytes.
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

/// Runs the rows and tells them.
///
/// # Errors
/// When the binary fails.
pub fn rows(site: &mut Site, articles: u64) -> Result<String> {
    let batch = spool::groups_of(site, GROUPS)?;
    let groups = spool::group_names(&batch)?;
    let mut told = format!("\nexpire, {articles} articles in {GROUPS} groups, medians\n");
    let whole = Spool::fill(site, &batch, SETTINGS, articles)?;
    told.push_str(&nothing(site, &whole)?);
    for row in rows_of(&groups) {
        told.push_str(&a_fifth(site, &whole, &row)?);
    }
    whole.remove()?;
    Ok(told)
}

/// Nothing goes, night after night; the first run, which has to look at everything once, does not count.
fn nothing(site: &Site, whole: &Spool) -> Result<String> {
    whole.expire(site, policy::NOTHING, whole.middle)?;
    let (mut cpu, mut real) = (Vec::new(), Vec::new());
    for night in 1..=NIGHTS {
        let told = whole.expire(site, policy::NOTHING, whole.middle + night * NIGHT)?;
        cpu.push(told.usages.cpu().as_secs_f64() * 1e3);
        real.push(told.usages.real.as_secs_f64() * 1e3);
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
    let (mut last, mut blocks) = (Told::default(), (0, 0));
    for _ in 0..RUNS {
        let spool = whole.copy(site)?;
        // A copy's files are not those that the index knows: a first run looks at them.
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
        // The articles are all of a size.
        let dead = art as f64 * last.articles as f64 / whole.articles as f64;
        held.push((dead - art.saturating_sub(left) as f64) / dead * 100.0);
        spool.remove()?;
    }
    let name = |what| format!("a fifth goes, {}: {what}", row.name);
    let mut told = figure(&name("decided"), median(decided), "ms", row.decided_ms);
    told += &figure(
        &name("space given back"),
        median(freed),
        "µs an article freed",
        row.freed_us,
    );
    if let Some(goal) = row.held {
        told += &figure(&name("held back"), median(held), "% of dead bytes", goal);
    }
    told += &format!(
        "    cpu {:.2} µs an article, {:.1} MB of disk before, {:.1} MB after\n    {}\n",
        median(cpu),
        blocks.0 as f64 / 1e6,
        blocks.1 as f64 / 1e6,
        last.line,
    );
    Ok(told)
}
