//! The report of a day: a fold over the figures of the daemon and the lines of `log`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Serialize;
use store::Spread;
use store::histogram::EDGES_MICROS;

use crate::day::{Day, clock};
use crate::failed_tasks::{self, FailedTask};
use crate::figures::{
    self, DaemonFigures, ExpireFigures, FeedFigures, GroupFigures, Groups, NetworkFigures,
    Networks, TaskFigures,
};
use crate::forecast::{self, Forecast};
use crate::log_fold::{FATES, Fate, HOURS, LogFold};
use crate::ranking::Row;

/// Names in a list of a report; the others are added up.
pub const NAMED_MAX: usize = 50;
/// Slow moments of a report, the slowest ones.
pub const SLOW_MAX: usize = 10;
/// Lines of figures that a plot shows.
pub const MOMENTS_MAX: usize = 2_000;
/// Access entries, and feeds, of a report.
pub const PEERS_MAX: usize = 5_000;
/// A commit that takes longer makes its quarter of an hour a slow moment, microseconds.
const SLOW_MICROS: u64 = 250_000;

/// The report of a day.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DailyReport {
    /// The name of the site.
    pub site: String,
    /// The day, `2026-11-22`, in UTC.
    pub day: String,
    /// Its first second, since 1970.
    pub from: i64,
    /// The end of the day, or of what is known of it, seconds since 1970.
    pub to: i64,
    /// How long the daemon counted, seconds.
    pub counted_seconds: u64,
    /// Articles by neighbour, from all sources.
    pub articles: Articles,
    /// The NNTP server.
    pub nntp: NntpDay,
    /// Readers.
    pub readers: Readers,
    /// Feeds, those with the longest lag first.
    pub feeds: Vec<FeedDay>,
    /// Filing.
    pub filing: Filing,
    /// Quarters of an hour with slow commits, the slowest first.
    pub slow: Vec<SlowMoment>,
    /// Ends of quarters of an hour at which the intake was not open.
    pub intake_closed: Vec<ClosedMoment>,
    /// The runs of expire.
    pub expire: Vec<ExpireRun>,
    /// The scheduled tasks that failed that day or later, and have not run well since.
    pub failed_tasks: Vec<FailedTask>,
    /// The disk.
    pub disk: DiskDay,
    /// The course of the day, or of the days: then of each hour.
    pub moments: Vec<Moment>,
    /// Of a report of several days, each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<DayRow>,
    /// The runs of backup and fsck.
    pub tasks: Vec<TaskRun>,
    /// Files that could not be read, and why.
    pub problems: Vec<String>,
}

/// A day of several.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DayRow {
    /// The day, `2026-11-22`.
    pub day: String,
    /// Articles filed, by the file `log`.
    pub filed: u64,
    /// Articles refused, by the file `log`.
    pub refused: u64,
    /// Accepted posts.
    pub posted: u64,
    /// NNTP connections.
    pub connected: u64,
    /// Bytes of the log.
    pub bytes: u64,
    /// Articles that expire removed.
    pub expired: u64,
    /// Free bytes of the disk at the end; 0: unknown.
    pub free_bytes: u64,
}

/// A run of backup or fsck.
#[derive(Debug, Clone, Serialize)]
pub struct TaskRun {
    /// Its end, seconds since 1970.
    pub at: i64,
    /// Its name, result and duration.
    #[serde(flatten)]
    pub figures: TaskFigures,
}

/// Articles, from the file `log`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Articles {
    /// Sum by fate.
    pub total: BTreeMap<&'static str, u64>,
    /// By neighbour: the first site in Path, or `(local)`.
    pub neighbours: Vec<Neighbour>,
    /// Filed and refused articles of each hour.
    pub hours: [[u64; 2]; HOURS],
    /// The reasons of refusals but for duplicates, with their quoted parts left out, the most frequent first.
    pub reasons: Vec<ReasonCount>,
    /// Number of log files read.
    pub log_files: usize,
}

/// A reason of refusals.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ReasonCount {
    /// The reason; empty for all others.
    pub reason: String,
    /// Refused articles.
    pub articles: u64,
}

/// Articles of a neighbour.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Neighbour {
    /// Its name; empty for all others.
    pub name: String,
    /// All articles.
    pub articles: u64,
    /// By fate.
    #[serde(flatten)]
    pub fates: BTreeMap<&'static str, u64>,
}

fn reasons(log: &LogFold) -> Vec<ReasonCount> {
    let (rows, [others]) = log.reasons.largest(NAMED_MAX);
    let rows = rows.into_iter().map(|row| (row.name, row.counts));
    let others = (others > 0).then_some((String::new(), [others]));
    let all = rows.chain(others);
    all.map(|(reason, [articles])| ReasonCount { reason, articles })
        .collect()
}

impl Neighbour {
    /// One of the counts.
    pub fn fate(&self, fate: Fate) -> u64 {
        self.fates.get(fate.name()).copied().unwrap_or_default()
    }

    /// Refused articles.
    pub fn refused(&self) -> u64 {
        self.articles - self.fate(Fate::Filed) - self.fate(Fate::Junked)
    }
}

/// The NNTP server, from the figures.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NntpDay {
    /// Connections.
    pub connected: u64,
    /// Rejected ones.
    pub rejected: u64,
    /// Those closed by a timeout.
    pub timed_out: u64,
    /// Logins.
    pub logins: u64,
    /// Failed logins.
    pub logins_failed: u64,
    /// Most connections at the end of a quarter of an hour.
    pub connections_most: u64,
    /// Accepted posts.
    pub posted: u64,
    /// The access entries: offers and their results, by the names of `status --json`.
    pub entries: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Readers, from the figures.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Readers {
    /// By network.
    pub networks: Vec<NetworkFigures>,
    /// By group.
    pub groups: Vec<GroupFigures>,
}

/// A feed.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FeedDay {
    /// The sums of the day; `waiting`, `lag_seconds` and `why` are of its end.
    #[serde(flatten)]
    pub figures: FeedFigures,
    /// Longest lag at the end of a quarter of an hour, seconds.
    pub lag_seconds_most: u64,
}

/// Filing.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Filing {
    /// Articles that the daemon filed.
    pub articles: u64,
    /// Bytes of the log.
    pub bytes: u64,
    /// Number of commits.
    pub commits: u64,
    /// Median, microseconds.
    pub p50_micros: Option<u64>,
    /// 99th percentile, microseconds.
    pub p99_micros: Option<u64>,
}

/// A quarter of an hour with slow commits.
#[derive(Debug, Clone, Serialize)]
pub struct SlowMoment {
    /// Begin, seconds since 1970.
    pub from: i64,
    /// End, seconds since 1970.
    pub to: i64,
    /// Commits that took longer than a quarter of a second.
    pub slow_commits: u64,
    /// All commits.
    pub commits: u64,
    /// The slowest took at most this long, microseconds; null above ten seconds.
    pub within_micros: Option<u64>,
}

/// A moment at which the intake was not open.
#[derive(Debug, Clone, Serialize)]
pub struct ClosedMoment {
    /// Seconds since 1970.
    pub at: i64,
    /// `paused`, `stopped` or `full`.
    pub state: String,
}

/// A run of expire.
#[derive(Debug, Clone, Serialize)]
pub struct ExpireRun {
    /// Its end, seconds since 1970.
    pub at: i64,
    /// The counts of the run.
    #[serde(flatten)]
    pub figures: ExpireFigures,
}

/// The disk.
#[derive(Debug, Clone, Serialize)]
pub struct DiskDay {
    /// Size of the file system, bytes.
    pub disk_bytes: u64,
    /// Free bytes at the end.
    pub free_bytes: u64,
    /// Least free bytes of each of the last days.
    pub days: Vec<(String, u64)>,
    /// The forecast from these.
    pub forecast: Forecast,
}

impl Default for DiskDay {
    fn default() -> DiskDay {
        DiskDay {
            disk_bytes: 0,
            free_bytes: 0,
            days: Vec::new(),
            forecast: Forecast::Unknown,
        }
    }
}

/// The end of a quarter of an hour.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Moment {
    /// Seconds since 1970.
    pub at: i64,
    /// Articles filed.
    pub articles: u64,
    /// 99th percentile of the commits, microseconds.
    pub p99_micros: Option<u64>,
    /// Longest lag of a feed, seconds.
    pub lag_seconds: u64,
    /// NNTP connections.
    pub connections: u64,
    /// Free bytes of the disk.
    pub free_bytes: u64,
}

impl DailyReport {
    /// The report of a day; `now` in seconds since 1970.
    ///
    /// # Errors
    /// The figures of the day cannot be read. Errors of logs and of other days are in [`DailyReport::problems`].
    pub fn of(dir: &Path, site: &str, day: Day, now: i64) -> io::Result<DailyReport> {
        DailyReport::of_days(dir, site, (day, 1), now)
    }

    /// The report of some days in one: the last of them, and their number. `now` in seconds since 1970.
    ///
    /// # Errors
    /// As [`DailyReport::of`].
    pub fn of_days(
        dir: &Path,
        site: &str,
        (last, count): (Day, u16),
        now: i64,
    ) -> io::Result<DailyReport> {
        let count = i64::from(count.max(1));
        let days: Vec<Day> = (1 - count..=0).map(|before| last.plus(before)).collect();
        let first = last.plus(1 - count);
        let (log, problems) = LogFold::read(dir, &days);
        let mut report = DailyReport {
            site: site.to_owned(),
            day: match count {
                1 => last.to_string(),
                _ => format!("{first} to {last}"),
            },
            from: first.start(),
            to: last.end().min(now.max(first.start())),
            articles: Articles::of(&log),
            problems,
            ..DailyReport::default()
        };
        let mut fold = Fold {
            by_hour: count > 1,
            ..Fold::default()
        };
        for (day, [filed, refused]) in days.iter().zip(&log.days) {
            let posted = report.nntp.posted;
            let mut row = DayRow {
                day: day.to_string(),
                filed: *filed,
                refused: *refused,
                ..DayRow::default()
            };
            figures::read(dir, *day, |line| {
                if let Some(daemon) = &line.daemon {
                    report.add(&mut fold, (line.from, line.to), daemon);
                    row.add(daemon);
                }
                let at = line.to;
                if let Some(figures) = line.expire {
                    row.expired += figures.articles;
                    report.expire.push(ExpireRun { at, figures });
                }
                if let Some(figures) = line.task
                    && report.tasks.len() < MOMENTS_MAX
                {
                    report.tasks.push(TaskRun { at, figures });
                }
            })?;
            row.posted = report.nntp.posted - posted;
            if count > 1 {
                report.days.push(row);
            }
        }
        let day = last;
        report.finish(fold);
        let mut failed = failed_tasks::read(dir);
        failed.retain(|task| task.at >= report.from);
        report.failed_tasks = failed;
        report.look_back(dir, day);
        Ok(report)
    }

    fn add(&mut self, fold: &mut Fold, (from, to): (i64, i64), daemon: &DaemonFigures) {
        self.counted_seconds += u64::try_from(to - from).unwrap_or_default();
        self.filing.articles += daemon.articles;
        self.filing.bytes += daemon.bytes;
        add_buckets(&mut fold.commits, &daemon.commits);
        let nntp = &mut self.nntp;
        for (sum, count) in [
            (&mut nntp.connected, daemon.connected),
            (&mut nntp.rejected, daemon.rejected),
            (&mut nntp.timed_out, daemon.timed_out),
            (&mut nntp.logins, daemon.logins),
            (&mut nntp.logins_failed, daemon.logins_failed),
        ] {
            *sum += count;
        }
        nntp.connections_most = nntp.connections_most.max(daemon.connections);
        for entry in &daemon.entries {
            if nntp.entries.len() >= PEERS_MAX && !nntp.entries.contains_key(&entry.name) {
                continue;
            }
            let counts = nntp.entries.entry(entry.name.clone()).or_default();
            for (name, count) in &entry.counts {
                *counts.entry(name.clone()).or_default() += count;
                if name == "posted" {
                    nntp.posted += count;
                }
            }
        }
        for network in &daemon.networks {
            let counts = [
                network.articles,
                network.connections,
                network.commands,
                network.bytes,
            ];
            match network.name.as_str() {
                "" => fold.networks.add_others(counts),
                name => fold.networks.add(name.as_bytes(), counts),
            }
        }
        for group in &daemon.groups {
            match group.name.as_str() {
                "" => fold.groups.add_others([group.requests]),
                name => fold.groups.add(name.as_bytes(), [group.requests]),
            }
        }
        let lag_seconds = fold.add_feeds(&daemon.feeds);
        let slow = slow(&daemon.commits);
        if slow > 0 {
            self.slow.push(SlowMoment {
                from,
                to,
                slow_commits: slow,
                commits: daemon.commits.iter().sum(),
                within_micros: highest(&daemon.commits),
            });
            if self.slow.len() > 4 * SLOW_MAX {
                self.keep_slowest();
            }
        }
        if !matches!(daemon.intake.as_str(), "" | "open") && self.intake_closed.len() < MOMENTS_MAX
        {
            let state = daemon.intake.clone();
            self.intake_closed.push(ClosedMoment { at: to, state });
        }
        if daemon.disk_bytes > 0 {
            self.disk.disk_bytes = daemon.disk_bytes;
            self.disk.free_bytes = daemon.free_bytes;
        }
        let moment = Moment {
            at: to,
            articles: daemon.articles,
            p99_micros: spread(&daemon.commits).within_micros(99),
            lag_seconds,
            connections: daemon.connections,
            free_bytes: daemon.free_bytes,
        };
        let has_room = self.moments.len() < MOMENTS_MAX;
        match self.moments.last_mut() {
            Some(last) if fold.by_hour && last.at.div_euclid(HOUR) == to.div_euclid(HOUR) => {
                last.add(&moment);
            }
            _ if has_room => self.moments.push(moment),
            _ => {}
        }
    }

    /// A time of the report: `04:30`, or with the day, where it has several.
    pub fn clock(&self, at: i64) -> String {
        match self.days.is_empty() {
            true => clock(at),
            // The end of a day belongs to it.
            false => format!(
                "{} {}",
                Day::of(at.max(self.from).min(self.to - 1)),
                clock(at)
            ),
        }
    }

    fn keep_slowest(&mut self) {
        self.slow.sort_by_key(|moment| {
            let slowest = moment.within_micros.unwrap_or(u64::MAX);
            std::cmp::Reverse((slowest, moment.slow_commits))
        });
        self.slow.truncate(SLOW_MAX);
    }

    fn finish(&mut self, fold: Fold) {
        self.keep_slowest();
        let commits = spread(&fold.commits);
        self.filing.commits = commits.count();
        self.filing.p50_micros = commits.within_micros(50);
        self.filing.p99_micros = commits.within_micros(99);
        let mut largest = DaemonFigures::default();
        largest.set_networks(&fold.networks.cut(NAMED_MAX));
        largest.set_groups(&fold.groups.cut(NAMED_MAX));
        self.readers = Readers {
            networks: largest.networks,
            groups: largest.groups,
        };
        self.feeds = fold.feeds.into_values().collect();
        self.feeds
            .sort_by_key(|feed| std::cmp::Reverse(feed.lag_seconds_most));
    }

    /// The free space of the days before, and the forecast.
    fn look_back(&mut self, dir: &Path, day: Day) {
        let mut points = Vec::new();
        for before in (0..forecast::DAYS).rev() {
            let day = day.plus(-before);
            let mut least = None;
            let read = figures::read(dir, day, |line| {
                let daemon = line.daemon.filter(|daemon| daemon.disk_bytes > 0);
                if let Some(daemon) = daemon {
                    let free = daemon.free_bytes;
                    least = Some(least.map_or(free, |least: u64| least.min(free)));
                }
            });
            if let Err(error) = read {
                self.problems
                    .push(format!("{}/{day}: {error}", figures::DIRECTORY));
            }
            if let Some(free) = least {
                points.push((day.start(), free));
                self.disk.days.push((day.to_string(), free));
            }
        }
        self.disk.forecast = forecast::of(&points);
    }
}

impl Moment {
    /// Adds a later one of the same hour.
    fn add(&mut self, later: &Moment) {
        self.at = later.at;
        self.articles += later.articles;
        // Nothing is above all edges.
        let slower = |one: Option<u64>| one.unwrap_or(u64::MAX);
        if slower(later.p99_micros) > slower(self.p99_micros) && later.articles > 0 {
            self.p99_micros = later.p99_micros;
        }
        self.lag_seconds = self.lag_seconds.max(later.lag_seconds);
        self.connections = self.connections.max(later.connections);
        self.free_bytes = later.free_bytes;
    }
}

impl DayRow {
    fn add(&mut self, daemon: &DaemonFigures) {
        self.connected += daemon.connected;
        self.bytes += daemon.bytes;
        if daemon.disk_bytes > 0 {
            self.free_bytes = daemon.free_bytes;
        }
    }
}

/// Seconds of an hour.
const HOUR: i64 = 3_600;

/// Sums that the report shows only in part.
#[derive(Default)]
struct Fold {
    /// The moments are those of hours.
    by_hour: bool,
    commits: Vec<u64>,
    networks: Networks,
    groups: Groups,
    feeds: BTreeMap<String, FeedDay>,
}

impl Fold {
    /// Adds the feeds of a line. Returns the longest lag.
    fn add_feeds(&mut self, feeds: &[FeedFigures]) -> u64 {
        // A feed that a line does not name has nothing that waits.
        for feed in self.feeds.values_mut() {
            (feed.figures.waiting, feed.figures.lag_seconds) = (0, 0);
            feed.figures.why.clear();
        }
        for more in feeds {
            if self.feeds.len() >= PEERS_MAX && !self.feeds.contains_key(&more.site) {
                continue;
            }
            let feed = self.feeds.entry(more.site.clone()).or_default();
            feed.lag_seconds_most = feed.lag_seconds_most.max(more.lag_seconds);
            let before = std::mem::take(&mut feed.figures);
            feed.figures = FeedFigures {
                offered: before.offered + more.offered,
                accepted: before.accepted + more.accepted,
                not_wanted: before.not_wanted + more.not_wanted,
                refused: before.refused + more.refused,
                deferred: before.deferred + more.deferred,
                bytes: before.bytes + more.bytes,
                ..more.clone()
            };
        }
        let lags = feeds.iter().map(|feed| feed.lag_seconds);
        lags.max().unwrap_or_default()
    }
}

impl Articles {
    fn of(log: &LogFold) -> Articles {
        let (rows, others) = log.neighbours.largest(NAMED_MAX);
        let others = Row {
            name: String::new(),
            counts: others,
        };
        let all = rows.into_iter().chain([others]);
        let counted = all.filter(|row| row.counts.iter().any(|count| *count > 0));
        Articles {
            total: fates(&log.neighbours.total()),
            neighbours: counted
                .map(|row| Neighbour {
                    articles: row.counts.first().copied().unwrap_or_default(),
                    fates: fates(&row.counts),
                    name: row.name,
                })
                .collect(),
            hours: log.hours,
            reasons: reasons(log),
            log_files: log.files,
        }
    }
}

fn fates(counts: &[u64; FATES]) -> BTreeMap<&'static str, u64> {
    let counts = counts.iter().skip(1);
    let named = Fate::ALL.into_iter().zip(counts);
    named.map(|(fate, count)| (fate.name(), *count)).collect()
}

fn add_buckets(sum: &mut Vec<u64>, more: &[u64]) {
    // More buckets than edges are not ours.
    let more = more.get(..=EDGES_MICROS.len()).unwrap_or(more);
    if sum.len() < more.len() {
        sum.resize(more.len(), 0);
    }
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum = sum.saturating_add(*more);
    }
}

fn spread(buckets: &[u64]) -> Spread {
    Spread {
        buckets: buckets.to_vec(),
        micros: 0,
    }
}

/// Commits that took longer than a quarter of a second.
fn slow(buckets: &[u64]) -> u64 {
    let first = EDGES_MICROS.partition_point(|edge| *edge <= SLOW_MICROS);
    buckets.iter().skip(first).sum()
}

/// The end of the highest bucket with a commit; `None` above all edges.
fn highest(buckets: &[u64]) -> Option<u64> {
    let place = buckets.iter().rposition(|count| *count > 0)?;
    EDGES_MICROS.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{EntryFigures, Figures, append};

    #[test]
    fn lines_add_up() {
        let room = tempfile::tempdir().unwrap();
        let dir = room.path();
        let day = Day::parse("2026-11-22").unwrap();
        let mut commits = vec![0; EDGES_MICROS.len() + 1];
        commits[3] = 98;
        let line = |from: i64, lag: u64, free: u64, commits: &[u64]| Figures {
            from,
            to: from + 900,
            daemon: Some(DaemonFigures {
                articles: 10,
                commits: commits.to_vec(),
                connected: 2,
                connections: lag,
                intake: "open".to_owned(),
                free_bytes: free,
                disk_bytes: 1000,
                entries: vec![EntryFigures {
                    name: "peer".to_owned(),
                    counts: [("offered".to_owned(), 5), ("posted".to_owned(), 1)].into(),
                }],
                feeds: vec![FeedFigures {
                    site: "north".to_owned(),
                    offered: 4,
                    waiting: lag,
                    lag_seconds: lag,
                    ..FeedFigures::default()
                }],
                networks: vec![NetworkFigures {
                    name: "192.0.2.0/24".to_owned(),
                    articles: 3,
                    connections: 1,
                    ..NetworkFigures::default()
                }],
                groups: vec![GroupFigures {
                    name: "comp.test".to_owned(),
                    requests: 7,
                }],
                ..DaemonFigures::default()
            }),
            expire: None,
            task: None,
        };
        for (before, free) in [(2, 300), (1, 200)] {
            append(dir, &line(day.plus(-before).start(), 0, free, &[])).unwrap();
        }
        append(dir, &line(day.start(), 50, 120, &commits)).unwrap();
        commits[12] = 1;
        append(dir, &line(day.start() + 900, 0, 100, &commits)).unwrap();
        let expire = ExpireFigures {
            articles: 8,
            ..ExpireFigures::default()
        };
        append(
            dir,
            &Figures {
                from: day.start() + 5,
                to: day.start() + 9,
                expire: Some(expire.clone()),
                ..Figures::default()
            },
        )
        .unwrap();
        let report = DailyReport::of(dir, "news.example.com", day, day.end() + 5).unwrap();
        assert_eq!((report.from, report.to), (day.start(), day.end()));
        assert_eq!(report.counted_seconds, 1800);
        assert_eq!((report.filing.articles, report.filing.commits), (20, 197));
        assert_eq!(report.filing.p99_micros, Some(1_000));
        assert_eq!(report.nntp.entries["peer"]["offered"], 10);
        assert_eq!((report.nntp.posted, report.nntp.connections_most), (2, 50));
        let feed = report.feeds.first().unwrap();
        assert_eq!((feed.lag_seconds_most, feed.figures.lag_seconds), (50, 0));
        assert_eq!(feed.figures.offered, 8);
        assert_eq!(report.readers.networks.first().unwrap().articles, 6);
        assert_eq!(report.readers.groups.first().unwrap().requests, 14);
        assert_eq!(report.slow.len(), 1);
        let slow = report.slow.first().unwrap();
        assert_eq!(
            (slow.slow_commits, slow.within_micros),
            (1, Some(1_000_000))
        );
        assert_eq!(report.expire.first().unwrap().figures, expire);
        assert_eq!((report.disk.free_bytes, report.disk.days.len()), (100, 3));
        let forecast = Forecast::Shrinking {
            bytes_a_day: 100,
            days: 1,
        };
        assert_eq!(report.disk.forecast, forecast);
        // A day of which nothing is known.
        let empty = DailyReport::of(dir, "x", day.plus(3), day.plus(3).start()).unwrap();
        assert_eq!((empty.counted_seconds, empty.articles.log_files), (0, 0));
    }
}
