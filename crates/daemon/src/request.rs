//! The protocol of control.sock: a request is a line, the reply is lines of JSON.
//!
//! `lend`, `reload`, `feeds`, `status`, `connections`, `figures`, `mail`, `permit`, `resume` and `stop` are single words; the name of one feed may follow `feeds`, a reason follows `pause`, numbers of connections follow `close`. A line that begins with `{` requests to file a batch,
//! whose descriptor comes with the line (`SCM_RIGHTS` of unix(7)).

use super::daemon_status::DaemonStatus;
use super::feed_lease::ClusterFeeds;
use relay::rnews::{Outcome, Summary};
use serde::{Deserialize, Serialize};
use server::ConnectionStatus;

/// Exit status of a command whose request was carried out.
pub const OK: u8 = 0;
/// Exit status of a command after an error.
pub const ATTENTION: u8 = 2;
/// Exit status of a command after an error in `broadsheet.toml`.
pub const BAD_SETTINGS: u8 = 78;

/// Longest request, bytes.
pub const REQUEST_BYTES_MAX: usize = 64 << 10;

/// A request.
#[derive(Debug)]
pub enum Request {
    /// File a batch.
    File(FileRequest),
    /// Lend the lock until the connection ends.
    Lend,
    /// Read the settings again.
    Reload,
    /// Check the feed with this name again, or all.
    Feeds(Option<Vec<u8>>),
    /// Return whether this node of a cluster feeds, again and again as long as it does.
    Permit,
    /// Return the status of the daemon.
    Status,
    /// Record the figures up to now.
    Figures,
    /// Pass waiting mail to the mail program.
    Mail,
    /// Return the NNTP connections.
    Connections,
    /// Close the NNTP connections with these numbers.
    Close(Vec<u64>),
    /// Pause the acceptance of articles over NNTP for this reason, or resume it.
    Pause(Option<String>),
    /// End the daemon.
    Stop,
}

impl Request {
    /// Parses a line; `None` if it is unknown.
    pub fn parse(line: &[u8]) -> Option<Request> {
        Some(match line {
            b"lend" => Request::Lend,
            b"reload" => Request::Reload,
            b"feeds" => Request::Feeds(None),
            b"permit" => Request::Permit,
            b"status" => Request::Status,
            b"connections" => Request::Connections,
            b"figures" => Request::Figures,
            b"mail" => Request::Mail,
            b"stop" => Request::Stop,
            b"resume" => Request::Pause(None),
            [b'f', b'e', b'e', b'd', b's', b' ', name @ ..] => Request::Feeds(Some(name.to_vec())),
            _ if line.starts_with(b"pause ") => {
                let why = line.strip_prefix(b"pause ").unwrap_or_default();
                Request::Pause(Some(String::from_utf8_lossy(why).into_owned()))
            }
            _ if line.starts_with(b"close ") => {
                let numbers = line.strip_prefix(b"close ").unwrap_or_default();
                let numbers = std::str::from_utf8(numbers).ok()?.split_ascii_whitespace();
                let numbers = numbers.map(|number| number.parse().ok());
                Request::Close(numbers.collect::<Option<Vec<u64>>>()?)
            }
            _ => Request::File(serde_json::from_slice(line).ok()?),
        })
    }
}

/// A batch to file, with options of rnews.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRequest {
    /// Its name in messages.
    pub name: String,
    /// The end of the name under which it is saved.
    pub tail: String,
    /// `-s`
    pub strict: bool,
    /// `-h`
    pub no_history: bool,
    /// `-x`
    pub no_xref: bool,
    /// `-o DAYS`
    pub sealed: Option<u64>,
    /// Report the progress.
    pub progress: bool,
}

impl FileRequest {
    /// Applies the options to the rules.
    pub fn change(&self, rules: &mut relay::Rules) {
        rules.remember_refused = !self.no_history;
        rules.xref_single = !self.no_xref;
    }
}

/// A line of a reply.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A message for standard error.
    Message(String),
    /// The progress of a batch: bytes and articles.
    Progress(u64, u64),
    /// The last line: the batch is processed.
    Filed(Filed),
    /// The last line: the exit status.
    Done(u8),
    /// The status of the daemon.
    Status(Box<RunningDaemon>),
    /// The feeds of a node of a cluster.
    Permit(ClusterFeeds),
    /// An NNTP connection; [`Answer::Done`] follows the last one.
    Connection(Box<NntpConnection>),
    /// The last line: the numbers of the connections that were closed.
    Closed(Vec<u64>),
}

/// The result of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Filed {
    articles: u64,
    accepted: u64,
    duplicates: u64,
    refused: u64,
    junked: u64,
    bytes: u64,
    seconds: f64,
    /// The exit status of relaynews.
    pub status: u8,
    /// It had no errors: `-u` removes it.
    pub is_untroubled: bool,
    /// An error of the store stopped filing.
    pub is_stopped: bool,
    /// It was neither filed nor saved ([`Outcome::left`]).
    #[serde(default)]
    pub is_left: bool,
}

impl Filed {
    /// The result of a run over one batch.
    pub fn of(outcome: &Outcome) -> Filed {
        let summary = outcome.summary;
        Filed {
            articles: summary.articles,
            accepted: summary.accepted,
            duplicates: summary.duplicates,
            refused: summary.refused,
            junked: summary.junked,
            bytes: summary.bytes,
            seconds: summary.seconds,
            status: outcome.status.code(),
            is_untroubled: outcome.without_errors > 0,
            is_stopped: outcome.is_stopped,
            is_left: !outcome.left.is_empty(),
        }
    }

    /// The result if the spool could not be opened.
    pub fn nothing() -> Filed {
        Filed::of(&Outcome {
            summary: Summary::default(),
            status: relay::rnews::Status::Attention,
            without_errors: 0,
            saved: 0,
            removed: Vec::new(),
            is_stopped: true,
            stopped_at: None,
            needs_room: false,
            left: vec![0],
        })
    }

    /// The counts.
    pub fn summary(&self) -> Summary {
        Summary {
            articles: self.articles,
            accepted: self.accepted,
            duplicates: self.duplicates,
            refused: self.refused,
            junked: self.junked,
            bytes: self.bytes,
            seconds: self.seconds,
        }
    }
}

/// The status of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningDaemon {
    /// Its process id.
    pub pid: u32,
    /// `idle`, `busy`, `lent`, or `closed` if the spool cannot be opened.
    pub state: String,
    /// Its start, seconds since 1970.
    pub since: i64,
    /// Its activities.
    #[serde(flatten)]
    pub status: DaemonStatus,
}

/// An NNTP connection to the daemon. Fields missing in the reply of another version have their defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NntpConnection {
    /// Its number since the daemon started, for `connections close`.
    pub id: u64,
    /// The client's address and port; `None` for a pipe of this machine.
    pub address: Option<String>,
    /// The access entry; empty without a matching one.
    pub entry: String,
    /// The login.
    pub user: Option<String>,
    /// It may send articles as a peer.
    pub peer: bool,
    /// The activity, in words.
    pub state: String,
    /// The last command; empty before the first one.
    pub last_command: String,
    /// The selected group.
    pub group: Option<String>,
    /// Its start, seconds since 1970.
    pub since: i64,
    /// Time since its last progress, seconds.
    pub idle_seconds: u64,
    /// Number of valid commands.
    pub commands: u64,
    /// Number of offered ids.
    pub offered: u64,
    /// Number of accepted articles, posts included.
    pub articles_in: u64,
    /// Number of articles, headers and bodies sent.
    pub articles_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// It uses TLS.
    pub tls: bool,
    /// It uses COMPRESS.
    pub compressed: bool,
}

impl NntpConnection {
    /// The connection, seen at `now`, seconds since 1970.
    pub fn of(status: ConnectionStatus, now: i64) -> NntpConnection {
        let age = i64::try_from(status.age_milliseconds / 1000).unwrap_or(i64::MAX);
        NntpConnection {
            id: status.number,
            address: status.address.map(|address| address.to_string()),
            entry: status.entry,
            user: status.user,
            peer: status.is_peer,
            state: status.activity.words().to_owned(),
            last_command: status.last_command.to_owned(),
            group: status.group.map(|group| groups::escaped(&group)),
            since: now.saturating_sub(age),
            idle_seconds: status.idle_milliseconds / 1000,
            commands: status.commands,
            offered: status.offered,
            articles_in: status.articles_in,
            articles_out: status.articles_out,
            bytes_in: status.bytes_in,
            bytes_out: status.bytes_out,
            tls: status.has_tls,
            compressed: status.is_compressed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_reads_back() {
        let asked = FileRequest {
            name: "a \"batch\"\n".to_owned(),
            tail: "batch".to_owned(),
            strict: true,
            sealed: Some(7),
            ..FileRequest::default()
        };
        let line = serde_json::to_vec(&asked).unwrap();
        assert!(!line.contains(&b'\n'));
        assert!(matches!(Request::parse(&line), Some(Request::File(read)) if read == asked));
        assert!(matches!(Request::parse(b"lend"), Some(Request::Lend)));
        assert!(Request::parse(b"LEND").is_none());
        assert!(Request::parse(b"{}").is_none());
        assert!(
            matches!(Request::parse(b"close 1 22"), Some(Request::Close(all)) if all == [1, 22])
        );
        assert!(Request::parse(b"close 1 x").is_none());
        let one = Request::parse(b"feeds one.example:2");
        assert!(matches!(one, Some(Request::Feeds(Some(name))) if name == b"one.example:2"));
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line: Vec<u8>) {
            let _ = Request::parse(&line);
        }
    }
}
