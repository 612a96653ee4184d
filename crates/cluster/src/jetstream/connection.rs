//! Connections to the servers, and the look at their settings.

use std::time::Duration;

use async_nats::jetstream::stream::{Config, PeerInfo, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use futures_util::StreamExt;
use tokio::time::Instant;

use crate::demands::{self, ServerReport};
use crate::log::{LogError, LogIdentity, LogOptions};

/// The time that servers have to answer a question about their settings.
const REPORT_PATIENCE: Duration = Duration::from_secs(3);
/// The time that the others have when most have answered: one that has just died is not known to be dead yet.
const REPORT_GRACE: Duration = Duration::from_millis(500);
/// A server of which the leader of the stream has heard within this time lives. It hears of each every second.
const ALIVE: Duration = Duration::from_secs(5);
/// The time for a request or an acknowledgement.
const REQUEST_PATIENCE: Duration = Duration::from_secs(2);
/// Longest wait until an entry is on the disks of the servers, before it is sent again. What was sent while the servers elect a leader is lost,
/// and nobody says so; what arrives twice is dropped by its id.
const APPEND_PATIENCE: Duration = Duration::from_secs(1);
/// The subject on which servers report.
const REPORT_SUBJECT: &str = "$SYS.REQ.SERVER.PING.JSZ";
/// Metadata of the stream.
const LOG_KEY: &str = "broadsheet-log";
const BASE_KEY: &str = "broadsheet-base";

/// A new key for a user: the secret seed.
///
/// # Errors
/// The system has no random numbers.
pub fn new_login() -> Result<String, LogError> {
    let made = nkeys::KeyPair::new_user().seed();
    made.map_err(|error| LogError::down("cannot make a key", error))
}

/// The public key of a seed, for the configuration of the servers.
///
/// # Errors
/// The text is no seed of a user.
pub fn public_key(seed: &str) -> Result<String, LogError> {
    let pair = nkeys::KeyPair::from_seed(seed);
    let pair =
        pair.map_err(|error| LogError::Stopped(format!("not a key of a NATS user: {error}")))?;
    Ok(pair.public_key())
}

/// Connects as the user of the stream.
pub async fn connect(options: &LogOptions) -> Result<Client, LogError> {
    connect_as(options, options.login.as_ref()).await
}

async fn connect_as(options: &LogOptions, login: Option<&String>) -> Result<Client, LogError> {
    let connect = match login {
        Some(seed) => ConnectOptions::with_nkey(seed.clone()),
        None => ConnectOptions::new(),
    };
    let mut connect = connect
        .name(format!("broadsheet {}", options.node))
        .connection_timeout(REQUEST_PATIENCE)
        .request_timeout(Some(REQUEST_PATIENCE))
        // Also for servers of which these tell.
        .require_tls(options.needs_tls());
    if let Some(ca) = &options.ca {
        connect = connect.add_root_certificates(ca.clone());
    }
    let servers: Result<Vec<async_nats::ServerAddr>, _> = options
        .servers
        .iter()
        .map(|server| server.parse())
        .collect();
    let servers =
        servers.map_err(|error| LogError::Stopped(format!("cluster.servers: {error}")))?;
    connect
        .connect(servers)
        .await
        .map_err(|error| {
            let is_refused = matches!(
                error.kind(),
                ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication
            );
            let told = LogError::down("cannot connect to the NATS servers", error);
            match (is_refused, login) {
                (false, _) => told,
                (true, None) => LogError::Down(format!(
                    "{told}: keys/cluster.login is missing here: copy it from another node, with the mode 600"
                )),
                (true, Some(_)) => LogError::Down(format!(
                    "{told}: keys/cluster.login has no login that the servers know: copy it from another node, or write nats.conf \
                     anew (`broadsheet cluster nats-config')"
                )),
            }
        })
}

/// The context for requests about streams.
pub fn context(client: &Client) -> Context {
    context_with(client, REQUEST_PATIENCE, APPEND_PATIENCE)
}

/// As [`context`], for requests that may take longer.
pub fn context_with(client: &Client, patience: Duration, append_patience: Duration) -> Context {
    jetstream::context::ContextBuilder::new()
        .timeout(patience)
        .ack_timeout(append_patience)
        .build(client.clone())
}

/// The servers whose answers a look waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Most of the servers, and a moment longer.
    Most,
    /// All that live.
    All,
}

/// The result of a look at servers and a stream that meet all demands, as far as they have answered.
#[derive(Debug)]
pub struct Looked {
    /// The sequence numbers of the first and of the last entry.
    pub first: u64,
    pub last: u64,
    /// Servers that live, have a replica of the stream, and have not answered.
    pub silent: Vec<String>,
}

/// Looks whether the servers and the stream meet all demands.
pub async fn look(
    options: &LogOptions,
    client: &Client,
    patience: Patience,
) -> Result<Looked, LogError> {
    let stream = open_stream(options, client).await?;
    let info = stream.cached_info();
    let mut faults = demands::faults_of_stream(&info.config, options.replicas);
    let log = identity_of(&info.config)?;
    if !options.log.is_empty() && options.log != log.name {
        faults.push(format!(
            "the stream {} is another log than the one that this node follows: it was removed and made again",
            options.stream
        ));
    }
    let payload = client.server_info().max_payload;
    faults.extend(demands::fault_of_payload(payload, options.entry_bytes_max));
    let cluster = info.cluster.as_ref();
    let leader = cluster.and_then(|cluster| cluster.leader.as_deref());
    let Some(leader) = leader.filter(|leader| !leader.is_empty()) else {
        return Err(LogError::Down(format!(
            "the stream {} has no leader: most of its servers do not answer",
            options.stream
        )));
    };
    let others = cluster.iter().flat_map(|cluster| &cluster.replicas);
    let names = others.clone().map(|replica| replica.name.as_str());
    let all: Vec<&str> = names.chain([leader]).collect();
    // The leader has heard of them a moment ago.
    let lives = |replica: &&PeerInfo| {
        !replica.offline && !replica.active.is_zero() && replica.active < ALIVE
    };
    let living = others.filter(lives).map(|replica| replica.name.as_str());
    let living: Vec<&str> = living.chain([leader]).collect();
    let has_most = |reports: &[ServerReport]| {
        let silent = demands::silent(all.iter().copied(), reports);
        (all.len() - silent.len()) * 2 > info.config.num_replicas
    };
    let is_whole = |reports: &[ServerReport]| {
        has_most(reports) && demands::silent(living.iter().copied(), reports).is_empty()
    };
    let reports = reports(options, |reports| {
        match is_whole(reports) {
            true => Wait::Done,
            // One that has just died is not known to be dead yet.
            false if patience == Patience::Most && has_most(reports) => Wait::Moment,
            false => Wait::Longer,
        }
    })
    .await?;
    faults.extend(reports.iter().flat_map(ServerReport::faults));
    if !faults.is_empty() {
        return Err(LogError::Stopped(faults.join("; ")));
    }
    if !has_most(&reports) {
        let silent = demands::silent(all.iter().copied(), &reports);
        return Err(LogError::Down(demands::no_answer(&silent)));
    }
    Ok(Looked {
        first: info.state.first_sequence,
        last: info.state.last_sequence,
        silent: demands::silent(living.iter().copied(), &reports),
    })
}

/// The sequence numbers of the first and of the last entry.
pub async fn range(options: &LogOptions, client: &Client) -> Result<(u64, u64), LogError> {
    let stream = open_stream(options, client).await?;
    let state = &stream.cached_info().state;
    Ok((state.first_sequence, state.last_sequence))
}

/// The time to wait for further answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Done,
    Moment,
    Longer,
}

/// Asks all servers for their settings. `wait` tells from the reports so far whether others are waited for.
pub async fn reports(
    options: &LogOptions,
    wait: impl Fn(&[ServerReport]) -> Wait,
) -> Result<Vec<ServerReport>, LogError> {
    let client = connect_as(options, options.system_login.as_ref()).await?;
    let doing = "cannot ask the NATS servers for their settings";
    let inbox = client.new_inbox();
    let mut answers = client
        .subscribe(inbox.clone())
        .await
        .map_err(|error| LogError::down(doing, error))?;
    client
        .publish_with_reply(REPORT_SUBJECT, inbox, r#"{"config":true}"#.into())
        .await
        .map_err(|error| LogError::down(doing, error))?;
    let mut reports: Vec<ServerReport> = Vec::new();
    let mut until = Instant::now() + REPORT_PATIENCE;
    while let Ok(Some(answer)) = tokio::time::timeout_at(until, answers.next()).await {
        reports.extend(ServerReport::parse(&answer.payload));
        match wait(&reports) {
            Wait::Done => break,
            Wait::Moment => until = until.min(Instant::now() + REPORT_GRACE),
            Wait::Longer => {}
        }
    }
    if reports.is_empty() {
        Err(LogError::Down(format!(
            "{doing}: none answered; the second key of keys/cluster.login must be that of a user of the system account"
        )))
    } else {
        Ok(reports)
    }
}

/// Looks whether all demands are met, and returns the log that the stream is.
pub async fn identify(options: &LogOptions, client: &Client) -> Result<LogIdentity, LogError> {
    look(options, client, Patience::Most).await?;
    let stream = open_stream(options, client).await?;
    identity_of(&stream.cached_info().config)
}

/// Opens the stream of the log.
pub async fn open_stream(options: &LogOptions, client: &Client) -> Result<Stream, LogError> {
    let stream = context(client).get_stream(&options.stream).await;
    stream.map_err(|error| {
        LogError::down(&format!("cannot open the stream {}", options.stream), error)
    })
}

/// The metadata of the stream that is a log.
pub fn metadata_of(log: &LogIdentity) -> [(String, String); 2] {
    [(LOG_KEY, &log.name), (BASE_KEY, &log.base)]
        .map(|(key, value)| (key.to_owned(), value.clone()))
}

fn identity_of(config: &Config) -> Result<LogIdentity, LogError> {
    let value = |key| config.metadata.get(key).cloned();
    match (value(LOG_KEY), value(BASE_KEY)) {
        (Some(name), Some(base)) => Ok(LogIdentity { name, base }),
        _ => Err(LogError::Stopped(format!(
            "the stream {} is not the log of a Broadsheet cluster",
            config.name
        ))),
    }
}
