//! `bench run`: the real binary, row by row, each run in a fresh directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use bench::generate::{self, Kind, SEED};

use crate::measure::{Input, Outcome, Usages, measured};
use crate::report::{Goal, Runs, every_run, figure, median, medians};
use crate::{index, inn, limit, machine};

/// What `bench run` was asked to do.
pub struct Plan {
    /// The broadsheet to time.
    pub binary: PathBuf,
    /// Where to work on a disk; the checkout's target directory by default.
    pub dir: PathBuf,
    /// How many rounds; each does every row once, so that rows alternate.
    pub rounds: u32,
    /// Fewer rounds, and a twelfth of the gigabyte.
    pub quick: bool,
    /// Leave INN out.
    pub no_peer: bool,
    /// Leave the directories behind.
    pub keep: bool,
}

/// The paper's batch is small: several runs a round.
const PAPER_RUNS: u32 = 5;

/// Where tmpfs is looked for.
const TMPFS: &str = "/dev/shm";

const FILE_DISK: Goal = Goal {
    reach: 9.7,
    aim: 3.0,
};
const FILE_TMPFS: Goal = Goal {
    reach: 3.0,
    aim: 1.4,
};
const PAPER: Goal = Goal {
    reach: 12.0,
    aim: 6.0,
};
const DUPLICATES: Goal = Goal {
    reach: 1.0,
    aim: 0.5,
};
const SYSTEM_CALLS: Goal = Goal {
    reach: 0.1,
    aim: 0.02,
};
const REAL_TO_LIMIT: Goal = Goal {
    reach: 2.0,
    aim: 1.25,
};
const MEMORY_MB: Goal = Goal {
    reach: 128.0,
    aim: 64.0,
};

/// Two places to work in, emptied only when everything has been measured: ext4
/// makes files several times slower just after many were deleted.
struct Site {
    binary: PathBuf,
    disk: PathBuf,
    memory: Option<PathBuf>,
    made: u32,
    keep: bool,
}

impl Drop for Site {
    fn drop(&mut self) {
        if !self.keep {
            for dir in [Some(&self.disk), self.memory.as_ref()]
                .into_iter()
                .flatten()
            {
                let _ = fs::remove_dir_all(dir);
            }
        }
    }
}

/// A batch on disk and the files that go with it.
struct Batch {
    dir: PathBuf,
    articles: u64,
    bytes: u64,
}

/// A news system made by `broadsheet init`.
struct System {
    /// The directory made for this run; the news directory is in it.
    dir: PathBuf,
}

impl Site {
    fn batch(&self, kind: Kind, name: &str) -> Result<Batch> {
        let dir = self.disk.join(name);
        let totals = generate::files(kind, SEED, &dir)
            .with_context(|| format!("making the batch {name}"))?;
        Ok(Batch {
            dir,
            articles: totals.articles,
            bytes: totals.bytes,
        })
    }

    /// A fresh directory.
    fn fresh(&mut self, on: &Path) -> Result<PathBuf> {
        self.made += 1;
        let dir = on.join(format!("run-{}", self.made));
        fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
        Ok(dir)
    }

    /// A fresh news system for this batch.
    fn system(&mut self, on: &Path, batch: &Batch) -> Result<System> {
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

    /// One `rnews`, with `prefix` before it (a tracer), and its check.
    fn rnews(
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

/// Lets earlier runs' bytes reach the disk, so that they are not paid for by this one.
fn settle() {
    nix::unistd::sync();
}

/// What the JSON line has to say: a fast run that filed nothing is no result.
struct Expected {
    articles: u64,
    accepted: u64,
    duplicates: u64,
}

impl Expected {
    fn all_filed(articles: u64) -> Self {
        Expected {
            articles,
            accepted: articles,
            duplicates: 0,
        }
    }

    fn all_duplicates(articles: u64) -> Self {
        Expected {
            articles,
            accepted: 0,
            duplicates: articles,
        }
    }

    fn check(&self, outcome: &Outcome) -> Result<()> {
        if outcome.status != 0 {
            bail!("exit status {} where 0 was expected", outcome.status);
        }
        let last = outcome
            .output
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or("");
        let said: serde_json::Value = serde_json::from_str(last)
            .with_context(|| format!("no JSON in the last line: {last}"))?;
        for (name, expected) in [
            ("articles", self.articles),
            ("accepted", self.accepted),
            ("duplicates", self.duplicates),
        ] {
            let found = said.get(name).and_then(serde_json::Value::as_u64);
            if found != Some(expected) {
                bail!("{name} should be {expected}: {last}");
            }
        }
        Ok(())
    }
}

/// Runs everything and prints it.
///
/// # Errors
/// When the binary is missing, fails, or does not file what it should.
pub fn run(plan: &Plan) -> Result<()> {
    let memory = Path::new(TMPFS)
        .is_dir()
        .then(|| Path::new(TMPFS).join(format!("broadsheet-bench-{}", std::process::id())));
    let disk = plan.dir.join(format!("bench-{}", std::process::id()));
    fs::create_dir_all(&disk).with_context(|| format!("making {}", disk.display()))?;
    let mut site = Site {
        binary: plan.binary.clone(),
        disk,
        memory,
        made: 0,
        keep: plan.keep,
    };
    print!("{}", machine::description());
    let command: Vec<String> = std::env::args().collect();
    println!("command  {}\n", command.join(" "));

    let ten = site.batch(Kind::TenThousand, "ten-thousand")?;
    let paper = site.batch(Kind::Paper, "paper")?;
    let mut rows = rounds(plan, &mut site, &ten, &paper)?;
    let skipped = match plan.no_peer {
        true => String::from("INN: left out as asked\n"),
        false => peer(plan, &mut site, &ten, &mut rows)?,
    };
    print!("{}\n{}", every_run(&rows), medians(&rows));
    print!("{skipped}{}", ratio_to_limit(&rows));
    print!("{}", system_calls(&mut site, &ten)?);
    print!("{}", memory_of_large(plan, &mut site)?);
    print!("{}", index::rows(index::IDS)?);
    Ok(())
}

/// The rows that are repeated, in the order in which the functions below expect them.
fn rounds(plan: &Plan, site: &mut Site, ten: &Batch, paper: &Batch) -> Result<Vec<Runs>> {
    let (disk, memory) = (site.disk.clone(), site.memory.clone());
    let kind = machine::file_system(&disk);
    let mut filed = Runs::of(
        format!("file {}, {kind}, durable", ten.articles),
        ten.articles,
        Some(FILE_DISK),
    );
    let mut bare = Runs::of(
        format!("limit: write + fdatasync, {kind}"),
        ten.articles,
        None,
    );
    let mut refused = Runs::of(
        format!("refuse {} as duplicates, {kind}", ten.articles),
        ten.articles,
        Some(DUPLICATES),
    );
    let mut quick = Runs::of(
        format!("file {}, tmpfs", ten.articles),
        ten.articles,
        Some(FILE_TMPFS),
    );
    let mut small = Runs::of(
        format!("the paper's {}, {kind}, whole process", paper.articles),
        paper.articles,
        Some(PAPER),
    );
    let batch = ten.dir.join("batch");
    let bytes = fs::read(&batch).context("reading the batch back")?;
    for round in 1..=plan.rounds {
        eprintln!("round {round} of {}", plan.rounds);
        let system = site.system(&disk, ten)?;
        filed.runs.push(site.rnews(
            &system,
            &[],
            Input::File(&batch),
            &Expected::all_filed(ten.articles),
        )?);
        settle();
        bare.runs.push(limit::write_and_sync(
            &site.fresh(&disk)?.join("bytes"),
            &bytes,
        )?);
        refused.runs.push(site.rnews(
            &system,
            &[],
            Input::File(&batch),
            &Expected::all_duplicates(ten.articles),
        )?);
        if let Some(memory) = &memory {
            let system = site.system(memory, ten)?;
            quick.runs.push(site.rnews(
                &system,
                &[],
                Input::File(&batch),
                &Expected::all_filed(ten.articles),
            )?);
            // Memory is not given back by itself; tmpfs does not mind deletion.
            fs::remove_dir_all(&system.dir)?;
        }
        for _ in 0..PAPER_RUNS {
            let system = site.system(&disk, paper)?;
            let input = paper.dir.join("batch");
            small.runs.push(site.rnews(
                &system,
                &[],
                Input::File(&input),
                &Expected::all_filed(paper.articles),
            )?);
        }
    }
    Ok(vec![filed, bare, refused, quick, small])
}

/// Durable filing in real time, run by run against the limit of the same round.
fn ratio_to_limit(rows: &[Runs]) -> String {
    let (Some(filed), Some(bare)) = (rows.first(), rows.get(1)) else {
        return String::new();
    };
    let pairs = filed.runs.iter().zip(&bare.runs);
    let ratios: Vec<f64> = pairs
        .map(|(filed, bare)| filed.real.as_secs_f64() / bare.real.as_secs_f64())
        .collect();
    figure(
        "real time against the machine's limit",
        median(ratios),
        "× (median of rounds)",
        REAL_TO_LIMIT,
    )
}

/// INN beside us, where it is there.
fn peer(plan: &Plan, site: &mut Site, ten: &Batch, rows: &mut Vec<Runs>) -> Result<String> {
    if let Some(reason) = inn::unusable() {
        return Ok(format!("{reason}: skipped\n"));
    }
    let kind = machine::file_system(&site.disk);
    let mut filed = Runs::of(
        format!("INN: file {}, {kind}, rnews + innd", ten.articles),
        ten.articles,
        None,
    );
    let mut refused = Runs::of("INN: refuse them as duplicates", ten.articles, None);
    for round in 1..=if plan.quick { 1 } else { plan.rounds.min(3) } {
        eprintln!("INN, round {round}");
        let disk = site.disk.clone();
        let dir = site.fresh(&disk)?;
        let server = inn::Server::start(&dir, &ten.dir).context("starting INN")?;
        settle();
        filed.runs.push(server.feed(&ten.dir.join("batch"))?);
        settle();
        refused.runs.push(server.feed(&ten.dir.join("batch"))?);
        let held = server.stop()?;
        if held != ten.articles {
            bail!(
                "INN holds {held} articles of {} after the run in {}",
                ten.articles,
                dir.display()
            );
        }
    }
    rows.extend([filed, refused]);
    Ok(String::new())
}

/// System calls an article, counted in a run of its own because counting slows it.
fn system_calls(site: &mut Site, ten: &Batch) -> Result<String> {
    if machine::output("strace", &["-V"]).is_empty() {
        return Ok(String::from(
            "system calls an article: strace is not installed: skipped\n",
        ));
    }
    let disk = site.disk.clone();
    let system = site.system(&disk, ten)?;
    let counts = system.dir.join("calls");
    let counts = counts.to_string_lossy();
    let batch = ten.dir.join("batch");
    site.rnews(
        &system,
        &["strace", "-f", "-c", "-S", "calls", "-o", &counts],
        Input::File(&batch),
        &Expected::all_filed(ten.articles),
    )?;
    let text = fs::read_to_string(&*counts).context("reading what strace counted")?;
    let mut most = String::new();
    let mut total = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (Some(Ok(calls)), Some(name)) =
            (words.get(3).map(|word| word.parse::<u64>()), words.last())
        else {
            continue;
        };
        if *name == "total" {
            total = Some(calls);
        } else if most.split(' ').count() <= 16 {
            most.push_str(&format!(" {name} {calls}"));
        }
    }
    let total = total.context("strace printed no total")?;
    let an_article = total as f64 / ten.articles as f64;
    Ok(
        figure("system calls an article", an_article, "calls", SYSTEM_CALLS)
            + &format!("    {total} in all:{most}\n"),
    )
}

/// Largest resident set with a batch far larger than it should be.
fn memory_of_large(plan: &Plan, site: &mut Site) -> Result<String> {
    let kind = match plan.quick {
        true => Kind::Like {
            articles: 27_000,
            groups: 2_000,
        },
        false => Kind::Gigabyte,
    };
    let disk = site.disk.clone();
    let batch = site.batch(kind, "large")?;
    let mut text = String::new();
    for through in ["a pipe", "a file"] {
        let system = site.system(&disk, &batch)?;
        let file = batch.dir.join("batch");
        let input = match through {
            "a pipe" => {
                let mut source = Command::new("cat");
                source.arg(&file);
                Input::Pipe(source)
            }
            _ => Input::File(&file),
        };
        let usages = site.rnews(&system, &[], input, &Expected::all_filed(batch.articles))?;
        let megabytes = usages.resident_kib as f64 * 1024.0 / 1e6;
        let what = format!(
            "peak memory, {:.2} GB from {through}",
            batch.bytes as f64 / 1e9
        );
        text.push_str(&figure(&what, megabytes, "MB", MEMORY_MB));
        let an_article =
            |time: std::time::Duration| time.as_secs_f64() * 1e6 / batch.articles as f64;
        text.push_str(&format!(
            "    {} articles in {:.2} s; cpu {:.3} µs and real {:.3} µs an article\n",
            batch.articles,
            usages.real.as_secs_f64(),
            an_article(usages.cpu()),
            an_article(usages.real),
        ));
        fs::remove_dir_all(&system.dir)?;
    }
    Ok(text)
}
