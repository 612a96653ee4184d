//! One visit to a server: what is new, what is unknown here, its articles in batches.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use feed::Remote;
use groups::wildmat::Wildmat;
use nntp::client::{Ready, Reply};
use store::Snapshot;

use crate::connection::{Connection, words};
use crate::error::Error;
use crate::fetch::By;
use crate::marks::Marks;
use crate::news::{News, Pulled, SHOWN};
use crate::posts;
use crate::source::Source;

/// Most groups that are asked for at once.
pub const GROUPS_MAX: usize = 100;
/// Size of a batch that is filed, bytes.
pub const BATCH_BYTES: usize = 8 << 20;

/// Longest time in which all groups are read by number, also beside NEWNEWS, seconds: a day.
const BY_NUMBER_SECONDS: i64 = 86_400;

/// Seconds since 1970.
pub(crate) fn clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

/// Visits a server. `groups`: those of our active; `host`: our name in Path; `news_directory`: where the marks and the files of the settings are.
///
/// The counts are valid after an error, too.
///
/// # Errors
/// Why the visit ended early. What came before is filed, and the next visit goes on there.
pub fn pull(
    source: &Source,
    (news_directory, host, groups): (&Path, &str, &[Vec<u8>]),
    article_bytes_max: u64,
    news: &mut dyn News,
) -> (Pulled, Result<(), Error>) {
    let mut pulled = Pulled::default();
    let (marks, (connection, ready), snapshot) = match begin(source, news_directory, news) {
        Ok(begun) => begun,
        Err(error) => return (pulled, Err(error)),
    };
    let mut visit = Visit {
        source,
        host,
        wanted: Wildmat::parse(source.groups.as_bytes()),
        connection,
        ready,
        marks,
        snapshot,
        news,
        article_bytes_max,
        batch: Vec::new(),
        fetched: HashSet::new(),
        missing: Vec::new(),
        first_came_by: None,
        left_out: BTreeSet::new(),
        refused: HashSet::new(),
        held: BTreeSet::new(),
        is_any_unread: false,
        pulled: &mut pulled,
    };
    let result = visit.all(groups);
    let filed = match &result {
        // The marks are ahead of what is filed.
        Err(Error::Filing(_)) => Ok(()),
        // What has come whole is filed, whatever ended the visit.
        _ => visit.flush(),
    };
    visit.pulled.bytes = visit.connection.received_bytes;
    (pulled, result.and(filed))
}

/// Connects. Posts made from the first visit on go up, even if the server cannot be reached in it.
fn begin(
    source: &Source,
    news_directory: &Path,
    news: &mut dyn News,
) -> Result<(Marks, (Connection, Ready), Snapshot), Error> {
    let mut marks = Marks::read(news_directory, &source.name)?;
    if source.post && marks.posts.is_none() {
        marks.set_posts(news.snapshot()?.end());
        marks.save()?;
    }
    let remote = Remote::open(news_directory, &source.server)?;
    let connection = Connection::open(&remote, source)?;
    Ok((marks, connection, news.snapshot()?))
}

pub(crate) struct Visit<'a> {
    pub(crate) source: &'a Source,
    host: &'a str,
    /// The groups of the source.
    pub(crate) wanted: Wildmat,
    pub(crate) connection: Connection,
    pub(crate) ready: Ready,
    /// In memory they say what is settled: filed, known, or in `batch`. They are saved after the batch is filed.
    pub(crate) marks: Marks,
    pub(crate) snapshot: Snapshot,
    pub(crate) news: &'a mut dyn News,
    pub(crate) article_bytes_max: u64,
    /// Articles that are not filed yet.
    pub(crate) batch: Vec<u8>,
    /// Ids asked for in this visit: an article in several groups is fetched once.
    pub(crate) fetched: HashSet<Box<[u8]>>,
    /// Articles that NEWNEWS listed and the server does not have by their message-ids.
    pub(crate) missing: Vec<Box<[u8]>>,
    /// How the server gave the first article of this visit.
    pub(crate) first_came_by: Option<By>,
    /// Groups that the server refuses in this visit.
    pub(crate) left_out: BTreeSet<Vec<u8>>,
    /// Articles that the server refuses in this visit, and for which the next one asks again.
    pub(crate) refused: HashSet<Box<[u8]>>,
    /// Groups whose marks stay before such an article.
    pub(crate) held: BTreeSet<Vec<u8>>,
    /// Whether a group was not read to its end.
    pub(crate) is_any_unread: bool,
    pub(crate) pulled: &'a mut Pulled,
}

impl Visit<'_> {
    fn all(&mut self, groups: &[Vec<u8>]) -> Result<(), Error> {
        if self.source.post {
            let counts = posts::send(
                &mut self.connection,
                self.ready.may_post,
                (&self.snapshot, self.host, &self.wanted),
                &mut self.marks,
                self.news,
            )?;
            (self.pulled.posted, self.pulled.posts_refused) = counts;
        }
        let now = if self.source.newnews {
            self.date()?
        } else {
            None
        };
        let is_all = match (now, self.marks.newnews) {
            (Some(now), Some(since)) => self.new_news(since, now)?,
            _ => false,
        };
        // Servers that decide by a date in the header list nothing that arrives late.
        let unchanged = if is_all && !self.is_by_number_due() {
            self.unchanged()?
        } else {
            HashSet::new()
        };
        let is_due = |group: &&Vec<u8>| self.wanted.matches(group) && !unchanged.contains(*group);
        let by_number: Vec<&[u8]> = groups.iter().filter(is_due).map(Vec::as_slice).collect();
        for some in by_number.chunks(GROUPS_MAX) {
            self.by_number(some)?;
        }
        self.count_missing();
        if self.source.newnews && unchanged.is_empty() {
            self.marks.set_by_number(Some(clock()));
        }
        let (groups, articles) = (self.pulled.groups_refused, self.pulled.refused);
        let posts = self.pulled.posts_refused;
        let is_refused = groups + articles > 0;
        // The next visit asks from the same time again as long as some articles are left.
        if let Some(now) = now
            && !is_refused
            && !self.is_any_unread
        {
            self.marks.set_newnews(Some(now));
        }
        self.marks.keep_refused(&self.refused);
        self.marks.forget_break();
        match (is_refused, posts) {
            (true, _) => Err(Error::Refused { groups, articles }),
            (false, _) if self.is_any_unread => Err(Error::Unread),
            (false, 0) => Ok(()),
            (false, _) => Err(Error::PostsRefused(posts)),
        }
    }

    /// Whether all groups are to be read by number, whatever the server lists: a day has passed, or the clock went back.
    fn is_by_number_due(&self) -> bool {
        let last = self.marks.by_number();
        last.is_none_or(|last| !(0..BY_NUMBER_SECONDS).contains(&clock().saturating_sub(last)))
    }

    /// Leaves out a group that the server refuses in this visit.
    pub(crate) fn leave_out(&mut self, group: &[u8], reply: Reply<'_>) {
        if !self.left_out.insert(group.to_vec()) {
            return;
        }
        self.pulled.groups_refused += 1;
        if self.pulled.groups_refused <= SHOWN {
            let (group, words) = (group.escape_ascii(), words(reply));
            self.news.message(&format!("{group}: the server answers `{words}'; the group waits for the next run (if the server never lets you read it, take it out of `groups')"));
        }
    }

    /// Files the batch, then saves the marks.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        if !self.batch.is_empty() {
            self.news.file(std::mem::take(&mut self.batch))?;
            self.snapshot = self.news.snapshot()?;
        }
        self.marks.save()
    }
}
