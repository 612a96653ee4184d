//! Sites that get offers of ids instead of articles (RFC 5537, 5.6): `batchih`, `batchsm` and `batchra` of C News.
//!
//! 1. An ihave message offers the waiting articles to HOST ([`Ihave`]).
//! 2. There it waits for the site `US.ihave`, whose batch is a sendme message for the ids that are unknown there ([`Sendme`]).
//! 3. The sendme message arrives here and waits for our site `HOST.sendme`, whose batches have the articles ([`Requested`]).
//!
//! The sender does not file these messages itself. Anybody may write one, so only its first [`IDS_READ_MAX`] ids are used, repeated
//! ids count once, and an article is sent only if HOST subscribes to it.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use article::{Article, Form, decimal};
use relay::control::ihave::{Envelope, IDS_MAX, ids_of};
use store::disk::RealDisk;
use store::{HistoryLine, Record, Snapshot};

use crate::batch::Batch;
use crate::builder::Builder;
use crate::error::Error;

/// Maximum number of ids used of a received ihave or sendme message; our own have at most [`IDS_MAX`].
pub const IDS_READ_MAX: usize = 10_000;
/// File in a site's directory: the position in a sendme message whose articles do not fit in one batch.
pub const REQUEST_POSITION: &str = "asked";

/// The two sites of a message.
#[derive(Debug, Clone, Copy)]
pub struct Endpoints<'a> {
    /// The name of this site.
    pub host: &'a [u8],
    /// The site that receives the messages.
    pub peer: &'a [u8],
}

/// Messages of one kind that list ids.
#[derive(Debug)]
struct IdMessages<'a> {
    kind: &'static str,
    endpoints: Endpoints<'a>,
    ids: Vec<Vec<u8>>,
    bytes: Vec<u8>,
}

impl IdMessages<'_> {
    fn clear(&mut self) {
        self.ids.clear();
        self.bytes.clear();
    }

    /// Builds a batch with as many messages as necessary.
    fn write(&mut self) -> &[u8] {
        self.bytes.clear();
        let seconds = relay::Now::read().seconds;
        let mut date = Vec::new();
        article::date::write_utc(&mut date, seconds);
        let date = String::from_utf8_lossy(&date);
        for ids in self.ids.chunks(IDS_MAX) {
            let envelope = Envelope {
                host: self.endpoints.host,
                peer: self.endpoints.peer,
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

/// Returns a number that is unique in this process and differs between processes.
fn next_sequence() -> u64 {
    static SEQUENCE: AtomicU64 = AtomicU64::new(0);
    let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed) & 0xf_ffff;
    u64::from(std::process::id()) << 20 | sequence
}

/// Offers waiting articles: each batch is one ihave message.
#[derive(Debug)]
pub struct Ihave<'a> {
    messages: IdMessages<'a>,
    id_bytes: usize,
    size: usize,
}

impl<'a> Ihave<'a> {
    /// Batches of about `size` bytes.
    pub fn new(endpoints: Endpoints<'a>, size: usize) -> Ihave<'a> {
        Ihave {
            messages: IdMessages {
                kind: "ihave",
                endpoints,
                ids: Vec::new(),
                bytes: Vec::new(),
            },
            id_bytes: 0,
            size,
        }
    }

    /// Adds an id; returns false if it belongs in the next batch.
    pub fn put_id(&mut self, id: &[u8]) -> bool {
        let ids = &mut self.messages.ids;
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
        self.messages.clear();
        self.id_bytes = 0;
    }

    fn put(&mut self, record: &Record<'_>) -> bool {
        HistoryLine::parse(record.line()).is_none_or(|line| self.put_id(line.id))
    }

    fn articles(&self) -> u64 {
        self.messages.ids.len() as u64
    }

    fn finish(&mut self) -> Result<&[u8], Error> {
        Ok(self.messages.write())
    }
}

/// Answers ihave messages: requests the ids that the history does not have.
#[derive(Debug)]
pub struct Sendme<'a> {
    messages: IdMessages<'a>,
    snapshot: &'a Snapshot,
    requested: HashSet<Vec<u8>>,
    error: Option<Error>,
}

impl<'a> Sendme<'a> {
    /// Uses the history of `snapshot`.
    pub fn new(endpoints: Endpoints<'a>, snapshot: &'a Snapshot) -> Sendme<'a> {
        Sendme {
            messages: IdMessages {
                kind: "sendme",
                endpoints,
                ids: Vec::new(),
                bytes: Vec::new(),
            },
            snapshot,
            requested: HashSet::new(),
            error: None,
        }
    }

    /// Requests an article by its id, unless the history has it. Returns false if it belongs in the next batch.
    ///
    /// # Errors
    /// The history cannot be read.
    pub fn put_id(&mut self, id: &[u8]) -> Result<bool, Error> {
        if self.requested.contains(id) || self.snapshot.history_line(id)?.is_some() {
            return Ok(true);
        }
        if self.messages.ids.len() >= IDS_MAX {
            return Ok(false);
        }
        self.requested.insert(id.to_vec());
        self.messages.ids.push(id.to_vec());
        Ok(true)
    }

    /// The ids of a message to request, each once.
    fn wanted(&self, article: &Article<'_>) -> Result<Vec<Vec<u8>>, Error> {
        let mut wanted = Vec::new();
        let mut seen = HashSet::new();
        for id in ids_of(article).take(IDS_READ_MAX) {
            let is_new = !self.requested.contains(id) && seen.insert(id);
            if is_new && self.snapshot.history_line(id)?.is_none() {
                wanted.push(id.to_vec());
            }
        }
        Ok(wanted)
    }
}

impl Builder for Sendme<'_> {
    fn clear(&mut self) {
        self.messages.clear();
        self.requested.clear();
    }

    fn put(&mut self, record: &Record<'_>) -> bool {
        let wanted = match self.wanted(&Article::parse(record.wire_article(), Form::Wire)) {
            Ok(wanted) => wanted,
            Err(error) => {
                self.error = Some(error);
                return false;
            }
        };
        let ids = &mut self.messages.ids;
        if !ids.is_empty() && ids.len() + wanted.len() > IDS_MAX {
            return false;
        }
        self.requested.extend(wanted.iter().cloned());
        ids.extend(wanted);
        true
    }

    fn articles(&self) -> u64 {
        self.messages.ids.len() as u64
    }

    fn finish(&mut self) -> Result<&[u8], Error> {
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(self.messages.write()),
        }
    }
}

/// Returns whether a site may get a requested article.
pub type Allowed<'a> = Box<dyn FnMut(&Record<'_>) -> bool + 'a>;

/// Answers sendme messages: sends the requested articles that exist here and that the site may get.
pub struct Requested<'a> {
    snapshot: &'a Snapshot,
    allowed: Allowed<'a>,
    batch: Batch,
    /// The message that is partly answered, and the number of its answered ids.
    at: Option<(Vec<u8>, usize)>,
    /// The file that stores this position.
    file: Option<PathBuf>,
    error: Option<Error>,
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
            error: None,
        }
    }

    /// Stores the position in the site's directory, so that the answer to a long sendme message continues there.
    ///
    /// # Errors
    /// The stored position cannot be read.
    pub fn with_stored_position(
        mut self,
        directory: &std::path::Path,
    ) -> Result<Requested<'a>, Error> {
        let file = directory.join(REQUEST_POSITION);
        let text = store::read_whole(&RealDisk, &file)?.unwrap_or_default();
        let mut words = text.split(u8::is_ascii_whitespace);
        // Without a position, the message is answered from its start.
        self.at = match (words.next(), words.next().and_then(decimal::parse)) {
            (Some(id), Some(done)) => usize::try_from(done).ok().map(|done| (id.to_vec(), done)),
            _ => None,
        };
        self.file = Some(file);
        Ok(self)
    }

    /// Adds the articles requested by one message, from its `done`th id on. If the batch becomes full, returns the number of the next
    /// id.
    fn answer(&mut self, article: &Article<'_>, done: usize) -> Result<Option<usize>, Error> {
        let (mut seen, mut buffer) = (HashSet::new(), Vec::new());
        for (number, id) in ids_of(article).take(IDS_READ_MAX).enumerate() {
            if !seen.insert(id) || number < done {
                continue;
            }
            let record = match self.snapshot.article(id, &mut buffer) {
                Ok(Some(record)) => record,
                // The article has expired since, or is damaged, which `fsck` reports.
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
                self.error = Some(error);
                false
            }
        }
    }

    fn articles(&self) -> u64 {
        self.batch.articles()
    }

    fn finish(&mut self) -> Result<&[u8], Error> {
        match self.error.take() {
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
