//! Power cuts, write errors and bad sectors below real file systems; see README.md.

mod all;
mod check;
mod cuts;
mod device;
mod faults;
mod feeds;
mod folios;
mod image;
mod news;
mod peer;
mod plan;
mod recording;
mod rig;
mod sectors;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use lexopt::prelude::*;

const USAGE: &str = "Usage: torture all [--fs NAME]... [--seed N] [--points N | --seconds N] [--sync WORD] [--keep DIR]
       torture run --fs NAME [--seed N] [--points N] [--size PERCENT] [--sync WORD] [--keep DIR]
       torture faults --fs NAME [--seed N] [--size PERCENT]
       torture feeds --fs NAME [--seed N] [--points N]
       torture sectors --fs NAME [--seed N] [--size PERCENT]
       torture folios --fs NAME [--seed N]
       torture replay --fs NAME --seed N --recording FILE --point EVENTS.SEED...
       torture device DIR BYTES SECTOR    (serves the device; started by the others)";

fn main() -> ExitCode {
    match start() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("torture: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// A random seed, which is printed.
fn random_seed() -> u64 {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    now.as_millis() as u64 % 1_000_000_000
}

/// Runs the command; returns the number of points with errors.
fn start() -> Result<u64> {
    let mut words = lexopt::Parser::from_env();
    let mut verb = String::new();
    let mut operands: Vec<std::ffi::OsString> = Vec::new();
    let mut run = cuts::Run {
        file_system: String::new(),
        seed: random_seed(),
        points: 100,
        size: 100,
        sync: "commit".to_owned(),
        keep: None,
    };
    let (mut recording, mut points) = (None, Vec::new());
    let (mut file_systems, mut seconds) = (Vec::new(), None);
    while let Some(word) = words.next()? {
        match word {
            Long("fs") => file_systems.push(words.value()?.string()?),
            Long("seconds") => seconds = Some(words.value()?.parse()?),
            Long("seed") => run.seed = words.value()?.parse()?,
            Long("points") => run.points = words.value()?.parse()?,
            Long("size") => run.size = words.value()?.parse()?,
            Long("sync") => run.sync = words.value()?.string()?,
            Long("keep") => run.keep = Some(PathBuf::from(words.value()?)),
            Long("recording") => recording = Some(PathBuf::from(words.value()?)),
            Long("point") => points.push(words.value()?.parse()?),
            Value(word) if verb.is_empty() => verb = word.string()?,
            Value(word) => operands.push(word),
            other => bail!("{}\n{USAGE}", other.unexpected()),
        }
    }
    run.file_system = file_systems.first().cloned().unwrap_or_default();
    match verb.as_str() {
        "all" => {
            if file_systems.is_empty() {
                file_systems = rig::file_systems().map(str::to_owned).collect();
            }
            all::all(&all::TortureOptions {
                file_systems,
                seed: run.seed,
                points: run.points,
                seconds,
                sync: run.sync,
                keep: run.keep,
            })
        }
        "device" => {
            let [at, size, sector] = operands.as_slice() else {
                bail!(USAGE);
            };
            let bytes = |word: &std::ffi::OsString| word.to_string_lossy().parse::<u64>();
            device::serve(at.as_ref(), bytes(size)?, bytes(sector)?)?;
            Ok(0)
        }
        "run" | "faults" | "feeds" | "folios" | "sectors" => {
            if let Some(reason) = rig::missing(&run.file_system) {
                println!("skipped: {}: {reason}", run.file_system);
                return Ok(0);
            }
            match verb.as_str() {
                "run" => cuts::run(&run),
                "faults" => faults::run(&run),
                "feeds" => feeds::run(&run),
                "folios" => folios::run(&run),
                _ => sectors::run(&run),
            }
        }
        "replay" => cuts::replay(&run, &recording.context(USAGE)?, &points),
        _ => bail!(USAGE),
    }
}
