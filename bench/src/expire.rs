//! Expire: what a run costs when nothing goes, when a fifth goes by one policy, and when it goes scattered over
//! mixed policies.
//!
//! The articles are filed by the real binary in two parts with a second between them, so that they arrive at two
//! times; the clock that expire is given lies a day later.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::measure::{Input, Outcome, measured};
use crate::report::median;
use crate::site::{Batch, Expected, Site, settle};
use bench::generate::Kind;

/// Articles of the rows.
pub const ARTICLES: u64 = 100_000;
/// Groups of the rows.
pub const GROUPS: usize = 500;
/// Runs of each row.
const RUNS: usize = 5;
const DAY: u64 = 86_400;
/// Small segments, so that there are sealed ones to give back; an article is at most half of one.
const SETTINGS: [&str; 2] = ["segment_bytes = \"4 MiB\"", "article_bytes_max = \"2 MiB\""];

/// One row: what it is called, and the policy.
struct Row {
    name: &'static str,
    policy: fn(&[String]) -> String,
}

const ROWS: [Row; 3] = [
    Row {
        name: "nothing to expire",
        policy: |_| "all x 30 -\n".to_owned(),
    },
    Row {
        name: "a fifth goes, one policy",
        policy: |_| "/expired/ x 14 -\nall x 1 -\n".to_owned(),
    },
    Row {
        name: "a fifth goes, mixed policies",
        policy: mixed,
    },
];

/// A fifth of the groups keep half a day, the others thirty. Taken are groups without others below them, because a
/// pattern takes those in too.
fn mixed(groups: &[String]) -> String {
    let is_leaf = |group: &&String| {
        let below = format!("{group}.");
        !groups.iter().any(|other| other.starts_with(&below))
    };
    let leaves: Vec<&String> = groups.iter().filter(is_leaf).collect();
    let wanted = groups.len() / 5;
    let short: String = leaves
        .iter()
        .step_by((leaves.len() / wanted.max(1)).max(1))
        .take(wanted)
        .map(|group| format!("{group} x 0.5 -\n"))
        .collect();
    format!("/expired/ x 14 -\n{short}all x 30 -\n")
}

/// Runs the rows and tells them.
///
/// # Errors
/// When the binary fails or removes another number of articles than it should.
pub fn rows(site: &mut Site, articles: u64) -> Result<String> {
    let disk = site.disk.clone();
    let batch = site.batch(
        Kind::Tiny {
            articles,
            groups: GROUPS,
        },
        "tiny",
    )?;
    let parts = split(&batch)?;
    let active = fs::read_to_string(batch.dir.join("active"))?;
    let groups: Vec<String> = active
        .lines()
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect();
    let mut told = format!(
        "\nexpire, {articles} articles in {GROUPS} groups (ms of the whole process: cpu, real; ms until what goes is gone; µs an article to give its space back; medians of {RUNS})\n"
    );
    for row in &ROWS {
        let (mut cpu, mut real, mut last) = (Vec::new(), Vec::new(), Outcome::default());
        let (mut decided, mut freed) = (Vec::new(), Vec::new());
        let mut blocks = (0, 0);
        for _ in 0..RUNS {
            let system = site.system(&disk, &batch)?;
            let news = system.dir.join("news");
            small_segments(&news)?;
            let mut middle = 0;
            for (part, articles) in &parts {
                site.rnews(
                    &system,
                    &[],
                    Input::File(part),
                    &Expected::all_filed(*articles),
                )?;
                if middle == 0 {
                    middle = seconds();
                    std::thread::sleep(Duration::from_millis(2100));
                }
            }
            let policy = news.join("explist");
            fs::write(&policy, (row.policy)(&groups))?;
            settle();
            blocks.0 = disk_bytes(&news)?;
            let now = (middle + DAY + 1).to_string();
            let words = [
                site.binary.to_string_lossy().into_owned(),
                "expire".into(),
                "--dir".into(),
                news.to_string_lossy().into_owned(),
                "--json".into(),
                "--now".into(),
                now,
                policy.to_string_lossy().into_owned(),
            ];
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            last = measured(&system.dir, &words, Input::File(Path::new("/dev/null")))?;
            if last.status != 0 {
                bail!("expire ended with {}: {}", last.status, last.output);
            }
            settle();
            blocks.1 = disk_bytes(&news)?;
            cpu.push(last.usages.cpu().as_secs_f64() * 1e3);
            real.push(last.usages.real.as_secs_f64() * 1e3);
            let told: serde_json::Value =
                serde_json::from_str(last.output.lines().last().unwrap_or_default())?;
            let number = |name: &str| told.get(name).and_then(serde_json::Value::as_f64);
            decided.push(number("decided_ms").context("expire tells no decided_ms")?);
            let went = number("articles").unwrap_or(0.0).max(1.0);
            freed.push(number("reclaimed_ms").unwrap_or(0.0) * 1e3 / went);
            fs::remove_dir_all(&system.dir)?;
        }
        told.push_str(&format!(
            "{:32} {:8.2} {:8.2} {:8.2} {:8.2}   disk {:.1} -> {:.1} MB\n    {}\n",
            row.name,
            median(cpu),
            median(real),
            median(decided),
            median(freed),
            blocks.0 as f64 / 1e6,
            blocks.1 as f64 / 1e6,
            last.output.lines().last().unwrap_or_default(),
        ));
    }
    Ok(told)
}

fn seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_secs())
}

/// The first fifth of a batch and the rest, as files, with their articles.
fn split(batch: &Batch) -> Result<[(PathBuf, u64); 2]> {
    let text = fs::read(batch.dir.join("batch"))?;
    let fifth = batch.articles / 5;
    let mut at = 0;
    for _ in 0..fifth {
        let rest = text.get(at..).unwrap_or_default();
        let line = rest.split(|&b| b == b'\n').next().unwrap_or_default();
        let size: usize = std::str::from_utf8(line)?
            .rsplit(' ')
            .next()
            .and_then(|digits| digits.parse().ok())
            .context("the batch made is not one")?;
        at += line.len() + 1 + size;
    }
    let (first, rest) = text
        .split_at_checked(at)
        .context("the batch made is short")?;
    let parts = [
        (batch.dir.join("first"), fifth),
        (batch.dir.join("rest"), batch.articles - fifth),
    ];
    fs::write(&parts[0].0, first)?;
    fs::write(&parts[1].0, rest)?;
    Ok(parts)
}

fn small_segments(news: &Path) -> Result<()> {
    let path = news.join("broadsheet.toml");
    let text = fs::read_to_string(&path)?;
    let changed: Vec<&str> = text
        .lines()
        .map(|line| {
            let key = |setting: &&&str| setting.split(' ').next() == line.split(' ').next();
            SETTINGS.iter().find(key).map_or(line, |setting| *setting)
        })
        .collect();
    fs::write(&path, changed.join("\n") + "\n")?;
    // The first segment was made by init, at its size.
    fs::remove_file(news.join("index"))?;
    for entry in fs::read_dir(news.join("segments"))? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}

/// Bytes of the disk's blocks that a news directory takes up.
fn disk_bytes(news: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in fs::read_dir(news.join("segments"))? {
        bytes += entry?.metadata()?.blocks() * 512;
    }
    Ok(bytes)
}
