//! Making batches: plain, from articles in the page cache, beside INN's batcher; and with each compression.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use bench::generate::Kind;

use crate::inn;
use crate::measure::{Input, measured};
use crate::plan::Plan;
use crate::report::median;
use crate::site::{Batch, Expected, Site};

/// What a plain batch is made of: 300 MB.
const LARGE: Kind = Kind::Like {
    articles: 100_000,
    groups: 500,
};
/// Compressions, timed with the small batch.
const HOWS: &[&str] = &[
    "compress", "gzip-1", "gzip", "gzip-9", "bzip2", "xz-0", "xz", "zstd-1", "zstd", "zstd-9",
    "zstd-19",
];

/// The rows.
///
/// # Errors
/// Something cannot be started, fails, or leaves articles out.
pub fn rows(site: &mut Site, plan: &Plan) -> Result<()> {
    println!("making batches, medians of MB/s before compression");
    let place = site.memory.clone().unwrap_or_else(|| site.disk.clone());
    let large = site.batch(LARGE, "large")?;
    let small = site.batch(Kind::TenThousand, "ten-thousand")?;
    for (batch, what) in [(&large, "plain"), (&small, "plain, 30 MB")] {
        let dir = filed(site, &place, batch)?;
        for (list, by) in [("ids", "by id"), ("numbers", "by number")] {
            let command = ours(site, &dir, list, "none", "batch");
            row(&format!("{what}, {by}"), &dir, &command, batch, plan.rounds)?;
        }
        if batch.articles == small.articles {
            for how in HOWS {
                let command = ours(site, &dir, "ids", how, "packed");
                row(
                    how,
                    &dir,
                    &command,
                    batch,
                    plan.rounds.min(3).min(slow(how)),
                )?;
            }
        }
    }
    if !plan.no_peer {
        match inn::unusable() {
            Some(reason) => println!("  {reason}"),
            None => beside(site, &place, &small, plan.rounds)?,
        }
    }
    Ok(())
}

/// Rounds of a compression: those that take seconds are run once.
fn slow(how: &str) -> u32 {
    match how {
        "bzip2" | "xz" | "zstd-19" => 1,
        _ => u32::MAX,
    }
}

/// Files a batch, and writes lists of its articles.
fn filed(site: &mut Site, on: &Path, batch: &Batch) -> Result<std::path::PathBuf> {
    let system = site.system(on, batch)?;
    let input = batch.dir.join("batch");
    let expected = Expected::all_filed(batch.articles);
    site.rnews(&system, &[], Input::File(&input), &expected)?;
    let history = std::process::Command::new(&site.binary)
        .args(["history", "dump", "--dir"])
        .arg(system.dir.join("news"))
        .output()
        .context("asking for history")?;
    let (mut ids, mut numbers) = (String::new(), String::new());
    for line in String::from_utf8_lossy(&history.stdout).lines() {
        let mut fields = line.split('\t');
        if let (Some(id), _, Some(links)) = (fields.next(), fields.next(), fields.next()) {
            let first = links.split(' ').next().unwrap_or_default();
            writeln!(ids, "{id}")?;
            writeln!(numbers, "{}", first.replace('.', "/"))?;
        }
    }
    fs::write(system.dir.join("ids"), ids)?;
    fs::write(system.dir.join("numbers"), numbers)?;
    Ok(system.dir)
}

/// A run of our batcher into a file.
fn ours(site: &Site, dir: &Path, list: &str, how: &str, out: &str) -> String {
    format!(
        "exec '{}' batcher --dir '{dir}/news' --compress {how} '{dir}/{list}' > '{dir}/{out}'",
        site.binary.display(),
        dir = dir.display()
    )
}

/// One row: the runs of a command. The batch is in `batch` or `packed` then.
fn row(what: &str, dir: &Path, command: &str, batch: &Batch, rounds: u32) -> Result<()> {
    let (mut real, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..=rounds {
        let outcome = measured(
            dir,
            &["sh", "-c", command],
            Input::File(Path::new("/dev/null")),
        )?;
        if outcome.status != 0 {
            bail!("{command}: exit status {}", outcome.status);
        }
        real.push(batch.bytes as f64 / 1e6 / outcome.usages.real.as_secs_f64());
        cpu.push(batch.bytes as f64 / 1e6 / outcome.usages.cpu().as_secs_f64());
    }
    // The first run only made the pages.
    let (real, cpu) = (real.split_off(1), cpu.split_off(1));
    let out =
        ["packed", "batch"].map(|name| fs::metadata(dir.join(name)).map_or(0, |file| file.len()));
    let bytes = out.into_iter().find(|bytes| *bytes > 0).unwrap_or(0);
    let percent = bytes as f64 * 100.0 / batch.bytes as f64;
    let runs: Vec<_> = real.iter().map(|run| format!("{run:.0}")).collect();
    let _ = fs::remove_file(dir.join("packed"));
    println!(
        "  {what:<24} {:>8.1} real {:>8.1} cpu   {percent:>6.1} % of the batch as it came   ({})",
        median(real),
        median(cpu),
        runs.join(" ")
    );
    Ok(())
}

/// INN's batcher, of the articles that it filed for the site with the most of them.
fn beside(site: &mut Site, on: &Path, small: &Batch, rounds: u32) -> Result<()> {
    let dir = site.fresh(on)?;
    let server = inn::Server::start(&dir, &small.dir).context("starting INN")?;
    server.feed(&small.dir.join("batch"))?;
    server.stop()?;
    let mut lists: Vec<_> = fs::read_dir(dir.join("spool/outgoing"))?
        .filter_map(|entry| {
            Some((
                fs::metadata(entry.as_ref().ok()?.path()).ok()?.len(),
                entry.ok()?.path(),
            ))
        })
        .collect();
    lists.sort();
    let Some((_, list)) = lists.pop() else {
        bail!("INN has no articles for a site");
    };
    let name = list
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let kept = dir.join("list");
    fs::copy(&list, &kept)?;
    let out = dir.join("batch");
    // It empties its list when it is done.
    let command = format!(
        "cp '{}' '{}' && exec {} > '{}'",
        kept.display(),
        list.display(),
        inn::batcher(&dir, &name),
        out.display()
    );
    let once = measured(
        &dir,
        &["sh", "-c", &command],
        Input::File(Path::new("/dev/null")),
    )?;
    let bytes = fs::metadata(&out).map_or(0, |file| file.len());
    if once.status != 0 || bytes == 0 {
        bail!("{command}: exit status {}, {bytes} bytes", once.status);
    }
    let part = Batch {
        dir: small.dir.clone(),
        articles: small.articles,
        bytes,
    };
    row("INN's batcher, its part", &dir, &command, &part, rounds)
}
