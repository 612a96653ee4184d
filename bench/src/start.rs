//! `bench start`: what it costs to start a process, which is most of a run of rnews on a small batch.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bench::generate::{self, Kind};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

use crate::measure::{Input, Usages, measured};
use crate::nntp::Ended;
use crate::report::median;
use crate::site::{Batch, Expected, Site, System};

/// Runs of each row in a round.
const RUNS: u32 = 20;
/// Groups of a small site, and of one with all of Usenet.
const GROUPS: [usize; 2] = [500, 45_000];
/// Time limit for the daemon to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time in which the daemon finishes its work for a batch whose result it has reported.
const REST: Duration = Duration::from_millis(30);

/// A row: the same command of one program, many times.
struct Row {
    what: String,
    system: System,
    words: Vec<String>,
    input: PathBuf,
    /// Each run gets a batch of its own, of as many articles as the paper's.
    anew: bool,
    expected: Option<Expected>,
    /// The process whose CPU time counts as well.
    daemon: Option<Pid>,
    runs: Vec<Usages>,
}

/// Measures the rows of each program in turn: a first word, an empty rnews, the paper's batch as duplicates and as new articles, without and
/// with a daemon.
///
/// # Errors
/// A program is missing or fails.
pub fn rows(site: &mut Site, beside: Option<&Path>, rounds: u32) -> Result<String> {
    let own = site.binary.clone();
    let mut programs = vec![own.clone()];
    programs.extend(beside.map(Path::to_owned));
    let paper = site.batch(Kind::Paper, "paper")?;
    let mut sides = Vec::new();
    for program in &programs {
        site.binary.clone_from(program);
        let (rows, daemons) = of_program(site, &paper)?;
        sides.push((program.clone(), rows, daemons));
    }
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for _ in 0..RUNS {
            for (program, rows, _) in &mut sides {
                for row in rows {
                    row.run(program)?;
                }
            }
        }
    }
    site.binary = own;
    let mut text = format!(
        "{:<58} {:>5} {:>8} {:>8}\n",
        "medians, ms", "runs", "cpu", "real"
    );
    for (program, rows, daemons) in sides {
        text += &format!("{}\n", program.display());
        for row in &rows {
            let of = |time: fn(&Usages) -> Duration| {
                median(
                    row.runs
                        .iter()
                        .map(|run| time(run).as_secs_f64() * 1e3)
                        .collect(),
                )
            };
            text += &format!(
                "  {:<56} {:>5} {:>8.3} {:>8.3}\n",
                row.what,
                row.runs.len(),
                of(Usages::cpu),
                of(|run| run.real)
            );
        }
        drop(daemons);
    }
    Ok(text)
}

/// The rows of one program, and its daemons.
fn of_program(site: &mut Site, paper: &Batch) -> Result<(Vec<Row>, [Ended; 2])> {
    let disk = site.disk.clone();
    let nothing = disk.join("nothing");
    fs::write(&nothing, b"")?;
    let version = site.fresh(&disk)?;
    let mut rows = vec![Row {
        what: "version".to_owned(),
        system: System { dir: version },
        words: vec!["version".to_owned()],
        input: nothing.clone(),
        anew: false,
        expected: None,
        daemon: None,
        runs: Vec::new(),
    }];
    for groups in GROUPS {
        let kind = Kind::Like {
            articles: 1,
            groups,
        };
        let batch = site.batch(kind, &format!("groups-{groups}"))?;
        let system = site.system(&disk, &batch)?;
        let what = format!("rnews, empty, {groups} groups");
        rows.push(Row::of_rnews(
            what,
            system,
            &nothing,
            Expected::all_filed(0),
        ));
    }
    let batch = paper.dir.join("batch");
    let duplicates = || Expected::all_duplicates(paper.articles);
    let filed = |site: &mut Site| {
        let system = site.system(&disk, paper)?;
        let expected = Expected::all_filed(paper.articles);
        site.rnews(&system, &[], Input::File(&batch), &expected)?;
        anyhow::Ok(system)
    };
    let what = format!("rnews, {} duplicates", paper.articles);
    rows.push(Row::of_rnews(what, filed(site)?, &batch, duplicates()));
    let served = filed(site)?;
    let refusing = serve(site, &served)?;
    let what = format!(
        "rnews, {} duplicates, passed to the daemon: rnews alone",
        paper.articles
    );
    rows.push(Row::of_rnews(what, served, &batch, duplicates()));
    let what = format!("rnews, {} new articles", paper.articles);
    rows.push(Row::of_new_articles(what, site.warm_system(paper)?, paper));
    let served = site.warm_system(paper)?;
    let filing = serve(site, &served)?;
    let what = format!(
        "rnews, {} new articles, passed to the daemon: both",
        paper.articles
    );
    rows.push(Row {
        daemon: Some(Pid::from_raw(i32::try_from(filing.0.id())?)),
        ..Row::of_new_articles(what, served, paper)
    });
    Ok((rows, [refusing, filing]))
}

/// Starts the daemon, which listens at no port.
fn serve(site: &Site, system: &System) -> Result<Ended> {
    let news = system.dir.join("news");
    let child = Command::new(&site.binary)
        .args(["serve", "--dir"])
        .arg(&news)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(system.dir.join("serve.log"))?)
        .spawn()
        .context("starting broadsheet serve")?;
    let daemon = Ended(child);
    let begin = Instant::now();
    while !news.join("control.sock").exists() {
        if begin.elapsed() > PATIENCE {
            bail!("the daemon does not start: see {}", system.dir.display());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(daemon)
}

/// The CPU time that a process has used, with all its threads, those that have ended too.
fn cpu_time(process: Pid) -> Result<Duration> {
    let clock = clock_getcpuclockid(process).context("finding the clock of the daemon")?;
    Ok(clock.now()?.into())
}

impl Row {
    fn of_rnews(what: String, system: System, input: &Path, expected: Expected) -> Row {
        let news = system.dir.join("news").to_string_lossy().into_owned();
        Row {
            what,
            words: ["rnews", "--dir", &news, "--json"]
                .map(str::to_owned)
                .into(),
            system,
            input: input.to_owned(),
            anew: false,
            expected: Some(expected),
            daemon: None,
            runs: Vec::new(),
        }
    }

    fn of_new_articles(what: String, system: System, paper: &Batch) -> Row {
        let input = system.dir.join("batch");
        let expected = Expected::all_filed(paper.articles);
        Row {
            anew: true,
            ..Row::of_rnews(what, system, &input, expected)
        }
    }

    fn run(&mut self, program: &Path) -> Result<()> {
        if self.anew {
            let seed = self.runs.len() as u64 + 1;
            let mut out = BufWriter::new(fs::File::create(&self.input)?);
            generate::batch(Kind::Paper, seed, &mut out)?;
        }
        let program = program.to_string_lossy();
        let words = self.words.iter().map(String::as_str);
        let command: Vec<&str> = std::iter::once(&*program).chain(words).collect();
        let before = self.daemon.map(cpu_time).transpose()?;
        let mut outcome = measured(&self.system.dir, &command, Input::File(&self.input))?;
        if let (Some(daemon), Some(before)) = (self.daemon, before) {
            std::thread::sleep(REST);
            outcome.usages.user += cpu_time(daemon)? - before;
        }
        if let Some(expected) = &self.expected {
            expected
                .check(&outcome)
                .with_context(|| self.what.clone())?;
        }
        self.runs.push(outcome.usages);
        Ok(())
    }
}
