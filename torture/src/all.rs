//! Many runs, a few at once, each a process with a mount namespace of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::rig;

/// Cuts of one workload, at most: then another is recorded.
const POINTS_PER_RUN: u64 = 120;
/// Where it goes on by time, one of so many runs is of write errors, and one of bad sectors.
const RUNS_PER_FAULTS: u64 = 4;

/// What to do.
#[derive(Clone, Debug)]
pub struct All {
    pub file_systems: Vec<String>,
    /// Of the first run; the next has the next.
    pub seed: u64,
    /// Power cuts in all.
    pub points: u64,
    /// Goes on for so long instead, and injects faults as well.
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

/// Runs them; returns how many had something wrong.
pub fn all(all: &All) -> Result<u64> {
    let begun = Instant::now();
    let mut usable = Vec::new();
    for name in &all.file_systems {
        match rig::missing(name) {
            Some(reason) => println!("skipped: power cuts on {name}: {reason}"),
            None => usable.push(name.clone()),
        }
    }
    if usable.is_empty() {
        return Ok(0);
    }
    println!("the first seed is {}", all.seed);
    let next = AtomicU64::new(0);
    let planned = all.points.div_ceil(POINTS_PER_RUN);
    let job = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let place = (number % usable.len() as u64) as usize;
        let is_due = match all.seconds {
            Some(seconds) => begun.elapsed() < Duration::from_secs(seconds),
            None => number < planned,
        };
        // Four and three, the number of file systems, have no common factor: each gets all.
        let verb = match number % RUNS_PER_FAULTS {
            _ if all.seconds.is_none() => "run",
            2 => "sectors",
            3 => "faults",
            _ => "run",
        };
        Some(Job {
            file_system: usable.get(place).filter(|_| is_due)?.clone(),
            seed: all.seed + number,
            points: match all.seconds {
                Some(_) => POINTS_PER_RUN,
                None => all.points * (number + 1) / planned - all.points * number / planned,
            },
            verb,
        })
    };
    let told = Mutex::new(BTreeMap::new());
    let at_once = std::thread::available_parallelism().map_or(1, usize::from) + 1;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    while let Some(job) = job() {
                        let wrong = run(all, &job)?;
                        if let Ok(mut told) = told.lock() {
                            let (cuts, losses): &mut (u64, u64) =
                                told.entry(job.file_system).or_default();
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
    let told = told.into_inner().unwrap_or_default();
    let cuts: u64 = told.values().map(|(cuts, _)| cuts).sum();
    let wrong: u64 = told.values().map(|(_, wrong)| wrong).sum();
    let each: Vec<String> = told
        .iter()
        .map(|(name, (cuts, _))| format!("{name} {cuts}"))
        .collect();
    println!(
        "{cuts} power cuts ({}) in {:.0} s; {wrong} runs with losses; seeds {} to {}",
        each.join(", "),
        begun.elapsed().as_secs_f64(),
        all.seed,
        all.seed + next.into_inner().saturating_sub(1 + at_once as u64),
    );
    Ok(wrong)
}

/// True when something was wrong.
fn run(all: &All, job: &Job) -> Result<bool> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args([job.verb, "--fs", &job.file_system, "--sync", &all.sync])
        .args(["--seed", &job.seed.to_string()])
        .args(["--points", &job.points.to_string()]);
    if let Some(folder) = &all.keep {
        command.arg("--keep").arg(folder);
    }
    let output = command.output().context("cannot run this program again")?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Ok(!output.status.success())
}
