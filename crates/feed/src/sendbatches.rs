//! Sends a site's batches: builds each from the backlog, compresses and delivers it, and then advances the cursor.

use std::path::Path;

use groups::sites::{Queue, To};
use store::Record;

use crate::Error;
use crate::batch::Batch;
use crate::batchparms::BatchParms;
use crate::builder::Builder;
use crate::limit::Limit;
use crate::queue::{waiting_in_directory, waiting_in_uucp};
use crate::transport::Transport;

/// Free space that queues leave on their disk, as in C News, bytes: 10,000 KB.
pub const OUTBOUND_RESERVE_BYTES: u64 = 10_000 * 1024;

/// The backlog of a site.
pub trait ArticleSource {
    /// Passes the waiting articles in order to `put`, until it refuses one or none is left. A refused article is the first one of the next
    /// call.
    ///
    /// # Errors
    /// The articles cannot be read.
    fn offer(&mut self, put: &mut dyn FnMut(&Record<'_>) -> bool) -> Result<(), Error>;

    /// Marks the articles that `put` accepted as delivered, durably. Without this call they are offered again when the backlog is opened
    /// next.
    ///
    /// # Errors
    /// The cursor cannot be written.
    fn delivered(&mut self) -> Result<(), Error>;

    /// Approximate size of the undelivered articles, bytes.
    ///
    /// # Errors
    /// It cannot be read.
    fn waiting_bytes(&mut self) -> Result<u64, Error>;

    /// Number of waiting articles that were met and that the disk cannot read. They still wait when [`ArticleSource::delivered`] has returned.
    fn unreadable(&self) -> u64 {
        0
    }

    /// Whether the feed was paused meanwhile: then no batch is delivered any more.
    fn is_paused(&self) -> bool {
        false
    }
}

/// A run for one site.
#[derive(Debug, Clone)]
pub struct Sending<'a> {
    /// The site.
    pub site: &'a [u8],
    /// Its batch parameters.
    pub parms: &'a BatchParms,
    /// The news directory: base of relative directories, and working directory of commands.
    pub news: &'a Path,
    /// The spool directory of UUCP: [`crate::UUCP_SPOOL`].
    pub uucp_spool: &'a Path,
    /// Time limit of a command for a batch.
    pub limit: Limit,
    /// Maximum number of batches of this run.
    pub batches_max: u64,
}

/// The result of a run.
#[derive(Debug)]
pub struct Sent {
    /// Number of delivered batches.
    pub batches: u64,
    /// Number of articles in them.
    pub articles: u64,
    /// Size before compression, bytes.
    pub bytes: u64,
    /// Size as delivered, bytes.
    pub packed_bytes: u64,
    /// Number of batches with one article above the largest size.
    pub oversize: u64,
    /// Estimated number of waiting batches.
    pub backlog: u64,
    /// Number of waiting articles that the disk cannot read.
    pub unreadable: u64,
    /// The reason of the end.
    pub stopped: Stopped,
}

/// Why a run ended.
#[derive(Debug)]
pub enum Stopped {
    /// Nothing waits.
    Empty,
    /// [`Sending::batches_max`] were sent, or the time was over.
    Enough,
    /// `!` in `batchparms`.
    Off,
    /// The feed was paused during the run.
    Paused,
    /// The queue is full.
    QueueFull {
        /// Its length, batches.
        waiting: u64,
    },
    /// The disk of the queue has too little free space.
    DiskFull {
        /// Free space, bytes.
        free: u64,
    },
    /// A delivery failed.
    Failed(Error),
}

impl Sending<'_> {
    /// Sends batches until there is a reason to stop. Undelivered articles still wait.
    ///
    /// # Errors
    /// The backlog cannot be read, the cursor cannot be written, or the queue cannot be counted. A failed delivery is reported as
    /// [`Stopped::Failed`].
    pub fn run(&self, source: &mut dyn ArticleSource) -> Result<Sent, Error> {
        let size = usize::try_from(self.parms.size).unwrap_or(usize::MAX);
        self.run_with(source, &mut Batch::new(size))
    }

    /// Sends all that waits, like [`Sending::run`], with another builder of batches.
    ///
    /// # Errors
    /// As [`Sending::run`], and those of the builder.
    pub fn run_with(
        &self,
        source: &mut dyn ArticleSource,
        builder: &mut dyn Builder,
    ) -> Result<Sent, Error> {
        let mut sent = Sent {
            batches: 0,
            articles: 0,
            bytes: 0,
            packed_bytes: 0,
            oversize: 0,
            backlog: 0,
            unreadable: 0,
            stopped: Stopped::Empty,
        };
        let transport = self.transport();
        sent.stopped = loop {
            if source.is_paused() {
                break Stopped::Paused;
            }
            if let Some(reason) = self.hindrance(&transport, &sent)? {
                break reason;
            }
            builder.clear();
            source.offer(&mut |record| builder.put(record))?;
            let articles = builder.articles();
            let batch = builder.finish()?;
            if articles == 0 {
                // Articles for other sites are passed.
                source.delivered()?;
                builder.delivered()?;
                break Stopped::Empty;
            }
            let bytes = batch.len() as u64;
            let packed = match self.hand_over(&transport, batch) {
                Ok(packed) => packed,
                Err(error) => break Stopped::Failed(error),
            };
            source.delivered()?;
            builder.delivered()?;
            sent.batches += 1;
            sent.articles += articles;
            sent.bytes += bytes;
            sent.packed_bytes += packed;
            sent.oversize += u64::from(bytes > self.parms.size_max);
        };
        sent.unreadable = source.unreadable();
        if !matches!(sent.stopped, Stopped::Empty) || sent.unreadable > 0 {
            sent.backlog = source.waiting_bytes()?.div_ceil(self.parms.size.max(1));
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

    /// Compresses and delivers a batch; returns its delivered size, bytes.
    fn hand_over(&self, transport: &Transport, batch: &[u8]) -> Result<u64, Error> {
        let mut packing = self.parms.packing;
        // In a directory the name shows the compression, as in C News.
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

    /// The reason against another batch, if any.
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
                Transport::Command { .. } => {
                    waiting_in_uucp(self.uucp_spool, self.parms.uucp_host())?
                }
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

/// Free space on the file system of a directory, bytes; `None` without the directory, or where the file system does not report its size.
fn free(place: &Path) -> Option<u64> {
    store::free_bytes(place).ok()?
}
