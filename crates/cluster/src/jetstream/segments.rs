//! Segments on their way from one node to another: requests and replies by the NATS servers, outside the log.
//!
//! A node answers in a thread of its own with a connection of its own, one request at a time, so that neither the log nor readers wait for it.

use std::cell::Cell;
use std::io;
use std::time::{Duration, Instant};

use async_nats::{Client, Request as NatsRequest, RequestErrorKind};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::oneshot;

use super::connection::connect;
use crate::log::{LogError, LogOptions};
use crate::reseed::{PIECE_BYTES_MAX, REQUESTS_FLYING_MAX, Reply, Request};

/// Longest wait for a reply: the hash of a segment takes a while.
const REPLY_PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait for the first reply of a node that may not run.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
/// Time within which a request is repeated.
const ATTEMPTS_TIME: Duration = Duration::from_secs(30);
/// Bytes of a reply besides those of the file, with room to spare.
const REPLY_ADDED_BYTES: usize = 1 << 10;
/// Pause before another attempt.
const PAUSE: Duration = Duration::from_secs(1);

/// The subject on which a node answers.
fn subject(options: &LogOptions, node: &str) -> String {
    format!("{}.segments.{node}", options.subject)
}

/// A node that answers. Dropping it ends the thread.
#[derive(Debug)]
pub struct Answering {
    _stop: oneshot::Sender<()>,
}

/// Answers requests by `reply`, in a thread that `spawn` starts.
///
/// # Errors
/// The thread cannot be created.
pub fn answer(
    options: LogOptions,
    mut reply: impl FnMut(&Request) -> Reply + Send + 'static,
    spawn: &dyn Fn(Box<dyn FnOnce() + Send>) -> io::Result<()>,
) -> io::Result<Answering> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (stop, is_stopped) = oneshot::channel();
    spawn(Box::new(move || {
        let serve = async {
            loop {
                // The log reports servers that do not answer.
                let _ = serve(&options, &mut reply).await;
                tokio::time::sleep(PAUSE).await;
            }
        };
        runtime.block_on(async {
            tokio::select! {
                () = serve => {}
                _ = is_stopped => {}
            }
        });
    }))?;
    Ok(Answering { _stop: stop })
}

async fn serve(
    options: &LogOptions,
    reply: &mut impl FnMut(&Request) -> Reply,
) -> Result<(), LogError> {
    let doing = "cannot answer other nodes";
    let client = connect(options).await?;
    let mut requests = client
        .subscribe(subject(options, &options.node))
        .await
        .map_err(|error| LogError::down(doing, error))?;
    while let Some(message) = requests.next().await {
        let Some(to) = message.reply else {
            continue;
        };
        let told = match serde_json::from_slice(&message.payload) {
            Ok(request) => reply(&request),
            Err(_) => Reply::Refused(
                "it does not understand the request: all nodes need the same release".to_owned(),
            ),
        };
        let sent = client.publish(to, told.to_bytes().into()).await;
        sent.map_err(|error| LogError::down(doing, error))?;
        // The next one is read from the disk when this one is on its way.
        client
            .flush()
            .await
            .map_err(|error| LogError::down(doing, error))?;
    }
    Ok(())
}

/// The way to a node that answers.
#[derive(Debug)]
pub struct Asking {
    runtime: tokio::runtime::Runtime,
    client: Client,
    subject: String,
    node: String,
    /// Replies that were damaged on the way.
    damaged: Cell<u64>,
}

impl Asking {
    /// Connects to the servers, to ask this node.
    ///
    /// # Errors
    /// The servers do not answer.
    pub fn connect(options: &LogOptions, node: &str) -> Result<Asking, LogError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| LogError::down("cannot start", error))?;
        let client = runtime.block_on(connect(options))?;
        Ok(Asking {
            runtime,
            client,
            subject: subject(options, node),
            node: node.to_owned(),
            damaged: Cell::new(0),
        })
    }

    /// The node that is asked.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Replies that were damaged on the way, and asked for again.
    pub fn damaged(&self) -> u64 {
        self.damaged.get()
    }

    /// Most bytes of a file in a reply, as the servers allow it.
    pub fn piece_bytes(&self) -> u64 {
        let most = self.client.server_info().max_payload;
        most.saturating_sub(REPLY_ADDED_BYTES)
            .clamp(1, PIECE_BYTES_MAX) as u64
    }

    /// Asks once, without patience: whether the node answers.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn try_ask(&self, request: &Request) -> Result<Reply, LogError> {
        self.runtime
            .block_on(self.reply(request, (FIRST_PATIENCE, Duration::ZERO)))
    }

    /// Asks, and returns the reply; after a failure asks again for a while.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn ask(&self, request: &Request) -> Result<Reply, LogError> {
        self.runtime
            .block_on(self.reply(request, (REPLY_PATIENCE, ATTEMPTS_TIME)))
    }

    /// Asks all of it, some at the same time, and gives the replies to `each` in the order of the requests, until it returns false.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn ask_all(
        &self,
        requests: impl Iterator<Item = Request>,
        mut each: impl FnMut(Reply) -> bool,
    ) -> Result<(), LogError> {
        self.runtime.block_on(async {
            let patience = (REPLY_PATIENCE, ATTEMPTS_TIME);
            let replies =
                requests.map(|request| async move { self.reply(&request, patience).await });
            let mut replies = futures_util::stream::iter(replies).buffered(REQUESTS_FLYING_MAX);
            while let Some(reply) = replies.next().await {
                if !each(reply?) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Waits so long for a reply, and repeats the request within the other time.
    async fn reply(
        &self,
        request: &Request,
        (patience, attempts): (Duration, Duration),
    ) -> Result<Reply, LogError> {
        let doing = format!("the node {} does not answer", self.node);
        let payload: Bytes = serde_json::to_vec(request)
            .map_err(|error| LogError::down(&doing, error))?
            .into();
        let until = Instant::now() + attempts;
        loop {
            let asked = NatsRequest::new()
                .payload(payload.clone())
                .timeout(Some(patience));
            let error = match self.client.send_request(self.subject.clone(), asked).await {
                Ok(message) => match Reply::parse(&message.payload) {
                    Some(reply) => return Ok(reply),
                    None => {
                        self.damaged.set(self.damaged.get() + 1);
                        LogError::Down(format!(
                            "replies of the node {} are damaged on the way",
                            self.node
                        ))
                    }
                },
                Err(error) if error.kind() == RequestErrorKind::NoResponders => {
                    LogError::Down(format!("{doing}: its daemon does not run"))
                }
                Err(error) => LogError::down(&doing, error),
            };
            if Instant::now() >= until {
                return Err(error);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
