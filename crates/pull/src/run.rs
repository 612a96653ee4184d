//! One visit to a server: what is new, what is unknown here, its articles in batches.

use std::collections::HashSet;
use std::path::Path;

use article::wire::push_native;
use feed::Remote;
use groups::wildmat::Wildmat;
use nntp::client::Ready;
use store::Snapshot;

use crate::connection::{Connection, Text};
use crate::error::Error;
use crate::marks::{Mark, Marks};
use crate::new_news::NewNews;
use crate::news::{News, Pulled};
use crate::posts;
use crate::source::Source;

/// Most bytes of requests for articles in flight: they fit the buffers of both sockets, so that neither side waits for the other to read.
pub const WINDOW_BYTES_MAX: usize = 32 << 10;
/// Most groups that are asked for at once.
pub const GROUPS_MAX: usize = 100;
/// Size of a batch that is filed, bytes.
pub const BATCH_BYTES: usize = 8 << 20;
/// Most message-ids remembered of one visit; with more, some articles may be fetched twice.
pub const REMEMBERED_MAX: usize = 100_000;

/// Visits a server. `groups`: those of our active; `news_directory`: where the marks are.
///
/// The counts are valid after an error, too.
///
/// # Errors
/// Why the visit ended early. What came before is filed, and the next visit goes on there.
pub fn pull(
    source: &Source,
    remote: &Remote,
    (news_directory, groups): (&Path, &[Vec<u8>]),
    article_bytes_max: u64,
    news: &mut dyn News,
) -> (Pulled, Result<(), Error>) {
    let mut pulled = Pulled::default();
    let begun = Marks::read(news_directory, &source.name)
        .and_then(|marks| Ok((marks, Connection::open(remote, source)?)));
    let (marks, (connection, ready)) = match begun {
        Ok(begun) => begun,
        Err(error) => return (pulled, Err(error)),
    };
    let snapshot = match news.snapshot() {
        Ok(snapshot) => snapshot,
        Err(error) => return (pulled, Err(error)),
    };
    let mut visit = Visit {
        source,
        connection,
        ready,
        marks,
        snapshot,
        news,
        article_bytes_max,
        batch: Vec::new(),
        fetched: HashSet::new(),
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

pub(crate) struct Visit<'a> {
    pub(crate) source: &'a Source,
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
    pub(crate) pulled: &'a mut Pulled,
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

    fn mark(&self) -> Mark {
        Mark {
            number: self.number,
            id: Some(self.id.clone()),
        }
    }
}

impl Visit<'_> {
    fn all(&mut self, groups: &[Vec<u8>]) -> Result<(), Error> {
        let wanted = Wildmat::parse(self.source.groups.as_bytes());
        if self.source.post {
            let counts = posts::send(
                &mut self.connection,
                self.ready.may_post,
                (&self.snapshot, &wanted),
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
            (Some(_), Some(since)) => self.new_news(since)?,
            _ => NewNews::NotAllowed,
        };
        if listed == NewNews::NotAllowed {
            let groups = groups.iter().filter(|group| wanted.matches(group));
            let groups: Vec<&[u8]> = groups.map(Vec::as_slice).collect();
            for some in groups.chunks(GROUPS_MAX) {
                self.by_number(some)?;
            }
        }
        // The next visit asks from the same time again, as long as some articles are left.
        if let Some(now) = now
            && listed != NewNews::Some
        {
            self.marks.set_newnews(now);
        }
        Ok(())
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
            if *is_new {
                if in_flight_bytes <= WINDOW_BYTES_MAX / 2 {
                    let mut commands = Vec::new();
                    while let Some((_, row, _)) = to_ask.next_if(|(_, row, _)| {
                        in_flight_bytes + commands.len() + row.request_bytes() <= WINDOW_BYTES_MAX
                    }) {
                        commands.extend_from_slice(&[b"ARTICLE ", &*row.id, b"\r\n"].concat());
                    }
                    in_flight_bytes += commands.len();
                    self.connection.send(&commands)?;
                }
                self.article()?;
                in_flight_bytes -= row.request_bytes();
            }
            if !group.is_empty() {
                self.marks.set(group, row.mark());
            }
            if self.batch.len() >= BATCH_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Receives an article, and adds it to the batch.
    fn article(&mut self) -> Result<(), Error> {
        let mut line = Vec::new();
        let reply = self.connection.reply(&mut line)?;
        match reply.code {
            220 => {}
            423 | 430 => {
                self.pulled.gone += 1;
                return Ok(());
            }
            _ => return Err(reply.to_error().into()),
        }
        match self.connection.text(self.article_bytes_max)? {
            Text::TooLarge => self.pulled.too_large += 1,
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
