//! Ten million articles beside a hundred thousand in the same groups: what a run costs must not grow with what is kept.

use anyhow::{Context, Result, bail};

use super::spool::{self, DAY, Spool};
use super::{NIGHT, policy};
use crate::machine;
use crate::report::{Goal, figure, median};
use crate::site::{Site, settle};

/// Articles of the large spool.
const MANY: u64 = 10_000_000;
/// Articles of the one beside it.
const FEW: u64 = 100_000;
/// Groups of both.
const GROUPS: usize = 45_000;
/// Runs over each in which nothing goes.
const NIGHTS: u64 = 9;
/// Bytes of the disk that the large spool may take up.
const ROOM: u64 = 12_000_000_000;

const RATIO: Goal = Goal {
    reach: 3.0,
    aim: 1.0,
};

/// Makes both spools, and runs expire over them in turn.
///
/// # Errors
/// When there is no room, or the binary fails.
pub fn rows(site: &mut Site) -> Result<String> {
    let free = free_bytes(site)?;
    eprintln!(
        "expire --large: making {MANY} articles takes some minutes and up to {:.0} GB in {}, where {:.0} GB are free",
        ROOM as f64 / 1e9,
        site.disk.display(),
        free as f64 / 1e9,
    );
    if free < ROOM {
        bail!("too little room for {MANY} articles: say --dir for another disk");
    }
    let batch = spool::groups_of(site, GROUPS)?;
    let few = Spool::fill(site, &batch, &[], FEW)?;
    let many = Spool::fill(site, &batch, &[], MANY)?;
    let mut told = format!("\nexpire, {MANY} and {FEW} articles in {GROUPS} groups\n");
    told += &nothing(site, &few, &many)?;
    for spool in [&few, &many] {
        told += &a_fifth(site, spool)?;
    }
    few.remove()?;
    many.remove()?;
    Ok(told)
}

/// Nothing goes, in turn here and there. The first run does not count, it has to look at everything once.
fn nothing(site: &Site, few: &Spool, many: &Spool) -> Result<String> {
    let spools = [few, many];
    for spool in spools {
        spool.expire(site, policy::NOTHING, spool.middle)?;
    }
    let mut real = [vec![], vec![]];
    let mut cpu = [vec![], vec![]];
    for night in 1..=NIGHTS {
        for ((spool, real), cpu) in spools.iter().zip(&mut real).zip(&mut cpu) {
            settle();
            let told = spool.expire(site, policy::NOTHING, spool.middle + night * NIGHT)?;
            real.push(told.usages.real.as_secs_f64() * 1e3);
            cpu.push(told.usages.cpu().as_secs_f64() * 1e3);
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
        "    medians of {NIGHTS}: {MANY}: {real_many:.1} ms real, {cpu_many:.1} ms cpu; {FEW}: {real_few:.1} ms real, {cpu_few:.1} ms cpu\n"
    ))
}

/// A fifth goes by one policy, once.
fn a_fifth(site: &Site, spool: &Spool) -> Result<String> {
    settle();
    let (_, before) = spool.disk_bytes()?;
    let told = spool.expire(site, policy::ONE, spool.middle + DAY + 1)?;
    settle();
    let (_, after) = spool.disk_bytes()?;
    Ok(format!(
        "a fifth of {} goes, one policy, once: decided in {:.1} ms, given back in {:.2} µs an article freed, cpu {:.2} µs an article, {:.0} MB resident, {:.1} MB of disk before, {:.1} MB after\n    {}\n",
        spool.articles,
        told.decided_ms,
        told.reclaimed_us(),
        told.usages.cpu().as_secs_f64() * 1e6 / told.articles.max(1) as f64,
        told.usages.resident_kib as f64 * 1024.0 / 1e6,
        before as f64 / 1e6,
        after as f64 / 1e6,
        short(&told.line),
    ))
}

/// What expire said, without the hierarchies.
fn short(line: &str) -> String {
    let json = serde_json::from_str::<serde_json::Value>(line);
    json.map_or_else(
        |_| line.to_owned(),
        |mut json| {
            if let Some(told) = json.as_object_mut() {
                told.remove("hierarchies");
            }
            json.to_string()
        },
    )
}

fn free_bytes(site: &Site) -> Result<u64> {
    let dir = site.disk.to_string_lossy();
    let told = machine::output("df", &["--output=avail", "-B1", &dir]);
    let free = told
        .lines()
        .last()
        .and_then(|free| free.trim().parse().ok());
    free.context("df does not tell the free space")
}
