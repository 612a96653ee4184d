//! What commands do with the servers, without a thread: each connects, does one thing, and returns.

use std::time::{Duration, Instant};

use async_nats::Client;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;

use super::connection::{
    LogError, LogIdentity, connect, context, context_with, identify, look, metadata_of, reports,
};
use super::nodes::{change, extent, make_store, open_store, read};
use super::{LogOptions, stream_config};
use crate::demands::ServerReport;
use crate::members::{Extent, Mark, Members};

/// Longest wait for one answer: servers that have just started are slow.
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
    wait_for(async {
        let client = connect(options).await?;
        let is_new = !exists(options, &client).await?;
        let context = context_with(&client, PATIENCE);
        if is_new {
            // Before anything is made, so that the next attempt begins anew.
            let faults = reports(options, options.replicas).await?;
            let faults: Vec<String> = faults.iter().flat_map(ServerReport::faults).collect();
            if !faults.is_empty() {
                return Err(LogError::Stopped(faults.join("; ")));
            }
            make_store(options, &context).await?;
            let (stream, subject) = (&options.stream, &options.subject);
            let mut config = stream_config(stream, subject, options.replicas, bytes_max);
            config.metadata.extend(metadata_of(new));
            let created = context.create_stream(config).await;
            created.map_err(|error| LogError::down("cannot create the stream", error))?;
        }
        Ok((identify(options, &client).await?, is_new))
    })
}

/// Whether the stream exists. Servers that have just started may not know yet.
async fn exists(options: &LogOptions, client: &Client) -> Result<bool, LogError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = context(client).get_stream(&options.stream).await;
        let error = match found {
            Ok(_) => return Ok(true),
            Err(error) => error,
        };
        match error.kind() {
            GetStreamErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                return Ok(false);
            }
            _ if Instant::now() < until => tokio::time::sleep(PAUSE).await,
            _ => return Err(LogError::down("cannot look for the stream", error)),
        }
    }
}

/// The log that a stream is.
///
/// # Errors
/// The servers do not answer or do not meet the demands, or the stream is not the log of a cluster.
pub fn find(options: &LogOptions) -> Result<LogIdentity, LogError> {
    wait_for(async {
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
    wait_for(async {
        let client = connect(options).await?;
        let (_, mut last) = look(options, &client).await?;
        let context = context_with(&client, PATIENCE);
        for (message_id, bytes) in entries {
            let message = PublishMessage::build()
                .payload(bytes)
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
    wait_for(async {
        let client = connect(options).await?;
        let (members, _) = read(&open_store(options, &client).await?).await?;
        Ok((members, extent(options, &client).await?))
    })
}

/// Puts the mark of a node that joins: from now on the log keeps what the node needs.
///
/// # Errors
/// The servers do not answer, or there is no such cluster.
pub fn announce(options: &LogOptions, mark: &Mark) -> Result<(), LogError> {
    wait_for(async {
        let client = connect(options).await?;
        change(options, &client, |members| {
            members.nodes.insert(options.node.clone(), mark.clone());
            true
        })
        .await
        .map(drop)
    })
}

/// Takes a node out: the log does not wait for it any more. Returns false if there is none of this name.
///
/// # Errors
/// The servers do not answer, or there is no such cluster.
pub fn leave(options: &LogOptions, node: &str) -> Result<bool, LogError> {
    wait_for(async {
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

/// Does some work in this thread.
fn wait_for<T>(work: impl Future<Output = Result<T, LogError>>) -> Result<T, LogError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| LogError::down("cannot start", error))?;
    runtime.block_on(work)
}
