//! What the one writer tells those who read in its own process: that something was committed, the high marks, the groups.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use groups::{Active, GroupId};

use crate::Error;
use crate::io::disk::{Disk, Open, RealDisk};
use crate::read::histogram::Histogram;
use crate::state::active_text::read_table;

/// What the writer shows to the snapshots of its process ([`crate::Snapshot::open_live`]): a look at it costs an atomic load. It outlives the
/// writer: a spool that is opened again goes on with the same one.
#[derive(Debug, Default)]
pub struct Published {
    /// Raised by each commit, last of all.
    sequence: AtomicU64,
    /// Raised when files may have been put in the place of others.
    files: AtomicU64,
    /// Raised when there is another table of groups.
    tables: AtomicU64,
    groups: RwLock<Option<Arc<Groups>>>,
    /// What was committed since what is published was made.
    pub commits: Commits,
}

/// What the writer committed: for those who watch it.
#[derive(Debug, Default)]
pub struct Commits {
    /// Articles.
    pub articles: AtomicU64,
    /// Bytes of the log.
    pub bytes: AtomicU64,
    /// How many commits there were, and how long each took to write and sync its records.
    pub took: Histogram,
    /// Ids in the index.
    pub index_used: AtomicU64,
    /// Ids for which it has slots.
    pub index_slots: AtomicU64,
}

/// The counters of [`Published`] at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub sequence: u64,
    pub files: u64,
    pub tables: u64,
}

/// The groups, and how far each is filled.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The table; its high marks stay as they were when it was written on what is published.
    pub active: Arc<Active>,
    /// By [`GroupId`].
    highs: Vec<AtomicU64>,
}

impl Published {
    /// An empty board.
    #[must_use]
    pub fn new() -> Arc<Published> {
        Arc::default()
    }

    /// Changes with each commit.
    pub fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    /// All who read open all files anew when they catch up. Maps hold the space of files that expire wrote anew, so this is due
    /// when it has given space back.
    pub fn look_again(&self) {
        self.files.fetch_add(1, Ordering::Release);
        self.sequence.fetch_add(1, Ordering::Release);
    }

    /// Reads what other programs wrote, where no [`Spool`] of this one announces anything.
    ///
    /// # Errors
    /// `active` cannot be read.
    pub fn read_again(&self, dir: &Path) -> Result<(), Error> {
        let active = read_active(&RealDisk, dir)?;
        self.set_groups(Arc::new(Groups::of(active)));
        self.look_again();
        Ok(())
    }

    /// The state of all counters; the sequence is read first.
    pub(crate) fn seen(&self) -> Seen {
        Seen {
            sequence: self.sequence(),
            files: self.files.load(Ordering::Acquire),
            tables: self.tables.load(Ordering::Acquire),
        }
    }

    /// The groups; `None`: no writer has written on what is published yet.
    pub(crate) fn groups(&self) -> Option<Arc<Groups>> {
        self.groups
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_groups(&self, groups: Arc<Groups>) {
        *self.groups.write().unwrap_or_else(PoisonError::into_inner) = Some(groups);
        self.tables.fetch_add(1, Ordering::Release);
    }
}

/// Reads `active`.
pub(crate) fn read_active(disk: &dyn Disk, dir: &Path) -> Result<Active, Error> {
    let path = dir.join("active");
    let file = disk.open(&path, Open::Read);
    let file = file.map_err(|source| Error::io("open", &path, source))?;
    read_table(&*file, &path)
}

impl Groups {
    pub(crate) fn of(active: Active) -> Groups {
        let highs = (0u32..).take(active.id_end());
        let highs = highs.map(|id| AtomicU64::new(active.high(GroupId(id))));
        Groups {
            highs: highs.collect(),
            active: Arc::new(active),
        }
    }

    /// The highest number given out in a group; 0 for one that is not there.
    pub(crate) fn high(&self, group: GroupId) -> u64 {
        self.highs
            .get(group.0 as usize)
            .map_or(0, |high| high.load(Ordering::Acquire))
    }

    fn raise(&self, group: GroupId, number: u64) {
        if let Some(high) = self.highs.get(group.0 as usize) {
            high.fetch_max(number, Ordering::AcqRel);
        }
    }
}

/// The writer's side: what the next commit tells.
#[derive(Debug)]
pub(crate) struct Publisher {
    published: Arc<Published>,
    groups: Arc<Groups>,
    raised: Vec<(GroupId, u64)>,
    articles: u64,
    groups_changed: bool,
    files_changed: bool,
}

impl Publisher {
    /// Publishes the commits of a spool with this active table and this index (slots used, slots in all).
    pub fn new(published: Arc<Published>, active: &Active, (used, slots): (u64, u64)) -> Publisher {
        let groups = Arc::new(Groups::of(active.clone()));
        published.set_groups(groups.clone());
        published.look_again();
        let commits = &published.commits;
        commits.index_used.store(used, Ordering::Relaxed);
        commits.index_slots.store(slots, Ordering::Relaxed);
        Publisher {
            published,
            groups,
            raised: Vec::new(),
            articles: 0,
            groups_changed: false,
            files_changed: false,
        }
    }

    /// Notes the numbers of an article.
    pub fn note<'a>(&mut self, active: &Active, links: impl Iterator<Item = (&'a [u8], u64)>) {
        self.articles += 1;
        let known = links.filter_map(|(name, number)| Some((active.find(name)?, number)));
        self.raised.extend(known);
    }

    /// Notes that groups came, went or changed.
    pub fn note_groups(&mut self) {
        self.groups_changed = true;
    }

    /// Notes that a file took the place of another.
    pub fn note_files(&mut self) {
        self.files_changed = true;
    }

    /// Counts a commit.
    pub fn count(&mut self, bytes: u64, took: Duration, (used, slots): (u64, u64)) {
        let commits = &self.published.commits;
        let articles = std::mem::take(&mut self.articles);
        commits.articles.fetch_add(articles, Ordering::Relaxed);
        commits.bytes.fetch_add(bytes, Ordering::Relaxed);
        commits.index_used.store(used, Ordering::Relaxed);
        commits.index_slots.store(slots, Ordering::Relaxed);
        commits.took.add(took, 1);
    }

    /// Writes on what is published, after everything it tells of was published.
    pub fn tell(&mut self, active: &Active) {
        if std::mem::take(&mut self.groups_changed) {
            self.groups = Arc::new(Groups::of(active.clone()));
            self.published.set_groups(self.groups.clone());
        }
        for (group, number) in self.raised.drain(..) {
            self.groups.raise(group, number);
        }
        if std::mem::take(&mut self.files_changed) {
            self.published.look_again();
        } else {
            self.published.sequence.fetch_add(1, Ordering::Release);
        }
    }
}
