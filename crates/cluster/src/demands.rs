//! The settings without which the servers could lose entries that they have acknowledged, or without which nodes could differ.
//!
//! With the usual `sync_interval` (two minutes) a server acknowledges messages that are not on its disk. A power cut of all servers then
//! loses a third of them, and the replicas disagree afterwards.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::{
    Config, DiscardPolicy, PersistenceMode, RetentionPolicy, StorageType,
};
use serde::Deserialize;

use crate::entry::ENTRY_BYTES_MAX;

/// The oldest release of the servers: the one with which the promises were tested.
pub const SERVER_VERSION_MIN: (u32, u32, u32) = (2, 15, 2);

/// Time after which a server that lives must have answered.
const SILENT: Duration = Duration::from_secs(60);

/// The report of a server about itself (`$SYS.REQ.SERVER.PING.JSZ` with `config`).
#[derive(Debug, Deserialize)]
pub struct ServerReport {
    server: Server,
    #[serde(default)]
    data: Data,
}

#[derive(Debug, Deserialize)]
struct Server {
    name: String,
    #[serde(default)]
    ver: String,
}

#[derive(Debug, Default, Deserialize)]
struct Data {
    #[serde(default)]
    config: JetStreamConfig,
}

#[derive(Debug, Default, Deserialize)]
struct JetStreamConfig {
    #[serde(default)]
    sync_always: bool,
}

impl ServerReport {
    /// The report in this message.
    pub fn parse(message: &[u8]) -> Option<ServerReport> {
        serde_json::from_slice(message).ok()
    }

    /// The name of the server (`server_name`).
    pub fn name(&self) -> &str {
        &self.server.name
    }

    /// The demands that the server does not meet, as sentences that say what to do.
    pub fn faults(&self) -> Vec<String> {
        let Server { name, ver } = &self.server;
        let mut faults = Vec::new();
        let (major, minor, patch) = SERVER_VERSION_MIN;
        if version(ver).is_none_or(|version| version < SERVER_VERSION_MIN) {
            faults.push(format!(
                "the NATS server {name} has version {ver}: install {major}.{minor}.{patch} or newer"
            ));
        }
        if !self.data.config.sync_always {
            faults.push(format!(
                "the NATS server {name} acknowledges entries before they are on its disk: set `sync_interval: always' in the section \
                 jetstream of its configuration, and restart it"
            ));
        }
        faults
    }
}

/// The servers among these that did not report.
pub fn silent<'a>(servers: impl Iterator<Item = &'a str>, reports: &[ServerReport]) -> Vec<String> {
    let is_silent = |name: &&str| !reports.iter().any(|report| report.name() == *name);
    servers.filter(is_silent).map(str::to_owned).collect()
}

/// The fault of servers that do not answer.
pub fn no_answer(servers: &[String]) -> String {
    let told = |name: &String| format!("the NATS server {name} does not answer");
    let told: Vec<String> = servers.iter().map(told).collect();
    told.join("; ")
}

/// Servers that acknowledge entries and do not say by which settings. One that is busy, or has just died, is among them for a moment.
#[derive(Debug, Default)]
pub struct Watch {
    /// The servers, and the time since which they are silent.
    silent: BTreeMap<String, Instant>,
}

impl Watch {
    /// Notes the servers that were silent at a look. Returns the fault of those that have been for too long.
    pub fn saw(&mut self, silent: Vec<String>, now: Instant) -> Option<String> {
        let before = std::mem::take(&mut self.silent);
        let since = |name: String| {
            let since = before.get(&name).copied().unwrap_or(now);
            (name, since)
        };
        self.silent = silent.into_iter().map(since).collect();
        let mute = self.mute(now);
        (!mute.is_empty()).then(|| {
            format!(
                "{}; so nobody knows whether it syncs always, and it acknowledges entries: restart it, or stop it",
                no_answer(&mute)
            )
        })
    }

    /// Whether servers have been silent for too long.
    pub fn has_mute(&self, now: Instant) -> bool {
        !self.mute(now).is_empty()
    }

    fn mute(&self, now: Instant) -> Vec<String> {
        let mut silent = self.silent.clone();
        silent.retain(|_, since| now.saturating_duration_since(*since) >= SILENT);
        silent.into_keys().collect()
    }
}

/// The demands on the log of a cluster with so many replicas that a stream does not meet, as sentences.
pub fn faults_of_stream(config: &Config, replicas: usize) -> Vec<String> {
    let demands = [
        (
            config.num_replicas >= replicas,
            format!("it has {} replicas, not {replicas}", config.num_replicas),
        ),
        (
            config.storage == StorageType::File,
            "it is not stored in files".to_owned(),
        ),
        (
            config.retention == RetentionPolicy::Limits,
            "its retention is not `limits'".to_owned(),
        ),
        (
            config.discard == DiscardPolicy::New,
            "it discards old entries when it is full".to_owned(),
        ),
        (
            config.max_age.is_zero(),
            "entries are removed by age".to_owned(),
        ),
        (
            config.max_messages_per_subject <= 0,
            "the messages of a subject are limited".to_owned(),
        ),
        (config.deny_delete, "entries can be deleted".to_owned()),
        (!config.no_ack, "it does not acknowledge".to_owned()),
        (
            config
                .persist_mode
                .as_ref()
                .is_none_or(|mode| matches!(mode, PersistenceMode::Default)),
            "its persist mode is `async'".to_owned(),
        ),
        (
            config.mirror.is_none() && config.sources.is_none(),
            "it is a copy of another stream".to_owned(),
        ),
    ];
    let name = &config.name;
    demands
        .into_iter()
        .filter(|(is_met, _)| !is_met)
        .map(|(_, fault)| format!("the stream {name} cannot be the log of a cluster: {fault}"))
        .collect()
}

/// The fault of a connection that takes only messages of this size, bytes.
pub fn fault_of_payload(max_payload: usize, entry_bytes_max: usize) -> Option<String> {
    let needed = entry_bytes_max.min(ENTRY_BYTES_MAX);
    (max_payload < needed).then(|| {
        format!(
            "the NATS servers take messages of at most {max_payload} bytes: set `max_payload: {needed}' in their configuration, or lower \
             limits.article_bytes_max"
        )
    })
}

fn version(text: &str) -> Option<(u32, u32, u32)> {
    let text = text.split_once('-').map_or(text, |(number, _)| number);
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn report(version: &str, sync_always: bool) -> ServerReport {
        let text = format!(
            r#"{{"server":{{"name":"a","ver":"{version}","seq":3}},"data":{{"config":{{"sync_always":{sync_always},"max_memory":1}},"streams":1}}}}"#
        );
        ServerReport::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_server_must_sync_and_be_new() {
        assert_eq!(report("2.15.2", true).faults(), Vec::<String>::new());
        assert_eq!(
            report("2.16.0-preview.1", true).faults(),
            Vec::<String>::new()
        );
        assert!(
            report("2.15.1", true)
                .faults()
                .concat()
                .contains("2.15.2 or newer")
        );
        assert!(
            report("new", true)
                .faults()
                .concat()
                .contains("2.15.2 or newer")
        );
        assert!(
            report("2.15.2", false)
                .faults()
                .concat()
                .contains("sync_interval: always")
        );
        // A server without JetStream tells no configuration.
        let silent_on_it =
            ServerReport::parse(br#"{"server":{"name":"b","ver":"2.15.2"}}"#).unwrap();
        assert_eq!(silent_on_it.faults().len(), 1);
        assert!(ServerReport::parse(b"{}").is_none());
    }

    #[test]
    fn every_replica_must_answer() {
        let reports = [report("2.15.2", true)];
        let silent = silent(["a", "b"].into_iter(), &reports);
        assert_eq!(silent, ["b"]);
        assert_eq!(no_answer(&silent), "the NATS server b does not answer");
        // A moment later at the latest.
        let mut watch = Watch::default();
        let now = Instant::now();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(watch.saw(names(&["b"]), now), None);
        assert_eq!(watch.saw(names(&["b", "c"]), now + SILENT / 2), None);
        let why = watch.saw(names(&["b", "c"]), now + SILENT).unwrap();
        assert!(why.contains("server b does not answer"), "{why}");
        assert!(!why.contains("server c"), "{why}");
        assert!(watch.has_mute(now + SILENT));
        // It answers; the other one has not for a while.
        assert_eq!(watch.saw(names(&["c"]), now + SILENT), None);
        assert!(!watch.has_mute(now + SILENT));
        assert!(watch.has_mute(now + SILENT * 3 / 2));
        // It was down, so the time begins anew.
        assert_eq!(watch.saw(names(&[]), now + SILENT), None);
        assert_eq!(watch.saw(names(&["c"]), now + SILENT * 2), None);
    }

    #[test]
    fn a_stream_that_may_lose_entries_is_refused() {
        let good = || crate::jetstream::stream_config("news", "news", 3, 1 << 30);
        assert_eq!(faults_of_stream(&good(), 3), Vec::<String>::new());
        let spoil: [fn(&mut Config); 8] = [
            |config| config.num_replicas = 1,
            |config| config.storage = StorageType::Memory,
            |config| config.retention = RetentionPolicy::Interest,
            |config| config.discard = DiscardPolicy::Old,
            |config| config.max_age = std::time::Duration::from_secs(1),
            |config| config.deny_delete = false,
            |config| config.no_ack = true,
            |config| config.persist_mode = Some(PersistenceMode::Async),
        ];
        for spoil in spoil {
            let mut config = good();
            spoil(&mut config);
            assert_eq!(faults_of_stream(&config, 3).len(), 1, "{config:?}");
        }
    }

    #[test]
    fn messages_must_be_large_enough() {
        assert_eq!(fault_of_payload(ENTRY_BYTES_MAX, usize::MAX), None);
        assert_eq!(fault_of_payload(1 << 20, 1 << 20), None);
        assert!(fault_of_payload(1 << 20, usize::MAX).is_some());
    }
}
