//! `bench nntp-out`: feeds peers by NNTP from the running daemon, beside INN's innxmit and innfeed, each into the same receivers.

mod dead;
pub(crate) mod far;
mod feeder;
mod peers;
mod quiet;
mod table;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use bench::generate::{self, Articles, SEED};

use crate::inn;
use crate::machine;
use crate::measure::Usages;
use crate::nntp::articles::Prepared;
use crate::nntp::pipeline::{Link, pump};
use crate::nntp::running::Running;
use crate::nntp::servers::{self, Subject};
use crate::nntp::{client::Client, ours, raise_descriptors, transit};
use crate::plan::Plan;
use crate::site::{Batch, Site};
use far::Delay;
use feeder::Feeder;
use peers::{InnPeer, SinkProcess};
use table::{Row, Sender, Table};

/// Default number of rounds, and with `--quick` at most one.
pub const ROUNDS: u32 = 3;

/// Number of articles, and with `--quick`.
const ARTICLES: usize = 50_000;
const ARTICLES_QUICK: usize = 10_000;

/// Number of peers that want all, and the share of the articles that they get.
const PEERS: usize = 32;
const SHARE_OF_MANY: usize = 4;

/// The round trip of a distant peer, and the number of articles that INN's programs, whose windows are small, send there.
const ROUND_TRIP: Duration = Duration::from_millis(50);
const FAR_OF_INN: usize = 1_000;
/// The rate of a line to a distant peer, bytes a second: 1 Gbit/s.
const LINE_RATE: u64 = 125_000_000;

/// The address that may feed servers under test: that of all senders.
const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Time limit of one run.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Pause between two looks at the progress of a run.
const LOOK: Duration = Duration::from_millis(20);

/// Measures and prints.
///
/// # Errors
/// A receiver misses articles, after printing the results so far.
pub fn run(plan: &Plan) -> Result<()> {
    let rounds = if plan.quick { 1 } else { plan.rounds };
    let plan = Plan {
        rounds: rounds.min(plan.rounds),
        ..plan.clone()
    };
    let mut site = Site::new(&plan)?;
    let command: Vec<String> = std::env::args().collect();
    let circumstances = format!("{}command  {}\n", machine::description(), command.join(" "));
    let mut table = Table::new(plan.only.clone())?;
    let measured = all(&plan, &mut site, &mut table);
    if plan.json {
        println!("{:#}", table.json(&circumstances));
    } else {
        print!("{circumstances}\n{}", table.text());
    }
    measured
}

/// The rows for `make bench`, among others.
///
/// # Errors
/// As [`run`].
pub fn rows(plan: &Plan, site: &mut Site) -> Result<String> {
    let mut table = Table::new(None)?;
    let plan = Plan {
        rounds: plan.rounds.min(ROUNDS),
        ..plan.clone()
    };
    all(&plan, site, &mut table)?;
    Ok(format!("\nfeeding peers by NNTP\n{}", table.text()))
}

fn all(plan: &Plan, site: &mut Site, table: &mut Table) -> Result<()> {
    raise_descriptors()?;
    let count = if plan.quick { ARTICLES_QUICK } else { ARTICLES };
    let prepared = Prepared::new(count as u64);
    let batch = batch_of(site, &prepared, count, "all")?;
    table.note(format!(
        "{count} articles of {} bytes on average; senders and receivers share the machine's {} processors, files are on {} and in the page cache",
        batch.bytes / count as u64,
        std::thread::available_parallelism().map_or(1, usize::from),
        machine::file_system(&site.disk),
    ));
    let inn = match (plan.no_peer, inn::missing_reason()) {
        (true, _) => Err("INN: left out as asked".to_owned()),
        (false, Some(reason)) => Err(reason),
        (false, None) => Ok(()),
    };
    let inn = match inn {
        Ok(()) => Some(InnPeer::start(site, &batch)?),
        Err(reason) => {
            table.note(format!("innxmit, innfeed, innd: skipped ({reason})"));
            None
        }
    };
    let mut bench = Bench {
        site,
        table,
        prepared,
        batch,
        inn,
    };
    for round in 1..=plan.rounds {
        eprintln!("round {round} of {}", plan.rounds);
        bench.one().context("one peer")?;
        bench.feed_server(Row::Innd).context("into innd")?;
        bench.feed_server(Row::Durable).context("into Broadsheet")?;
        bench.many().context("many peers")?;
        bench.quiet(plan).context("quiet")?;
        bench.far().context("a distant peer")?;
        dead::measure(bench.site, &bench.batch, &bench.prepared, bench.table)
            .context("dead peers")?;
    }
    Ok(())
}

/// The first `count` articles as a batch, with groups for all, and a sys file without sites.
fn batch_of(site: &Site, prepared: &Prepared, count: usize, name: &str) -> Result<Batch> {
    let dir = site.disk.join(name);
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("active"), generate::active(prepared.kind))?;
    fs::write(dir.join("newsgroups"), generate::newsgroups(prepared.kind))?;
    fs::write(dir.join("sys"), "ME:all\n")?;
    let mut text = Vec::new();
    for article in Articles::new(prepared.kind, SEED).take(count) {
        text.extend_from_slice(format!("#! rnews {}\n", article.bytes.len()).as_bytes());
        text.extend_from_slice(&article.bytes);
    }
    fs::write(dir.join("batch"), &text).context("writing the batch")?;
    Ok(Batch {
        dir,
        articles: count as u64,
        bytes: text.len() as u64,
    })
}

struct Bench<'a> {
    site: &'a mut Site,
    table: &'a mut Table,
    prepared: Prepared,
    batch: Batch,
    inn: Option<InnPeer>,
}

impl Bench<'_> {
    fn count(&self) -> usize {
        self.prepared.ids.len()
    }

    /// One peer that wants all and keeps nothing.
    fn one(&mut self) -> Result<()> {
        if !self.table.wants(Row::One) {
            return Ok(());
        }
        let (count, mut sink) = (self.count(), SinkProcess::start(1)?);
        let port = sink.port();
        let rate = self.limit(&mut sink, port)?;
        self.table.add(Row::One, Sender::Limit, rate);
        let feeder = Feeder::start(self.site, &self.batch, &[port])?;
        let (_, used) = feeder.send(|| sink.has(count))?;
        self.add(
            Row::One,
            Row::OneCpu,
            Sender::Ours,
            sink.rate()?,
            (&used, count),
        );
        drop(feeder);
        if let Some(inn) = &self.inn {
            for sender in [Sender::Innxmit, Sender::Innfeed] {
                sink.reset()?;
                let used = inn.send(sender, &[port], count)?;
                sink.expect(count)?;
                let rate = sink.rate()?;
                let cells = self.table.cells(Row::One, Row::OneCpu, sender);
                cells.add(rate, &used, count);
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        rate_row: Row,
        cpu_row: Row,
        sender: Sender,
        rate: f64,
        used: (&Usages, usize),
    ) {
        let (used, count) = used;
        self.table
            .cells(rate_row, cpu_row, sender)
            .add(rate, used, count);
    }

    /// The rate of the load program, which has no window and no file.
    fn limit(&self, sink: &mut SinkProcess, port: u16) -> Result<f64> {
        sink.reset()?;
        let mut client = Client::reader(SocketAddr::from((HERE, port)))?;
        client.ask("MODE STREAM", "203")?;
        let bytes = self.prepared.takethis.part(0, self.count());
        let mut link = Link::Plain(client.into_stream());
        pump(&mut link, bytes, "239", self.prepared.ids.iter(), &|_| {
            usize::MAX
        })?;
        let rate = sink.rate()?;
        sink.reset()?;
        Ok(rate)
    }

    /// A peer that files: each sender gets a new one.
    fn feed_server(&mut self, row: Row) -> Result<()> {
        if !self.table.wants(row) || (row == Row::Innd && self.inn.is_none()) {
            return Ok(());
        }
        for sender in [
            Sender::Limit,
            Sender::Ours,
            Sender::Innxmit,
            Sender::Innfeed,
        ] {
            if matches!(sender, Sender::Innxmit | Sender::Innfeed) && self.inn.is_none() {
                continue;
            }
            let server = self.server(row)?;
            let (port, count) = (server.address.port(), self.count());
            let last = self.prepared.ids.last().context("no article")?.clone();
            let arrival = peers::arrival(&server, last)?;
            let begin = Instant::now();
            let (real, used) = match (sender, &self.inn) {
                (Sender::Ours, _) => {
                    let feeder = Feeder::start(self.site, &self.batch, &[port])?;
                    let (begin, used) = feeder.send(|| Ok(arrival.is_finished()))?;
                    (arrived(arrival)? - begin, Some(used))
                }
                (Sender::Limit, _) | (_, None) => {
                    let command = (&self.prepared.takethis, "239");
                    let over = transit::Over::Plain;
                    let (_, real) =
                        transit::stream(&server, over, 1, command, &self.prepared.ids, 1)?;
                    (real, None)
                }
                (sender, Some(inn)) => {
                    let used = inn.send(sender, &[port], count)?;
                    (arrived(arrival)? - begin, Some(used))
                }
            };
            transit::all_known(&server, &self.prepared)
                .with_context(|| format!("asking for what {} has sent", sender.name()))?;
            let rate = count as f64 / real.as_secs_f64();
            match used {
                Some(used) => {
                    let cpu = if row == Row::Innd {
                        Row::InndCpu
                    } else {
                        Row::DurableCpu
                    };
                    self.add(row, cpu, sender, rate, (&used, count));
                }
                None => self.table.add(row, sender, rate),
            }
            server.stop()?;
        }
        Ok(())
    }

    /// A new server that files, and which all addresses of this machine may feed.
    fn server(&mut self, row: Row) -> Result<Running> {
        match row {
            Row::Durable => {
                ours::start_with(self.site, &self.batch, "\"127.0.0.1\", \"127.0.0.3\"", "")
            }
            _ => servers::start_for(
                Subject::InnFiles,
                self.site,
                &self.batch,
                "127.0.0.1, 127.0.0.3",
            ),
        }
    }

    /// Many peers that want all.
    fn many(&mut self) -> Result<()> {
        if !self.table.wants(Row::Many) {
            return Ok(());
        }
        let count = self.count() / SHARE_OF_MANY;
        let mut sink = SinkProcess::start(PEERS)?;
        let ports = sink.ports.clone();
        let batch = batch_of(self.site, &self.prepared, count, "many")?;
        let feeder = Feeder::start(self.site, &batch, &ports)?;
        let (_, used) = feeder.send(|| sink.has(count * PEERS))?;
        self.add(
            Row::Many,
            Row::ManyCpu,
            Sender::Ours,
            sink.rate()?,
            (&used, count * PEERS),
        );
        drop(feeder);
        if let Some(inn) = &self.inn {
            sink.reset()?;
            let used = inn.send(Sender::Innfeed, &ports, count)?;
            sink.expect(count * PEERS)?;
            let rate = sink.rate()?;
            let cells = self.table.cells(Row::Many, Row::ManyCpu, Sender::Innfeed);
            cells.add(rate, &used, count * PEERS);
        }
        Ok(())
    }

    /// From the commit to the socket of a peer, one article at a time.
    fn quiet(&mut self, plan: &Plan) -> Result<()> {
        if !self.table.wants(Row::Quiet) {
            return Ok(());
        }
        let groups = batch_of(self.site, &self.prepared, 0, "groups")?;
        let articles = self.prepared.further(if plan.quick { 100 } else { 500 });
        for sender in [Sender::Ours, Sender::Innfeed] {
            if sender == Sender::Innfeed && self.inn.is_none() {
                continue;
            }
            let times = quiet::times(sender, self.site, &groups, &articles)?;
            if sender == Sender::Innfeed {
                let note = "innd gives innfeed an article before it replies, so the peer may have it earlier: 0.00 ms";
                self.table.note(note.to_owned());
            }
            let (middle, late) = quiet::middle_and_late(times)?;
            self.table.add(Row::Quiet, sender, middle);
            self.table.add(Row::QuietLate, sender, late);
        }
        Ok(())
    }

    /// A peer with a long round trip that keeps nothing, without a limit of the line and with one.
    fn far(&mut self) -> Result<()> {
        self.over(Row::Far, None)?;
        self.over(Row::Line, Some(LINE_RATE))
    }

    /// Measures one row; `rate`: the most bytes a second in each direction.
    fn over(&mut self, row: Row, rate: Option<u64>) -> Result<()> {
        if !self.table.wants(row) {
            return Ok(());
        }
        let (count, mut sink) = (self.count(), SinkProcess::start(1)?);
        let delay = Delay::start(sink.port(), ROUND_TRIP, rate)?;
        let rate = self.limit(&mut sink, delay.port)?;
        self.table.add(row, Sender::Limit, rate);
        let feeder = Feeder::start(self.site, &self.batch, &[delay.port])?;
        feeder.send(|| sink.has(count))?;
        self.table.add(row, Sender::Ours, sink.rate()?);
        drop(feeder);
        if let Some(inn) = &self.inn {
            let count = count.min(FAR_OF_INN);
            for sender in [Sender::Innxmit, Sender::Innfeed] {
                sink.reset()?;
                inn.send(sender, &[delay.port], count)?;
                sink.expect(count)?;
                self.table.add(row, sender, sink.rate()?);
            }
        }
        self.table.note(format!(
            "a round trip of {} ms: a proxy in the bench holds every byte back for half of it each way, so TCP's own windows do not count; INN's programs send {FAR_OF_INN} articles there",
            ROUND_TRIP.as_millis()
        ));
        Ok(())
    }
}

/// When the last article was there.
fn arrived(arrival: std::thread::JoinHandle<Result<Instant>>) -> Result<Instant> {
    let joined = arrival.join();
    joined.map_err(|_| anyhow!("a thread failed"))?
}

/// Waits until `is_over`.
///
/// # Errors
/// It takes too long, or `is_over` fails.
fn wait_until(what: &str, mut is_over: impl FnMut() -> Result<bool>) -> Result<()> {
    let begin = Instant::now();
    while !is_over()? {
        if begin.elapsed() > TIMEOUT {
            bail!("{what}: not after {} s", TIMEOUT.as_secs());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
