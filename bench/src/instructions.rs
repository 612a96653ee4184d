//! `bench instructions`: instructions of rnews, which other work on the machine does not change.
//!
//! The figure for an article is the difference between a large batch and a small one, so that starting the process and the first look
//! at each group do not count.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use bench::generate::Kind;

use crate::machine;
use crate::measure::Input;
use crate::report::{Goal, figure};
use crate::site::{Expected, Site, System};

/// Articles of the small and of the large batch.
const ARTICLES: [u64; 2] = [2_000, 12_000];
/// Groups of the batches.
const GROUPS: usize = 500;

const FILE: Goal = Goal {
    reach: 11_000.0,
    aim: 7_500.0,
};
const REFUSE: Goal = Goal {
    reach: 2_200.0,
    aim: 1_200.0,
};

/// The instructions of a run of rnews; `None` without valgrind.
///
/// # Errors
/// The run fails, or has an unexpected result.
pub fn of_rnews(
    site: &Site,
    system: &System,
    batch: &Path,
    expected: &Expected,
) -> Result<Option<f64>> {
    if machine::output("valgrind", &["--version"]).is_empty() {
        return Ok(None);
    }
    let log = system.dir.join("counted");
    let (to, kept) = (
        format!("--log-file={}", log.display()),
        format!("--callgrind-out-file={}", system.dir.join("kept").display()),
    );
    let prefix = ["valgrind", "--tool=callgrind", &to, &kept];
    site.rnews(system, &prefix, Input::File(batch), expected)?;
    let text = fs::read_to_string(&log).context("reading what valgrind counted")?;
    let line = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, count) = line.context("valgrind counted nothing")?;
    Ok(Some(count.trim().parse()?))
}

/// Instructions to file and to refuse an article, and of an empty run.
///
/// # Errors
/// The binary fails, or does not file all articles.
pub fn rows(site: &mut Site) -> Result<String> {
    let on = site.memory.clone().unwrap_or_else(|| site.disk.clone());
    let mut counted = Vec::new();
    for articles in ARTICLES {
        let kind = Kind::Like {
            articles,
            groups: GROUPS,
        };
        let batch = site.batch(kind, &format!("like-{articles}"))?;
        let file = batch.dir.join("batch");
        let system = site.system(&on, &batch)?;
        let filed = of_rnews(site, &system, &file, &Expected::all_filed(articles))?;
        let refused = of_rnews(site, &system, &file, &Expected::all_duplicates(articles))?;
        let nothing = system.dir.join("nothing");
        fs::write(&nothing, b"")?;
        let empty = of_rnews(site, &system, &nothing, &Expected::all_filed(0))?;
        let (Some(filed), Some(refused), Some(empty)) = (filed, refused, empty) else {
            return Ok(String::from(
                "instructions: valgrind is not installed: skipped\n",
            ));
        };
        counted.push((articles as f64, filed, refused, empty));
        fs::remove_dir_all(&system.dir)?;
    }
    let [small, large] = counted.as_slice() else {
        return Ok(String::new());
    };
    let each = |large: f64, small: f64, articles: f64| (large - small) / articles;
    let articles = large.0 - small.0;
    let mut text = String::new();
    let unit = "instructions an article";
    text += &figure("file", each(large.1, small.1, articles), unit, FILE);
    text += &figure("refuse", each(large.2, small.2, articles), unit, REFUSE);
    text += &format!(
        "an empty run, {GROUPS} groups                     {:>10.0} instructions\n",
        small.3
    );
    Ok(text)
}
