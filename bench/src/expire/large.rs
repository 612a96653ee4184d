//! Compares ten million articles with a hundred thousand in the same groups: the cost of a run must not grow with the stored articles.

use anyhow::{Context, Result, bail};

use super::spool::{self, DAY, Spool};
use super::{CLOCK_STEP_SECONDS, policy};
use crate::machine;
use crate::report::{Goal, figure, median};
use crate::site::{Site, settle};

/// Number of articles of the large spool.
const MANY: u64 = 10_000_000;
/// Number of articles of the small spool.
const FEW: u64 = 100_000;
/// Number of groups of both.
const GROUPS: usize = 45_000;
/// Runs over each that remove nothing.
const EMPTY_RUNS: u64 = 9;
/// Disk space needed by the large spool, bytes.
const DISK_BYTES: u64 = 12_000_000_000;

const RATIO: Goal = Goal {
    reach: 3.0,
    aim: 1.0,
};

/// Makes both spools, and runs expire over them alternately.
///
/// # Errors
/// There is not enough disk space, or the binary fails.
pub fn rows(site: &mut Site) -> Result<String> {
    let free = free_bytes(site)?;
    eprintln!(
        "expire --large: making {MANY} articles takes some minutes and up to {:.0} GB in {}, where {:.0} GB are free",
        DISK_BYTES as f64 / 1e9,
        site.disk.display(),
        free as f64 / 1e9,
    );
    if free < DISK_BYTES {
        bail!("not enough disk space for {MANY} articles: use --dir to select another disk");
    }
    let batch = spool::groups_of(site, GROUPS)?;
    let few = Spool::fill(site, &batch, &[], ("tiny", FEW))?;
    let many = Spool::fill(site, &batch, &[], ("tiny", MANY))?;
    let mut result = format!("\nexpire, {MANY} and {FEW} articles in {GROUPS} groups\n");
    result += &nothing(site, &few, &many)?;
    for spool in [&few, &many] {
        result += &a_fifth(site, spool)?;
    }
    few.remove()?;
    many.remove()?;
    Ok(result)
}

/// Removes nothing, alternately in both spools. The first run, which examines everything once, does not count.
fn nothing(site: &Site, few: &Spool, many: &Spool) -> Result<String> {
    let spools = [few, many];
    for spool in spools {
        spool.expire(site, policy::NOTHING, spool.middle)?;
    }
    let mut real = [vec![], vec![]];
    let mut cpu = [vec![], vec![]];
    for night in 1..=EMPTY_RUNS {
        for ((spool, real), cpu) in spools.iter().zip(&mut real).zip(&mut cpu) {
            settle();
            let result = spool.expire(
                site,
                policy::NOTHING,
                spool.middle + night * CLOCK_STEP_SECONDS,
            )?;
            real.push(result.usages.real.as_secs_f64() * 1e3);
            cpu.push(result.usages.cpu().as_secs_f64() * 1e3);
        }
    }
    let [real_few, real_many] = real.map(median);
    let [cpu_few, cpu_many] = cpu.map(median);
    let ratio = |many, few| many / few;
    Ok(figure(
        "nothing to expire, many to few: real",
        ratio(real_many, real_few),
        "×",
        RATIO,
    ) + &figure(
        "nothing to expire, many to few: cpu",
        ratio(cpu_many, cpu_few),
        "×",
        RATIO,
    ) + &format!(
        "    medians of {EMPTY_RUNS}: {MANY}: {real_many:.1} ms real, {cpu_many:.1} ms cpu; {FEW}: {real_few:.1} ms real, {cpu_few:.1} ms cpu\n"
    ))
}

/// Removes a fifth by one policy, once.
fn a_fifth(site: &Site, spool: &Spool) -> Result<String> {
    settle();
    let (_, before) = spool.disk_bytes()?;
    let result = spool.expire(site, policy::ONE, spool.middle + DAY + 1)?;
    settle();
    let (_, after) = spool.disk_bytes()?;
    Ok(format!(
        "a fifth of {} goes, one policy, once: decided in {:.1} ms, given back in {:.2} µs an article freed, cpu {:.2} µs an article, {:.0} MB resident, {:.1} MB of disk before, {:.1} MB after\n    {}\n",
        spool.articles,
        result.decided_ms,
        result.reclaimed_us(),
        result.usages.cpu().as_secs_f64() * 1e6 / result.articles.max(1) as f64,
        result.usages.resident_kib as f64 * 1024.0 / 1e6,
        before as f64 / 1e6,
        after as f64 / 1e6,
        short(&result.line),
    ))
}

/// The output of expire, without the hierarchies.
fn short(line: &str) -> String {
    let json = serde_json::from_str::<serde_json::Value>(line);
    json.map_or_else(
        |_| line.to_owned(),
        |mut json| {
            if let Some(result) = json.as_object_mut() {
                result.remove("hierarchies");
            }
            json.to_string()
        },
    )
}

fn free_bytes(site: &Site) -> Result<u64> {
    let dir = site.disk.to_string_lossy();
    let result = machine::output("df", &["--output=avail", "-B1", &dir]);
    let free = result
        .lines()
        .last()
        .and_then(|free| free.trim().parse().ok());
    free.context("df does not tell the free space")
}
