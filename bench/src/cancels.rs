//! Measures a mass of cancels beside articles of the same size: cancels with a Cancel-Key for articles that are absent, and pairs of an
//! article and its cancel.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bench::generate::Kind;
use sha2::{Digest, Sha256};

use crate::machine;
use crate::measure::Input;
use crate::plan::Plan;
use crate::report::{Goal, figure, median};
use crate::site::{Batch, Expected, Site};

/// Articles in each batch.
const ARTICLES: u64 = 2_000;

/// Bytes of a body, about those of the generator's articles.
const BODY_BYTES: usize = 2_700;

/// Goal of the rate of cancels, as a part of that of articles.
const RATE: Goal = Goal {
    reach: 0.5,
    aim: 1.0,
};

/// Measures and prints.
///
/// # Errors
/// The binary is missing, or does not file all articles.
pub fn run(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    print!("{}", machine::description());
    let groups = site.batch(
        Kind::Like {
            articles: ARTICLES,
            groups: 1,
        },
        "groups",
    )?;
    let active = fs::read_to_string(groups.dir.join("active"))?;
    let group = active.split(' ').next().context("no group")?;
    let made: [(&str, Vec<String>); 3] = [
        (
            "articles",
            (0..ARTICLES).map(|n| article(group, n, "")).collect(),
        ),
        (
            "cancels of absent articles",
            (0..ARTICLES).map(|n| cancel(group, n)).collect(),
        ),
        (
            "pairs of article and cancel",
            (0..ARTICLES / 2)
                .flat_map(|n| [article(group, n, &lock(n)), cancel(group, n)])
                .collect(),
        ),
    ];
    let mut rates = [Vec::new(), Vec::new(), Vec::new()];
    let mut runs = String::new();
    for round in 0..=plan.rounds {
        for ((name, articles), rates) in made.iter().zip(&mut rates) {
            let used = file(&mut site, &groups, articles)?;
            // The first round warms up.
            if round > 0 {
                let (real, cpu) = (used.real.as_secs_f64(), used.cpu().as_secs_f64());
                rates.push(ARTICLES as f64 / real);
                writeln!(
                    runs,
                    "  {name}: {:.0} a second, {:.1} µs of CPU each",
                    ARTICLES as f64 / real,
                    cpu * 1e6 / ARTICLES as f64
                )?;
            }
        }
    }
    print!("every run, whole process\n{runs}");
    let [articles, absent, pairs] = rates.map(median);
    print!(
        "{}{}",
        figure(
            "cancels of absent articles, to articles",
            absent / articles,
            "×",
            RATE
        ),
        figure("pairs, to articles", pairs / articles, "×", RATE)
    );
    Ok(())
}

fn file(site: &mut Site, groups: &Batch, articles: &[String]) -> Result<crate::measure::Usages> {
    let disk = site.disk.clone();
    let system = site.system(&disk, groups)?;
    let batch = system.dir.join("batch");
    let entry = |text: &String| format!("#! rnews {}\n{text}", text.len());
    fs::write(&batch, articles.iter().map(entry).collect::<String>())?;
    let expected = Expected::all_filed(articles.len() as u64);
    let used = site.rnews(&system, &[], Input::File(&batch), &expected)?;
    fs::remove_dir_all(&system.dir)?;
    Ok(used)
}

fn article(group: &str, number: u64, header: &str) -> String {
    text(group, &format!("<{number}@article.example>"), header)
}

fn cancel(group: &str, number: u64) -> String {
    let header = format!(
        "Control: cancel <{number}@article.example>\nCancel-Key: sha256:{}\n",
        key(number)
    );
    text(group, &format!("<{number}@cancel.example>"), &header)
}

fn text(group: &str, id: &str, header: &str) -> String {
    let line = "A line as long as the lines of most articles are, or about that.\n";
    format!(
        "Path: peer.example!not-for-mail\nFrom: A User <user@example.com>\nNewsgroups: {group}\nSubject: a mass of them\n\
         Date: Mon, 20 Dec 1993 04:39:21 GMT\nMessage-ID: {id}\n{header}\n{}",
        line.repeat(BODY_BYTES / line.len())
    )
}

fn key(number: u64) -> String {
    STANDARD.encode(format!("key {number}"))
}

/// The lock of that key (RFC 8315, 4).
fn lock(number: u64) -> String {
    let hash = STANDARD.encode(Sha256::digest(key(number)));
    format!("Cancel-Lock: sha256:{hash}\n")
}
