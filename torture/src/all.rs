//! Many runs, some of them in parallel, each a process with its own mount namespace.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::rig;

/// Most cuts of one workload; then another workload is recorded.
const POINTS_PER_RUN: u64 = 120;
/// With `seconds`, one of this number of runs tests write errors, one bad sectors (every other time under large folios), and one feeds.
const RUNS_PER_FAULTS: u64 = 5;

/// The options.
#[derive(Clone, Debug)]
pub struct TortureOptions {
    pub file_systems: Vec<String>,
    /// Seed of the first run; each later run has the next.
    pub seed: u64,
    /// Number of power cuts in options.
    pub points: u64,
    /// Runs for this time instead, and injects faults as well.
    pub seconds: Option<u64>,
    pub sync: String,
    pub keep: Option<PathBuf>,
}

/// One process.
struct Job {
    file_system: String,
    seed: u64,
    points: u64,
    verb: &'static str,
}

/// Runs all jobs; returns the number of runs with errors.
pub fn all(options: &TortureOptions) -> Result<u64> {
    let begun = Instant::now();
    let mut usable = Vec::new();
    for name in &options.file_systems {
        match rig::missing(name) {
            Some(reason) => println!("skipped: power cuts on {name}: {reason}"),
            None => usable.push(name.clone()),
        }
    }
    if usable.is_empty() {
        return Ok(0);
    }
    println!("the first seed is {}", options.seed);
    let next = AtomicU64::new(0);
    let planned = options.points.div_ceil(POINTS_PER_RUN);
    let job = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let index = (number % usable.len() as u64) as usize;
        let is_due = match options.seconds {
            Some(seconds) => begun.elapsed() < Duration::from_secs(seconds),
            None => number < planned,
        };
        // Five, and four file systems, have no common factor, so every file system gets every kind.
        let verb = match number % RUNS_PER_FAULTS {
            _ if options.seconds.is_none() => "run",
            1 => "feeds",
            2 if number / RUNS_PER_FAULTS % 2 == 1 => "folios",
            2 => "sectors",
            3 => "faults",
            _ => "run",
        };
        Some(Job {
            file_system: usable.get(index).filter(|_| is_due)?.clone(),
            seed: options.seed + number,
            points: match options.seconds {
                Some(_) => POINTS_PER_RUN,
                None => options.points * (number + 1) / planned - options.points * number / planned,
            },
            verb,
        })
    };
    let result = Mutex::new(BTreeMap::new());
    let at_once = std::thread::available_parallelism().map_or(1, usize::from) + 1;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    while let Some(job) = job() {
                        let wrong = run(options, &job)?;
                        if let Ok(mut result) = result.lock() {
                            let (cuts, losses): &mut (u64, u64) =
                                result.entry(job.file_system).or_default();
                            *cuts += if job.verb == "run" { job.points } else { 0 };
                            *losses += u64::from(wrong);
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;
    let result = result.into_inner().unwrap_or_default();
    let cuts: u64 = result.values().map(|(cuts, _)| cuts).sum();
    let wrong: u64 = result.values().map(|(_, wrong)| wrong).sum();
    let each: Vec<String> = result
        .iter()
        .map(|(name, (cuts, _))| format!("{name} {cuts}"))
        .collect();
    println!(
        "{cuts} power cuts ({}) in {:.0} s; {wrong} runs with losses; seeds {} to {}",
        each.join(", "),
        begun.elapsed().as_secs_f64(),
        options.seed,
        options.seed + next.into_inner().saturating_sub(1 + at_once as u64),
    );
    Ok(wrong)
}

/// Runs a job; returns true if it found an error.
fn run(options: &TortureOptions, job: &Job) -> Result<bool> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args([job.verb, "--fs", &job.file_system, "--sync", &options.sync])
        .args(["--seed", &job.seed.to_string()])
        .args(["--points", &job.points.to_string()]);
    if let Some(folder) = &options.keep {
        command.arg("--keep").arg(folder);
    }
    let output = command
        .output()
        .context("cannot start this program again")?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Ok(!output.status.success())
}
