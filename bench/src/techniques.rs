//! `bench techniques`: what the techniques of "Measuring and Improving the Performance of 4.2BSD" save today, each in two ways: without it and with it.
//!
//! docs/techniques.md says where each is in the code. The name caches have a bench of their own, `bench namei`.

mod calls;
mod memory;
mod space;
mod spool;

use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use crate::report::median;

/// Runs of each way, in turn.
const RUNS: usize = 9;

/// A technique, switched off and on.
struct Row {
    /// What is measured.
    what: &'static str,
    /// What is done without the technique, and its cost.
    without: (&'static str, f64),
    /// What is done with it, and its cost.
    with: (&'static str, f64),
    unit: &'static str,
    /// The paper's figure.
    paper: &'static str,
}

/// Measures all rows; works in `dir`. `news` is an empty news directory.
///
/// # Errors
/// A system call or the store fails.
pub fn rows(dir: &Path, news: &Path) -> Result<String> {
    let mut rows = spool::rows(news)?;
    rows.push(memory::timers());
    rows.extend(calls::rows(dir)?);
    rows.push(memory::lines()?);
    rows.push(space::row(dir)?);
    let mut text = format!(
        "{:<46} {:>30} {:>30} {:>8}   the paper\n",
        format!("medians of {RUNS}"),
        "without",
        "with",
        "ratio"
    );
    for row in rows {
        let way = |(how, cost): (&str, f64)| format!("{how}: {cost:.3}");
        let ratio = row.without.1 / row.with.1;
        text += &format!(
            "{:<46} {:>30} {:>30} {:>7.1}×   {}\n",
            format!("{}, {}", row.what, row.unit),
            way(row.without),
            way(row.with),
            ratio,
            row.paper
        );
    }
    Ok(text)
}

/// The median cost of one of `count` operations that a run does, for two ways in turn, µs.
fn each_way(
    count: usize,
    mut without: impl FnMut() -> Result<()>,
    mut with: impl FnMut() -> Result<()>,
) -> Result<(f64, f64)> {
    let mut costs = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        costs.0.push(cost(count, &mut without)?);
        costs.1.push(cost(count, &mut with)?);
    }
    Ok((median(costs.0), median(costs.1)))
}

fn cost(count: usize, run: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    run()?;
    Ok(begin.elapsed().as_secs_f64() * 1e6 / count as f64)
}
