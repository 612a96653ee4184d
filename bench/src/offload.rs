//! `bench offload`: articles of old segments in an object store, a directory and a bucket of S3: moving them, reading one, reading all, and filing
//! beside it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bench::generate::Kind;

use crate::measure::{Input, Usages};
use crate::report::median;
use crate::s3_server::S3Server;
use crate::site::{Batch, Expected, Site, System, settle};

const KIND: Kind = Kind::Like {
    articles: 60_000,
    groups: 500,
};
/// Articles that are read one by one, each in another piece of the objects.
const SINGLE: usize = 300;

/// One more article.
const LAST: &str = "Path: a!b\nFrom: a@b.example\nNewsgroups: comp.lang\nSubject: last\nMessage-ID: <last@b.example>\nDate: Mon, 20 Dec 1993 04:39:21 GMT\n\nlast\n";

/// Measures the rows and formats them.
///
/// # Errors
/// The binary is missing or fails.
pub fn rows(site: &mut Site, rounds: u32) -> Result<String> {
    let batch = site.batch(KIND, "like")?;
    let mut text = format!(
        "\narticles in an object store, {} articles, {} bytes\n",
        batch.articles, batch.bytes
    );
    let (mut without, mut with) = (Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..rounds {
        without.push(filed(site, &batch, false)?.1);
        let (system, usages) = filed(site, &batch, true)?;
        with.push(usages);
        last = Some(system);
    }
    for (name, runs) in [
        ("filing, no object store", &without),
        ("filing, with one", &with),
    ] {
        let of = |of: fn(&Usages) -> f64| median(runs.iter().map(of).collect());
        let per = batch.articles as f64;
        text += &format!(
            "    {name:28} {:>8.0} articles/s, {:>5.2} CPU µs an article\n",
            per / of(|run| run.real.as_secs_f64()),
            of(|run| run.cpu().as_secs_f64()) * 1e6 / per,
        );
    }
    let system = last.context("no round")?;
    let news = system.dir.join("news");
    // A segment that has its size is sealed by the next batch.
    let last = system.dir.join("last");
    fs::write(&last, LAST)?;
    let one = Expected::all_filed(1);
    site.rnews(&system, &[], Input::File(&last), &one)?;
    let run = |words: &[&str]| said(&site.binary, words, &news);
    let ids: Vec<String> = String::from_utf8_lossy(&run(&["history", "dump"])?)
        .lines()
        .filter_map(|line| line.split('\t').next())
        .filter(|id| id.starts_with('<'))
        .map(str::to_owned)
        .collect();
    let listed: serde_json::Value = serde_json::from_slice(&run(&["segments", "list", "--json"])?)?;
    let all = listed.get("segments").and_then(|all| all.as_array());
    let all = all.context("no segments")?;
    let is_sealed = |segment: &&serde_json::Value| {
        segment.get("current").and_then(|current| current.as_bool()) == Some(false)
    };
    let number = |segment: &serde_json::Value, key: &str| segment.get(key)?.as_u64();
    let sealed = all.iter().filter(is_sealed);
    let sealed: Vec<String> = sealed
        .filter_map(|segment| number(segment, "base").map(|base| base.to_string()))
        .collect();
    let bytes = all.iter().filter(is_sealed);
    let bytes: u64 = bytes.filter_map(|segment| number(segment, "bytes")).sum();
    let stored = Stored {
        ids,
        sealed,
        bytes,
        batch_bytes: batch.bytes,
    };
    text += "  a directory\n";
    text += &measured(&site.binary, &news, &stored, rounds)?;
    // All articles are here, and the next store is another one.
    said(&site.binary, &["segments", "fetch", "--all"], &news)?;
    match S3Server::start(&system.dir)? {
        None => text += "  a bucket: no versitygw (S3_SERVER names one)\n",
        Some(server) => {
            server.set(&news)?;
            text += "  a bucket of versitygw on this machine, without TLS\n";
            text += &measured(&site.binary, &news, &stored, rounds)?;
        }
    }
    Ok(text)
}

/// The articles of a news directory.
struct Stored {
    ids: Vec<String>,
    /// The numbers of the full segments.
    sealed: Vec<String>,
    /// Bytes of these.
    bytes: u64,
    batch_bytes: u64,
}

/// Moves the segments to the store of the settings and back, and reads from there. At the end they are there.
fn measured(binary: &Path, news: &Path, stored: &Stored, rounds: u32) -> Result<String> {
    let Stored {
        ids, sealed, bytes, ..
    } = stored;
    let run = |words: &[&str]| said(binary, words, news);
    let mut text = String::new();
    let mut offload = vec!["segments", "offload"];
    offload.extend(sealed.iter().map(String::as_str));
    let fetch = ["segments", "fetch", "--all"];
    let (mut away, mut back) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        settle();
        away.push(timed(|| run(&offload))?);
        back.push(timed(|| run(&fetch))?);
    }
    let rate = |runs: Vec<f64>| *bytes as f64 / median(runs) / 1e6;
    text += &format!(
        "    {} segments, {bytes} bytes: offload {:.0} MB/s (stored, synced, read back), fetch {:.0} MB/s\n",
        sealed.len(),
        rate(away),
        rate(back)
    );
    // Those of full segments, far from each other.
    let full = ids.len() * 9 / 10;
    let single: Vec<&String> = ids
        .iter()
        .take(full)
        .step_by((full / SINGLE).max(1))
        .collect();
    let here = latencies(binary, news, &single)?;
    run(&offload)?;
    let cold = latencies(binary, news, &single)?;
    let cached = latencies(binary, news, &single)?;
    for (name, mut times) in [
        ("here", here),
        ("in the object store, first", cold),
        ("in the local cache", cached),
    ] {
        times.sort_by(f64::total_cmp);
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or(0.0) * 1e3;
        text += &format!(
            "    ARTICLE, {name:28} median {:.3} ms, 99 % {:.3} ms\n",
            at(50),
            at(99)
        );
    }
    run(&fetch)?;
    run(&offload)?;
    let all_ids = ids.join("\n") + "\n";
    let batcher = || batched(binary, news, &all_ids);
    let first = timed(batcher)?;
    let second = timed(batcher)?;
    text += &format!(
        "    batcher of all articles, in their order: {:.0} MB/s from the object store, {:.0} MB/s from the cache\n",
        stored.batch_bytes as f64 / first / 1e6,
        stored.batch_bytes as f64 / second / 1e6
    );
    Ok(text)
}

fn filed(site: &mut Site, batch: &Batch, has_store: bool) -> Result<(System, Usages)> {
    let system = site.system(&site.disk.clone(), batch)?;
    let path = system.dir.join("news/broadsheet.toml");
    let mut settings = fs::read_to_string(&path)?;
    if has_store {
        let objects = system.dir.join("objects");
        fs::create_dir(&objects)?;
        let url = format!("\nurl = \"file://{}\"", objects.display());
        settings = settings.replacen("\nurl = \"\"", &url, 1);
    }
    settings.push_str("\n[[access]]\nname = \"all\"\nread = \"*\"\n");
    fs::write(&path, settings)?;
    settle();
    let file = batch.dir.join("batch");
    let expected = Expected::all_filed(batch.articles);
    let usages = site.rnews(&system, &[], Input::File(&file), &expected)?;
    Ok((system, usages))
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}

fn said(binary: &Path, words: &[&str], news: &Path) -> Result<Vec<u8>> {
    let output = Command::new(binary)
        .args(words)
        .arg("--dir")
        .arg(news)
        .output()?;
    if !output.status.success() {
        bail!(
            "{}: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(output.stdout)
}

fn batched(binary: &Path, news: &Path, ids: &str) -> Result<()> {
    let list = news.join("ids");
    fs::write(&list, ids)?;
    let status = Command::new(binary)
        .args(["batcher", "--dir"])
        .arg(news)
        .arg(&list)
        .stdout(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => bail!("batcher failed"),
    }
}

/// Seconds from the command to the end of its reply, for each article, in one session.
fn latencies(binary: &Path, news: &Path, ids: &[&String]) -> Result<Vec<f64>> {
    let mut child: Child = Command::new(binary)
        .args(["session", "--dir"])
        .arg(news)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to: ChildStdin = child.stdin.take().context("no input")?;
    let mut from: BufReader<ChildStdout> =
        BufReader::new(child.stdout.take().context("no output")?);
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    let mut times = Vec::new();
    for id in ids {
        let began = Instant::now();
        write!(to, "ARTICLE {id}\r\n")?;
        line.clear();
        from.read_until(b'\n', &mut line)?;
        if !line.starts_with(b"220 ") {
            bail!("ARTICLE {id}: {}", String::from_utf8_lossy(&line));
        }
        while line != b".\r\n" {
            line.clear();
            from.read_until(b'\n', &mut line)?;
        }
        times.push(began.elapsed().as_secs_f64());
    }
    drop(to);
    child.wait()?;
    Ok(times)
}
