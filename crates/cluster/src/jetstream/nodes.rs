//! The marks of the nodes, in a value of the servers' key-value store; and the trimming of the log.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::Context;
use async_nats::jetstream::kv::{Config, Store};
use async_nats::jetstream::stream::StorageType;

use super::LogOptions;
use super::connection::{LogError, context, open_stream};
use crate::members::{Extent, Mark, Members, StopMark};

/// The key of the value.
const KEY: &str = "nodes";
/// Attempts at a change that others have overtaken.
const ATTEMPTS: usize = 20;
/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// Makes the store of a new cluster, if it is not there.
pub async fn make_store(options: &LogOptions, context: &Context) -> Result<(), LogError> {
    if context.get_key_value(bucket(options)).await.is_ok() {
        return Ok(());
    }
    let config = Config {
        bucket: bucket(options),
        description: "The nodes of a Broadsheet cluster".to_owned(),
        history: 1,
        storage: StorageType::File,
        num_replicas: options.replicas,
        ..Config::default()
    };
    let made = context.create_key_value(config).await;
    made.map(drop)
        .map_err(|error| LogError::down("cannot create the list of the nodes", error))
}

/// Puts the mark of this node, takes nodes out that are too far behind, and trims the log. `is_known`: the last mark of this name should be
/// one of this process, or of a command.
pub async fn exchange(
    options: &LogOptions,
    client: &Client,
    mark: Mark,
    is_known: bool,
) -> Result<Members, LogError> {
    let own = options.node.as_str();
    let log = extent(options, client).await?;
    let mut before = None;
    let mut is_double = false;
    let mut stopped = None;
    let members = change(options, client, |members| {
        let last = members.put(own, mark.clone());
        is_double = is_known && last.is_some_and(|last| last.process != mark.process);
        let put = members.nodes.get(own);
        stopped = put.and_then(|put| put.stopped.clone());
        let trim = members.trim(log, own);
        before = trim.before;
        members.nodes.retain(|name, _| !trim.out.contains(name));
        !is_double
    })
    .await?;
    if is_double {
        return Err(LogError::Stopped(format!(
            "another node has the name {own} too: give each its own, as cluster.node in broadsheet.toml"
        )));
    }
    if let Some(StopMark { why, .. }) = stopped {
        // What it filed before it was started again is still here.
        return Err(LogError::Stopped(why));
    }
    if let Some(before) = before {
        let stream = open_stream(options, client).await?;
        let purged = stream.purge().sequence(before).await;
        purged.map_err(|error| LogError::down("cannot trim the log", error))?;
    }
    Ok(members)
}

/// Notes that this node, of a process and with the entries up to `durable`, applies no more.
pub async fn stop(
    options: &LogOptions,
    client: &Client,
    (process, durable): (u64, u64),
    stop: &StopMark,
) -> Result<(), LogError> {
    let log = extent(options, client).await?;
    let stop = StopMark {
        is_out: log.first > durable + 1,
        ..stop.clone()
    };
    let work = |members: &mut Members| members.stop(&options.node, (process, durable), &stop);
    change(options, client, work).await.map(drop)
}

/// The name of the store.
pub fn bucket(options: &LogOptions) -> String {
    format!("{}-nodes", options.stream)
}

/// Opens the store of the marks.
pub async fn open_store(options: &LogOptions, client: &Client) -> Result<Store, LogError> {
    let store = context(client).get_key_value(bucket(options)).await;
    store.map_err(|error| LogError::down("cannot open the list of the nodes", error))
}

/// The marks, and the revision of the value; 0: there is none yet.
pub async fn read(store: &Store) -> Result<(Members, u64), LogError> {
    let entry = store.entry(KEY).await;
    let entry =
        entry.map_err(|error| LogError::down("cannot read the list of the nodes", error))?;
    Ok(entry.map_or_else(
        || (Members::default(), 0),
        // A value that is none is written anew: nothing but the trimming depends on it.
        |entry| {
            let members = serde_json::from_slice(&entry.value);
            (members.unwrap_or_default(), entry.revision)
        },
    ))
}

/// Changes the marks; `work` returns whether there is a change. Others may change them at the same time: then it works on the new ones.
pub async fn change(
    options: &LogOptions,
    client: &Client,
    mut work: impl FnMut(&mut Members) -> bool,
) -> Result<Members, LogError> {
    let store = open_store(options, client).await?;
    let doing = "cannot write the list of the nodes";
    let mut fault = LogError::Down(doing.to_owned());
    for _ in 0..ATTEMPTS {
        let (mut members, revision) = read(&store).await?;
        if !work(&mut members) {
            return Ok(members);
        }
        let value = serde_json::to_vec(&members).map_err(|error| LogError::down(doing, error))?;
        match store.update(KEY, value.into(), revision).await {
            Ok(_) => return Ok(members),
            // What was read may have been old.
            Err(error) => fault = LogError::down(doing, error),
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(fault)
}

/// The extent of the log.
pub async fn extent(options: &LogOptions, client: &Client) -> Result<Extent, LogError> {
    let stream = open_stream(options, client).await?;
    let info = stream.cached_info();
    Ok(Extent {
        first: info.state.first_sequence,
        last: info.state.last_sequence,
        bytes: info.state.bytes,
        bytes_max: u64::try_from(info.config.max_bytes).unwrap_or(u64::MAX),
    })
}
