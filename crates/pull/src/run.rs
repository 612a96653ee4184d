//! One visit to a server: what is new, what is unknown here, its articles in batches.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use article::path::Path as ArticlePath;
use article::wire::push_native;
use article::{Article, Form, Header, newsgroups};
use feed::Remote;
use groups::wildmat::Wildmat;
use nntp::client::{Ready, Reply};
use store::Snapshot;

use crate::connection::{Connection, Text, words};
use crate::error::Error;
use crate::marks::{Mark, Marks, REMEMBERED_MAX};
use crate::news::{News, Pulled, SHOWN};
use crate::posts;
use crate::source::Source;

/// Most bytes of requests for articles in flight: they fit the buffers of both sockets, so that neither side waits for the other to read.
pub const WINDOW_BYTES_MAX: usize = 32 << 10;
/// Most groups that are asked for at once.
pub const GROUPS_MAX: usize = 100;
/// Size of a batch that is filed, bytes.
pub const BATCH_BYTES: usize = 8 << 20;

/// How long the server may refuse an article until the mark of its group passes it, seconds: a week.
const REFUSED_SECONDS: i64 = 7 * 86_400;

/// Seconds since 1970.
pub(crate) fn clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

/// Whether an article has the id, and one of the groups, for which the server was asked, and does not look as if it was posted here: the
/// server may file nothing else. What has no Message-ID or Newsgroups is refused as from anywhere.
fn is_asked_for(wire: &[u8], id: &[u8], wanted: &Wildmat) -> bool {
    let article = Article::parse(wire, Form::Wire);
    let is_in_group = |names| newsgroups::split(names).any(|name| wanted.matches(name));
    article.value(Header::MessageId).is_none_or(|own| own == id)
        && article.value(Header::Newsgroups).is_none_or(is_in_group)
        && !article
            .value(Header::Path)
            .is_some_and(ArticlePath::is_of_injection)
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
    wanted: Wildmat,
    pub(crate) connection: Connection,
    pub(crate) ready: Ready,
    /// In memory they say what is settled: filed, known, or in `batch`. They are saved after the batch is filed.
    pub(crate) marks: Marks,
    pub(crate) snapshot: Snapshot,
    pub(crate) news: &'a mut dyn News,
    article_bytes_max: u64,
    /// Articles that are not filed yet.
    batch: Vec<u8>,
    /// Ids asked for in this visit: an article in several groups is fetched once.
    fetched: HashSet<Box<[u8]>>,
    /// Groups that the server refuses in this visit.
    pub(crate) left_out: BTreeSet<Vec<u8>>,
    /// Articles that the server refuses in this visit, and for which the next one asks again.
    refused: HashSet<Box<[u8]>>,
    /// Groups whose marks stay before such an article.
    pub(crate) held: BTreeSet<Vec<u8>>,
    /// Whether a group was not read to its end.
    pub(crate) is_any_unread: bool,
    pub(crate) pulled: &'a mut Pulled,
}

/// How much of what NEWNEWS lists was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewNews {
    /// All of it.
    All,
    /// The first [`REMEMBERED_MAX`] articles that are unknown here.
    Some,
    /// The server does not allow the command, or its clock went back.
    NotAllowed,
}

/// A row of an overview.
pub(crate) struct Row {
    pub(crate) number: u64,
    pub(crate) id: Box<[u8]>,
}

impl Row {
    /// Length of the command that asks for the article.
    fn request_bytes(&self) -> usize {
        self.id.len() + b"ARTICLE \r\n".len()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            number: self.number,
            id: Some(self.id.clone()),
        }
    }
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
        let now = match self.source.newnews {
            true => self.date()?,
            false => None,
        };
        let listed = match (now, self.marks.newnews) {
            (Some(now), Some(since)) => self.new_news(since, now)?,
            _ => NewNews::NotAllowed,
        };
        // A group without a mark is new here: NEWNEWS does not list what it has had before.
        let is_due = |group: &&Vec<u8>| {
            let is_new = listed == NewNews::NotAllowed || self.marks.get(group).is_none();
            is_new && self.wanted.matches(group)
        };
        let by_number: Vec<&[u8]> = groups.iter().filter(is_due).map(Vec::as_slice).collect();
        let since = self.marks.newnews;
        if !by_number.is_empty() {
            // A run that breaks has read a part of these groups: only one by number goes on there.
            self.marks.set_newnews(None);
        }
        for some in by_number.chunks(GROUPS_MAX) {
            self.by_number(some)?;
        }
        let (groups, articles) = (self.pulled.groups_refused, self.pulled.refused);
        let posts = self.pulled.posts_refused;
        let is_refused = groups + articles > 0;
        // The next visit asks from the same time again, or by number, as long as some articles are left.
        if let Some(now) = now
            && !is_refused
            && !self.is_any_unread
        {
            self.marks.set_newnews(match listed {
                NewNews::Some => since,
                NewNews::All | NewNews::NotAllowed => Some(now),
            });
        }
        self.marks.keep_refused(&self.refused);
        self.marks.forget_break();
        match (is_refused, posts) {
            (true, _) => Err(Error::Refused { groups, articles }),
            (false, 0) => Ok(()),
            (false, _) => Err(Error::PostsRefused(posts)),
        }
    }

    /// Fetches the articles of these groups and rows that are unknown here, and settles the rows in their order.
    pub(crate) fn fetch(&mut self, lists: &[(&[u8], Vec<Row>)]) -> Result<(), Error> {
        if self.fetched.len() >= REMEMBERED_MAX {
            self.fetched.clear();
        }
        let mut rows = Vec::new();
        for (group, list) in lists {
            for row in list {
                let is_new = !self.snapshot.has(&row.id)? && self.fetched.insert(row.id.clone());
                match is_new {
                    true => self.pulled.wanted += 1,
                    false => self.pulled.known += 1,
                }
                rows.push((*group, row, is_new));
            }
        }
        let mut to_ask = rows.iter().filter(|(_, _, is_new)| *is_new).peekable();
        let mut in_flight_bytes = 0;
        for (group, row, is_new) in &rows {
            let mut result = Ok(());
            if *is_new {
                // After a break one article at a time, until that one has come, so that the right one is blamed: a server that ends a
                // connection may take the articles before with it.
                let window = match self.marks.has_break() {
                    true => 0,
                    false => WINDOW_BYTES_MAX,
                };
                if in_flight_bytes <= window / 2 {
                    let mut commands = Vec::new();
                    while let Some((_, row, _)) = to_ask.next_if(|(_, row, _)| {
                        let bytes = in_flight_bytes + commands.len();
                        bytes == 0 || bytes + row.request_bytes() <= window
                    }) {
                        commands.extend_from_slice(&[b"ARTICLE ", &*row.id, b"\r\n"].concat());
                    }
                    in_flight_bytes += commands.len();
                    self.connection.send(&commands)?;
                }
                result = self.article(&row.id);
                match result {
                    Ok(()) | Err(Error::Endless(_)) => self.marks.pass_break(&row.id),
                    Err(error) if error.is_break() => {
                        let count = self.marks.note_break(&row.id);
                        return Err(error.at(&row.id, count));
                    }
                    Err(error) => return Err(error),
                }
                in_flight_bytes -= row.request_bytes();
            }
            match self.refused.contains(&row.id) {
                // Its mark stays before it.
                true if group.is_empty() => {}
                true => _ = self.held.insert(group.to_vec()),
                false if group.is_empty() || self.held.contains(*group) => {}
                false => self.marks.set(group, row.mark()),
            }
            result?;
            if self.batch.len() >= BATCH_BYTES {
                self.flush()?;
            }
        }
        Ok(())
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

    /// Notes that the server refuses an article. The mark of its group passes it after [`REFUSED_SECONDS`].
    fn refuse(&mut self, id: &[u8], reply: Reply<'_>) {
        let now = clock();
        let since = self.marks.refuse(id, now);
        let (shown, words) = (id.escape_ascii(), words(reply));
        if now.saturating_sub(since) >= REFUSED_SECONDS {
            self.pulled.given_up += 1;
            self.news.message(&format!(
                "{shown}: the server has answered `{words}' for a week; the article is given up"
            ));
            return;
        }
        self.refused.insert(id.into());
        self.pulled.refused += 1;
        if self.pulled.refused <= SHOWN {
            self.news.message(&format!(
                "{shown}: the server answers `{words}'; the next run asks for the article again"
            ));
        }
    }

    /// Receives the article with this id, and adds it to the batch.
    ///
    /// # Errors
    /// After [`Error::Endless`] the article is settled, and the connection cannot be used.
    fn article(&mut self, id: &[u8]) -> Result<(), Error> {
        let mut line = Vec::new();
        let reply = self.connection.reply(&mut line)?;
        match reply.code {
            220 => {}
            423 | 430 => {
                self.pulled.gone += 1;
                return Ok(());
            }
            // 502 may tell that a quota is used up: then other articles are refused, too.
            502 => return Err(reply.to_error().into()),
            _ if reply.is_refusal() && self.refused.len() < REMEMBERED_MAX => {
                self.refuse(id, reply);
                return Ok(());
            }
            _ => return Err(reply.to_error().into()),
        }
        match self.connection.text(self.article_bytes_max)? {
            Text::TooLarge => self.pulled.too_large += 1,
            Text::Endless(bytes) => {
                self.pulled.too_large += 1;
                // By number the article is settled; NEWNEWS would list it again.
                self.marks.set_newnews(None);
                let id = id.escape_ascii();
                return Err(Error::Endless(format!(
                    "article {id} ({bytes} bytes are read); the next run goes on behind it"
                )));
            }
            Text::Whole(text) if !is_asked_for(text, id, &self.wanted) => {
                self.pulled.not_asked_for += 1;
                if self.pulled.not_asked_for <= SHOWN {
                    let id = id.escape_ascii();
                    self.news.message(&format!("refused for {id}: an article with another Message-ID, in none of the groups, or with .POSTED first in Path"));
                }
            }
            Text::Whole(text) => {
                let mut native = Vec::with_capacity(text.len());
                push_native(&mut native, text);
                let heading = format!("#! rnews {}\n", native.len());
                self.batch.extend_from_slice(heading.as_bytes());
                self.batch.append(&mut native);
                self.pulled.fetched += 1;
            }
        }
        self.pulled.bytes = self.connection.received_bytes;
        self.news.progress(self.pulled);
        Ok(())
    }

    /// Files the batch, then saves the marks.
    fn flush(&mut self) -> Result<(), Error> {
        if !self.batch.is_empty() {
            self.news.file(std::mem::take(&mut self.batch))?;
            self.snapshot = self.news.snapshot()?;
        }
        self.marks.save()
    }
}
