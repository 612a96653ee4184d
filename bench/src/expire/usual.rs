//! Measures expire over articles of usual sizes, filed a moment ago: only what has an Expires goes (one in a hundred), the oldest fifth, and a scattered fifth, by two lives or by many.
//!
//! The rows of the comparison with C News: 20,000 articles of 3,000 bytes, with cross-postings, whole process.

use std::collections::HashSet;
use std::fs;

use anyhow::Result;
use bench::generate::Kind;

use super::policy;
use super::spool::{self, DAY, Spool};
use crate::report::{Goal, figure, median};
use crate::site::{Batch, Site, settle};

/// Number of articles.
const ARTICLES: u64 = 20_000;
/// Number of groups.
const GROUPS: usize = 500;
/// Runs per row, each over a spool of its own.
const RUNS: usize = 5;

/// A fifth of what C News takes: CPU ms, and half of its real time, ms.
const NOTHING: (f64, f64) = (5.3, 13.0);
const OLDEST: (f64, f64) = (23.0, 58.0);
const SCATTERED: (f64, f64) = (17.0, 47.0);
/// The aim is this fraction of the CPU time of C News, and of its real time.
const AIM: f64 = 5.0 / 19.0;

/// Measures the rows and formats them.
///
/// # Errors
/// The binary fails.
pub fn rows(site: &mut Site) -> Result<String> {
    let kind = Kind::Like {
        articles: 1,
        groups: GROUPS,
    };
    let batch = site.batch(kind, "usual")?;
    let mut result = format!(
        "\nexpire, {ARTICLES} articles of 3,000 bytes in {GROUPS} groups, whole process, medians of {RUNS}\n"
    );
    let mixed = |days| {
        move |spool: &Spool, batch: &Batch| -> Result<String> {
            scattered(spool, &spool::group_names(batch)?, days)
        }
    };
    result += &row(
        site,
        &batch,
        ("only what has an Expires goes", NOTHING),
        |_, _| Ok(policy::NOTHING.to_owned()),
    )?;
    result += &row(site, &batch, ("the oldest fifth", OLDEST), |_, _| {
        Ok(policy::ONE.to_owned())
    })?;
    result += &row(site, &batch, ("a scattered fifth", SCATTERED), mixed(1))?;
    result += &row(
        site,
        &batch,
        ("a scattered fifth, twelve lives", SCATTERED),
        mixed(9),
    )?;
    Ok(result)
}

fn row(
    site: &mut Site,
    batch: &Batch,
    (name, (cpu_ms, real_ms)): (&str, (f64, f64)),
    policy: impl Fn(&Spool, &Batch) -> Result<String>,
) -> Result<String> {
    let (mut cpu, mut real, mut line) = (vec![], vec![], String::new());
    for _ in 0..RUNS {
        let spool = Spool::fill(site, batch, &[], ("like", ARTICLES))?;
        let policy = policy(&spool, batch)?;
        settle();
        let result = spool.expire(site, &policy, spool.middle + DAY + 1)?;
        cpu.push(result.usages.cpu().as_secs_f64() * 1e3);
        real.push(result.usages.real.as_secs_f64() * 1e3);
        line = result.line;
        spool.remove()?;
    }
    let goal = |reach| Goal {
        reach,
        aim: reach * AIM,
    };
    Ok(
        figure(&format!("{name}: cpu"), median(cpu), "ms", goal(cpu_ms))
            + &figure(&format!("{name}: real"), median(real), "ms", goal(real_ms))
            + &format!("    {line}\n"),
    )
}

/// Half a day and more for so many groups that a fifth of the articles goes, spread over the log; up to `lives` days and more for the others.
fn scattered(spool: &Spool, groups: &[String], lives: usize) -> Result<String> {
    let mut articles: Vec<Vec<String>> = Vec::new();
    for entry in fs::read_dir(spool.news().join("segments"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|suffix| suffix == "his") {
            let text = fs::read_to_string(&path)?;
            articles.extend(text.lines().filter_map(groups_of_line));
        }
    }
    let below = |group: &String| format!("{group}.");
    let is_leaf = |group: &&String| !groups.iter().any(|other| other.starts_with(&below(group)));
    let leaves: Vec<&String> = groups.iter().filter(is_leaf).collect();
    let mut short: HashSet<&str> = HashSet::new();
    // Every seventh, then those behind them, and so on.
    for group in (0..7).flat_map(|from| leaves.iter().skip(from).step_by(7)) {
        let goes = |links: &&Vec<String>| links.iter().all(|group| short.contains(group.as_str()));
        if articles.iter().filter(goes).count() * 5 >= articles.len() {
            break;
        }
        short.insert(group);
    }
    let life = |(at, group): (usize, &&String)| match short.contains(group.as_str()) {
        true => format!("{group} x 0.{} -\n", 5 + at % lives.min(3)),
        false if lives > 1 => format!("{group} x {} -\n", 2 + at % lives),
        false => String::new(),
    };
    let lines: String = leaves.iter().enumerate().map(life).collect();
    Ok(format!("/expired/ x 14 -\n{lines}all x 30 -\n"))
}

/// The groups in a history line.
fn groups_of_line(line: &str) -> Option<Vec<String>> {
    let links = line.split('\t').nth(2)?;
    let groups = links.split(' ').filter_map(|link| link.split_once('/'));
    Some(groups.map(|(group, _)| group.to_owned()).collect())
}
