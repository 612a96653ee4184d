//! The resource usage of a process and its descendants, by /proc.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The kernel's unit in /proc/PID/stat (USER_HZ), in ticks a second.
const TICKS: u64 = 100;

/// A server is idle if it used less CPU time than `REST` in `PAUSE`.
const REST: Duration = Duration::from_micros(500);
const PAUSE: Duration = Duration::from_millis(50);
/// Most pauses; a server that never becomes idle is measured all the same.
const PAUSES_MAX: u32 = 60;

/// The processes and their descendants.
fn tree(roots: &[u32]) -> Result<Vec<u32>> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process that has just exited is not an error.
        if let Some(parent) = field(id, 1) {
            parents.push((id, parent));
        }
    }
    let mut found = roots.to_vec();
    let mut looked = 0;
    while let Some(&parent) = found.get(looked) {
        let below = parents
            .iter()
            .filter(|(_, above)| *above == u64::from(parent));
        found.extend(below.map(|(id, _)| *id));
        looked += 1;
    }
    Ok(found)
}

/// Waits until all children have exited, at most `PAUSES_MAX` pauses.
///
/// # Errors
/// Those of /proc.
pub fn alone(roots: &[u32]) -> Result<()> {
    for _ in 0..PAUSES_MAX {
        if tree(roots)?.len() == roots.len() {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// A field of the stat line, counted from the state after the name.
fn field(id: u32, number: usize) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    rest.split(' ').nth(number)?.parse().ok()
}

/// CPU time of the tree, once it is idle.
///
/// # Errors
/// Those of /proc.
pub fn at_rest(roots: &[u32]) -> Result<Duration> {
    let mut last = cpu(roots)?;
    for _ in 0..PAUSES_MAX {
        std::thread::sleep(PAUSE);
        let now = cpu(roots)?;
        if now.saturating_sub(last) < REST {
            return Ok(now);
        }
        last = now;
    }
    Ok(last)
}

/// CPU time of live threads, in nanoseconds, and of children that have exited, in ticks.
pub fn cpu(roots: &[u32]) -> Result<Duration> {
    for root in roots {
        if fs::metadata(format!("/proc/{root}/stat")).is_err() {
            bail!("the server has ended");
        }
    }
    let mut sum = Duration::ZERO;
    for id in tree(roots)? {
        let Ok(threads) = fs::read_dir(format!("/proc/{id}/task")) else {
            continue;
        };
        for thread in threads.flatten() {
            let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let ran = text.split(' ').next().and_then(|ran| ran.parse().ok());
            sum += Duration::from_nanos(ran.unwrap_or(0));
        }
        let gone = field(id, 13).unwrap_or(0) + field(id, 14).unwrap_or(0);
        sum += Duration::from_millis(gone * 1_000 / TICKS);
    }
    Ok(sum)
}

/// Bytes of the tree's proportional set: shared pages are divided among the processes that share them.
///
/// # Errors
/// Those of /proc.
pub fn memory(roots: &[u32]) -> Result<u64> {
    let mut kib = 0;
    for id in tree(roots)? {
        let file = format!("/proc/{id}/smaps_rollup");
        // A child that has just exited has no memory.
        let text = match fs::read_to_string(&file) {
            Err(_) if !roots.contains(&id) => continue,
            other => other.with_context(|| format!("reading {file}"))?,
        };
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kib += number
            .and_then(|number| number.parse::<u64>().ok())
            .with_context(|| format!("no Pss in {file}"))?;
    }
    Ok(kib * 1024)
}
