//! `bench nntp`: the server under load, beside INN and beside the machine's limit.
//!
//! The same program asks the same of each server, one after the other, in every
//! round. Every reply is verified: a wrong one ends the bench.

mod articles;
mod client;
mod ours;
mod pipeline;
mod process;
mod reading;
mod servers;
mod sink;
mod table;
mod transit;

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bench::generate::{self, Kind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::machine;
use crate::measure::own_times;
use crate::plan::Plan;
use crate::report::median;
use crate::site::{Batch, Site, settle};
use articles::Prepared;
use client::Client;
use reading::{Group, OVER_ROWS};
use servers::{Running, Subject};
use table::{Row, Sample, Table};
use transit::Over;

pub use sink::sink;
use table::words;

/// How many rounds there are, unless asked.
pub const ROUNDS: u32 = 3;

/// How many articles, and with `--quick`.
const ARTICLES: u64 = 100_000;
const ARTICLES_QUICK: u64 = 20_000;

/// For how long a reader's row is measured, and with `--quick`.
const TIME: Duration = Duration::from_secs(2);
const TIME_QUICK: Duration = Duration::from_millis(500);

/// How often every id is asked for in one run of CHECK.
const CHECKS: u64 = 10;

/// Quiet articles of which the latency is told, and those before that only warm up.
const QUIET_ARTICLES: usize = 500;
const WARM_UPS: usize = 20;

/// Readers that do nothing; with INN a process each, so fewer.
const IDLE_READERS: u64 = 10_000;
const IDLE_READERS_OF_INN: u64 = 100;

/// Descriptors that the bench and the server need beside those of readers.
const DESCRIPTORS_BESIDE: u64 = 200;

/// Measures and prints.
///
/// # Errors
/// A wrong answer, after what was measured until then has been printed.
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
            let mut bench = Bench {
                subject,
                time: if plan.quick { TIME_QUICK } else { TIME },
                readers,
                prepared: &prepared,
                batch: &batch,
                site: &mut *site,
                table: &mut *table,
            };
            bench.round().with_context(|| subject.name())?;
        }
    }
    Ok(())
}

/// What has to be known to read the table.
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

/// As many descriptors as are allowed; how many readers there can be at once.
fn raise_descriptors() -> Result<u64> {
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

/// The files of a batch without its articles: those come over the wire. No site is fed.
fn groups_alone(site: &Site, prepared: &Prepared) -> Result<Batch> {
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

/// One server's turn in a round.
struct Bench<'a> {
    subject: Subject,
    time: Duration,
    readers: u64,
    prepared: &'a Prepared,
    batch: &'a Batch,
    site: &'a mut Site,
    table: &'a mut Table,
}

impl Bench<'_> {
    fn round(&mut self) -> Result<()> {
        let Some(server) = self.start() else {
            return Ok(());
        };
        if self.table.wants(&[
            "takethis",
            "check",
            "known",
            "over",
            "article",
            "connections",
            "quiet",
            "idle",
        ]) {
            self.beginning(&server)?;
            self.transit(&server)?;
            self.reading(&server)?;
            self.connections(&server)?;
            let further = self.quiet(&server)?;
            self.idle(&server)?;
            self.end(server, further)?;
        }
        if self.table.wants(&["takethis4"]) {
            self.afresh(Over::Plain, 4, (Row::Takethis4, Row::Takethis4Cpu))?;
        }
        if self.table.wants(&["tls"]) {
            self.afresh(Over::Tls, 1, (Row::Tls, Row::TlsCpu))?;
        }
        Ok(())
    }

    /// A fresh server; where there can be none, a note.
    fn start(&mut self) -> Option<Running> {
        match Running::start(self.subject, self.site, self.batch) {
            Ok(server) => Some(server),
            Err(error) => {
                let note = format!("{}: {error:#}", self.subject.name());
                self.table.notes.insert(note);
                None
            }
        }
    }

    /// The articles go in: with the clock running where that row is wanted.
    fn beginning(&mut self, server: &Running) -> Result<()> {
        let rows = match self.table.wants(&["takethis"]) {
            true => Some((Row::Takethis, Some(Row::TakethisCpu))),
            false => None,
        };
        self.takethis(server, Over::Plain, 1, rows)
    }

    /// A fresh server takes all articles and is gone.
    fn afresh(&mut self, over: Over, connections: usize, rows: (Row, Row)) -> Result<()> {
        let Some(server) = self.start() else {
            return Ok(());
        };
        if over == Over::Tls && server.tls.is_none() {
            let note = match self.subject {
                Subject::Sink => return Ok(()),
                Subject::Ours => "TLS: no certificate could be made (is openssl installed?)",
                _ => "TLS: INN's innd has none for peers",
            };
            self.table.notes.insert(note.into());
            return Ok(());
        }
        self.takethis(&server, over, connections, Some((rows.0, Some(rows.1))))?;
        self.end(server, 0)
    }

    fn takethis(
        &mut self,
        server: &Running,
        over: Over,
        connections: usize,
        rows: Option<(Row, Option<Row>)>,
    ) -> Result<()> {
        let prepared = self.prepared;
        let take = || {
            let command = (&prepared.takethis, "239");
            transit::stream(server, over, connections, command, &prepared.ids, 1)
        };
        match rows {
            Some((row, cpu)) => self.timed(server, row, cpu, take)?,
            None => drop(take()?),
        }
        if server.files {
            transit::all_known(server, prepared).context("asking for what was accepted")?;
        }
        Ok(())
    }

    /// Adds a run: how many a second, and what each took.
    fn timed(
        &mut self,
        server: &Running,
        row: Row,
        cpu: Option<Row>,
        work: impl FnOnce() -> Result<(u64, Duration)>,
    ) -> Result<()> {
        settle();
        let (server_before, own_before) = (server.cpu()?, own_times()?);
        let (count, time) = work()?;
        let (own_after, server_after) = (own_times()?, server.cpu()?);
        let each = |time: Duration| time.as_secs_f64() * 1e6 / count.max(1) as f64;
        let own = (own_after.0 + own_after.1).saturating_sub(own_before.0 + own_before.1);
        let used = each(server_after.saturating_sub(server_before));
        let sample = Sample {
            value: count as f64 / time.as_secs_f64(),
            server: Some(used),
            load: Some(each(own)),
        };
        self.table.add(row, self.subject, sample);
        if let Some(cpu) = cpu {
            self.plain(cpu, used);
        }
        Ok(())
    }

    /// Adds a run of a row that is no rate.
    fn plain(&mut self, row: Row, value: f64) {
        let sample = Sample {
            value,
            ..Sample::default()
        };
        self.table.add(row, self.subject, sample);
    }

    fn transit(&mut self, server: &Running) -> Result<()> {
        let prepared = self.prepared;
        if self.table.wants(&["check"]) {
            self.timed(server, Row::Check, Some(Row::CheckCpu), || {
                let command = (&prepared.check, "438");
                transit::stream(server, Over::Plain, 1, command, &prepared.ids, CHECKS)
            })?;
        }
        if self.table.wants(&["known"]) {
            let code = if server.files { "439" } else { "239" };
            self.timed(server, Row::Known, Some(Row::KnownCpu), || {
                let command = (&prepared.takethis, code);
                transit::stream(server, Over::Plain, 1, command, &prepared.ids, 1)
            })?;
        }
        Ok(())
    }

    fn reading(&mut self, server: &Running) -> Result<()> {
        if !self.table.wants(&["over", "article"]) {
            return Ok(());
        }
        let (group, time) = (reading::look(server, self.prepared)?, self.time);
        if self.table.wants(&["over"]) {
            if group.rows() < OVER_ROWS {
                let note = format!(
                    "OVER is of {} rows: the largest group has no more",
                    group.rows()
                );
                self.table.notes.insert(note);
            }
            for (row, connections) in [(Row::Over1, 1), (Row::Over8, 8)] {
                self.timed(server, row, None, || {
                    reading::over(server, &group, connections, time)
                })?;
            }
        }
        if self.table.wants(&["article"]) {
            for (row, quick) in [(Row::Article, false), (Row::ArticleQuick, true)] {
                self.timed(server, row, None, || {
                    reading::article_by_article(server, &group, quick, time)
                })?;
            }
            self.timed(server, Row::Article8, None, || {
                reading::articles_pipelined(server, &group, 8, time)
            })?;
        }
        Ok(())
    }

    fn connections(&mut self, server: &Running) -> Result<()> {
        if !self.table.wants(&["connections"]) {
            return Ok(());
        }
        let time = self.time;
        for (row, threads) in [(Row::Coming, 1), (Row::Coming8, 8)] {
            self.timed(server, row, None, || {
                reading::come_and_go(server.readers, threads, time)
            })?;
        }
        Ok(())
    }

    /// How many articles more the server has after it.
    fn quiet(&mut self, server: &Running) -> Result<u64> {
        if !self.table.wants(&["quiet"]) {
            return Ok(0);
        }
        let count = QUIET_ARTICLES + WARM_UPS;
        settle();
        let times = match self.subject {
            Subject::Sink => transit::bare_appends(&server.dir, count)?,
            _ => transit::quiet_ihave(server, &self.prepared.further(count as u64))?,
        };
        let mut times: Vec<f64> = times
            .iter()
            .skip(WARM_UPS)
            .map(|time| time.as_secs_f64() * 1e3)
            .collect();
        times.sort_by(f64::total_cmp);
        let late = (times.len() * 99).div_ceil(100).saturating_sub(1);
        self.plain(Row::QuietLate, times.get(late).copied().unwrap_or_default());
        self.plain(Row::Quiet, median(times));
        Ok(count as u64)
    }

    fn idle(&mut self, server: &Running) -> Result<()> {
        if !self.table.wants(&["idle"]) || self.subject == Subject::Sink {
            return Ok(());
        }
        let group: Group = reading::look(server, self.prepared)?;
        let inn = self.subject != Subject::Ours;
        let count = if inn {
            IDLE_READERS_OF_INN
        } else {
            self.readers
        };
        server.alone()?;
        let before = server.memory()?;
        let readers: Vec<Client> = reading::idle(server, &group, count)?;
        server.cpu()?;
        let after = server.memory()?;
        let each = after.saturating_sub(before) as f64 / count as f64;
        let mut all = after as f64;
        if inn {
            all = before as f64 + each * IDLE_READERS as f64;
            let note = format!(
                "INN's {IDLE_READERS} idle readers are reckoned from {count}, each a process"
            );
            self.table.notes.insert(note);
        } else if count < IDLE_READERS {
            let note = format!(
                "{count} idle readers, not {IDLE_READERS}: the limit of descriptors allows no more"
            );
            self.table.notes.insert(note);
        }
        self.table.notes.insert(
            "idle readers: the server's own memory (PSS) after greeting and GROUP; the kernel's for sockets is not counted".into(),
        );
        self.plain(Row::Idle, all / 1e6);
        self.plain(Row::IdleEach, each / 1e3);
        drop(readers);
        Ok(())
    }

    /// Ends the server, and asks once more what it has.
    fn end(&mut self, server: Running, further: u64) -> Result<()> {
        let expected = self.batch.articles + further;
        let begin = Instant::now();
        let held = server.stop()?;
        if let Some(held) = held
            && held != expected
        {
            bail!("{held} articles are in the history after the run, of {expected}");
        }
        eprintln!("    ended in {:.1} s", begin.elapsed().as_secs_f64());
        Ok(())
    }
}
