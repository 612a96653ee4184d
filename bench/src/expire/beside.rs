//! Measures filing while expire runs on the same spool: small batches, one `rnews` after the other, alone and concurrently with a run that
//! removes a fifth and reclaims its space.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bench::generate::{self, Kind};

use super::spool::{self, DAY, ExpireResult, Settings, Spool};
use super::{GROUPS, policy};
use crate::measure::Usages;
use crate::report::{Goal, figure, median};
use crate::site::{Site, settle};

/// Number of articles in the spool.
const ARTICLES: u64 = 1_000_000;
/// Number of articles in a batch.
const BATCH_ARTICLES: u64 = 1_000;
/// Number of batches filed alone.
const BATCHES_ALONE: usize = 20;
/// Number of batches prepared for one run of expire.
const BATCHES_MAX: usize = 200;
/// Number of runs; every second one files alone first, the others concurrently first.
const RUNS: u64 = 6;
const SETTINGS: Settings<'static> = &[
    "segment_bytes = \"16 MiB\"",
    "article_bytes_max = \"2 MiB\"",
];

const RATE: Goal = Goal {
    reach: 80.0,
    aim: 95.0,
};

/// The result of a series of batches.
struct FilingResult {
    batches: usize,
    /// Articles per second.
    rate: f64,
    /// Longest time of a batch, ms.
    longest: f64,
}

/// Measures the row and formats it.
///
/// # Errors
/// The binary fails, or expire ends before a batch is filed.
pub fn rows(site: &mut Site) -> Result<String> {
    let groups = spool::groups_of(site, GROUPS)?;
    let whole = Spool::fill(site, &groups, SETTINGS, ("tiny", ARTICLES))?;
    let (mut ratio, mut alone_rate, mut beside_rate) = (vec![], vec![], vec![]);
    let (mut longest, mut longest_alone, mut took, mut filed) = (vec![], vec![], vec![], vec![]);
    for run in 0..RUNS {
        let batches = batches(site, run)?;
        let (first, rest) = batches.split_at(1);
        let (few, most) = rest.split_at(BATCHES_ALONE);
        let spool = whole.copy(site)?;
        // The index does not know the files of a copy, so a first batch is not timed.
        file(site, &spool, first, || Ok(false))?;
        settle();
        let early = (run % 2 == 0).then(|| file(site, &spool, few, || Ok(false)));
        let early = early.transpose()?;
        let (beside, result) = file_beside(site, &spool, most)?;
        let alone = match early {
            Some(alone) => alone,
            None => file(site, &spool, few, || Ok(false))?,
        };
        ratio.push(beside.rate / alone.rate * 100.0);
        alone_rate.push(alone.rate);
        beside_rate.push(beside.rate);
        longest.push(beside.longest);
        longest_alone.push(alone.longest);
        took.push(result.decided_ms + result.reclaimed_ms);
        filed.push(beside.batches as f64);
        spool.remove()?;
        for batch in &batches {
            fs::remove_file(batch)?;
        }
    }
    whole.remove()?;
    let result = format!(
        "\nfiling beside expire, {ARTICLES} articles in {GROUPS} groups, a fifth goes; both share the machine's processors; medians of {RUNS}\n"
    );
    Ok(result
        + &figure(
            "filing rate beside expire",
            median(ratio),
            "% of that alone",
            RATE,
        )
        + &format!(
            "    {:.0} articles a second beside, {:.0} alone, in batches of {BATCH_ARTICLES}; expire took {:.0} ms, {:.0} batches were filed meanwhile\n    the longest of these took {:.1} ms, the longest alone {:.1} ms: expire held the lock for less than that\n",
            median(beside_rate),
            median(alone_rate),
            median(took),
            median(filed),
            median(longest),
            median(longest_alone),
        ))
}

/// Makes batches that have not been filed before.
fn batches(site: &Site, run: u64) -> Result<Vec<PathBuf>> {
    let kind = Kind::Tiny {
        articles: BATCH_ARTICLES,
        groups: GROUPS,
    };
    let make = |number| {
        let path = site.disk.join(format!("batch-{number}"));
        let mut out = BufWriter::new(File::create(&path)?);
        generate::batch(kind, 1_000_000 + run * 1_000 + number, &mut out)?;
        Ok(path)
    };
    (0..=(BATCHES_ALONE + BATCHES_MAX) as u64)
        .map(make)
        .collect()
}

/// Files batches one after the other until `ended`; the batch during which it ended does not count.
fn file(
    site: &Site,
    spool: &Spool,
    batches: &[PathBuf],
    mut ended: impl FnMut() -> Result<bool>,
) -> Result<FilingResult> {
    let begin = Instant::now();
    let mut went = FilingResult {
        batches: 0,
        rate: 0.0,
        longest: 0.0,
    };
    for batch in batches {
        let start = Instant::now();
        let output = Command::new(&site.binary)
            .args(["rnews", "--json", "--dir"])
            .arg(spool.news())
            .stdin(File::open(batch)?)
            .output()
            .context("running rnews")?;
        let printed: serde_json::Value =
            serde_json::from_slice(&output.stdout).context("rnews says nothing")?;
        if printed.get("accepted").and_then(serde_json::Value::as_u64) != Some(BATCH_ARTICLES) {
            bail!(
                "not all articles of {} were filed: {printed}",
                batch.display()
            );
        }
        went.longest = went.longest.max(start.elapsed().as_secs_f64() * 1e3);
        if ended()? {
            break;
        }
        went.batches += 1;
        went.rate = (went.batches as u64 * BATCH_ARTICLES) as f64 / begin.elapsed().as_secs_f64();
    }
    Ok(went)
}

fn file_beside(
    site: &Site,
    spool: &Spool,
    batches: &[PathBuf],
) -> Result<(FilingResult, ExpireResult)> {
    let words = spool.command(site, policy::ONE, spool.middle + DAY + 1)?;
    let (program, rest) = words.split_first().context("no command")?;
    let mut expire = Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting expire")?;
    let went = file(site, spool, batches, || Ok(expire.try_wait()?.is_some()));
    let output = expire.wait_with_output()?;
    let went = went?;
    let result = ExpireResult::read(Usages::default(), &String::from_utf8_lossy(&output.stdout))?;
    if went.batches == 0 || result.articles == 0 {
        bail!(
            "expire ended before a batch was filed beside it: {}",
            result.line
        );
    }
    Ok((went, result))
}
