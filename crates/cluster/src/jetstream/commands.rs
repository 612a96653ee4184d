//! What commands do with the servers, without a thread: each connects, does one thing, and returns.

use std::time::{Duration, Instant};

use async_nats::Client;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::message::PublishMessage;

use super::connection::{
    Patience, Wait, connect, context, context_with, identify, look, metadata_of, reports,
};
use super::leases::{self, begin_cursors};
use super::nodes::{self, change, extent, make_store, open_store, read};
use super::stream_config;
use crate::demands::ServerReport;
use crate::feeding::FeedCursors;
use crate::lease::Claim;
use crate::log::{Bytes, LogError, LogIdentity, LogOptions};
use crate::members::{Extent, Mark, Members, StopMark};

/// Time within which servers that do not answer are asked again.
const ATTEMPTS_TIME: Duration = Duration::from_secs(10);
/// Longest wait until something is made or written.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause before the same question again.
const PAUSE: Duration = Duration::from_millis(200);

/// Creates the stream of a new cluster, of at most `bytes_max` bytes, if the servers meet all demands. Returns the log, and whether it is
/// new.
///
/// # Errors
/// The servers do not answer or do not meet the demands, or the stream is not the log of a cluster.
pub fn begin(
    options: &LogOptions,
    bytes_max: i64,
    new: &LogIdentity,
) -> Result<(LogIdentity, bool), LogError> {
    wait_for(async || {
        let client = connect(options).await?;
        let context = context_with(&client, PATIENCE, PATIENCE);
        if !exists(options, &client).await? {
            // Before anything is made, so that the next attempt begins anew.
            let wait = |reports: &[ServerReport]| match reports.len() {
                count if count >= options.replicas => Wait::Done,
                count if count * 2 > options.replicas => Wait::Moment,
                _ => Wait::Longer,
            };
            let faults = reports(options, wait).await?;
            let faults: Vec<String> = faults.iter().flat_map(ServerReport::faults).collect();
            if !faults.is_empty() {
                return Err(LogError::Stopped(faults.join("; ")));
            }
            make_store(options, &context).await?;
            begin_cursors(options, &client).await?;
            let (stream, subject) = (&options.stream, &options.subject);
            let mut config = stream_config(stream, subject, options.replicas, bytes_max);
            config.metadata.extend(metadata_of(new));
            let created = context.create_stream(config).await;
            created.map_err(|error| match error.kind() {
                CreateStreamErrorKind::JetStream(of_server) if is_without_room(&of_server) => {
                    LogError::down(&without_room(bytes_max), error)
                }
                _ => LogError::down("cannot create the stream", error),
            })?;
        }
        let log = identify(options, &client).await?;
        // Also if the answer to an earlier attempt was lost.
        let is_new = log == *new;
        Ok((log, is_new))
    })
}

/// Whether servers refused a stream because too few of them run or have room for it: one server says that it lacks storage, several that
/// no peers suit.
fn is_without_room(error: &async_nats::jetstream::Error) -> bool {
    matches!(
        error.error_code(),
        ErrorCode::CLUSTER_NO_PEERS
            | ErrorCode::INSUFFICIENT_RESOURCES
            | ErrorCode::STORAGE_RESOURCES_EXCEEDED
    )
}

/// What an administrator can do about [`is_without_room`].
fn without_room(bytes_max: i64) -> String {
    format!(
        "too few servers run and have room for a log of {} MiB (max_file_store, by default three quarters of the space that was free \
         when the server started): start all, give them room, or make a smaller log with --log-bytes",
        bytes_max >> 20
    )
}

/// Whether the stream exists.
async fn exists(options: &LogOptions, client: &Client) -> Result<bool, LogError> {
    let found = context(client).get_stream(&options.stream).await;
    match found.map_err(|error| (error.kind(), error)) {
        Ok(_) => Ok(true),
        Err((GetStreamErrorKind::JetStream(error), _))
            if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
        {
            Ok(false)
        }
        Err((_, error)) => Err(LogError::down("cannot look for the stream", error)),
    }
}

/// The log that a stream is.
///
/// # Errors
/// The servers do not answer or do not meet the demands, or the stream is not the log of a cluster.
pub fn find(options: &LogOptions) -> Result<LogIdentity, LogError> {
    wait_for(async || {
        let client = connect(options).await?;
        identify(options, &client).await
    })
}

/// Appends entries, in this order, and waits until all are on the disks of the servers: each with the id of its message, by which
/// the servers drop a repetition. Returns the sequence number of the last one.
///
/// # Errors
/// The servers do not answer or do not meet the demands. Some of the entries may be in the log.
pub fn append(options: &LogOptions, entries: Vec<(String, Bytes)>) -> Result<u64, LogError> {
    let doing = "cannot append to the log";
    wait_for(async || {
        let client = connect(options).await?;
        let mut last = look(options, &client, Patience::Most).await?.last;
        let context = context_with(&client, PATIENCE, PATIENCE);
        for (message_id, bytes) in &entries {
            let message = PublishMessage::build()
                .payload(bytes.clone())
                .message_id(message_id);
            let sent = context.send_publish(options.subject.clone(), message).await;
            let acknowledged = sent.map_err(|error| LogError::down(doing, error))?.await;
            last = acknowledged
                .map_err(|error| LogError::down(doing, error))?
                .sequence;
        }
        Ok(last)
    })
}

/// The marks of all nodes, and the extent of the log.
///
/// # Errors
/// The servers do not answer, or there is no such cluster.
pub fn members(options: &LogOptions) -> Result<(Members, Extent), LogError> {
    wait_for(async || {
        let client = connect(options).await?;
        let (members, _) = read(&open_store(options, &client).await?).await?;
        Ok((members, extent(options, &client).await?))
    })
}

/// The last word about the lease of the feeds, whose holder may have died since, and the cursors of the sites.
///
/// # Errors
/// The servers do not answer, or there is no such cluster.
pub fn feeder(options: &LogOptions) -> Result<(Option<Claim>, FeedCursors), LogError> {
    wait_for(async || leases::look(options).await)
}

/// Puts the mark of a node that joins: from now on the log keeps what the node needs.
///
/// # Errors
/// The servers do not answer, or there is no such cluster.
pub fn announce(options: &LogOptions, mark: &Mark) -> Result<(), LogError> {
    wait_for(async || {
        let client = connect(options).await?;
        change(options, &client, |members| {
            let mark = Mark {
                decisions: options.decisions,
                ..mark.clone()
            };
            members.announce(&options.node, mark);
            true
        })
        .await
        .map(drop)
    })
}

/// Notes in the mark of a node that it applies no more entries: of this process, with the entries up to `place.1`.
///
/// # Errors
/// The servers do not answer, or there is no such cluster.
pub fn announce_stop(
    options: &LogOptions,
    place: (u64, u64),
    stop: &StopMark,
) -> Result<(), LogError> {
    wait_for(async || {
        let client = connect(options).await?;
        nodes::stop(options, &client, place, stop).await
    })
}

/// Takes a node out: the log does not wait for it any more. Returns false if there is none of this name.
///
/// # Errors
/// The servers do not answer, or there is no such cluster.
pub fn leave(options: &LogOptions, node: &str) -> Result<bool, LogError> {
    wait_for(async || {
        let client = connect(options).await?;
        let mut is_known = false;
        change(options, &client, |members| {
            is_known = members.nodes.remove(node).is_some();
            is_known
        })
        .await?;
        Ok(is_known)
    })
}

/// Does some work in this thread. Servers that do not answer are asked again for a while: they may have just started, or elect a leader.
/// So the work must be one that may be repeated.
fn wait_for<T>(mut work: impl AsyncFnMut() -> Result<T, LogError>) -> Result<T, LogError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| LogError::down("cannot start", error))?;
    let until = Instant::now() + ATTEMPTS_TIME;
    loop {
        match runtime.block_on(work()) {
            Err(LogError::Down(_)) if Instant::now() < until => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
}
