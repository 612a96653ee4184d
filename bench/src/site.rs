//! The working directories of a bench, the news systems created in them, and one
//! checked `rnews`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bench::generate::{self, Kind, SEED};

use crate::measure::{Input, Outcome, Usages, measured};
use crate::plan::Plan;

/// The mount point of tmpfs.
const TMPFS: &str = "/dev/shm";

/// Two working directories, emptied only after all measurements: ext4
/// creates files several times slower just after many were deleted.
pub struct Site {
    pub binary: PathBuf,
    /// On the file system of the checkout.
    pub disk: PathBuf,
    /// On tmpfs, if there is one.
    pub memory: Option<PathBuf>,
    made: u32,
    keep: bool,
}

/// Name of a file whose age is the time since a bench last deleted its files.
const EMPTIED: &str = "emptied";

/// Time for which creating files may be slow after many were deleted.
const SLOW_AFTER_DELETION: Duration = Duration::from_secs(600);

/// A warning if an earlier bench has just deleted INN's thousands of files.
pub fn just_emptied(dir: &Path) -> Option<String> {
    let age = fs::metadata(dir.join(EMPTIED))
        .ok()?
        .modified()
        .ok()?
        .elapsed()
        .ok()?;
    (age < SLOW_AFTER_DELETION).then(|| {
        format!("note     a bench deleted its files here {} s ago: making files (INN) may be slower for some minutes\n", age.as_secs())
    })
}

/// A batch on disk with its files.
pub struct Batch {
    /// Contains `batch`, `active`, `newsgroups` and `sys`.
    pub dir: PathBuf,
    /// Number of articles in the batch.
    pub articles: u64,
    /// Bytes of the batch.
    pub bytes: u64,
}

/// A news system created by `broadsheet init`.
pub struct System {
    /// The directory of this run; the news directory is in it.
    pub dir: PathBuf,
}

impl Site {
    /// Makes directories of this process below `plan.dir`, and on tmpfs if there is one.
    ///
    /// # Errors
    /// The binary is missing, or a directory cannot be made.
    pub fn new(plan: &Plan) -> Result<Self> {
        let memory = Path::new(TMPFS)
            .is_dir()
            .then(|| Path::new(TMPFS).join(format!("broadsheet-bench-{}", std::process::id())));
        let disk = plan.dir.join(format!("bench-{}", std::process::id()));
        let binary = plan
            .binary
            .canonicalize()
            .with_context(|| format!("no {}: build it first", plan.binary.display()))?;
        fs::create_dir_all(&disk).with_context(|| format!("making {}", disk.display()))?;
        Ok(Site {
            binary,
            disk,
            memory,
            made: 0,
            keep: plan.keep,
        })
    }

    /// Makes a batch on disk.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn batch(&self, kind: Kind, name: &str) -> Result<Batch> {
        let dir = self.disk.join(name);
        let totals = generate::files(kind, SEED, &dir)
            .with_context(|| format!("making the batch {name}"))?;
        Ok(Batch {
            dir,
            articles: totals.articles,
            bytes: totals.bytes,
        })
    }

    /// Makes a directory in `on`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn fresh(&mut self, on: &Path) -> Result<PathBuf> {
        self.made += 1;
        let dir = on.join(format!("run-{}", self.made));
        fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
        Ok(dir)
    }

    /// Makes a news system in `on` for this batch.
    ///
    /// # Errors
    /// `broadsheet init` fails.
    pub fn system(&mut self, on: &Path, batch: &Batch) -> Result<System> {
        let dir = self.fresh(on)?;
        let news = dir.join("news");
        let output = Command::new(&self.binary)
            .args(["init", "--name", "news.example.org", "--dir"])
            .arg(&news)
            .arg("--active")
            .arg(batch.dir.join("active"))
            .arg("--newsgroups")
            .arg(batch.dir.join("newsgroups"))
            .output()
            .with_context(|| format!("running {}", self.binary.display()))?;
        if !output.status.success() {
            bail!(
                "broadsheet init failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        fs::copy(batch.dir.join("sys"), news.join("sys"))
            .context("putting the sys file in its place")?;
        settle();
        Ok(System { dir })
    }

    /// As [`Site::system`], on the disk. An empty run has made the cursors of the sites, which a news system does once in its life.
    ///
    /// # Errors
    /// `broadsheet init` or the run fails.
    pub fn warm_system(&mut self, batch: &Batch) -> Result<System> {
        let disk = self.disk.clone();
        let system = self.system(&disk, batch)?;
        let nothing = Input::File(Path::new("/dev/null"));
        self.rnews(&system, &[], nothing, &Expected::all_filed(0))?;
        settle();
        Ok(system)
    }

    /// Runs one `rnews`, with `prefix` before it (a tracer), and checks its result.
    ///
    /// # Errors
    /// It fails, or its JSON line does not contain the expected counts.
    pub fn rnews(
        &self,
        system: &System,
        prefix: &[&str],
        input: Input<'_>,
        expected: &Expected,
    ) -> Result<Usages> {
        let binary = self.binary.to_string_lossy();
        let news = system.dir.join("news");
        let news = news.to_string_lossy();
        let command: Vec<&str> = prefix
            .iter()
            .copied()
            .chain([&*binary, "rnews", "--dir", &*news, "--json"])
            .collect();
        let outcome = measured(&system.dir, &command, input)?;
        expected.check(&outcome).with_context(|| {
            format!("{} < batch, in {}", command.join(" "), system.dir.display())
        })?;
        Ok(outcome.usages)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::write(
                self.disk.with_file_name(EMPTIED),
                "when a bench last deleted its files here\n",
            );
            for dir in [Some(&self.disk), self.memory.as_ref()]
                .into_iter()
                .flatten()
            {
                let _ = fs::remove_dir_all(dir);
            }
        }
    }
}

/// Lets the bytes of earlier runs reach the disk, so that this run does not pay for them.
pub fn settle() {
    nix::unistd::sync();
}

/// The expected counts in the JSON line: a fast run that filed nothing is invalid.
pub struct Expected {
    articles: u64,
    accepted: u64,
    duplicates: u64,
}

impl Expected {
    /// Every article is new.
    pub fn all_filed(articles: u64) -> Self {
        Expected {
            articles,
            accepted: articles,
            duplicates: 0,
        }
    }

    /// Every article is a duplicate.
    pub fn all_duplicates(articles: u64) -> Self {
        Expected {
            articles,
            accepted: 0,
            duplicates: articles,
        }
    }

    /// Compares the counts.
    ///
    /// # Errors
    /// They differ, or the command failed.
    pub fn check(&self, outcome: &Outcome) -> Result<()> {
        if outcome.status != 0 {
            bail!("exit status {} where 0 was expected", outcome.status);
        }
        let last = outcome
            .output
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or("");
        let printed: serde_json::Value = serde_json::from_str(last)
            .with_context(|| format!("no JSON in the last line: {last}"))?;
        for (name, expected) in [
            ("articles", self.articles),
            ("accepted", self.accepted),
            ("duplicates", self.duplicates),
        ] {
            let found = printed.get(name).and_then(serde_json::Value::as_u64);
            if found != Some(expected) {
                bail!("{name} should be {expected}: {last}");
            }
        }
        Ok(())
    }
}
