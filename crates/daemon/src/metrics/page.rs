//! The page: the text format of Prometheus, version 0.0.4.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use feed::feeds;
use feed::waiting::Backlog;
use mount::counters::{self, Mounted};
use server::Counter;
use settings::NewsDirectory;
use store::Snapshot;
use store::histogram::EDGES_MICROS;

use super::super::daemon_status::{DaemonStatus, Entry, FedPeer, Nntp, Took};
use super::super::feed_lease::ClusterFeeds;
use super::super::intake_queue::IntakeState;
use super::super::node::health::ClusterNode;
use super::super::writer_handle::WriterHandle;

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
struct Shelf {
    segments: u64,
    log_bytes: u64,
    ids: u64,
    newest: Option<i64>,
    /// Name, backlog, and number of deferred articles.
    feeds: Vec<(String, Backlog, usize)>,
}

impl Shelf {
    /// `is_feeding`: the cursors here are those by which the sites are fed.
    fn look(directory: &NewsDirectory, is_feeding: bool) -> anyhow::Result<Shelf> {
        let snapshot = Snapshot::open(directory.root())?;
        let sites = directory.sys(&directory.settings()?.settings)?;
        let mut names = feeds::names(&sites);
        names.retain(|_| is_feeding);
        let (told, _) = feeds::backlogs(directory.root(), &sites, &snapshot, names.iter().copied());
        let feed = |feed: &feeds::FeedStatus<'_>| {
            let name = groups::shown(feed.name);
            (name, feed.backlog, feed.look.deferred.len())
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
        let mut text = Text::default();
        let watched = self.writer.watched();
        text.of_daemon(&watched, self.since);
        if let Some((shelf, _)) = &self.shelf {
            text.of_shelf(shelf);
        }
        if let Some(health) = store::offload::health(self.directory.root()) {
            text.of_object_store(&health);
        }
        text.of_mounts(&counters::read(self.directory.root()));
        if let Some(feeds) = &watched.cluster_feeds {
            text.of_cluster_feeds(feeds);
        }
        if let Some(node) = &watched.cluster_node {
            text.of_cluster_node(node);
        }
        text.of_fed_peers(&watched.peers, relay::Now::read().seconds);
        if let Some(nntp) = &watched.nntp {
            text.of_server(nntp);
            text.of_entries(&nntp.entries);
        }
        text.0
    }
}

#[derive(Default)]
struct Text(String);

/// Labels of a sample, with their values.
type Labels<'a> = &'a [(&'a str, &'a str)];

impl Text {
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(
            self.0,
            "# HELP broadsheet_{name} {help}\n# TYPE broadsheet_{name} {kind}\n"
        );
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl std::fmt::Display) {
        let _ = write!(self.0, "broadsheet_{name}");
        for (place, (label, value)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(value));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.begin(name, "gauge", help);
        self.sample(name, &[], value);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.begin(name, "counter", help);
        self.sample(name, &[], value);
    }

    /// The samples of a histogram, which was begun.
    fn histogram(&mut self, name: &str, labels: Labels<'_>, took: &Took) {
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

    fn of_daemon(&mut self, watched: &DaemonStatus, since: i64) {
        self.begin("build_info", "gauge", "The version that runs.");
        self.sample("build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        self.gauge("start_time_seconds", "When the daemon started.", since);
        let help = "Whether articles are taken over NNTP, or why not: 1 for the state that is.";
        self.begin("intake_state", "gauge", help);
        for intake_state in IntakeState::ALL {
            let is_it = u8::from(watched.intake.state == intake_state.word());
            self.sample("intake_state", &[("state", intake_state.word())], is_it);
        }
        let store = &watched.store;
        let help = "Articles filed by the daemon, by whatever way they came.";
        self.counter("filed_articles_total", help, store.articles);
        let help = "Bytes of the log that the daemon wrote.";
        self.counter("filed_bytes_total", help, store.bytes);
        let help = "Commits of the daemon, and how long each took to write and sync.";
        self.begin("commit_duration_seconds", "histogram", help);
        self.histogram("commit_duration_seconds", &[], &store.commits);
        let help = "Slots of the index in use, stale ones too.";
        self.gauge("index_used_slots", help, store.index_used);
        self.gauge("index_slots", "Slots of the index.", store.index_slots);
        let help = "Bytes free where the news directory is.";
        if let Some(free) = store.free_bytes {
            self.gauge("disk_free_bytes", help, free);
        }
    }

    fn of_shelf(&mut self, shelf: &Shelf) {
        self.gauge("segments", "Segments of the log.", shelf.segments);
        self.gauge("log_bytes", "Bytes of the log.", shelf.log_bytes);
        self.gauge("remembered_ids", "Ids in the history.", shelf.ids);
        if let Some(newest) = shelf.newest {
            let help = "When the newest article arrived.";
            self.gauge("newest_arrival_timestamp_seconds", help, newest);
        }
        if shelf.feeds.is_empty() {
            return;
        }
        let help = "Articles that wait for a site.";
        self.begin("feed_backlog_articles", "gauge", help);
        for (name, backlog, _) in &shelf.feeds {
            let articles = backlog.articles;
            self.sample("feed_backlog_articles", &[("feed", name)], articles);
        }
        self.begin("feed_backlog_bytes", "gauge", "Their bytes.");
        for (name, backlog, _) in &shelf.feeds {
            self.sample("feed_backlog_bytes", &[("feed", name)], backlog.bytes);
        }
        let help =
            "Articles that a site deferred; they are offered again, and are not in the backlog.";
        self.begin("feed_deferred_articles", "gauge", help);
        for (name, _, deferred) in &shelf.feeds {
            self.sample("feed_deferred_articles", &[("feed", name)], deferred);
        }
        let name = "feed_oldest_arrival_timestamp_seconds";
        self.begin(name, "gauge", "When the oldest of them arrived.");
        for (feed, backlog, _) in &shelf.feeds {
            if let Some(oldest) = backlog.oldest {
                self.sample(name, &[("feed", feed)], oldest);
            }
        }
    }

    /// Absent until the daemon has asked the store for the first time.
    fn of_object_store(&mut self, health: &store::offload::Health) {
        let help = "1 while the object store answers.";
        let is_up = u64::from(health.failure.is_none());
        self.gauge("object_store_up", help, is_up);
        let help = "Reads of the object store.";
        self.counter("object_store_fetches_total", help, health.fetches);
        let help = "Bytes read from the object store.";
        self.counter(
            "object_store_fetched_bytes_total",
            help,
            health.fetched_bytes,
        );
    }

    fn of_mounts(&mut self, mounts: &[Mounted]) {
        if mounts.is_empty() {
            return;
        }
        let name = "mount_names_total";
        let help = "Names looked up in the name cache of a mount; stale ones are misses, too.";
        self.begin(name, "counter", help);
        for mount in mounts {
            let counts = &mount.counters;
            for (result, count) in [
                ("hit", counts.name_hits),
                ("miss", counts.name_misses),
                ("stale", counts.name_stale),
            ] {
                let labels = [("mount", mount.at.as_str()), ("result", result)];
                self.sample(name, &labels, count);
            }
        }
        let name = "mount_searches_total";
        let help = "Searches of directories of a mount, by the help of the offset cache.";
        self.begin(name, "counter", help);
        for mount in mounts {
            let counts = &mount.counters;
            for (result, count) in [
                ("hit", counts.offset_hits),
                ("pass", counts.offset_passes),
                ("miss", counts.offset_misses),
            ] {
                let labels = [("mount", mount.at.as_str()), ("result", result)];
                self.sample(name, &labels, count);
            }
        }
        let name = "mount_entries_examined_total";
        self.begin(
            name,
            "counter",
            "Entries of directories that a mount examined.",
        );
        for mount in mounts {
            let labels = [("mount", mount.at.as_str())];
            self.sample(name, &labels, mount.counters.entries_examined);
        }
    }

    fn of_fed_peers(&mut self, peers: &[FedPeer], now: i64) {
        type Count = fn(&FedPeer) -> u64;
        if peers.is_empty() {
            return;
        }
        let gauges: [(&str, &str, Count); 3] = [
            (
                "feed_connections",
                "Connections now to a peer that is fed by NNTP.",
                |peer| peer.connections,
            ),
            (
                "feed_in_hand",
                "Articles found for a peer that it has not answered for.",
                |peer| peer.waiting,
            ),
            (
                "feed_failing",
                "1 while articles cannot be sent to a peer.",
                |peer| u64::from(peer.is_failing()),
            ),
        ];
        for (name, help, count) in gauges {
            self.begin(name, "gauge", help);
            for peer in peers {
                self.sample(name, &[("site", &peer.site)], count(peer));
            }
        }
        let name = "feed_failing_seconds";
        let help = "Time for which no article could be sent to a peer; 0 if some could.";
        self.begin(name, "gauge", help);
        for peer in peers {
            let since = peer.failing_since;
            let seconds = since.map_or(0, |since| now.saturating_sub(since).max(0));
            self.sample(name, &[("site", &peer.site)], seconds);
        }
        let name = "feed_lag_seconds";
        self.begin(
            name,
            "gauge",
            "Age of the oldest article in hand for a peer.",
        );
        for peer in peers {
            let lag = peer
                .oldest_arrival
                .map_or(0, |at| now.saturating_sub(at).max(0));
            self.sample(name, &[("site", &peer.site)], lag);
        }
        let name = "feed_offered_total";
        self.begin(
            name,
            "counter",
            "Articles offered to a peer, repeated offers among them.",
        );
        for peer in peers {
            self.sample(name, &[("site", &peer.site)], peer.offered);
        }
        let name = "feed_answered_total";
        self.begin(name, "counter", "Answers of a peer about articles.");
        let answers: [(&str, Count); 4] = [
            ("accepted", |peer| peer.accepted),
            ("not_wanted", |peer| peer.not_wanted),
            ("refused", |peer| peer.refused),
            ("deferred", |peer| peer.deferred),
        ];
        for peer in peers {
            for (answer, count) in answers {
                let labels = [("site", peer.site.as_str()), ("answer", answer)];
                self.sample(name, &labels, count(peer));
            }
        }
        let name = "feed_given_up_total";
        let help = "Articles that were given up, since a peer deferred them too often.";
        self.begin(name, "counter", help);
        for peer in peers {
            self.sample(name, &[("site", &peer.site)], peer.given_up);
        }
        let name = "feed_bytes_total";
        self.begin(name, "counter", "Bytes sent to a peer.");
        for peer in peers {
            self.sample(name, &[("site", &peer.site)], peer.bytes);
        }
    }

    fn of_cluster_feeds(&mut self, feeds: &ClusterFeeds) {
        let help = "1 on the node of a cluster that feeds the sites.";
        self.gauge("cluster_feeding", help, u64::from(feeds.is_here));
    }

    fn of_cluster_node(&mut self, node: &ClusterNode) {
        let help = "The last entry of the log of the cluster that is applied here.";
        self.gauge("cluster_applied_entry", help, node.applied);
        let help = "The last entry of the log of the cluster that this node knows of.";
        self.gauge("cluster_last_entry", help, node.last);
        let help = "How far this node is behind the log of the cluster.";
        self.gauge("cluster_lag_seconds", help, node.lag_seconds);
        let help = "1 while new clients are sent away: the node is too far behind, or has stopped.";
        self.gauge("cluster_stale", help, u64::from(node.is_stale));
        let help = "1 when this node applies no more entries.";
        self.gauge("cluster_stopped", help, u64::from(node.is_stopped));
        let help = "For how long the log of the cluster has not been reachable; 0 while it is.";
        self.gauge(
            "cluster_unreachable_seconds",
            help,
            node.unreachable_seconds,
        );
    }

    fn of_server(&mut self, nntp: &Nntp) {
        self.gauge("network_threads", "Network threads.", nntp.threads);
        self.gauge("connections", "Connections now.", nntp.connections);
        let help = "Connections now of those who may read or post.";
        self.gauge("reader_connections", help, nntp.readers);
        let help = "Connections now of those who may send.";
        self.gauge("peer_connections", help, nntp.peers);
        self.gauge("tls_connections", "Connections now with TLS.", nntp.tls);
        self.counter("connections_total", "Connections so far.", nntp.connected);
        let help = "Connections that were sent away.";
        self.counter("connections_rejected_total", help, nntp.rejected);
        let help = "Connections that were closed because nothing came for too long.";
        self.counter("connections_timed_out_total", help, nntp.timed_out);
        self.begin("logins_total", "counter", "Logins.");
        self.sample("logins_total", &[("result", "ok")], nntp.logins);
        let failed = nntp.logins_failed;
        self.sample("logins_total", &[("result", "failed")], failed);
        let help = "Places of the store that were found damaged, or that the disk cannot read.";
        self.counter("damaged_places_total", help, nntp.damaged);
        let help = "Bytes of articles that came and are not answered yet.";
        self.gauge("in_flight_bytes", help, nntp.in_flight_bytes);
    }

    fn of_entries(&mut self, entries: &[Entry]) {
        if entries.is_empty() {
            return;
        }
        let help = "Connections now under an entry of [[access]].";
        self.begin("entry_connections", "gauge", help);
        for entry in entries {
            let labels = [("entry", entry.name.as_str())];
            self.sample("entry_connections", &labels, entry.connections);
        }
        let help = "Connections so far under an entry of [[access]].";
        self.begin("entry_connections_total", "counter", help);
        for entry in entries {
            let labels = [("entry", entry.name.as_str())];
            self.sample("entry_connections_total", &labels, entry.connected);
        }
        let refusals: Vec<Counter> = Counter::refusals().collect();
        for what in Counter::ALL
            .into_iter()
            .filter(|what| !refusals.contains(what))
        {
            let name = format!("{}_total", what.name());
            self.begin(&name, "counter", what.help());
            for entry in entries {
                let labels = [("entry", entry.name.as_str())];
                self.sample(&name, &labels, entry.count(what));
            }
        }
        self.begin("refused_total", "counter", "Articles that were refused.");
        for entry in entries {
            for (reason, count) in &entry.refused {
                let labels = [("entry", entry.name.as_str()), ("reason", reason)];
                self.sample("refused_total", &labels, count);
            }
        }
        let name = "filing_latency_seconds";
        let help = "From the last byte of an article to the answer that it was taken.";
        self.begin(name, "histogram", help);
        for entry in entries {
            self.histogram(name, &[("entry", &entry.name)], &entry.latency);
        }
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
    /// A page with every metric: one sample of each kind of thing that is counted.
    fn whole_page() -> String {
        let took = Took {
            buckets: vec![0; EDGES_MICROS.len() + 1],
            ..Took::default()
        };
        let mut status = DaemonStatus::default();
        status.store.free_bytes = Some(1);
        status.store.commits = took.clone();
        let entry = Entry {
            refused: [("size".to_owned(), 1)].into(),
            latency: took,
            ..Entry::default()
        };
        let shelf = Shelf {
            newest: Some(1),
            feeds: vec![(
                "a".to_owned(),
                Backlog {
                    oldest: Some(1),
                    ..Backlog::default()
                },
                0,
            )],
            ..Shelf::default()
        };
        let health = store::offload::Health {
            failure: None,
            fetches: 0,
            fetched_bytes: 0,
        };
        let mounted = Mounted {
            at: "/mnt".to_owned(),
            pid: 1,
            since: 0,
            counters: counters::Counters::default(),
        };
        let mut text = Text::default();
        text.of_daemon(&status, 0);
        text.of_shelf(&shelf);
        text.of_server(&Nntp::default());
        text.of_entries(&[entry]);
        text.of_fed_peers(&[FedPeer::default()], 1);
        text.of_object_store(&health);
        text.of_mounts(&[mounted]);
        text.of_cluster_feeds(&ClusterFeeds::default());
        text.of_cluster_node(&ClusterNode::default());
        text.0
    }

    /// The labels of a sample line, without `le`, which every histogram has.
    fn labels(sample: &str) -> Vec<&str> {
        let inside = sample
            .split_once('{')
            .and_then(|(_, rest)| rest.rsplit_once('}'));
        let inside = inside.map_or("", |(labels, _)| labels);
        let names = inside
            .split(',')
            .filter_map(|label| label.split_once('=').map(|(name, _)| name));
        names.filter(|name| *name != "le").collect()
    }

    #[test]
    fn the_reference_has_every_metric() {
        let mut out = String::from(
            "# Metrics\n\n<!-- Made by the test `the_reference_has_every_metric` of the page itself: do not edit. -->\n\n\
             This chapter has every metric that `[nntp] metrics` serves at `/metrics`, in the text format of Prometheus, version\n\
             0.0.4. Counters begin when the daemon starts. Figures of the store and of backlogs are at most ten seconds old, or ten\n\
             times as old as counting takes. A metric is missing where its subject is: no peer, no mount, no cluster, no object\n\
             store that was asked, or a file system that does not report its size.\n\n",
        );
        let page = whole_page();
        for metric in page.split("# HELP ").skip(1) {
            let mut lines = metric.lines();
            let (name, help) = lines.next().unwrap().split_once(' ').unwrap();
            let kind = lines.next().unwrap().rsplit(' ').next().unwrap();
            let labels = labels(
                lines
                    .next()
                    .unwrap_or_else(|| panic!("no sample of {name}")),
            );
            let of = match labels.as_slice() {
                [] => String::new(),
                labels => format!(" by `{}`", labels.join("`, `")),
            };
            let line = format!("- **`{name}`** ({kind}{of}): {help}").replace("[[", "\\[\\[");
            let _ = writeln!(out, "{}", settings::wrap(&line, 114).join("\n  "));
        }
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../docs/book/reference/metrics.md");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &out).unwrap();
            return;
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == out,
            "docs/book/reference/metrics.md differs from the page; run this test with UPDATE_GOLDEN=1"
        );
    }
}
