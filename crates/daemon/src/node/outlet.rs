//! Batches of rnews and of in.coming/ on their way through the log of the cluster.

use std::time::{Duration, Instant};

use ::cluster::articles_entry::{Item, Source};
use relay::Now;
use relay::error::Error;
use relay::file::{Filer, Verdict};
use relay::outlet::Outlet;

use super::{EntryBuilder, Held, Node, Told};
use crate::failure;
use crate::intake_queue::IntakeQueue;

/// Longest time without news of the log; then the batch stays with its sender.
const PATIENCE: Duration = Duration::from_secs(30);
/// Interval between looks whether the daemon has to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Takes the articles of one run of rnews, and appends them to the log.
pub struct NodeOutlet<'a> {
    node: &'a mut Node,
    filer: &'a mut Filer,
    queue: &'a IntakeQueue,
    is_stopping: &'a dyn Fn() -> bool,
    /// Bytes of articles that one commit applies at most.
    commit_bytes: usize,
    /// The limit of age that the sender of the batch asked for, days.
    age_days_max: Option<u32>,
    builder: EntryBuilder,
    /// Articles without a verdict.
    waiting: usize,
    pending_bytes: usize,
}

impl std::fmt::Debug for NodeOutlet<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "NodeOutlet with {} articles", self.waiting)
    }
}

impl<'a> NodeOutlet<'a> {
    /// An outlet for one run.
    pub fn new(
        node: &'a mut Node,
        filer: &'a mut Filer,
        queue: &'a IntakeQueue,
        is_stopping: &'a dyn Fn() -> bool,
        (commit_bytes, age_days_max): (usize, Option<u32>),
    ) -> NodeOutlet<'a> {
        node.begin_run();
        NodeOutlet {
            node,
            filer,
            queue,
            is_stopping,
            commit_bytes,
            age_days_max,
            builder: EntryBuilder::default(),
            waiting: 0,
            pending_bytes: 0,
        }
    }

    /// Applies what the log tells until `is_so`.
    fn wait_until(&mut self, is_so: impl Fn(&Node) -> bool) -> Result<(), Error> {
        let mut news = Instant::now();
        loop {
            let applied = self.node.apply(self.filer, self.queue, self.commit_bytes);
            let is_filed = applied.map_err(|error| Error::Cluster(failure::text_of(&error)))?;
            if is_so(self.node) {
                return Ok(());
            }
            let why = match self.node.fault() {
                Some(why) => why,
                None if (self.is_stopping)() => "the daemon stops",
                None if news.elapsed() > PATIENCE => "it does not answer",
                None => "",
            };
            if !why.is_empty() {
                return Err(Error::Cluster(why.to_owned()));
            }
            if is_filed {
                news = Instant::now();
            }
            self.node.events.wait(LOOK);
        }
    }

    fn append(&mut self) -> Result<(), Error> {
        if self.builder.places.is_empty() {
            return Ok(());
        }
        self.wait_until(Node::has_room)?;
        let results = self.builder.places.iter().map(|_| None).collect();
        let batch = Held::Run(self.node.run);
        self.node.flights.hold(batch, results);
        self.node.append_articles(&mut self.builder);
        Ok(())
    }
}

impl Outlet for NodeOutlet<'_> {
    fn filer(&mut self) -> &mut Filer {
        self.filer
    }

    fn file(&mut self, bytes: &[u8], _: Now) -> Result<Option<Verdict>, Error> {
        if !self.builder.takes(bytes.len()) {
            self.append()?;
        }
        let item = Item {
            source: Source::Native,
            rights: None,
            age_days_max: self.age_days_max,
            article: bytes,
        };
        // No other batch is held before this one: the writer does nothing else meanwhile.
        let place = (self.node.flights.next_number(), self.builder.places.len());
        self.builder.add(place, &item);
        self.waiting += 1;
        self.pending_bytes += bytes.len();
        Ok(None)
    }

    fn commit(&mut self) -> Result<Vec<Verdict>, Error> {
        self.append()?;
        let count = self.waiting;
        self.wait_until(|node| node.run_results.len() >= count)?;
        (self.waiting, self.pending_bytes) = (0, 0);
        let results = std::mem::take(&mut self.node.run_results);
        let verdicts = results.into_iter().map(|told| match told {
            Told::Verdict(verdict) => Ok(verdict),
            Told::Deferred(why) => Err(Error::Cluster(why.to_owned())),
            Told::Reply(..) => Err(Error::Cluster(
                "the writer returned the reply to a post".to_owned(),
            )),
        });
        verdicts.collect()
    }

    fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }
}
