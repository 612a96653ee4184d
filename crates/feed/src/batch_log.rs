//! `batchlog`: the results of each site's batches, in the classic form.
//!
//! ```text
//! Sat, 21 Nov 2026 10:00:00 GMT
//! north    backlog 3 (batching stalled)
//! Sat, 21 Nov 2026 10:00:02 GMT
//!
//! ```
//!
//! A tab follows the name. A site has a line if something waited for it. Its state depends, as in C News, on this run and on the line
//! before.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::Error;
use crate::sendbatches::{Sent, Stopped};

/// Size above which the log is renamed to `batchlog.o`, bytes: 1 MiB.
pub const LOG_BYTES_MAX: u64 = 1 << 20;
/// Length of the log's end that is searched for a site's last line, bytes.
const LOOKED_AT_BYTES: u64 = 256 << 10;

/// The state of a site's batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Batches were delivered, or nothing waits.
    Flowing,
    /// No batch was delivered, in this run and the last.
    Stalled,
    /// No batch was delivered in this run.
    SlowOrStalled,
    /// The disk of the queue is full.
    DiskTooFull,
    /// The queue is full, and not shorter than in the last run.
    QueueFull,
}

impl State {
    /// Each state with its words in the log.
    pub const ALL: &[(&str, State)] = &[
        ("batches flowing", State::Flowing),
        ("batching stalled", State::Stalled),
        ("batching slow or stalled", State::SlowOrStalled),
        ("disk too full for batching", State::DiskTooFull),
        ("queue full, no recent movement", State::QueueFull),
    ];

    /// The words in the log.
    pub fn words(self) -> &'static str {
        let found = State::ALL.iter().find(|(_, state)| *state == self);
        found.map_or("", |(words, _)| words)
    }

    /// The state after a run; `before` is the line of the last run.
    pub fn after(sent: &Sent, before: Option<&Line>) -> State {
        let has_moved =
            sent.batches > 0 || before.is_none_or(|before| before.backlog > sent.backlog);
        let was_well = before.is_none_or(|before| before.state == State::Flowing);
        match sent.stopped {
            Stopped::DiskFull { .. } => State::DiskTooFull,
            _ if sent.batches > 0 || sent.backlog == 0 => State::Flowing,
            Stopped::QueueFull { .. } if !has_moved && !was_well => State::QueueFull,
            Stopped::QueueFull { .. } => State::SlowOrStalled,
            _ if was_well => State::SlowOrStalled,
            _ => State::Stalled,
        }
    }
}

/// One site's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The site.
    pub site: Vec<u8>,
    /// Number of waiting batches.
    pub backlog: u64,
    /// Their state.
    pub state: State,
}

impl Line {
    /// Reads `site TAB backlog N (words)`.
    pub fn parse(text: &[u8]) -> Option<Line> {
        let tab = text.iter().position(|&byte| byte == b'\t')?;
        let (site, rest) = text.split_at_checked(tab)?;
        let rest = std::str::from_utf8(rest).ok()?.strip_prefix("\tbacklog ")?;
        let (number, words) = rest.split_once(" (")?;
        let words = words.strip_suffix(')')?;
        let (_, state) = State::ALL.iter().find(|(known, _)| *known == words)?;
        Some(Line {
            site: site.to_vec(),
            backlog: number.parse().ok()?,
            state: *state,
        })
    }

    fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.site);
        let words = self.state.words();
        out.extend_from_slice(format!("\tbacklog {} ({words})\n", self.backlog).as_bytes());
    }
}

/// The log of a news directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchLog {
    lines: Vec<Line>,
}

impl BatchLog {
    /// Reads the end of the log; a missing log is empty.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read(path: &Path) -> Result<BatchLog, Error> {
        let at = |error| Error::io("read", path)(error);
        let mut file = match store::regular::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(BatchLog::default());
            }
            opened => opened.map_err(at)?,
        };
        let length = file.seek(SeekFrom::End(0)).map_err(at)?;
        let start = length.saturating_sub(LOOKED_AT_BYTES);
        file.seek(SeekFrom::Start(start)).map_err(at)?;
        let mut text = Vec::new();
        file.take(LOOKED_AT_BYTES)
            .read_to_end(&mut text)
            .map_err(at)?;
        let lines = text.split(|&byte| byte == b'\n').filter_map(Line::parse);
        Ok(BatchLog {
            lines: lines.collect(),
        })
    }

    /// A site's last line.
    pub fn last(&self, site: &[u8]) -> Option<&Line> {
        self.lines.iter().rev().find(|line| line.site == site)
    }

    /// Appends a run. Times are seconds since 1970. Renames a long log to `batchlog.o` first.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(path: &Path, began: i64, lines: &[Line], ended: i64) -> Result<(), Error> {
        let mut text = Vec::new();
        article::date::write_utc(&mut text, began);
        text.push(b'\n');
        lines.iter().for_each(|line| line.push(&mut text));
        article::date::write_utc(&mut text, ended);
        text.extend_from_slice(b"\n\n");
        if std::fs::metadata(path).is_ok_and(|log| log.len() >= LOG_BYTES_MAX) {
            let mut old = path.as_os_str().to_owned();
            old.push(".o");
            std::fs::rename(path, old).map_err(Error::io("rename", path))?;
        }
        store::regular::append(path)
            .and_then(|mut log| log.write_all(&text))
            .map_err(Error::io("write", path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(batches: u64, backlog: u64, stopped: Stopped) -> Sent {
        Sent {
            batches,
            articles: 0,
            bytes: 0,
            packed_bytes: 0,
            oversize: 0,
            backlog,
            unreadable: 0,
            stopped,
        }
    }

    #[test]
    fn states_follow_from_this_run_and_the_last() {
        let before = |backlog, state| Line {
            site: b"x".to_vec(),
            backlog,
            state,
        };
        let full = || Stopped::QueueFull { waiting: 9 };
        let failed = || Stopped::Failed(Error::SiteName(String::new()));
        for (sent, before, state) in [
            (sent(2, 0, Stopped::Empty), None, State::Flowing),
            (
                sent(2, 5, full()),
                Some(before(9, State::Stalled)),
                State::Flowing,
            ),
            (sent(0, 5, full()), None, State::SlowOrStalled),
            (
                sent(0, 5, full()),
                Some(before(5, State::Flowing)),
                State::SlowOrStalled,
            ),
            (
                sent(0, 5, full()),
                Some(before(5, State::SlowOrStalled)),
                State::QueueFull,
            ),
            (
                sent(0, 6, full()),
                Some(before(5, State::QueueFull)),
                State::QueueFull,
            ),
            (
                sent(0, 5, failed()),
                Some(before(5, State::Flowing)),
                State::SlowOrStalled,
            ),
            (
                sent(0, 5, failed()),
                Some(before(5, State::SlowOrStalled)),
                State::Stalled,
            ),
            (
                sent(0, 5, failed()),
                Some(before(5, State::Stalled)),
                State::Stalled,
            ),
            (
                sent(1, 5, Stopped::DiskFull { free: 1 }),
                None,
                State::DiskTooFull,
            ),
            (sent(0, 5, Stopped::Off), None, State::SlowOrStalled),
        ] {
            assert_eq!(
                State::after(&sent, before.as_ref()),
                state,
                "{sent:?} {before:?}"
            );
        }
    }

    #[test]
    fn a_run_is_written_as_classic_and_read_again() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("batchlog");
        assert_eq!(BatchLog::read(&path).unwrap(), BatchLog::default());
        let line = |site: &str, backlog, state| Line {
            site: site.into(),
            backlog,
            state,
        };
        let first = [
            line("north", 3, State::Stalled),
            line("south", 0, State::Flowing),
        ];
        BatchLog::append(&path, 756_362_361, &first, 756_362_363).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "Mon, 20 Dec 1993 04:39:21 GMT\nnorth\tbacklog 3 (batching stalled)\n\
             south\tbacklog 0 (batches flowing)\nMon, 20 Dec 1993 04:39:23 GMT\n\n"
        );
        let second = [line("north", 1, State::Flowing)];
        BatchLog::append(&path, 756_362_400, &second, 756_362_400).unwrap();
        let log = BatchLog::read(&path).unwrap();
        assert_eq!(log.last(b"north"), Some(&second[0]));
        assert_eq!(log.last(b"south"), Some(&first[1]));
        assert_eq!(log.last(b"east"), None);
    }

    #[test]
    fn a_long_log_is_put_aside() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("batchlog");
        std::fs::write(&path, vec![b'x'; LOG_BYTES_MAX as usize]).unwrap();
        BatchLog::append(&path, 0, &[], 0).unwrap();
        assert_eq!(
            std::fs::metadata(room.path().join("batchlog.o"))
                .unwrap()
                .len(),
            LOG_BYTES_MAX
        );
        assert!(std::fs::metadata(&path).unwrap().len() < 100);
    }
}
