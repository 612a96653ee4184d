//! Sites that are offered ids instead of articles (RFC 5537, 5.6): `batchih`, `batchsm` and `batchra` of C News.
//!
//! 1. What waits for HOST is offered to it in an ihave message ([`Ihave`]).
//! 2. There it goes to the site `US.ihave`, whose batch is a sendme message for what is not known there ([`Sendme`]).
//! 3. That comes back, goes to our site `HOST.sendme`, and its batches hold the articles ([`Requested`]).
//!
//! The messages are not filed where they are made. Anybody may write one: of each only [`IDS_READ_MAX`] ids are looked at, an id
//! that stands in it twice counts once, and an article is sent only where the subscription of HOST would get it.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use article::{Article, Form, decimal};
use relay::control::wanted::{Envelope, IDS_MAX, ids_of};
use store::disk::RealDisk;
use store::{HistoryLine, Record, Snapshot};

use crate::batch::Batch;
use crate::builder::Builder;
use crate::error::Error;

/// The most ids of one ihave or sendme message that are looked at; our own have at most [`IDS_MAX`].
pub const IDS_READ_MAX: usize = 10_000;
/// In a site's directory: how far the sendme message is that does not fit into one batch.
pub const ASKED: &str = "asked";

/// Who writes to whom.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    /// Our own name.
    pub host: &'a [u8],
    /// The site the messages are for.
    pub peer: &'a [u8],
}

/// Messages of one kind, which name ids.
#[derive(Debug)]
struct Letters<'a> {
    kind: &'static str,
    ends: Ends<'a>,
    ids: Vec<Vec<u8>>,
    bytes: Vec<u8>,
}

impl Letters<'_> {
    fn clear(&mut self) {
        self.ids.clear();
        self.bytes.clear();
    }

    /// As many messages as it takes, in a batch.
    fn write(&mut self) -> &[u8] {
        self.bytes.clear();
        let seconds = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let mut date = Vec::new();
        article::date::write_utc(&mut date, seconds);
        let date = String::from_utf8_lossy(&date);
        for ids in self.ids.chunks(IDS_MAX) {
            let envelope = Envelope {
                host: self.ends.host,
                peer: self.ends.peer,
                seconds,
                sequence: next_sequence(),
            };
            let ids: Vec<&[u8]> = ids.iter().map(Vec::as_slice).collect();
            let message = envelope.message(self.kind, &date, &ids);
            self.bytes.extend_from_slice(b"#! rnews ");
            decimal::push(&mut self.bytes, message.len() as u64);
            self.bytes.push(b'\n');
            self.bytes.extend_from_slice(&message);
        }
        &self.bytes
    }
}

/// Another one each time, in every process.
fn next_sequence() -> u64 {
    static SEQUENCE: AtomicU64 = AtomicU64::new(0);
    let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed) & 0xf_ffff;
    u64::from(std::process::id()) << 20 | sequence
}

/// Offers what waits: each batch is one ihave message.
#[derive(Debug)]
pub struct Ihave<'a> {
    letters: Letters<'a>,
    id_bytes: usize,
    size: usize,
}

impl<'a> Ihave<'a> {
    /// Batches of about `size` bytes.
    pub fn new(ends: Ends<'a>, size: usize) -> Ihave<'a> {
        Ihave {
            letters: Letters {
                kind: "ihave",
                ends,
                ids: Vec::new(),
                bytes: Vec::new(),
            },
            id_bytes: 0,
            size,
        }
    }

    /// Offers an id. False: it is for the next batch.
    pub fn put_id(&mut self, id: &[u8]) -> bool {
        let ids = &mut self.letters.ids;
        let bytes = self.id_bytes.saturating_add(id.len() + 1);
        if !ids.is_empty() && (ids.len() >= IDS_MAX || bytes > self.size) {
            return false;
        }
        self.id_bytes = bytes;
        ids.push(id.to_vec());
        true
    }
}

impl Builder for Ihave<'_> {
    fn clear(&mut self) {
        self.letters.clear();
        self.id_bytes = 0;
    }

    fn put(&mut self, record: &Record<'_>) -> bool {
        HistoryLine::parse(record.line()).is_none_or(|line| self.put_id(line.id))
    }

    fn articles(&self) -> u64 {
        self.letters.ids.len() as u64
    }

    fn finish(&mut self) -> Result<&[u8], Error> {
        Ok(self.letters.write())
    }
}

/// Answers ihave messages: asks for what the history does not know.
#[derive(Debug)]
pub struct Sendme<'a> {
    letters: Letters<'a>,
    snapshot: &'a Snapshot,
    asked: HashSet<Vec<u8>>,
    fault: Option<Error>,
}

impl<'a> Sendme<'a> {
    /// By the history that `snapshot` sees.
    pub fn new(ends: Ends<'a>, snapshot: &'a Snapshot) -> Sendme<'a> {
        Sendme {
            letters: Letters {
                kind: "sendme",
                ends,
                ids: Vec::new(),
                bytes: Vec::new(),
            },
            snapshot,
            asked: HashSet::new(),
            fault: None,
        }
    }

    /// Which ids of a message are to be asked for, each once.
    fn wanted(&self, article: &Article<'_>) -> Result<Vec<Vec<u8>>, Error> {
        let mut wanted = Vec::new();
        let mut met = HashSet::new();
        for id in ids_of(article).take(IDS_READ_MAX) {
            let is_new = !self.asked.contains(id) && met.insert(id);
            if is_new && self.snapshot.history_line(id)?.is_none() {
                wanted.push(id.to_vec());
            }
        }
        Ok(wanted)
    }
}

impl Builder for Sendme<'_> {
    fn clear(&mut self) {
        self.letters.clear();
        self.asked.clear();
    }

    fn put(&mut self, record: &Record<'_>) -> bool {
        let wanted = match self.wanted(&Article::parse(record.wire_article(), Form::Wire)) {
            Ok(wanted) => wanted,
            Err(error) => {
                self.fault = Some(error);
                return false;
            }
        };
        let ids = &mut self.letters.ids;
        if !ids.is_empty() && ids.len() + wanted.len() > IDS_MAX {
            return false;
        }
        self.asked.extend(wanted.iter().cloned());
        ids.extend(wanted);
        true
    }

    fn articles(&self) -> u64 {
        self.letters.ids.len() as u64
    }

    fn finish(&mut self) -> Result<&[u8], Error> {
        match self.fault.take() {
            Some(error) => Err(error),
            None => Ok(self.letters.write()),
        }
    }
}

/// Says whether a site may have an article that it asks for.
pub type Allowed<'a> = Box<dyn FnMut(&Record<'_>) -> bool + 'a>;

/// Answers sendme messages: the articles they ask for, as far as they are here and the site may have them.
pub struct Requested<'a> {
    snapshot: &'a Snapshot,
    allowed: Allowed<'a>,
    batch: Batch,
    /// The message that is not done with, and how many of its ids are.
    at: Option<(Vec<u8>, usize)>,
    /// Where that is remembered.
    file: Option<PathBuf>,
    fault: Option<Error>,
}

impl<'a> Requested<'a> {
    /// Batches of about `size` bytes.
    pub fn new(snapshot: &'a Snapshot, allowed: Allowed<'a>, size: usize) -> Requested<'a> {
        Requested {
            snapshot,
            allowed,
            batch: Batch::new(size),
            at: None,
            file: None,
            fault: None,
        }
    }

    /// Remembers in the site's directory how far it is, so that a long sendme message goes on where it was.
    ///
    /// # Errors
    /// What was remembered cannot be read.
    pub fn remembering(mut self, directory: &std::path::Path) -> Result<Requested<'a>, Error> {
        let file = directory.join(ASKED);
        let told = store::read_whole(&RealDisk, &file)?.unwrap_or_default();
        let mut words = told.split(u8::is_ascii_whitespace);
        // Without it the message is answered from its start.
        self.at = match (words.next(), words.next().and_then(decimal::parse)) {
            (Some(id), Some(done)) => usize::try_from(done).ok().map(|done| (id.to_vec(), done)),
            _ => None,
        };
        self.file = Some(file);
        Ok(self)
    }

    /// Puts in what one message asks for, from its `done`th id on. `Some`: it was full before that id.
    fn answer(&mut self, article: &Article<'_>, done: usize) -> Result<Option<usize>, Error> {
        let (mut met, mut buffer) = (HashSet::new(), Vec::new());
        for (number, id) in ids_of(article).take(IDS_READ_MAX).enumerate() {
            if !met.insert(id) || number < done {
                continue;
            }
            let record = match self.snapshot.article(id, &mut buffer) {
                Ok(Some(record)) => record,
                // It expired a moment ago; `fsck` reports damage.
                Ok(None) | Err(store::Error::Damaged { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            if (self.allowed)(&record) && !self.batch.put(&record) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }
}

impl Builder for Requested<'_> {
    fn clear(&mut self) {
        self.batch.clear();
    }

    fn put(&mut self, record: &Record<'_>) -> bool {
        let Some(line) = HistoryLine::parse(record.line()) else {
            return true;
        };
        let done = match &self.at {
            Some((id, done)) if id == line.id => *done,
            _ => 0,
        };
        let article = Article::parse(record.wire_article(), Form::Wire);
        match self.answer(&article, done) {
            Ok(stopped) => {
                self.at = stopped.map(|number| (line.id.to_vec(), number));
                stopped.is_none()
            }
            Err(error) => {
                self.fault = Some(error);
                false
            }
        }
    }

    fn articles(&self) -> u64 {
        self.batch.articles()
    }

    fn finish(&mut self) -> Result<&[u8], Error> {
        match self.fault.take() {
            Some(error) => Err(error),
            None => Ok(self.batch.bytes()),
        }
    }

    fn delivered(&mut self) -> Result<(), Error> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        match &self.at {
            Some((id, done)) => {
                let mut text = id.clone();
                text.push(b' ');
                decimal::push(&mut text, *done as u64);
                text.push(b'\n');
                store::replace(&RealDisk, file, |out| out.write_at(&text, 0))?;
            }
            None if file.exists() => {
                std::fs::remove_file(file).map_err(Error::io("remove", file))?;
            }
            None => {}
        }
        Ok(())
    }
}
