//! One visit to a server: what is new, what is unknown here, its articles in batches.

use std::collections::HashSet;
use std::path::Path;

use article::wire::push_native;
use feed::Remote;
use groups::wildmat::Wildmat;
use nntp::client::{GroupMarks, Ready, listed};
use store::Snapshot;

use crate::connection::{Connection, ROW_BYTES_MAX, Text};
use crate::error::Error;
use crate::marks::{Mark, Marks};
use crate::plan::{Plan, plan, renumbered};
use crate::posts;
use crate::source::Source;

/// Most commands in flight.
pub const WINDOW_MAX: usize = 100;
/// Most numbers of one request for an overview.
pub const ROWS_MAX: u64 = 2000;
/// Size of a batch that is filed, bytes.
pub const BATCH_BYTES: usize = 8 << 20;
/// Most message-ids remembered of one visit; with more, some articles may be fetched twice.
pub const REMEMBERED_MAX: usize = 100_000;

/// The news system that gets the articles.
pub trait News {
    /// The state of the store now.
    ///
    /// # Errors
    /// It cannot be read.
    fn snapshot(&mut self) -> Result<Snapshot, Error>;

    /// Files a batch of articles, durably.
    ///
    /// # Errors
    /// It is not filed, or not all of it.
    fn file(&mut self, batch: Vec<u8>) -> Result<(), Error>;

    /// Reports a message for the administrator.
    fn message(&mut self, text: &str);

    /// Reports the progress of the visit.
    fn progress(&mut self, pulled: &Pulled);
}

/// The counts of a visit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pulled {
    /// Groups that the server has.
    pub groups: u64,
    /// Groups of ours that it does not have.
    pub groups_missing: u64,
    /// Groups that the server has numbered anew.
    pub groups_renumbered: u64,
    /// New articles that the history knew already.
    pub known: u64,
    /// Articles to fetch, as far as it is known.
    pub wanted: u64,
    /// Articles that came.
    pub fetched: u64,
    /// Articles that had gone when they were asked for.
    pub gone: u64,
    /// Articles above the size limit.
    pub too_large: u64,
    /// Bytes received from the network.
    pub bytes: u64,
    /// Posts that the server took.
    pub posted: u64,
    /// Posts that it refused.
    pub posts_refused: u64,
}

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
        .and_then(|marks| Ok((marks, Connection::open(remote, source.rate)?)));
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

struct Visit<'a> {
    source: &'a Source,
    connection: Connection,
    ready: Ready,
    /// In memory they say what is settled: filed, known, or in `batch`. They are saved after the batch is filed.
    marks: Marks,
    snapshot: Snapshot,
    news: &'a mut dyn News,
    article_bytes_max: u64,
    /// Articles that are not filed yet.
    batch: Vec<u8>,
    /// Ids asked for in this visit: an article in several groups is fetched once.
    fetched: HashSet<Box<[u8]>>,
    pulled: &'a mut Pulled,
}

/// A row of an overview.
struct Row {
    number: u64,
    id: Box<[u8]>,
}

impl Row {
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
        let groups = groups.iter().filter(|group| wanted.matches(group));
        let groups: Vec<&[u8]> = groups.map(Vec::as_slice).collect();
        for some in groups.chunks(WINDOW_MAX) {
            for (group, marks) in self.ask(some)? {
                self.group(group, marks)?;
            }
        }
        Ok(())
    }

    /// Asks for the numbers of groups; returns those with something new.
    fn ask<'g>(&mut self, groups: &[&'g [u8]]) -> Result<Vec<(&'g [u8], GroupMarks)>, Error> {
        let mut commands = Vec::new();
        for group in groups {
            commands.extend_from_slice(&[b"GROUP ", *group, b"\r\n"].concat());
        }
        self.connection.send(&commands)?;
        let mut line = Vec::new();
        let mut new = Vec::new();
        for group in groups {
            match GroupMarks::of(self.connection.reply(&mut line)?)? {
                None => self.pulled.groups_missing += 1,
                Some(marks) => {
                    self.pulled.groups += 1;
                    let plan = plan(self.marks.get(group), marks, self.source.first);
                    if plan != Plan::Nothing {
                        new.push((*group, marks));
                    }
                }
            }
        }
        Ok(new)
    }

    /// Reads what is new in a group.
    fn group(&mut self, group: &[u8], marks: GroupMarks) -> Result<(), Error> {
        self.connection
            .send(&[b"GROUP ", group, b"\r\n"].concat())?;
        let mut line = Vec::new();
        // It may have gone meanwhile.
        let reply = self.connection.reply(&mut line)?;
        if GroupMarks::of(reply)?.is_none() {
            return Ok(());
        }
        match plan(self.marks.get(group), marks, self.source.first) {
            Plan::Nothing => Ok(()),
            Plan::Overlap { from, until, last } => self.overlap(group, (from, until), last),
            Plan::Read {
                from,
                until,
                is_checked,
            } => {
                let mark = self.marks.get(group).filter(|_| is_checked).cloned();
                let mut next = from;
                while next <= until {
                    let last = until.min(next.saturating_add(ROWS_MAX - 1));
                    let mut rows = self.rows(next, last)?;
                    let known = mark.as_ref().filter(|_| next == from);
                    if let (Some(mark), Some(row)) = (known, rows.first())
                        && row.number == mark.number
                    {
                        if Some(&row.id) != mark.id.as_ref() {
                            return self.numbered_anew(group, marks);
                        }
                        rows.remove(0);
                    }
                    self.fetch(group, &rows)?;
                    next = last + 1;
                }
                Ok(())
            }
        }
    }

    fn numbered_anew(&mut self, group: &[u8], marks: GroupMarks) -> Result<(), Error> {
        match renumbered(marks, self.source.first) {
            Plan::Overlap { from, until, last } => self.overlap(group, (from, until), last),
            _ => Ok(()),
        }
    }

    /// Reads a group whose numbers mean something else than before.
    fn overlap(&mut self, group: &[u8], (from, until): (u64, u64), last: u64) -> Result<(), Error> {
        self.pulled.groups_renumbered += 1;
        let mut rows = Vec::new();
        let mut next = from;
        while next <= until {
            let end = until.min(next.saturating_add(ROWS_MAX - 1));
            rows.append(&mut self.rows(next, end)?);
            next = end + 1;
        }
        let mut first_known = None;
        for (at, row) in rows.iter().enumerate() {
            if self.snapshot.has(&row.id)? {
                first_known = Some(at);
                break;
            }
        }
        let last = usize::try_from(last).unwrap_or(usize::MAX);
        let start = first_known.unwrap_or(rows.len().saturating_sub(last));
        self.fetch(group, rows.get(start..).unwrap_or_default())
    }

    /// The overview of a range of the selected group.
    fn rows(&mut self, from: u64, until: u64) -> Result<Vec<Row>, Error> {
        let word = if self.ready.has_over { "OVER" } else { "XOVER" };
        let command = format!("{word} {from}-{until}\r\n");
        self.connection.send(command.as_bytes())?;
        let mut line = Vec::new();
        let reply = self.connection.reply(&mut line)?;
        match reply.code {
            224 => {}
            // No articles in this range.
            420 | 423 => return Ok(Vec::new()),
            _ => return Err(reply.to_error().into()),
        }
        let mut rows: Vec<Row> = Vec::new();
        loop {
            let line = self.connection.line(ROW_BYTES_MAX)?;
            if line == b"." {
                return Ok(rows);
            }
            let Some(row) = listed(line) else { continue };
            let before = rows.last().map_or(0, |row| row.number);
            if row.number > before && (from..=until).contains(&row.number) {
                rows.push(Row {
                    number: row.number,
                    id: row.id.into(),
                });
            }
        }
    }

    /// Fetches the articles of these rows that are unknown here, and settles the rows in their order.
    fn fetch(&mut self, group: &[u8], rows: &[Row]) -> Result<(), Error> {
        if self.fetched.len() >= REMEMBERED_MAX {
            self.fetched.clear();
        }
        let mut is_wanted = Vec::with_capacity(rows.len());
        for row in rows {
            let is_new = !self.snapshot.has(&row.id)? && self.fetched.insert(row.id.clone());
            is_wanted.push(is_new);
            match is_new {
                true => self.pulled.wanted += 1,
                false => self.pulled.known += 1,
            }
        }
        let mut to_ask = rows.iter().zip(&is_wanted).filter(|(_, wanted)| **wanted);
        let mut in_flight = 0;
        for (row, is_wanted) in rows.iter().zip(&is_wanted) {
            if *is_wanted {
                if in_flight <= WINDOW_MAX / 2 {
                    let mut commands = Vec::new();
                    for (row, _) in to_ask.by_ref().take(WINDOW_MAX - in_flight) {
                        commands.extend_from_slice(&[b"ARTICLE ", &*row.id, b"\r\n"].concat());
                        in_flight += 1;
                    }
                    self.connection.send(&commands)?;
                }
                self.article()?;
                in_flight -= 1;
            }
            self.marks.set(group, row.mark());
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
