//! The table of the metrics: the page, and the manual, print it.

use std::borrow::Cow;

use mount::counters::{Counters, Mounted};
use server::Counter;

use super::super::daemon_status::{DaemonStatus, Entry, FedPeer, Nntp, Took};
use super::super::intake_queue::IntakeState;
use super::super::node::health::ClusterNode;
use super::page::{Shelf, WaitingFeed};

/// The kind of a metric, as Prometheus has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It rises and falls.
    Gauge,
    /// It rises until the daemon ends.
    Counter,
    /// The distribution of durations, seconds.
    Histogram,
}

impl MetricKind {
    /// The word of the text format.
    pub fn word(self) -> &'static str {
        match self {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter => "counter",
            MetricKind::Histogram => "histogram",
        }
    }
}

/// A metric.
#[derive(Clone)]
pub struct Metric {
    /// Its name without `broadsheet_`.
    pub name: Cow<'static, str>,
    /// Its kind.
    pub kind: MetricKind,
    /// The labels of each sample; a histogram has `le`, too.
    pub labels: &'static [&'static str],
    /// What it counts, a sentence.
    pub help: &'static str,
    source: Source,
}

/// Where the samples come from.
#[derive(Clone, Copy)]
enum Source {
    Of(fn(&Seen<'_>, &mut Samples)),
    /// A counter of each access entry.
    EachEntry(Counter),
}

/// The state that the metrics show.
pub(super) struct Seen<'a> {
    pub status: &'a DaemonStatus,
    /// `None`: not read yet.
    pub shelf: Option<&'a Shelf>,
    /// `None` until the daemon has asked the object store for the first time.
    pub object_store: Option<store::offload::Health>,
    pub mounts: Vec<Mounted>,
    /// When the daemon started, seconds since 1970.
    pub since: i64,
    /// Seconds since 1970.
    pub now: i64,
}

/// A sample of a metric.
pub(super) struct Sample {
    /// The values of the labels.
    pub labels: Vec<String>,
    pub value: Value,
}

/// The value of a sample.
pub(super) enum Value {
    Number(i128),
    Spread(Took),
}

/// The samples of a metric.
#[derive(Default)]
struct Samples(Vec<Sample>);

impl Samples {
    fn put(&mut self, labels: &[&str], number: impl Into<i128>) {
        self.0.push(Sample {
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
            value: Value::Number(number.into()),
        });
    }

    fn put_spread(&mut self, labels: &[&str], took: &Took) {
        self.0.push(Sample {
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
            value: Value::Spread(took.clone()),
        });
    }

    fn some(&mut self, number: Option<impl Into<i128>>) {
        if let Some(number) = number {
            self.put(&[], number);
        }
    }

    fn each_mount(&mut self, seen: &Seen<'_>, results: fn(&Counters) -> [(&'static str, u64); 3]) {
        for mount in &seen.mounts {
            for (result, count) in results(&mount.counters) {
                self.put(&[&mount.at, result], count);
            }
        }
    }

    fn each_feed(&mut self, seen: &Seen<'_>, number: fn(&WaitingFeed) -> Option<i128>) {
        for feed in seen.shelf.iter().flat_map(|shelf| &shelf.feeds) {
            if let Some(number) = number(feed) {
                self.put(&[&feed.name], number);
            }
        }
    }

    fn each_peer(&mut self, seen: &Seen<'_>, number: fn(&FedPeer, now: i64) -> i128) {
        for peer in &seen.status.peers {
            self.put(&[&peer.site], number(peer, seen.now));
        }
    }

    fn of_server(&mut self, seen: &Seen<'_>, number: fn(&Nntp) -> u64) {
        if let Some(nntp) = &seen.status.nntp {
            self.put(&[], number(nntp));
        }
    }

    fn of_node(&mut self, seen: &Seen<'_>, number: fn(&ClusterNode) -> u64) {
        if let Some(node) = &seen.status.cluster_node {
            self.put(&[], number(node));
        }
    }
}

impl Seen<'_> {
    fn entries(&self) -> &[Entry] {
        let nntp = self.status.nntp.as_ref();
        nntp.map_or(&[], |nntp| &nntp.entries)
    }
}

impl Metric {
    /// Its samples now; none if what it counts does not exist here.
    pub(super) fn samples(&self, seen: &Seen<'_>) -> Vec<Sample> {
        let mut samples = Samples::default();
        match self.source {
            Source::Of(put) => put(seen, &mut samples),
            Source::EachEntry(counter) => {
                for entry in seen.entries() {
                    samples.put(&[&entry.name], entry.count(counter));
                }
            }
        }
        samples.0
    }
}

fn put_answers(seen: &Seen<'_>, samples: &mut Samples) {
    for peer in &seen.status.peers {
        let answers = [
            ("accepted", peer.accepted),
            ("not_wanted", peer.not_wanted),
            ("refused", peer.refused),
            ("deferred", peer.deferred),
        ];
        for (answer, count) in answers {
            samples.put(&[&peer.site, answer], count);
        }
    }
}

/// Seconds from a time to now; 0 without one, and of one that is to come.
fn age(since: Option<i64>, now: i64) -> i128 {
    since.map_or(0, |since| now.saturating_sub(since).max(0).into())
}

/// All metrics, in the order of the page.
pub fn metrics() -> Vec<Metric> {
    let refusals: Vec<Counter> = Counter::refusals().collect();
    let counters = Counter::ALL.into_iter();
    let of_entries = counters
        .filter(|counter| !refusals.contains(counter))
        .map(|counter| Metric {
            name: Cow::Owned(format!("{}_total", counter.name())),
            kind: MetricKind::Counter,
            labels: &["entry"],
            help: counter.help(),
            source: Source::EachEntry(counter),
        });
    METRICS.iter().cloned().chain(of_entries).collect()
}

type Put = fn(&Seen<'_>, &mut Samples);
type Labels = &'static [&'static str];

const fn metric(
    kind: MetricKind,
    name: &'static str,
    labels: Labels,
    help: &'static str,
    put: Put,
) -> Metric {
    Metric {
        name: Cow::Borrowed(name),
        kind,
        labels,
        help,
        source: Source::Of(put),
    }
}

const fn gauge(name: &'static str, labels: Labels, help: &'static str, put: Put) -> Metric {
    metric(MetricKind::Gauge, name, labels, help, put)
}

const fn counter(name: &'static str, labels: Labels, help: &'static str, put: Put) -> Metric {
    metric(MetricKind::Counter, name, labels, help, put)
}

const fn histogram(name: &'static str, labels: Labels, help: &'static str, put: Put) -> Metric {
    metric(MetricKind::Histogram, name, labels, help, put)
}

#[rustfmt::skip] // A row needs one line or two.
static METRICS: [Metric; 54] = [
    gauge("build_info", &["version"], "The version that runs.",
        |_, samples| samples.put(&[env!("CARGO_PKG_VERSION")], 1)),
    gauge("start_time_seconds", &[], "When the daemon started.",
        |seen, samples| samples.put(&[], seen.since)),
    gauge("intake_state", &["state"], "Whether articles are taken over NNTP, or why not: 1 for the state that is.",
        |seen, samples| { for state in IntakeState::ALL { samples.put(&[state.word()], u8::from(seen.status.intake.state == state.word())); } }),
    counter("filed_articles_total", &[], "Articles filed by the daemon, by whatever way they came.",
        |seen, samples| samples.put(&[], seen.status.store.articles)),
    counter("filed_bytes_total", &[], "Bytes of the log that the daemon wrote.",
        |seen, samples| samples.put(&[], seen.status.store.bytes)),
    histogram("commit_duration_seconds", &[], "Commits of the daemon, and how long each took to write and sync.",
        |seen, samples| samples.put_spread(&[], &seen.status.store.commits)),
    gauge("index_used_slots", &[], "Slots of the index in use, stale ones too.",
        |seen, samples| samples.put(&[], seen.status.store.index_used)),
    gauge("index_slots", &[], "Slots of the index.",
        |seen, samples| samples.put(&[], seen.status.store.index_slots)),
    gauge("disk_free_bytes", &[], "Bytes free where the news directory is.",
        |seen, samples| samples.some(seen.status.store.free_bytes)),
    gauge("segments", &[], "Segments of the log.",
        |seen, samples| samples.some(seen.shelf.map(|shelf| shelf.segments))),
    gauge("log_bytes", &[], "Bytes of the log.",
        |seen, samples| samples.some(seen.shelf.map(|shelf| shelf.log_bytes))),
    gauge("remembered_ids", &[], "Ids in the history.",
        |seen, samples| samples.some(seen.shelf.map(|shelf| shelf.ids))),
    gauge("newest_arrival_timestamp_seconds", &[], "When the newest article arrived.",
        |seen, samples| samples.some(seen.shelf.and_then(|shelf| shelf.newest))),
    gauge("feed_backlog_articles", &["feed"], "Articles that wait for a site.",
        |seen, samples| samples.each_feed(seen, |feed| Some(feed.backlog.articles.into()))),
    gauge("feed_backlog_bytes", &["feed"], "Their bytes.",
        |seen, samples| samples.each_feed(seen, |feed| Some(feed.backlog.bytes.into()))),
    gauge("feed_deferred_articles", &["feed"], "Articles that a site deferred; they are offered again, and are not in the backlog.",
        |seen, samples| samples.each_feed(seen, |feed| Some(feed.deferred as i128))),
    gauge("feed_oldest_arrival_timestamp_seconds", &["feed"], "When the oldest of them arrived.",
        |seen, samples| samples.each_feed(seen, |feed| feed.backlog.oldest.map(Into::into))),
    gauge("object_store_up", &[], "1 while the object store answers.",
        |seen, samples| samples.some(seen.object_store.as_ref().map(|health| u8::from(health.failure.is_none())))),
    counter("object_store_fetches_total", &[], "Reads of the object store.",
        |seen, samples| samples.some(seen.object_store.as_ref().map(|health| health.fetches))),
    counter("object_store_fetched_bytes_total", &[], "Bytes read from the object store.",
        |seen, samples| samples.some(seen.object_store.as_ref().map(|health| health.fetched_bytes))),
    counter("mount_names_total", &["mount", "result"], "Names looked up in the name cache of a mount; stale ones are misses, too.",
        |seen, samples| samples.each_mount(seen, |counts| [("hit", counts.name_hits), ("miss", counts.name_misses), ("stale", counts.name_stale)])),
    counter("mount_searches_total", &["mount", "result"], "Searches of directories of a mount, by the help of the offset cache.",
        |seen, samples| samples.each_mount(seen, |counts| [("hit", counts.offset_hits), ("pass", counts.offset_passes), ("miss", counts.offset_misses)])),
    counter("mount_entries_examined_total", &["mount"], "Entries of directories that a mount examined.",
        |seen, samples| seen.mounts.iter().for_each(|mount| samples.put(&[&mount.at], mount.counters.entries_examined))),
    gauge("cluster_feeding", &[], "1 on the node of a cluster that feeds the sites.",
        |seen, samples| samples.some(seen.status.cluster_feeds.as_ref().map(|feeds| u8::from(feeds.is_here)))),
    gauge("cluster_applied_entry", &[], "The last entry of the log of the cluster that is applied here.",
        |seen, samples| samples.of_node(seen, |node| node.applied)),
    gauge("cluster_last_entry", &[], "The last entry of the log of the cluster that this node knows of.",
        |seen, samples| samples.of_node(seen, |node| node.last)),
    gauge("cluster_lag_seconds", &[], "How far this node is behind the log of the cluster.",
        |seen, samples| samples.of_node(seen, |node| node.lag_seconds)),
    gauge("cluster_stale", &[], "1 while new clients are sent away: the node is too far behind, or has stopped.",
        |seen, samples| samples.of_node(seen, |node| u64::from(node.is_stale))),
    gauge("cluster_stopped", &[], "1 when this node applies no more entries.",
        |seen, samples| samples.of_node(seen, |node| u64::from(node.is_stopped))),
    gauge("cluster_unreachable_seconds", &[], "For how long the log of the cluster has not been reachable; 0 while it is.",
        |seen, samples| samples.of_node(seen, |node| node.unreachable_seconds)),
    gauge("feed_connections", &["site"], "Connections now to a peer that is fed by NNTP.",
        |seen, samples| samples.each_peer(seen, |peer, _| peer.connections.into())),
    gauge("feed_in_hand", &["site"], "Articles found for a peer that it has not answered for.",
        |seen, samples| samples.each_peer(seen, |peer, _| peer.waiting.into())),
    gauge("feed_failing", &["site"], "1 while articles cannot be sent to a peer.",
        |seen, samples| samples.each_peer(seen, |peer, _| peer.is_failing().into())),
    gauge("feed_failing_seconds", &["site"], "Time for which no article could be sent to a peer; 0 if some could.",
        |seen, samples| samples.each_peer(seen, |peer, now| age(peer.failing_since, now))),
    gauge("feed_lag_seconds", &["site"], "Age of the oldest article in hand for a peer.",
        |seen, samples| samples.each_peer(seen, |peer, now| age(peer.oldest_arrival, now))),
    counter("feed_offered_total", &["site"], "Articles offered to a peer, repeated offers among them.",
        |seen, samples| samples.each_peer(seen, |peer, _| peer.offered.into())),
    counter("feed_answered_total", &["site", "answer"], "Answers of a peer about articles.",
        put_answers),
    counter("feed_given_up_total", &["site"], "Articles that were given up, since a peer deferred them too often.",
        |seen, samples| samples.each_peer(seen, |peer, _| peer.given_up.into())),
    counter("feed_bytes_total", &["site"], "Bytes sent to a peer.",
        |seen, samples| samples.each_peer(seen, |peer, _| peer.bytes.into())),
    gauge("network_threads", &[], "Network threads.",
        |seen, samples| samples.of_server(seen, |nntp| nntp.threads)),
    gauge("connections", &[], "Connections now.",
        |seen, samples| samples.of_server(seen, |nntp| nntp.connections)),
    gauge("reader_connections", &[], "Connections now of those who may read or post.",
        |seen, samples| samples.of_server(seen, |nntp| nntp.readers)),
    gauge("peer_connections", &[], "Connections now of those who may send.",
        |seen, samples| samples.of_server(seen, |nntp| nntp.peers)),
    gauge("tls_connections", &[], "Connections now with TLS.",
        |seen, samples| samples.of_server(seen, |nntp| nntp.tls)),
    counter("connections_total", &[], "Connections so far.",
        |seen, samples| samples.of_server(seen, |nntp| nntp.connected)),
    counter("connections_rejected_total", &[], "Connections that were sent away.",
        |seen, samples| samples.of_server(seen, |nntp| nntp.rejected)),
    counter("connections_timed_out_total", &[], "Connections that were closed because nothing came for too long.",
        |seen, samples| samples.of_server(seen, |nntp| nntp.timed_out)),
    counter("logins_total", &["result"], "Logins.",
        |seen, samples| { if let Some(nntp) = &seen.status.nntp { samples.put(&["ok"], nntp.logins); samples.put(&["failed"], nntp.logins_failed); } }),
    counter("damaged_places_total", &[], "Places of the store that were found damaged, or that the disk cannot read.",
        |seen, samples| samples.of_server(seen, |nntp| nntp.damaged)),
    gauge("in_flight_bytes", &[], "Bytes of articles that came and are not answered yet.",
        |seen, samples| samples.of_server(seen, |nntp| nntp.in_flight_bytes)),
    gauge("entry_connections", &["entry"], "Connections now under an entry of [[access]].",
        |seen, samples| { for entry in seen.entries() { samples.put(&[&entry.name], entry.connections); } }),
    counter("entry_connections_total", &["entry"], "Connections so far under an entry of [[access]].",
        |seen, samples| { for entry in seen.entries() { samples.put(&[&entry.name], entry.connected); } }),
    counter("refused_total", &["entry", "reason"], "Articles that were refused.",
        |seen, samples| { for entry in seen.entries() { for (reason, count) in &entry.refused { samples.put(&[&entry.name, reason], *count); } } }),
    histogram("filing_latency_seconds", &["entry"], "From the last byte of an article to the answer that it was taken.",
        |seen, samples| { for entry in seen.entries() { samples.put_spread(&[&entry.name], &entry.latency); } }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_is_listed_once() {
        let metrics = metrics();
        let mut names: Vec<&str> = metrics.iter().map(|metric| &*metric.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        for metric in &metrics {
            let is_total = metric.name.ends_with("_total");
            assert_eq!(
                metric.kind == MetricKind::Counter,
                is_total,
                "{}",
                metric.name
            );
            assert!(metric.help.ends_with('.'), "{}", metric.name);
        }
    }
}
