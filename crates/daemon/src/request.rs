//! What is said over control.sock: a line asks, lines of JSON answer.
//!
//! `lend`, `reload`, `feeds`, `status`, `resume` and `stop` are asked for by the word alone, `pause` with a reason behind it. A line that begins with `{` asks to file a batch,
//! whose descriptor comes with the line (`SCM_RIGHTS` of unix(7)).

use super::daemon_status::DaemonStatus;
use relay::rnews::{Outcome, Summary};
use serde::{Deserialize, Serialize};

/// Exit status of a command whose request was carried out.
pub const OK: u8 = 0;
/// Exit status of a command after an error.
pub const ATTENTION: u8 = 2;
/// Exit status of a command after an error in `broadsheet.toml`.
pub const BAD_SETTINGS: u8 = 78;

/// A longer request is not read.
pub const REQUEST_BYTES_MAX: usize = 64 << 10;

/// What a client wants.
#[derive(Debug)]
pub enum Request {
    /// A batch filed.
    File(FileRequest),
    /// The lock, until the connection ends.
    Lend,
    /// The settings read again.
    Reload,
    /// To look at the feeds again.
    Feeds,
    /// To know how the daemon does.
    Status,
    /// No articles taken over NNTP, for this reason; or taken again.
    Pause(Option<String>),
    /// The daemon to end.
    Stop,
}

impl Request {
    /// What a line asks for; `None`: nothing that is known.
    pub fn parse(line: &[u8]) -> Option<Request> {
        Some(match line {
            b"lend" => Request::Lend,
            b"reload" => Request::Reload,
            b"feeds" => Request::Feeds,
            b"status" => Request::Status,
            b"stop" => Request::Stop,
            b"resume" => Request::Pause(None),
            _ if line.starts_with(b"pause ") => {
                let why = line.strip_prefix(b"pause ").unwrap_or_default();
                Request::Pause(Some(String::from_utf8_lossy(why).into_owned()))
            }
            _ => Request::File(serde_json::from_slice(line).ok()?),
        })
    }
}

/// A batch to be filed, by flags of rnews.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRequest {
    /// What messages call it.
    pub name: String,
    /// The end of the name it is kept under.
    pub tail: String,
    /// `-s`
    pub strict: bool,
    /// `-h`
    pub no_history: bool,
    /// `-x`
    pub no_xref: bool,
    /// `-o DAYS`
    pub sealed: Option<u64>,
    /// Tell how far it is.
    pub progress: bool,
}

impl FileRequest {
    /// What these flags change in the rules.
    pub fn change(&self, rules: &mut relay::Rules) {
        rules.remember_refused = !self.no_history;
        rules.xref_single = !self.no_xref;
    }
}

/// A line of an answer.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// For standard error.
    Message(String),
    /// How far a batch is: bytes and articles.
    Progress(u64, u64),
    /// The last line: a batch is filed.
    Filed(Filed),
    /// The last line: the exit status.
    Done(u8),
    /// How the daemon does.
    Status(Box<RunningDaemon>),
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Filed {
    articles: u64,
    accepted: u64,
    duplicates: u64,
    refused: u64,
    junked: u64,
    bytes: u64,
    seconds: f64,
    /// As relaynews's.
    pub status: u8,
    /// It gave no trouble: `-u` removes it.
    pub is_untroubled: bool,
    /// The store stopped filing.
    pub is_stopped: bool,
}

impl Filed {
    /// Of a run over one batch.
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
        }
    }

    /// The spool could not be opened.
    pub fn nothing() -> Filed {
        Filed::of(&Outcome {
            summary: Summary::default(),
            status: relay::rnews::Status::Attention,
            without_errors: 0,
            saved: 0,
            removed: Vec::new(),
            is_stopped: true,
            stopped_at: None,
        })
    }

    /// What was done.
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

/// How the daemon does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningDaemon {
    /// Its process.
    pub pid: u32,
    /// `idle`, `busy`, `lent`, or `closed` where the spool cannot be opened now.
    pub state: String,
    /// When it started, epoch seconds.
    pub since: i64,
    /// What it does.
    #[serde(flatten)]
    pub status: DaemonStatus,
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
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line: Vec<u8>) {
            let _ = Request::parse(&line);
        }
    }
}
