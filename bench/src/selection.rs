//! Measures the selection of sites: the same articles filed with few sites and with many, of which the same number wants each article.

use std::fs;

use anyhow::{Context, Result};
use bench::generate;

use crate::instructions;
use crate::measure::Input;
use crate::report::{Goal, figure, median};
use crate::site::{Batch, Expected, Site};

/// Number of sites in `sys` besides the generator's five.
const IDLE: usize = 495;

/// Goal of the ratio of time, and of instructions, between five hundred sites and five.
const RATIO: Goal = Goal {
    reach: 1.1,
    aim: 1.02,
};

/// Measures the rows. The news directories are on tmpfs if there is one, because disks vary more than the difference.
///
/// # Errors
/// The binary fails, or does not file all articles.
pub fn rows(site: &mut Site, ten: &Batch, rounds: u32) -> Result<String> {
    let mut ratios = Vec::new();
    // The first round warms up.
    for round in 0..=rounds {
        let few = cpu(site, ten, 0)?;
        let many = cpu(site, ten, IDLE)?;
        if round > 0 {
            ratios.push(many / few);
        }
    }
    let mut out = figure(
        "feed selection: CPU, 500 sites to 5",
        median(ratios),
        "× (median of rounds)",
        RATIO,
    );
    out.push_str(&instructions(site, ten)?);
    Ok(out)
}

/// Seconds of CPU time for filing the batch.
fn cpu(site: &mut Site, ten: &Batch, idle: usize) -> Result<f64> {
    let system = system(site, ten, idle)?;
    let batch = ten.dir.join("batch");
    let expected = Expected::all_filed(ten.articles);
    let usages = site.rnews(&system, &[], Input::File(&batch), &expected)?;
    fs::remove_dir_all(&system.dir)?;
    Ok(usages.cpu().as_secs_f64())
}

/// A news system that feeds the five sites, and `idle` more. They already have their cursors.
fn system(site: &mut Site, ten: &Batch, idle: usize) -> Result<crate::site::System> {
    let on = site.memory.clone().unwrap_or_else(|| site.disk.clone());
    let system = site.system(&on, ten)?;
    let sys = system.dir.join("news/sys");
    fs::write(&sys, generate::sys_with_idle(idle)).context("putting the sys file in its place")?;
    let nothing = system.dir.join("nothing");
    fs::write(&nothing, b"")?;
    site.rnews(&system, &[], Input::File(&nothing), &Expected::all_filed(0))?;
    Ok(system)
}

/// Instructions, if valgrind is installed: nearly the same number in every run.
fn instructions(site: &mut Site, ten: &Batch) -> Result<String> {
    let mut counted = Vec::new();
    for idle in [0, IDLE] {
        let system = system(site, ten, idle)?;
        let batch = ten.dir.join("batch");
        let expected = Expected::all_filed(ten.articles);
        match instructions::of_rnews(site, &system, &batch, &expected)? {
            Some(count) => counted.push(count),
            None => {
                return Ok(String::from(
                    "feed selection, instructions: valgrind is not installed: skipped\n",
                ));
            }
        }
        fs::remove_dir_all(&system.dir)?;
    }
    let [few, many] = counted.as_slice() else {
        return Ok(String::new());
    };
    let figure = figure(
        "feed selection: instructions, 500 sites to 5",
        many / few,
        "×",
        RATIO,
    );
    let articles = ten.articles as f64;
    Ok(format!(
        "{figure}instructions an article: {:.0} with 5 sites, {:.0} with 500\n",
        few / articles,
        many / articles
    ))
}
