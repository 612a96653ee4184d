//! `bench start`: what it costs to start a process, which is most of a run of rnews on a small batch.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bench::generate::Kind;

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

/// A row: the same command of one program, many times.
struct Row {
    what: String,
    system: System,
    words: Vec<String>,
    input: std::path::PathBuf,
    expected: Option<Expected>,
    runs: Vec<Usages>,
}

/// Measures the rows of each program in turn: a first word, an empty rnews, the paper's batch as duplicates, without and with a daemon.
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
        sides.push((program.clone(), of_program(site, &paper)?));
    }
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for _ in 0..RUNS {
            for (program, (rows, _)) in &mut sides {
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
    for (program, (rows, daemon)) in sides {
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
        drop(daemon);
    }
    Ok(text)
}

/// The rows of one program, and the daemon of the last.
fn of_program(site: &mut Site, paper: &Batch) -> Result<(Vec<Row>, Ended)> {
    let disk = site.disk.clone();
    let nothing = disk.join("nothing");
    fs::write(&nothing, b"")?;
    let version = site.fresh(&disk)?;
    let mut rows = vec![Row {
        what: "version".to_owned(),
        system: System { dir: version },
        words: vec!["version".to_owned()],
        input: nothing.clone(),
        expected: None,
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
    let daemon = serve(site, &served)?;
    let what = format!("rnews, {} duplicates, passed to the daemon", paper.articles);
    rows.push(Row::of_rnews(what, served, &batch, duplicates()));
    Ok((rows, daemon))
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
            expected: Some(expected),
            runs: Vec::new(),
        }
    }

    fn run(&mut self, program: &Path) -> Result<()> {
        let program = program.to_string_lossy();
        let words = self.words.iter().map(String::as_str);
        let command: Vec<&str> = std::iter::once(&*program).chain(words).collect();
        let outcome = measured(&self.system.dir, &command, Input::File(&self.input))?;
        if let Some(expected) = &self.expected {
            expected
                .check(&outcome)
                .with_context(|| self.what.clone())?;
        }
        self.runs.push(outcome.usages);
        Ok(())
    }
}
