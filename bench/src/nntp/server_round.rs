//! The measurements of one server in a round, row by row.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::articles::Prepared;
use super::client::Client;
use super::reading::{self, Group, OVER_ROWS};
use super::running::Running;
use super::servers::{self, Subject};
use super::table::{Row, Sample, Table};
use super::transit::{self, Over};
use super::{CHECKS, IDLE_READERS, IDLE_READERS_OF_INN, QUIET_ARTICLES, WARM_UPS};
use crate::limit;
use crate::measure::own_times;
use crate::report::median;
use crate::site::{Batch, Site, settle};

/// The rows of small windows: the number of articles in flight, and the share of the articles that is sent so, percent.
const WINDOWS: [(Row, usize, usize); 6] = [
    (Row::Window1, 1, 5),
    (Row::Window5, 5, 10),
    (Row::Window10, 10, 15),
    (Row::Window20, 20, 20),
    (Row::Window50, 50, 25),
    (Row::Window200, 200, 25),
];

/// The same for IHAVE, one article in flight on each of so many connections: IHAVE may not be pipelined (RFC 3977, 6.3.2).
const CONNECTIONS: [(Row, usize, usize); 6] = [
    (Row::Ihave1, 1, 5),
    (Row::Ihave5, 5, 10),
    (Row::Ihave10, 10, 15),
    (Row::Ihave20, 20, 20),
    (Row::Ihave50, 50, 25),
    (Row::Ihave200, 200, 25),
];

/// The reach of those rows: this share of the articles in flight, divided by a sync of their bytes and the round trips of an article.
const SHARE: f64 = 0.9;

/// Appends with a sync that are measured for a reach, before and after the row.
const SYNCS: usize = 50;

/// The measurements of one server in a round.
pub struct ServerRound<'a> {
    pub subject: Subject,
    /// Duration of a reader's row.
    pub time: Duration,
    /// Most idle readers.
    pub readers: u64,
    pub prepared: &'a Prepared,
    pub batch: &'a Batch,
    pub site: &'a mut Site,
    pub table: &'a mut Table,
}

impl ServerRound<'_> {
    /// Measures the wanted rows.
    ///
    /// # Errors
    /// A wrong reply. A server that cannot be started becomes a note.
    pub fn take(&mut self) -> Result<()> {
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
            let Some(server) = self.start() else {
                return Ok(());
            };
            self.send_articles(&server)?;
            self.transit(&server)?;
            self.reading(&server)?;
            self.connections(&server)?;
            let further = self.quiet(&server)?;
            self.idle(&server)?;
            self.end(server, further)?;
        }
        if self.table.wants(&["takethis4"]) {
            self.measure_new_server(Over::Plain, 4, (Row::Takethis4, Row::Takethis4Cpu))?;
        }
        if self.table.wants(&["window"]) {
            self.windows(&WINDOWS, transit::windowed)?;
        }
        if self.table.wants(&["ihave"]) {
            self.windows(&CONNECTIONS, transit::ihave)?;
        }
        if self.table.wants(&["tls"]) {
            self.measure_new_server(Over::Tls, 1, (Row::Tls, Row::TlsCpu))?;
        }
        Ok(())
    }

    /// Starts a new server; adds a note if that fails.
    fn start(&mut self) -> Option<Running> {
        match servers::start(self.subject, self.site, self.batch) {
            Ok(server) => Some(server),
            Err(error) => {
                let note = format!("{}: {error:#}", self.subject.name());
                self.table.notes.insert(note);
                None
            }
        }
    }

    /// Sends the articles, timed if that row is wanted.
    fn send_articles(&mut self, server: &Running) -> Result<()> {
        let rows = match self.table.wants(&["takethis"]) {
            true => Some((Row::Takethis, Some(Row::TakethisCpu))),
            false => None,
        };
        if self.subject == Subject::Sink && rows.is_some() {
            self.bare_disk(server)?;
        }
        self.takethis(server, Over::Plain, 1, rows)
    }

    /// Measures the machine's limit for making the same number of bytes durable.
    fn bare_disk(&mut self, server: &Running) -> Result<()> {
        let articles = self.prepared.ids.len();
        let bytes = self.prepared.takethis.part(0, articles);
        settle();
        let used = limit::write_and_sync(&server.dir.join("bytes"), bytes)?;
        let a_second = articles as f64 / used.real.as_secs_f64();
        self.plain(Row::TakethisDisk, a_second);
        Ok(())
    }

    /// A new server receives all articles and is stopped.
    fn measure_new_server(
        &mut self,
        over: Over,
        connections: usize,
        rows: (Row, Row),
    ) -> Result<()> {
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

    /// A new server receives the articles in portions, with so many articles in flight.
    fn windows(
        &mut self,
        rows: &[(Row, usize, usize); 6],
        send: impl Fn(&Running, &Prepared, (usize, usize), usize) -> Result<(u64, Duration)>,
    ) -> Result<()> {
        let Some(server) = self.start() else {
            return Ok(());
        };
        let (prepared, articles) = (self.prepared, self.prepared.ids.len());
        // The bare server handles one article at a time: its time is the round trips.
        let [(first, ..), ..] = *rows;
        let alone = self.table.last(first, Subject::Sink);
        let mut from = 0;
        for &(row, window, percent) in rows {
            let to = (from + articles * percent / 100).min(articles);
            let bytes = prepared.takethis.part(from, from + window);
            let syncs = || transit::appends(&server.dir, bytes, SYNCS);
            // Syncs take longer or shorter by the minute, so they are measured on both sides.
            let before = alone.map(|_| syncs()).transpose()?;
            self.timed(&server, row, None, || {
                send(&server, prepared, (from, to), window)
            })?;
            if let (Some(before), Some(alone), Subject::Ours) = (before, alone, self.subject) {
                let sync = (before + syncs()?).as_secs_f64() / 2.0;
                let reach = SHARE * window as f64 / (sync + 1.0 / alone);
                self.table.add_reach(row, reach);
                eprintln!(
                    "    {window} in flight: {:.2} ms to append and sync them, {:.3} ms in round trips",
                    sync * 1e3,
                    1e3 / alone
                );
            }
            from = to;
        }
        if server.files {
            transit::all_known(&server, prepared).context("asking for what was accepted")?;
        }
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

    /// Adds a run: the rate, and the CPU time per operation.
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

    /// Adds a run of a row that is not a rate.
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
        let (group, time) = (reading::select_group(server, self.prepared)?, self.time);
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
                    reading::articles_one_by_one(server, &group, quick, time)
                })?;
            }
            for (row, quick) in [(Row::Article8, false), (Row::Article8Quick, true)] {
                self.timed(server, row, None, || {
                    reading::articles_pipelined(server, &group, 8, quick, time)
                })?;
            }
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
                reading::connect_and_quit(server.readers, threads, time)
            })?;
        }
        Ok(())
    }

    /// Sends single IHAVEs; returns the number of new articles.
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
        let group: Group = reading::select_group(server, self.prepared)?;
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

    /// Stops the server, and checks the number of its articles.
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
