//! Measures the making of batches: plain, from articles in the page cache, compared with INN's batcher; and with each compression.

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

/// The articles of a plain batch: 300 MB, or 90 MB with `--quick`.
const LARGE: Kind = Kind::Like {
    articles: 100_000,
    groups: 500,
};
const LARGE_QUICK: Kind = Kind::Like {
    articles: 30_000,
    groups: 500,
};
/// The compressions, timed with the first articles of the small batch.
const COMPRESSIONS: &[&str] = &[
    "compress", "gzip-1", "gzip", "gzip-9", "bzip2", "xz-0", "xz", "zstd-1", "zstd", "zstd-9",
    "zstd-19",
];
/// Number of these articles: 3 MB, so that the slowest compression takes seconds.
const COMPRESSED_ARTICLES: usize = 1000;

/// Goal of a plain batch, MB/s; higher is better.
const AIM_MB_PER_SECOND: f64 = 2000.0;

/// Measures and prints the rows.
///
/// # Errors
/// A program cannot be started, fails, or omits articles.
pub fn rows(site: &mut Site, plan: &Plan) -> Result<()> {
    println!(
        "making batches, medians of MB/s before compression; plain ones aim at {AIM_MB_PER_SECOND:.0}"
    );
    let base = site.memory.clone().unwrap_or_else(|| site.disk.clone());
    let kind = if plan.quick { LARGE_QUICK } else { LARGE };
    let large = site.batch(kind, "large")?;
    let dir = filed(site, &base, &large)?;
    for (list, by) in [("ids", "by id"), ("numbers", "by number")] {
        for (to, out) in [
            ("nowhere", Path::new("/dev/null")),
            ("a file", &dir.join("batch")),
        ] {
            let command = ours(site, &dir, list, "none", out);
            let what = format!("plain, {by}, to {to}");
            row(&what, &dir, (&command, out), large.bytes, plan.rounds)?;
        }
    }
    let (made, copy) = (dir.join("batch"), dir.join("copy"));
    let command = format!("exec cat '{}' > '{}'", made.display(), copy.display());
    let what = "limit: cat it to a file";
    row(what, &dir, (&command, &copy), large.bytes, plan.rounds)?;
    fs::remove_dir_all(&dir)?;

    let small = site.batch(Kind::TenThousand, "ten-thousand")?;
    let dir = filed(site, &base, &small)?;
    let ids = fs::read_to_string(dir.join("ids"))?;
    let first: Vec<&str> = ids.lines().take(COMPRESSED_ARTICLES).collect();
    fs::write(dir.join("first"), first.join("\n"))?;
    let packed = dir.join("packed");
    let bytes = plain_bytes(site, &dir, &packed)?;
    for how in COMPRESSIONS {
        let command = ours(site, &dir, "first", how, &packed);
        row(how, &dir, (&command, &packed), bytes, plan.rounds.min(3))?;
    }
    if !plan.no_peer {
        match inn::missing_reason() {
            Some(reason) => println!("  {reason}"),
            None => beside(site, &base, &small, plan.rounds)?,
        }
    }
    Ok(())
}

/// The size of the batch behind the compressed ones, uncompressed.
fn plain_bytes(site: &Site, dir: &Path, packed: &Path) -> Result<u64> {
    let command = ours(site, dir, "first", "none", packed);
    measured(
        dir,
        &["sh", "-c", &command],
        Input::File(Path::new("/dev/null")),
    )?;
    Ok(fs::metadata(packed).context("looking at the batch")?.len())
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

/// The command line of our batcher.
fn ours(site: &Site, dir: &Path, list: &str, how: &str, out: &Path) -> String {
    format!(
        "exec '{}' batcher --dir '{dir}/news' --compress {how} '{dir}/{list}' > '{}'",
        site.binary.display(),
        out.display(),
        dir = dir.display()
    )
}

/// Measures one row: a command that makes a batch of `bytes` before compression in the file `out`.
fn row(
    what: &str,
    dir: &Path,
    (command, out): (&str, &Path),
    bytes: u64,
    rounds: u32,
) -> Result<()> {
    let (mut real, mut cpu) = (Vec::new(), Vec::new());
    let is_file = out != Path::new("/dev/null");
    for _ in 0..=rounds {
        if is_file {
            // Freeing the pages of the file is not part of the measurement.
            let _ = fs::remove_file(out);
        }
        let outcome = measured(
            dir,
            &["sh", "-c", command],
            Input::File(Path::new("/dev/null")),
        )?;
        if outcome.status != 0 {
            bail!("{command}: exit status {}", outcome.status);
        }
        let usages = outcome.usages;
        real.push(bytes as f64 / 1e6 / usages.real.as_secs_f64());
        cpu.push(bytes as f64 / 1e6 / usages.cpu().as_secs_f64());
    }
    // The first run only allocated the pages.
    let (real, cpu) = (real.split_off(1), cpu.split_off(1));
    let left = if is_file {
        let length = fs::metadata(out).with_context(|| format!("looking at {}", out.display()))?;
        format!("{:>6.1} %", length.len() as f64 * 100.0 / bytes as f64)
    } else {
        String::from("       -")
    };
    let runs: Vec<_> = real.iter().map(|run| format!("{run:.0}")).collect();
    println!(
        "  {what:<30} {:>8.1} real {:>8.1} cpu   {left} of the bytes   ({})",
        median(real),
        median(cpu),
        runs.join(" ")
    );
    Ok(())
}

/// Measures INN's batcher, with the articles that INN filed for the site with the most of them.
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
    // INN's batcher empties its list at the end.
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
    let what = "INN's batcher, its part";
    row(what, &dir, (&command, &out), bytes, rounds)
}
