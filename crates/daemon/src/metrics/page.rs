//! The page: the text format of Prometheus, version 0.0.4.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use feed::feeds;
use feed::waiting::Backlog;
use mount::counters;
use settings::NewsDirectory;
use store::Snapshot;
use store::histogram::EDGES_MICROS;

use super::super::daemon_status::Took;
use super::super::writer_handle::WriterHandle;
use super::table::{Metric, Sample, Seen, Value, metrics};

/// Interval after which figures from the store are read again, or ten times the duration of reading them.
const FRESH: Duration = Duration::from_secs(10);

/// Makes the page.
pub struct Page {
    directory: NewsDirectory,
    writer: Arc<WriterHandle>,
    since: i64,
    /// The figures from the store, and the time until which they are fresh enough.
    shelf: Option<(Shelf, Instant)>,
}

/// Figures from the store.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub segments: u64,
    pub log_bytes: u64,
    pub ids: u64,
    pub newest: Option<i64>,
    pub feeds: Vec<WaitingFeed>,
}

/// What waits for a site.
#[derive(Debug)]
pub(super) struct WaitingFeed {
    pub name: String,
    pub backlog: Backlog,
    /// Number of deferred articles.
    pub deferred: usize,
}

impl Shelf {
    /// `is_feeding`: the cursors here are those by which the sites are fed.
    fn look(directory: &NewsDirectory, is_feeding: bool) -> anyhow::Result<Shelf> {
        let snapshot = Snapshot::open(directory.root())?;
        let sites = directory.sys(&directory.settings()?.settings)?;
        let mut names = feeds::names(&sites);
        names.retain(|_| is_feeding);
        let (told, _) = feeds::backlogs(directory.root(), &sites, &snapshot, names.iter().copied());
        let feed = |feed: &feeds::FeedStatus<'_>| WaitingFeed {
            name: groups::shown(feed.name),
            backlog: feed.backlog,
            deferred: feed.look.deferred.len(),
        };
        Ok(Shelf {
            segments: snapshot.segments().len() as u64,
            log_bytes: snapshot.log_bytes(),
            ids: snapshot.ids(),
            newest: snapshot.newest_arrival()?,
            feeds: told.iter().map(feed).collect(),
        })
    }
}

impl Page {
    /// Nothing is looked at as yet.
    pub fn new(directory: NewsDirectory, writer: Arc<WriterHandle>, since: i64) -> Page {
        Page {
            directory,
            writer,
            since,
            shelf: None,
        }
    }

    /// As it is now.
    pub fn text(&mut self) -> String {
        let began = Instant::now();
        if self.shelf.as_ref().is_none_or(|(_, until)| *until <= began) {
            // What cannot be read just now is left out.
            let feeds = self.writer.cluster_feeds();
            let is_feeding = feeds.is_none_or(|feeds| feeds.is_here);
            let shelf = Shelf::look(&self.directory, is_feeding).unwrap_or_default();
            let fresh = FRESH.max(began.elapsed() * 10);
            self.shelf = Some((shelf, began + fresh));
        }
        let root = self.directory.root();
        let seen = Seen {
            status: &self.writer.watched(),
            shelf: self.shelf.as_ref().map(|(shelf, _)| shelf),
            object_store: store::offload::health(root),
            mounts: counters::read(root),
            since: self.since,
            now: relay::Now::read().seconds,
        };
        let mut text = Text::default();
        for metric in metrics() {
            text.metric(&metric, &seen);
        }
        text.0
    }
}

/// The text of the page.
#[derive(Default)]
struct Text(String);

impl Text {
    /// Appends a metric, unless it has no samples now.
    fn metric(&mut self, metric: &Metric, seen: &Seen<'_>) {
        let samples = metric.samples(seen);
        if samples.is_empty() {
            return;
        }
        let (name, kind, help) = (&metric.name, metric.kind.word(), metric.help);
        let _ = write!(
            self.0,
            "# HELP broadsheet_{name} {help}\n# TYPE broadsheet_{name} {kind}\n"
        );
        for Sample { labels, value } in samples {
            let labels: Vec<(&str, &str)> = metric
                .labels
                .iter()
                .copied()
                .zip(labels.iter().map(|label| &**label))
                .collect();
            match value {
                Value::Number(number) => self.sample(name, &labels, number),
                Value::Spread(took) => self.histogram(name, &labels, &took),
            }
        }
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let _ = write!(self.0, "broadsheet_{name}");
        for (place, (label, value)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(value));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], took: &Took) {
        let mut so_far = 0;
        for (edge, count) in EDGES_MICROS.iter().zip(&took.buckets) {
            so_far += count;
            let edge = seconds(*edge);
            let bucket = [labels, &[("le", edge.as_str())]].concat();
            self.sample(&format!("{name}_bucket"), &bucket, so_far);
        }
        let all = [labels, &[("le", "+Inf")]].concat();
        self.sample(&format!("{name}_bucket"), &all, took.count);
        self.sample(&format!("{name}_sum"), labels, seconds(took.micros));
        self.sample(&format!("{name}_count"), labels, took.count);
    }
}

fn seconds(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    let text = format!("{whole}.{rest:06}");
    let short = text.trim_end_matches('0');
    short.strip_suffix('.').unwrap_or(short).to_owned()
}

fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_labels_are_written_as_prometheus_reads_them() {
        assert_eq!(seconds(100), "0.0001");
        assert_eq!(seconds(2_500_000), "2.5");
        assert_eq!(seconds(10_000_000), "10");
        assert_eq!(seconds(0), "0");
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }

    #[test]
    fn buckets_add_up() {
        let mut text = Text::default();
        let took = Took {
            count: 6,
            micros: 9,
            buckets: vec![1, 2, 3],
            ..Took::default()
        };
        text.histogram("x_seconds", &[("a", "b")], &took);
        let first = "broadsheet_x_seconds_bucket{a=\"b\",le=\"0.0001\"} 1\nbroadsheet_x_seconds_bucket{a=\"b\",le=\"0.00025\"} 3\n";
        assert!(text.0.starts_with(first), "{}", text.0);
        let last = "le=\"+Inf\"} 6\nbroadsheet_x_seconds_sum{a=\"b\"} 0.000009\nbroadsheet_x_seconds_count{a=\"b\"} 6\n";
        assert!(text.0.ends_with(last), "{}", text.0);
    }
}
