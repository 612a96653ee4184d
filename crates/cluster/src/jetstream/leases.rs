//! The lease of the feeds and the cursors of the sites, as values in the servers' key-value store beside the marks of the nodes.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::kv::{Store, UpdateErrorKind};
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use tokio::sync::mpsc::UnboundedReceiver;

use super::FeedWork;
use super::connection::{connect, context_with};
use super::nodes::bucket;
use crate::feeding::FeedCursors;
use crate::lease::{Act, Claim, Lease, Written};
use crate::log::{Clock, FeedNews, LogError, LogEvent, LogOptions};

/// The key of the lease.
const LEASE_KEY: &str = "feeds";
/// The key of the cursors.
const CURSORS_KEY: &str = "cursors";
/// Longest wait for an answer: several fit into a lease.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest wait for an answer about cursors, which may be many.
const CURSORS_PATIENCE: Duration = Duration::from_secs(5);

/// Serves the lease and the cursors, until `work` is closed.
pub async fn run<T: Fn(LogEvent)>(
    (options, process): (&LogOptions, u64),
    client: &Client,
    (work, clock): (&mut UnboundedReceiver<FeedWork>, Clock),
    tell: &T,
) {
    let (sender, wants) = tokio::sync::watch::channel(false);
    let cursors = async {
        // The value that was read last may be another process's: only a node that begins to feed replaces it.
        let (mut revision, mut is_foreign) = (0, false);
        while let Some(some) = work.recv().await {
            match some {
                FeedWork::Want(wants) => {
                    sender.send_if_modified(|wanted| std::mem::replace(wanted, wants) != wants);
                }
                FeedWork::Read => {
                    let news = match read_cursors(options, client).await {
                        Ok((cursors, found)) => {
                            revision = found;
                            is_foreign = !cursors.node.is_empty() && cursors.process != process;
                            FeedNews::Cursors(cursors)
                        }
                        Err(error) => FeedNews::Untold(error.to_string(), false),
                    };
                    tell(LogEvent::Feeds(news));
                }
                FeedWork::Tell(cursors, is_first) => {
                    let written = if is_foreign && !is_first {
                        Ok(false)
                    } else {
                        write_cursors(options, client, &cursors, &mut revision).await
                    };
                    let news = match written {
                        Ok(true) => {
                            is_foreign = false;
                            FeedNews::Told
                        }
                        Ok(false) => {
                            FeedNews::Untold("another node tells its own".to_owned(), true)
                        }
                        Err(error) => FeedNews::Untold(error.to_string(), false),
                    };
                    tell(LogEvent::Feeds(news));
                }
            }
        }
    };
    tokio::select! {
        () = cursors => {}
        () = keep(options, process, client, (wants, clock), tell) => {}
    }
}

/// Keeps the lease, as far as it is wanted.
async fn keep<T: Fn(LogEvent)>(
    options: &LogOptions,
    process: u64,
    client: &Client,
    (mut wants, clock): (tokio::sync::watch::Receiver<bool>, Clock),
    tell: &T,
) {
    let mut lease = Lease::new(&options.node, process);
    let mut told = None;
    loop {
        lease.want(*wants.borrow_and_update(), clock());
        match lease.act(clock()) {
            Act::Rest(until) => {
                let rest = tokio::time::sleep(until.saturating_sub(clock()));
                tokio::select! {
                    () = rest => {}
                    changed = wants.changed() => if changed.is_err() { return },
                }
                continue;
            }
            Act::Read => {
                let read = read_claim(options, client).await;
                lease.read(read.ok(), clock());
            }
            Act::Write(claim, revision) => {
                let sent = clock();
                let written = write_claim(options, client, &claim, revision).await;
                lease.wrote(claim, sent, written, clock());
            }
        }
        let news = (lease.claim().cloned(), lease.until());
        if told.as_ref() != Some(&news) {
            let (claim, until) = news.clone();
            tell(LogEvent::Feeds(FeedNews::Lease { claim, until }));
            told = Some(news);
        }
    }
}

/// The store, for requests that take at most so long.
async fn store(
    options: &LogOptions,
    client: &Client,
    patience: Duration,
) -> Result<Store, LogError> {
    let context = context_with(client, patience, patience);
    let store = context.get_key_value(bucket(options)).await;
    store.map_err(|error| LogError::down("cannot open the list of the nodes", error))
}

/// Reads a value from the leader of its stream, with its revision; 0: there is none.
async fn value(store: &Store, key: &str) -> Result<(Option<bytes::Bytes>, u64), LogError> {
    let subject = format!("{}{key}", store.prefix);
    let read = store.stream.get_last_raw_message_by_subject(&subject).await;
    match read {
        Ok(message) => Ok((Some(message.payload), message.sequence)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok((None, 0)),
        Err(error) => Err(LogError::down("cannot read who feeds", error)),
    }
}

async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, LogError>>,
) -> Result<T, LogError> {
    let done = tokio::time::timeout(patience, work).await;
    done.unwrap_or_else(|_| Err(LogError::Down("the NATS servers do not answer".to_owned())))
}

async fn read_claim(
    options: &LogOptions,
    client: &Client,
) -> Result<(Option<Claim>, u64), LogError> {
    within(PATIENCE, async {
        let store = store(options, client, PATIENCE).await?;
        let (value, revision) = value(&store, LEASE_KEY).await?;
        // A value that is none belongs to nobody.
        let claim = value.and_then(|value| serde_json::from_slice(&value).ok());
        Ok((claim, revision))
    })
    .await
}

async fn write_claim(
    options: &LogOptions,
    client: &Client,
    claim: &Claim,
    revision: u64,
) -> Written {
    let written = within(PATIENCE, async {
        let value = serde_json::to_vec(claim);
        let value = value.map_err(|error| LogError::down("cannot write who feeds", error))?;
        let store = store(options, client, PATIENCE).await?;
        match store.update(LEASE_KEY, value.into(), revision).await {
            Ok(revision) => Ok(Written::Done(revision)),
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {
                Ok(Written::Overtaken)
            }
            Err(_) => Ok(Written::Unknown),
        }
    });
    written.await.unwrap_or(Written::Unknown)
}

async fn read_cursors(
    options: &LogOptions,
    client: &Client,
) -> Result<(FeedCursors, u64), LogError> {
    within(CURSORS_PATIENCE, async {
        let store = store(options, client, CURSORS_PATIENCE).await?;
        let (value, revision) = value(&store, CURSORS_KEY).await?;
        let Some(value) = value else {
            return Ok((FeedCursors::default(), revision));
        };
        let cursors = serde_json::from_slice(&value);
        let cursors = cursors.map_err(|error| LogError::down("cannot read the cursors", error))?;
        Ok((cursors, revision))
    })
    .await
}

/// Replaces the cursors. False: another process has told its own since `revision`.
async fn write_cursors(
    options: &LogOptions,
    client: &Client,
    cursors: &FeedCursors,
    revision: &mut u64,
) -> Result<bool, LogError> {
    let doing = "cannot tell the cursors";
    within(CURSORS_PATIENCE, async {
        let value = serde_json::to_vec(cursors).map_err(|error| LogError::down(doing, error))?;
        let store = store(options, client, CURSORS_PATIENCE).await?;
        let value = bytes::Bytes::from(value);
        loop {
            match store.update(CURSORS_KEY, value.clone(), *revision).await {
                Ok(written) => {
                    *revision = written;
                    return Ok(true);
                }
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {
                    // Perhaps an earlier write of this process arrived without an answer.
                    let (last, found) = read_cursors(options, client).await?;
                    if last.process != cursors.process || found == *revision {
                        return Ok(false);
                    }
                    *revision = found;
                }
                Err(error) => return Err(LogError::down(doing, error)),
            }
        }
    })
    .await
}

/// Begins without cursors, in the place of those of an earlier log.
pub async fn begin_cursors(options: &LogOptions, client: &Client) -> Result<(), LogError> {
    let (_, mut revision) = read_cursors(options, client).await?;
    let first = FeedCursors::default();
    if write_cursors(options, client, &first, &mut revision).await? {
        return Ok(());
    }
    Err(LogError::Down("another node tells its cursors".to_owned()))
}

/// The last word about the lease, and the cursors.
pub async fn look(options: &LogOptions) -> Result<(Option<Claim>, FeedCursors), LogError> {
    let client = connect(options).await?;
    let (claim, _) = read_claim(options, &client).await?;
    let (cursors, _) = read_cursors(options, &client).await?;
    Ok((claim, cursors))
}
