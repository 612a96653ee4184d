//! The spools that expire runs over, and one run of it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use bench::generate::{Kind, SEED};

use crate::measure::{Input, Usages, measured};
use crate::site::{Batch, Expected, Site, System};

/// Seconds of a day.
pub const DAY: u64 = 86_400;

/// Divisor: the share of articles that arrives first is one in this number.
const FIRST_PART: u64 = 5;

/// Largest number of articles of one batch: articles are a minute apart from 2012 on, and more would have dates in the future.
const BATCH_MAX: u64 = 4_000_000;

/// Changed lines of broadsheet.toml.
pub type Settings<'s> = &'s [&'s str];

/// A news system with articles of two arrival times.
pub struct Spool {
    /// Its directory.
    pub system: System,
    /// Articles in it.
    pub articles: u64,
    /// The time after the arrival of the first fifth and before the rest, seconds since 1970.
    pub middle: u64,
}

impl Spool {
    /// Makes a news system with this number of articles of a kind, `tiny` or `like`, in the groups of `batch`. The articles are generated while they are
    /// filed, without a batch on the disk.
    ///
    /// # Errors
    /// The binary fails or does not file all of them.
    pub fn fill(
        site: &mut Site,
        batch: &Batch,
        settings: Settings<'_>,
        (kind, articles): (&str, u64),
    ) -> Result<Spool> {
        let disk = site.disk.clone();
        let system = site.system(&disk, batch)?;
        let news = system.dir.join("news");
        set(&news, settings)?;
        let first = articles / FIRST_PART;
        let groups = group_names(batch)?.len();
        let mut seed = SEED;
        let mut file = |mut left: u64| {
            while left > 0 {
                let some = left.min(BATCH_MAX);
                let input = Input::Pipe(made(kind, seed, some, groups)?);
                site.rnews(&system, &[], input, &Expected::all_filed(some))?;
                (left, seed) = (left - some, seed + 1);
            }
            anyhow::Ok(())
        };
        file(first)?;
        let middle = seconds();
        std::thread::sleep(Duration::from_millis(2100));
        file(articles - first)?;
        Ok(Spool {
            system,
            articles,
            middle,
        })
    }

    /// Copies it to another directory.
    ///
    /// # Errors
    /// The copy fails.
    pub fn copy(&self, site: &mut Site) -> Result<Spool> {
        let dir = site.fresh(&site.disk.clone())?;
        let status = Command::new("cp")
            .arg("-a")
            .arg(self.news())
            .arg(dir.join("news"))
            .status()
            .context("running cp")?;
        if !status.success() {
            bail!("cannot copy {}", self.news().display());
        }
        Ok(Spool {
            system: System { dir },
            ..*self
        })
    }

    /// The news directory.
    pub fn news(&self) -> std::path::PathBuf {
        self.system.dir.join("news")
    }

    /// The words of a command line that runs expire with a given clock.
    ///
    /// # Errors
    /// The policy cannot be written.
    pub fn command(&self, site: &Site, policy: &str, now: u64) -> Result<Vec<String>> {
        let news = self.news();
        let path = news.join("explist");
        fs::write(&path, policy).context("writing the policy")?;
        let words = [
            site.binary.to_string_lossy().into_owned(),
            "expire".into(),
            "--dir".into(),
            news.to_string_lossy().into_owned(),
            "--json".into(),
            "--now".into(),
            now.to_string(),
            path.to_string_lossy().into_owned(),
        ];
        Ok(words.into())
    }

    /// Runs expire.
    ///
    /// # Errors
    /// It fails or prints no result.
    pub fn expire(&self, site: &Site, policy: &str, now: u64) -> Result<ExpireResult> {
        let words = self.command(site, policy, now)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let outcome = measured(
            &self.system.dir,
            &words,
            Input::File(Path::new("/dev/null")),
        )?;
        if outcome.status != 0 {
            bail!("expire ended with {}: {}", outcome.status, outcome.output);
        }
        ExpireResult::read(outcome.usages, &outcome.output)
    }

    /// Bytes of the disk blocks of the articles (`.art` alone), and of all files of the segments.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn disk_bytes(&self) -> Result<(u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        let (mut articles, mut all) = (0, 0);
        for entry in fs::read_dir(self.news().join("segments"))? {
            let entry = entry?;
            let bytes = entry.metadata()?.blocks() * 512;
            all += bytes;
            if entry.path().extension().is_some_and(|view| view == "art") {
                articles += bytes;
            }
        }
        Ok((articles, all))
    }

    /// Deletes it.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn remove(self) -> Result<()> {
        fs::remove_dir_all(&self.system.dir).context("deleting a spool")
    }
}

/// The result of a run of expire.
#[derive(Clone, Debug, Default)]
pub struct ExpireResult {
    /// The resource usage of the process.
    pub usages: Usages,
    /// Articles removed.
    pub articles: u64,
    /// Time until they were removed, ms.
    pub decided_ms: f64,
    /// Time after that until their space was reclaimed, ms.
    pub reclaimed_ms: f64,
    /// The line it printed.
    pub line: String,
}

impl ExpireResult {
    /// Parses the last line of the output.
    ///
    /// # Errors
    /// The line does not have the form of expire's result.
    pub fn read(usages: Usages, output: &str) -> Result<ExpireResult> {
        let line = output.lines().last().unwrap_or_default();
        let json: serde_json::Value = serde_json::from_str(line)?;
        let number = |name: &str| {
            let number = json.get(name).and_then(serde_json::Value::as_f64);
            number.with_context(|| format!("expire tells no {name}"))
        };
        Ok(ExpireResult {
            usages,
            articles: number("articles")? as u64,
            decided_ms: number("decided_ms")?,
            reclaimed_ms: number("reclaimed_ms")?,
            line: line.to_owned(),
        })
    }

    /// Time to reclaim the space, µs per article.
    pub fn reclaimed_us(&self) -> f64 {
        self.reclaimed_ms * 1e3 / self.articles.max(1) as f64
    }
}

/// The command that writes articles to its standard output.
fn made(kind: &str, seed: u64, articles: u64, groups: usize) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("finding the bench itself")?);
    command.args(["generate", kind, "--out", "-"]);
    for (flag, value) in [
        ("--seed", seed),
        ("--articles", articles),
        ("--groups", groups as u64),
    ] {
        command.args([flag, &value.to_string()]);
    }
    command.stderr(std::process::Stdio::null());
    Ok(command)
}

/// Makes a batch of one article, for its groups.
///
/// # Errors
/// Those of the file system.
pub fn groups_of(site: &Site, groups: usize) -> Result<Batch> {
    site.batch(
        Kind::Tiny {
            articles: 1,
            groups,
        },
        &format!("groups-{groups}"),
    )
}

/// The names in a batch's active file.
///
/// # Errors
/// Those of the file system.
pub fn group_names(batch: &Batch) -> Result<Vec<String>> {
    let active = fs::read_to_string(batch.dir.join("active")).context("reading active")?;
    let names = active.lines().filter_map(|line| line.split(' ').next());
    let names = names.filter(|name| !["control", "junk"].contains(name));
    Ok(names.map(str::to_owned).collect())
}

fn seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_secs())
}

fn set(news: &Path, settings: Settings<'_>) -> Result<()> {
    if settings.is_empty() {
        return Ok(());
    }
    let path = news.join("broadsheet.toml");
    let text = fs::read_to_string(&path)?;
    let changed: Vec<&str> = text
        .lines()
        .map(|line| {
            let key = |setting: &&&str| setting.split(' ').next() == line.split(' ').next();
            settings.iter().find(key).map_or(line, |setting| *setting)
        })
        .collect();
    fs::write(&path, changed.join("\n") + "\n")?;
    // The first segment was created by init, with its size.
    fs::remove_file(news.join("index"))?;
    for entry in fs::read_dir(news.join("segments"))? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}
