//! The marks of the nodes, in a value of the servers' key-value store; and the trimming of the log.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_nats::Client;
use async_nats::jetstream::Context;
use async_nats::jetstream::kv::{Config, Store};
use async_nats::jetstream::stream::StorageType;

use super::connection::{context, open_stream};
use crate::log::{LogError, LogOptions};
use crate::members::{Extent, Mark, Members, Renewal, StopMark, Trim};

/// The key of the value.
const KEY: &str = "nodes";
/// Attempts at a change that others have overtaken.
const ATTEMPTS: usize = 20;
/// The reason why the log keeps everything after the list was lost.
const BEGUN_ANEW: &str = "the list of its nodes was lost: nothing leaves it for ten minutes, so that all nodes can put their marks again; the \
                          log does not wait any more for a node that does not run";
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
    let doing = "cannot create the list of the nodes";
    let store = made.map_err(|error| LogError::down(doing, error))?;
    // A list that is missing later was lost.
    let none = serde_json::to_vec(&Members::default());
    let none = none.map_err(|error| LogError::down(doing, error))?;
    let put = store.update(KEY, none.into(), 0).await;
    put.map(drop).map_err(|error| LogError::down(doing, error))
}

/// The result of [`exchange`].
pub struct Exchanged {
    /// The marks of all nodes.
    pub members: Members,
    /// The reason why the log keeps what should have left it.
    pub kept: Option<String>,
    /// In an earlier process this node has filed otherwise than most others: what it filed then is still here. Nothing was trimmed.
    pub stopped: Option<StopMark>,
}

/// Puts the mark of this node, takes nodes out that are too far behind, and trims the log. `is_known`: the last mark of this name should be
/// one of this process, or of a command. Nothing happens if the mark is not the newest one any more.
pub async fn exchange(
    options: &LogOptions,
    client: &Client,
    (mark, is_known): (Mark, bool),
    renewal: &RefCell<Renewal>,
    is_newest: &dyn Fn() -> bool,
) -> Result<Exchanged, LogError> {
    let own = options.node.as_str();
    let mark = Mark {
        decisions: options.decisions,
        ..mark
    };
    let log = extent(options, client).await?;
    let mut trim = Trim::default();
    let mut is_double = false;
    let mut stopped = None;
    let mut is_renewed = true;
    let members = change(options, client, |members| {
        trim = Trim::default();
        if !is_newest() {
            return false;
        }
        let last = members.put(own, mark.clone());
        is_double = is_known && last.is_some_and(|last| last.process != mark.process);
        let put = members.nodes.get(own);
        stopped = put.and_then(|put| put.stopped.clone());
        is_renewed = renewal.borrow_mut().may_trim(members.begun, Instant::now());
        if is_renewed {
            members.begun = 0;
            trim = members.trim(log, own);
        }
        members.nodes.retain(|name, _| !trim.out.contains(name));
        !is_double
    })
    .await?;
    if is_double {
        return Err(LogError::Stopped(format!(
            "another node has the name {own} too: give each its own, as cluster.node in broadsheet.toml"
        )));
    }
    if stopped.is_some() {
        return Ok(Exchanged {
            members,
            kept: None,
            stopped,
        });
    }
    if let Some(before) = trim.before {
        let stream = open_stream(options, client).await?;
        let purged = stream.purge().sequence(before).await;
        purged.map_err(|error| LogError::down("cannot trim the log", error))?;
    }
    let kept = if is_renewed {
        kept_for(&trim.waits_for)
    } else {
        Some(BEGUN_ANEW.to_owned())
    };
    Ok(Exchanged {
        members,
        kept,
        stopped: None,
    })
}

/// The reason why the log keeps what these nodes lack.
fn kept_for(nodes: &[String]) -> Option<String> {
    let first = nodes.first()?;
    let names = nodes.join(", ");
    Some(format!(
        "it is more than three quarters full, and keeps what fewer than two nodes have on their disks; when it is full, no node takes articles: \
         start {names}, or take out those that will not come back (`broadsheet cluster leave {first}')"
    ))
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
    let work = |members: &mut Members| {
        let is_new = members.stop(&options.node, (process, durable), &stop);
        if let Some(mark) = members.nodes.get_mut(&options.node) {
            mark.decisions = options.decisions;
        }
        is_new
    };
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

/// The marks, and the revision of the value; 0: there is none. A list that was lost is begun anew: nothing but the trimming depends on it.
pub async fn read(store: &Store) -> Result<(Members, u64), LogError> {
    let entry = store.entry(KEY).await;
    let entry =
        entry.map_err(|error| LogError::down("cannot read the list of the nodes", error))?;
    let revision = entry.as_ref().map_or(0, |entry| entry.revision);
    let members = entry.and_then(|entry| serde_json::from_slice(&entry.value).ok());
    Ok((members.unwrap_or_else(begin_anew), revision))
}

/// A list in the place of one that was lost.
fn begin_anew() -> Members {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    Members {
        begun: since_1970.map_or(1, |time| time.as_secs() as i64),
        ..Members::default()
    }
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
