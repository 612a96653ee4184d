//! Sending what waits for a site, batch after batch: taken from the backlog, compressed, handed over, and only then done with.

use std::path::Path;

use groups::sites::{Queue, To};
use rustix::fs::statvfs;
use store::Record;

use crate::Error;
use crate::batch::Batch;
use crate::batchparms::BatchParms;
use crate::builder::Builder;
use crate::limit::Limit;
use crate::queue::{waiting_in_directory, waiting_in_uucp};
use crate::transport::Transport;

/// So much is left free where batches wait, as in C News: 10,000 KB.
pub const OUTBOUND_RESERVE_BYTES: u64 = 10_000 * 1024;

/// What waits for one site.
pub trait Togo {
    /// Offers the waiting articles to `put`, in their order, until it refuses one or there are no more. One that was refused is
    /// the first one the next time.
    ///
    /// # Errors
    /// The articles cannot be read.
    fn offer(&mut self, put: &mut dyn FnMut(&Record<'_>) -> bool) -> Result<(), Error>;

    /// What `put` has taken is delivered: it is not offered again, not even after a power cut. What was taken without this
    /// is offered again to who opens the backlog next.
    ///
    /// # Errors
    /// It cannot be written down.
    fn delivered(&mut self) -> Result<(), Error>;

    /// How much waits and is not delivered, in bytes; a guess will do.
    ///
    /// # Errors
    /// It cannot be read.
    fn waiting_bytes(&mut self) -> Result<u64, Error>;

    /// True when somebody paused the feed meanwhile: nothing more is to be handed over.
    fn is_paused(&self) -> bool {
        false
    }
}

/// One site's turn.
#[derive(Debug, Clone)]
pub struct Sending<'a> {
    /// The site.
    pub site: &'a [u8],
    /// How its batches are made.
    pub parms: &'a BatchParms,
    /// The news directory, for relative directories; commands run there.
    pub news: &'a Path,
    /// Where UUCP keeps its jobs: [`crate::UUCP_SPOOL`].
    pub uucp_spool: &'a Path,
    /// How long a command may take for a batch.
    pub limit: Limit,
    /// Most batches to be sent now.
    pub batches_max: u64,
}

/// What came of it.
#[derive(Debug)]
pub struct Sent {
    /// Batches that were taken.
    pub batches: u64,
    /// The articles in them.
    pub articles: u64,
    /// Bytes of them before compression.
    pub bytes: u64,
    /// Bytes handed over.
    pub packed_bytes: u64,
    /// Batches of one article that passed the largest size.
    pub oversize: u64,
    /// How many batches still wait, about.
    pub backlog: u64,
    /// Why it ended.
    pub stopped: Stopped,
}

/// Why no more batches are sent.
#[derive(Debug)]
pub enum Stopped {
    /// Nothing waits.
    Empty,
    /// [`Sending::batches_max`] were sent, or the time was over.
    Enough,
    /// `!` in `batchparms`.
    Off,
    /// Somebody paused the feed in its turn.
    Paused,
    /// So many batches wait to be taken that none may be added.
    QueueFull {
        /// How many wait.
        waiting: u64,
    },
    /// So little is free where batches wait that none is added.
    DiskFull {
        /// Bytes that are free there.
        free: u64,
    },
    /// A batch was not taken.
    Failed(Error),
}

impl Sending<'_> {
    /// Sends until there is a reason to stop. Whatever that is, what was not taken by the other side waits on.
    ///
    /// # Errors
    /// The backlog cannot be read or moved on, or the queue cannot be counted. A batch that was not taken is no error but
    /// [`Stopped::Failed`].
    pub fn run(&self, togo: &mut dyn Togo) -> Result<Sent, Error> {
        let size = usize::try_from(self.parms.size).unwrap_or(usize::MAX);
        self.run_with(togo, &mut Batch::new(size))
    }

    /// As [`Sending::run`], for batches that something else is in.
    ///
    /// # Errors
    /// As [`Sending::run`], and those of the builder.
    pub fn run_with(&self, togo: &mut dyn Togo, builder: &mut dyn Builder) -> Result<Sent, Error> {
        let mut sent = Sent {
            batches: 0,
            articles: 0,
            bytes: 0,
            packed_bytes: 0,
            oversize: 0,
            backlog: 0,
            stopped: Stopped::Empty,
        };
        let transport = self.transport();
        sent.stopped = loop {
            if togo.is_paused() {
                break Stopped::Paused;
            }
            if let Some(reason) = self.hindrance(&transport, &sent)? {
                break reason;
            }
            builder.clear();
            togo.offer(&mut |record| builder.put(record))?;
            let articles = builder.articles();
            let batch = builder.finish()?;
            if articles == 0 {
                // What is not for this site is passed.
                togo.delivered()?;
                builder.delivered()?;
                break Stopped::Empty;
            }
            let bytes = batch.len() as u64;
            let packed = match self.hand_over(&transport, batch) {
                Ok(packed) => packed,
                Err(error) => break Stopped::Failed(error),
            };
            togo.delivered()?;
            builder.delivered()?;
            sent.batches += 1;
            sent.articles += articles;
            sent.bytes += bytes;
            sent.packed_bytes += packed;
            sent.oversize += u64::from(bytes > self.parms.size_max);
        };
        if !matches!(sent.stopped, Stopped::Empty) {
            sent.backlog = togo.waiting_bytes()?.div_ceil(self.parms.size.max(1));
        }
        Ok(sent)
    }

    fn transport(&self) -> Transport {
        match &self.parms.to {
            To::Command(line) => Transport::Command {
                line: line.clone(),
                limit: self.limit.clone(),
                directory: self.news.to_owned(),
            },
            To::Directory(directory) => Transport::Directory(self.news.join(directory)),
        }
    }

    /// Packs a batch and hands it over; gives the bytes it had then.
    fn hand_over(&self, transport: &Transport, batch: &[u8]) -> Result<u64, Error> {
        let mut packing = self.parms.packing;
        // In a directory the name tells that it is compressed, as C News has it.
        packing.bare |= matches!(transport, Transport::Directory(_));
        if packing.kind.is_none() {
            transport.send(batch)?;
            return Ok(batch.len() as u64);
        }
        let packed = packing.wrap(batch).map_err(|source| Error::Wrapping {
            site: self.site.escape_ascii().to_string(),
            source,
        })?;
        transport.send(&packed)?;
        Ok(packed.len() as u64)
    }

    /// What keeps the next batch from being sent.
    fn hindrance(&self, transport: &Transport, sent: &Sent) -> Result<Option<Stopped>, Error> {
        if self.parms.is_off {
            return Ok(Some(Stopped::Off));
        }
        if sent.batches >= self.batches_max || self.limit.is_over() {
            return Ok(Some(Stopped::Enough));
        }
        let place = match transport {
            Transport::Directory(directory) => directory,
            Transport::Command { .. } => self.uucp_spool,
        };
        if let Queue::Batches(most) = self.parms.queue {
            let waiting = match transport {
                Transport::Directory(directory) => waiting_in_directory(directory)?,
                Transport::Command { .. } => waiting_in_uucp(self.uucp_spool, &self.parms.peer)?,
            };
            if waiting >= u64::from(most) {
                return Ok(Some(Stopped::QueueFull { waiting }));
            }
        }
        Ok(free(place)
            .filter(|free| *free < OUTBOUND_RESERVE_BYTES.saturating_add(self.parms.size))
            .map(|free| Stopped::DiskFull { free }))
    }
}

/// Bytes free for us on the file system of a directory; nothing where there is no such directory.
fn free(place: &Path) -> Option<u64> {
    let told = statvfs(place).ok()?;
    Some(told.f_bavail.saturating_mul(told.f_frsize))
}
