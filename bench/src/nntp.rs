//! `bench nntp`: measures the server under load, compared with INN and with the machine's limit.
//!
//! The same load program runs against each server, one after the other, in every
//! round. Every reply is verified: a wrong one ends the bench.

pub mod articles;
pub mod client;
pub mod ours;
pub mod pipeline;
pub mod process;
pub mod reading;
pub mod running;
mod server_round;
pub mod servers;
mod sink;
mod table;
pub mod transit;

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bench::generate::{self, Kind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::machine;
use crate::plan::Plan;
use crate::site::{Batch, Site};
use articles::Prepared;
use server_round::ServerRound;
use servers::Subject;
use table::Table;

pub use running::Ended;
pub use sink::{SinkOptions, sink};
pub use table::number;
use table::words;

/// Default number of rounds.
pub const ROUNDS: u32 = 3;

/// Number of articles, and with `--quick`.
const ARTICLES: u64 = 100_000;
const ARTICLES_QUICK: u64 = 20_000;

/// Duration of a reader's row, and with `--quick`.
const TIME: Duration = Duration::from_secs(2);
const TIME_QUICK: Duration = Duration::from_millis(500);

/// Number of CHECKs for each id in one run.
const CHECKS: u64 = 10;

/// Number of articles in the latency test, and of warm-up articles before them.
const QUIET_ARTICLES: usize = 500;
const WARM_UPS: usize = 20;

/// Number of idle readers; with INN each is a process, so there are fewer.
const IDLE_READERS: u64 = 10_000;
const IDLE_READERS_OF_INN: u64 = 100;

/// Descriptors that the bench and the server need besides those of readers.
const DESCRIPTORS_BESIDE: u64 = 200;

/// Measures and prints.
///
/// # Errors
/// A wrong reply, after printing the results so far.
pub fn run(plan: &Plan) -> Result<()> {
    if let Some(only) = &plan.only
        && !words().contains(only.as_str())
    {
        let words: Vec<&str> = words().into_iter().collect();
        bail!("--only takes one of: {}", words.join(", "));
    }
    let mut site = Site::new(plan)?;
    let command: Vec<String> = std::env::args().collect();
    let circumstances = format!("{}command  {}\n", machine::description(), command.join(" "));
    let mut table = Table::new(plan.only.clone());
    let measured = rounds(plan, &mut site, &mut table);
    if plan.json {
        println!("{:#}", table.json(&circumstances));
    } else {
        print!(
            "{circumstances}\n{}\n{}",
            table.every_run(),
            table.medians()
        );
    }
    measured
}

/// The rows for `make bench`, among others.
///
/// # Errors
/// As [`run`].
pub fn rows(plan: &Plan, site: &mut Site) -> Result<String> {
    let mut table = Table::new(None);
    let plan = Plan {
        rounds: plan.rounds.min(ROUNDS),
        ..plan.clone()
    };
    rounds(&plan, site, &mut table)?;
    Ok(format!("{}\n{}", table.every_run(), table.medians()))
}

fn rounds(plan: &Plan, site: &mut Site, table: &mut Table) -> Result<()> {
    let readers = raise_descriptors()?;
    let articles = if plan.quick { ARTICLES_QUICK } else { ARTICLES };
    let prepared = Prepared::new(articles);
    let batch = groups_alone(site, &prepared)?;
    circumstances(table, site, &prepared);
    for round in 1..=plan.rounds {
        for subject in Subject::ALL {
            let inn = matches!(subject, Subject::InnFiles | Subject::InnCyclic);
            if inn && plan.no_peer {
                table.notes.insert("INN: left out as asked".into());
                continue;
            }
            eprintln!("round {round} of {}, {}", plan.rounds, subject.name());
            let mut turn = ServerRound {
                subject,
                time: if plan.quick { TIME_QUICK } else { TIME },
                readers,
                prepared: &prepared,
                batch: &batch,
                site: &mut *site,
                table: &mut *table,
            };
            turn.take().with_context(|| subject.name())?;
        }
    }
    Ok(())
}

/// Adds the circumstances that a reader of the table needs.
fn circumstances(table: &mut Table, site: &Site, prepared: &Prepared) {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let (group, size) = &prepared.largest;
    for note in [
        format!(
            "{} articles ({:.0} MB as sent), {} placings in {} groups; {group}, the largest, has {size} and is the one read",
            prepared.ids.len(),
            prepared.takethis.part(0, prepared.ids.len()).len() as f64 / 1e6,
            prepared.placings,
            prepared.kind.groups(),
        ),
        format!(
            "load program and server share the machine's {count} processors; news directories are on {}",
            machine::file_system(&site.disk)
        ),
        "limit: a server of the bench's own that answers from memory and keeps nothing; for IHAVE an append of 4 KB with fdatasync".into(),
        "INN syncs nothing: its articles are accepted, not durable".into(),
    ] {
        table.notes.insert(note);
    }
}

/// Raises the limit of descriptors; returns the number of simultaneous readers.
pub fn raise_descriptors() -> Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )?;
    let most = limit.maximum.unwrap_or(u64::MAX);
    Ok(IDLE_READERS.min(most.saturating_sub(DESCRIPTORS_BESIDE)))
}

/// The files of a batch without its articles, which are sent over NNTP. No site is fed.
pub fn groups_alone(site: &Site, prepared: &Prepared) -> Result<Batch> {
    let dir = site.disk.join("nntp");
    let kind: Kind = prepared.kind;
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("active"), generate::active(kind))?;
    fs::write(dir.join("newsgroups"), generate::newsgroups(kind))?;
    fs::write(dir.join("sys"), "ME:all\n")?;
    let articles = prepared.ids.len();
    Ok(Batch {
        dir,
        articles: articles as u64,
        bytes: prepared.takethis.part(0, articles).len() as u64,
    })
}
