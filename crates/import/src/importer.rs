//! Files imported articles: with the numbers of the other system, or with the next ones of their groups.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use article::date::{self, Utc};
use article::{Article, Form, Header};
use groups::Flag;
use groups::active::{NUMBER_MAX, READABLE_NUMBER_MAX};
use groups::times::GroupCreation;
use relay::compose::{self, NewLines};
use store::seen_hashes::md5_of;
use store::{Expires, Filing, GroupEdits, OverviewFields, Piece, Snapshot, Spool};

use crate::error::Error;
use crate::hashes::Hashes;
use crate::kept::{Kept, Pieces};

/// Articles that could not be filed, a batch in `bad/`.
pub const UNFILED: &str = "bad/import.unfiled";
/// The list of the articles that could not be filed, each with the reason.
pub const REFUSED: &str = "import.refused";
/// The list of the articles whose headers were mended, each with what was done.
pub const MENDED: &str = "import.mended";
/// Faults of single articles that are reported one by one; the others are counted, and all are in [`REFUSED`].
pub const FAULTS_NAMED_MAX: u64 = 50;
/// The reason why an article is kept whose id another one has.
pub const OTHER_ARTICLE: &str =
    "another article with this id is here, and differs in more than Path and Xref";
/// Most groups of one imported article; the others are left out.
pub const LINKS_MAX: usize = 1000;

/// Observes an import.
pub trait Watch {
    /// Reports the fault of one article.
    fn fault(&mut self, text: &str);
    /// Reports how far the import is, bytes of all bytes.
    fn progress(&mut self, _read: u64, _all: u64, _counts: &Counts) {}
}

/// The results of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Articles filed.
    pub filed: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Articles that are here already.
    pub known: u64,
    /// Articles that are gone from the spool (cancelled or expired): their ids are remembered.
    pub gone: u64,
    /// Ids that the other system only remembered.
    pub remembered: u64,
    /// Articles that were not filed, each with a reported fault.
    pub unfiled: u64,
    /// Lines of the history that cannot be read.
    pub garbled: u64,
    /// Groups of the other system that were missing here, and were added.
    pub added: u64,
    /// Groups that have another flag here.
    pub differing: u64,
    /// Faults beyond [`FAULTS_NAMED_MAX`].
    pub unnamed: u64,
    /// Articles that are visible here, and gone there or only remembered: cancelled or expired. Listed in [`GONE`](crate::gone::GONE).
    pub gone_here: u64,
    /// By the marks of the other system, some of its groups have articles.
    pub has_numbers: bool,
}

impl Counts {
    /// Whether the history has articles, and the spool none of them: it is elsewhere.
    pub fn is_nothing_there(&self) -> bool {
        self.gone > 0 && self.filed + self.known == 0
    }

    /// Whether no article was met at all, although groups have some: the history is empty or elsewhere.
    pub fn is_nothing_known(&self) -> bool {
        self.has_numbers && self.filed + self.known + self.gone + self.unfiled == 0
    }
}

/// An article that cannot be filed, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfiled(pub String);

/// A group and a number in it.
pub type Link<'a> = (&'a [u8], u64);

/// Files the articles of an import.
pub struct Importer<'a> {
    dir: &'a Path,
    keep_free: u64,
    /// The time of the import, epoch seconds.
    now: i64,
    spool: Spool,
    /// What was here, since the first article with a known id: its segments stay mapped.
    before: Option<Snapshot>,
    hashes: Option<Hashes>,
    counts: Counts,
    unfiled: Kept,
    refused: List,
    mended: List,
    lines: NewLines,
    watch: &'a mut dyn Watch,
}

impl<'a> Importer<'a> {
    /// Takes the lock of a news directory. `keep_free` is the free space of its disk, bytes, below which the import ends.
    ///
    /// # Errors
    /// Those of the store; too little of the disk is free.
    pub fn open(
        dir: &'a Path,
        (options, keep_free): (store::Options, u64),
        watch: &'a mut dyn Watch,
    ) -> Result<Importer<'a>, Error> {
        check_space(dir, keep_free)?;
        let spool = Spool::open(dir, options)?;
        for notice in feed::feeds::keep_within_log(&spool)? {
            watch.fault(&notice);
        }
        Ok(Importer {
            dir,
            keep_free,
            now: relay::Now::read().seconds,
            spool,
            before: None,
            hashes: None,
            counts: Counts::default(),
            unfiled: Kept::new(UNFILED, Pieces::Batch),
            refused: List::new(REFUSED),
            mended: List::new(MENDED),
            lines: NewLines::default(),
            watch,
        })
    }

    /// Continues an interrupted import: with its counts, and a file of hashes.
    pub(crate) fn continue_from(&mut self, counts: Counts, hashes: Hashes) {
        self.counts = Counts {
            added: self.counts.added,
            differing: self.counts.differing,
            has_numbers: self.counts.has_numbers,
            ..counts
        };
        self.hashes = Some(hashes);
    }

    /// The file of hashes.
    pub(crate) fn hashes(&self) -> Option<&Hashes> {
        self.hashes.as_ref()
    }

    /// The spool.
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// The spool, to ask which numbers are free.
    pub fn spool_mut(&mut self) -> &mut Spool {
        &mut self.spool
    }

    /// The results so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Notes that groups of the other system have articles by their marks.
    pub(crate) fn expect_articles(&mut self) {
        self.counts.has_numbers = true;
    }

    /// Notes how many articles are here that are gone there.
    pub(crate) fn set_gone_here(&mut self, count: u64) {
        self.counts.gone_here = count;
    }

    /// Counts a line that cannot be read.
    pub fn count_garbled(&mut self) {
        self.counts.garbled += 1;
    }

    /// Counts an article that is here already.
    pub fn count_known(&mut self) {
        self.counts.known += 1;
    }

    /// Reports progress, bytes of all bytes.
    pub fn progress(&mut self, read: u64, all: u64) {
        self.watch.progress(read, all, &self.counts);
    }

    /// Counts and reports an article that was not filed, and adds it to the list.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn refuse(&mut self, Unfiled(why): &Unfiled) -> Result<(), Error> {
        self.counts.unfiled += 1;
        self.note(why)
    }

    /// Adds groups, and reports the first ones.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn add_groups(&mut self, groups: &[(&[u8], Flag<'_>)]) -> Result<(), Error> {
        if groups.is_empty() {
            return Ok(());
        }
        let seconds = u64::try_from(self.now).unwrap_or(0);
        let creations = groups.iter().map(|(group, _)| GroupCreation {
            group,
            seconds,
            creator: b"import",
        });
        self.spool.edit_groups(&GroupEdits {
            creations: creations.collect(),
            ..GroupEdits::default()
        })?;
        self.spool.set_groups(groups)?;
        for (name, _) in groups {
            if self.counts.added < FAULTS_NAMED_MAX {
                let name = text_of(name);
                self.watch.fault(&format!(
                    "{name}: the group is new; added to active, without a description"
                ));
            }
            self.counts.added += 1;
        }
        Ok(())
    }

    /// Counts and reports a group that differs from that of the other system.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn differs(&mut self, why: &str) -> Result<(), Error> {
        self.counts.differing += 1;
        self.note(why)
    }

    /// Reports a fault, and adds it to the list of what was not filed.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn note(&mut self, why: &str) -> Result<(), Error> {
        let is_told = self.refused.add(self.dir, why)?;
        self.tell(is_told, why);
        Ok(())
    }

    /// Reports something that has kept no article out.
    pub fn warn(&mut self, text: &str) {
        self.watch.fault(text);
    }

    /// Reports mended headers, and adds them to a list of their own.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn note_mended(&mut self, done: &str) -> Result<(), Error> {
        let is_told = self.mended.add(self.dir, done)?;
        self.tell(is_told, done);
        Ok(())
    }

    fn tell(&mut self, is_told: bool, text: &str) {
        if is_told {
            self.watch.fault(text)
        } else {
            self.counts.unnamed += 1
        }
    }

    /// Keeps the id of an article that is gone, or that the other system only remembered; one that is known stays as it is.
    ///
    /// # Errors
    /// Those of the store.
    pub fn remember(&mut self, id: &[u8], arrived: i64, is_gone: bool) -> Result<(), Error> {
        // A line of our history would keep the article out that a later run finds, such as in a part of the spool that was not mounted.
        if is_gone && self.hashes.is_some() && !self.spool.has_line(id)? {
            return self.remember_hash(&md5_of(id), arrived, is_gone);
        }
        self.count_remembered(is_gone);
        if !self.spool.has(id)? {
            return Ok(self.spool.remember(id, arrived, Expires::Absent)?);
        }
        let is_filed = |line: store::HistoryLine<'_>| line.position.is_some();
        match &mut self.hashes {
            Some(hashes) if self.spool.find(id)?.is_some_and(is_filed) => {
                hashes.push_known(&md5_of(id))
            }
            _ => Ok(()),
        }
    }

    /// As [`Importer::remember`], for the MD5 of an id.
    ///
    /// # Errors
    /// The file of hashes cannot be written.
    pub fn remember_hash(
        &mut self,
        hash: &[u8; 16],
        arrived: i64,
        is_gone: bool,
    ) -> Result<(), Error> {
        self.count_remembered(is_gone);
        match &mut self.hashes {
            Some(hashes) => hashes.push(hash, arrived),
            None => Ok(()),
        }
    }

    fn count_remembered(&mut self, is_gone: bool) {
        if is_gone {
            self.counts.gone += 1
        } else {
            self.counts.remembered += 1
        }
    }

    /// Files an article as it is, with the given numbers: those in groups of `active`. Neither Path nor Xref is changed. The id must not
    /// be known. An article that cannot be filed is kept.
    ///
    /// # Errors
    /// Those of the store, and of the batch of articles that cannot be filed.
    pub fn file(
        &mut self,
        article: &Article<'_>,
        arrived: i64,
        wanted: &mut dyn Iterator<Item = Link<'_>>,
    ) -> Result<Result<(), Unfiled>, Error> {
        let done = self.file_numbered(article, (arrived, expires_of(article)), wanted)?;
        match done {
            Ok(()) => Ok(Ok(())),
            Err(Unfiled(why)) => {
                let id = article.value(Header::MessageId).unwrap_or_default();
                self.keep(article, format!("{}: {why}", text_of(id)))
                    .map(Err)
            }
        }
    }

    /// As [`Importer::file`], for an archive: an Expires that has passed does not count, and the caller keeps an article that cannot be
    /// filed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn file_archived(
        &mut self,
        article: &Article<'_>,
        arrived: i64,
        wanted: &mut dyn Iterator<Item = Link<'_>>,
    ) -> Result<Result<(), Unfiled>, Error> {
        let expires = self.expires_to_come(article);
        self.file_numbered(article, (arrived, expires), wanted)
    }

    fn file_numbered(
        &mut self,
        article: &Article<'_>,
        (arrived, expires): (i64, Expires<'_>),
        wanted: &mut dyn Iterator<Item = Link<'_>>,
    ) -> Result<Result<(), Unfiled>, Error> {
        let (mut links, mut is_late) = (Vec::<Link<'_>>::new(), false);
        let mut groups = Vec::new();
        for (group, number) in wanted.take(LINKS_MAX) {
            if !groups.is_empty() {
                groups.push(b' ');
            }
            groups.extend_from_slice(group);
            let active = self.spool.active();
            let Some(found) = active.find(group) else {
                continue;
            };
            if links.iter().any(|(known, _)| *known == group) {
                continue;
            }
            let low = active.low(found);
            // Not the high mark: active has that of the other system from the beginning.
            let last = self.spool.last_used(group)?;
            let fault = match number {
                0 => "is no number of an article".to_owned(),
                // The next article, and the low mark of an empty group, need a number above it.
                READABLE_NUMBER_MAX.. => {
                    format!("is too high: the next one must be at most {READABLE_NUMBER_MAX}")
                }
                number if number < low => format!("is below the low mark, {low}"),
                number if number <= last && !self.spool.is_free(group, number)? => {
                    "is taken".to_owned()
                }
                _ => String::new(),
            };
            if !fault.is_empty() {
                let why = format!("number {number} of {} {fault}", text_of(group));
                return Ok(Err(Unfiled(why)));
            }
            is_late |= number <= last;
            links.push((group, number));
        }
        if links.is_empty() {
            let why = format!("none of its groups is in active: `{}'", text_of(&groups));
            return Ok(Err(Unfiled(why)));
        }
        let (header, _) = split(article);
        let header = [piece(article.form(), header)];
        self.append(article, arrived, expires, (&links, is_late), &header, None)
    }

    /// Files an article under the next numbers of its groups, as a new one: with `host` before its Path, and an Xref of ours. An Expires that
    /// has passed does not count. The groups must be in `active`, each once; the id must not be known. The caller keeps an article that cannot
    /// be filed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn file_new(
        &mut self,
        article: &Article<'_>,
        host: &[u8],
        arrived: i64,
        groups: &[Vec<u8>],
    ) -> Result<Result<(), Unfiled>, Error> {
        let mut links = Vec::<Link<'_>>::new();
        let mut lines = std::mem::take(&mut self.lines);
        lines.begin_xref(host);
        let active = self.spool.active();
        for group in groups.iter().take(LINKS_MAX) {
            if let Some(found) = active.find(group) {
                let number = active.high(found).saturating_add(1);
                if number > NUMBER_MAX {
                    self.lines = lines;
                    let why = format!("{} has reached the highest number", text_of(group));
                    return Ok(Err(Unfiled(why)));
                }
                lines.push_link(group, number);
                links.push((group, number));
            }
        }
        lines.end_xref(article.form());
        lines.make_head(article, Some(host), true);
        let pieces = lines.pieces(article);
        let mut header = pieces.items().to_vec();
        if !article.has_separator() {
            header.push(Piece::Native(b"\n"));
        }
        let expires = self.expires_to_come(article);
        let xref = Some(lines.xref_value());
        let done = self.append(article, arrived, expires, (&links, false), &header, xref);
        self.lines = lines;
        done
    }

    /// Expires, if it has not passed.
    fn expires_to_come<'e>(&self, article: &Article<'e>) -> Expires<'e> {
        match expires_of(article) {
            Expires::At(time) if time <= self.now => Expires::Absent,
            expires => expires,
        }
    }

    /// A time of arrival in place of one that is unknown: that of Date, or that of the import. Expire would not understand one before 1970.
    fn arrival_of(&self, article: &Article<'_>) -> i64 {
        let date = article.value(Header::Date).unwrap_or_default();
        let date = date::parse(date, &Utc).filter(|date| *date > 0);
        date.map_or(self.now, |date| date.min(self.now))
    }

    fn append(
        &mut self,
        article: &Article<'_>,
        arrival: i64,
        expires: Expires<'_>,
        (links, is_late): (&[Link<'_>], bool),
        header: &[Piece<'_>],
        xref: Option<&[u8]>,
    ) -> Result<Result<(), Unfiled>, Error> {
        let id = article.value(Header::MessageId).unwrap_or_default();
        let arrival = match arrival {
            ..=0 => self.arrival_of(article),
            arrival => arrival,
        };
        let mut overview = OverviewFields::of(article, id);
        if let Some(xref) = xref {
            overview.xref = xref;
        }
        let filing = Filing {
            id,
            arrival,
            expires,
            is_late,
            links,
            // Old articles do not go to peers.
            sites: b"",
            header,
            body: compose::body(article),
            left_out: None,
            overview,
        };
        match self.spool.append(&filing) {
            Ok(_) => {}
            Err(error @ store::Error::TooLarge { .. }) => {
                return Ok(Err(Unfiled(error.to_string())));
            }
            Err(error) => return Err(error.into()),
        }
        for (group, number) in links {
            let active = self.spool.active_mut();
            if let Some(found) = active.find(group)
                && active.high(found) < *number
            {
                active.set_high(found, *number);
            }
        }
        self.counts.filed += 1;
        self.counts.bytes += article.bytes().len() as u64;
        Ok(Ok(()))
    }

    /// Whether the article that is here with the same id is another one: it differs in more than Path and Xref. One that is gone, or cannot
    /// be compared (it is damaged, in the object store, or came without its body), is not.
    ///
    /// # Errors
    /// Those of the store.
    pub fn is_another(&mut self, article: &Article<'_>) -> Result<bool, Error> {
        let id = article.value(Header::MessageId).unwrap_or_default();
        let Some(position) = self.spool.find(id)?.and_then(|line| line.position) else {
            return Ok(false);
        };
        let before = match &self.before {
            Some(before) => before,
            None => {
                let mut before = self.spool.snapshot()?;
                before.never_fetch();
                self.before.insert(before)
            }
        };
        let mut buffer = Vec::new();
        let record = if position < before.end() {
            before.record(position, &mut buffer)
        } else {
            self.spool.record(position, &mut buffer)
        };
        let record = match record {
            Ok(Some(record)) if !record.head.header_only => record,
            Ok(_) | Err(store::Error::Offloaded(_) | store::Error::Damaged { .. }) => {
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        let mut here = Vec::new();
        record.push_native(&mut here);
        let given = native_of(article);
        let parsed = |bytes: &[u8]| without_trace(&Article::parse(bytes, Form::Native));
        Ok(parsed(&here) != parsed(&given))
    }

    /// Keeps an article in the batch of those that cannot be filed, in native form; returns the reason, with the place.
    ///
    /// # Errors
    /// The batch cannot be written.
    pub fn keep(&mut self, article: &Article<'_>, why: String) -> Result<Unfiled, Error> {
        let native = native_of(article);
        self.unfiled.add(self.dir, &native)?;
        Ok(Unfiled(format!("{why}; the article is kept in {UNFILED}")))
    }

    /// Makes everything so far durable, before more is filed.
    ///
    /// # Errors
    /// Those of the store and of the files. Too little of the disk is free: then everything is durable.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.sync()?;
        self.check_space()
    }

    /// Makes everything so far durable.
    ///
    /// # Errors
    /// Those of the store and of the files.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.spool.commit()?;
        for file in [&self.unfiled, &self.refused.file, &self.mended.file] {
            file.sync(self.dir)?;
        }
        self.hashes.as_mut().map_or(Ok(()), Hashes::sync)
    }

    /// Whether more may be filed.
    ///
    /// # Errors
    /// Too little of the disk is free.
    pub(crate) fn check_space(&self) -> Result<(), Error> {
        check_space(self.dir, self.keep_free)
    }

    /// Makes everything durable, the directories of the files that were made included. Nothing is filed after it, so free space does not
    /// count.
    ///
    /// # Errors
    /// Those of the store and of the files.
    pub fn finish(&mut self) -> Result<Counts, Error> {
        self.sync()?;
        for dir in [self.dir.to_owned(), self.dir.join("bad")] {
            let synced = File::open(&dir).and_then(|opened| opened.sync_all());
            synced.map_err(Error::io("sync", &dir))?;
        }
        Ok(self.counts)
    }
}

fn check_space(dir: &Path, keep_free: u64) -> Result<(), Error> {
    let free =
        store::free_bytes_for(dir, keep_free).map_err(Error::io("read the free space of", dir))?;
    match free {
        Some(free) if free < keep_free => Err(Error::NoRoom {
            path: dir.to_owned(),
            free,
            keep_free,
        }),
        _ => Ok(()),
    }
}

/// A file with a line for each event; the first ones are also told.
struct List {
    file: Kept,
    lines: u64,
}

impl List {
    fn new(name: &'static str) -> List {
        List {
            file: Kept::new(name, Pieces::Lines),
            lines: 0,
        }
    }

    /// Adds a line; returns whether it is to be told, too.
    fn add(&mut self, dir: &Path, line: &str) -> Result<bool, Error> {
        self.file.add(dir, line.as_bytes())?;
        self.lines += 1;
        Ok(self.lines <= FAULTS_NAMED_MAX)
    }
}

/// An article in native form.
fn native_of<'a>(article: &Article<'a>) -> Cow<'a, [u8]> {
    match article.form() {
        Form::Native => Cow::Borrowed(article.bytes()),
        Form::Wire => {
            let mut native = Vec::new();
            article::wire::push_native(&mut native, article.bytes());
            Cow::Owned(native)
        }
    }
}

/// An article without Path and Xref, and without the empty lines at its end, of which a mailbox may have more or less.
fn without_trace(article: &Article<'_>) -> Vec<u8> {
    let path = article.line(Header::Path).into_iter();
    let mut lines: Vec<_> = path.chain(article.xref_lines()).collect();
    lines.sort_unstable_by_key(|line| line.start);
    let bytes = article.bytes();
    let mut rest = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for line in lines {
        rest.extend_from_slice(bytes.get(from..line.start).unwrap_or_default());
        from = line.end;
    }
    rest.extend_from_slice(bytes.get(from..).unwrap_or_default());
    rest.truncate(rest.trim_ascii_end().len());
    rest
}

fn expires_of<'a>(article: &Article<'a>) -> Expires<'a> {
    match article.value(Header::Expires) {
        None | Some(b"") => Expires::Absent,
        Some(value) => date::parse(value, &Utc).map_or(Expires::Unreadable(value), Expires::At),
    }
}

fn split<'a>(article: &Article<'a>) -> (&'a [u8], &'a [u8]) {
    let bytes = article.bytes();
    bytes
        .split_at_checked(article.body())
        .unwrap_or((bytes, b""))
}

fn piece(form: Form, bytes: &[u8]) -> Piece<'_> {
    match form {
        Form::Native => Piece::Native(bytes),
        Form::Wire => Piece::wire(bytes),
    }
}

/// An article as a spool has it: wire form with its end, or native form (tradspool with `wireformat: false`, and C News).
pub fn form_of(bytes: &[u8]) -> (&[u8], Form) {
    let end = memchr::memchr(b'\n', bytes).unwrap_or(0);
    match bytes.get(end.wrapping_sub(1)) {
        Some(b'\r') => {
            let whole = match bytes {
                b".\r\n" => b"",
                bytes if bytes.ends_with(b"\r\n.\r\n") => {
                    bytes.strip_suffix(b".\r\n").unwrap_or(bytes)
                }
                bytes => bytes,
            };
            (whole, Form::Wire)
        }
        _ => (bytes, Form::Native),
    }
}

/// Bytes for a message.
pub fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_told_by_the_first_line() {
        assert_eq!(
            form_of(b"Path: a\r\n\r\n..x\r\n.\r\n"),
            (&b"Path: a\r\n\r\n..x\r\n"[..], Form::Wire)
        );
        assert_eq!(
            form_of(b"Path: a\n\n.\n"),
            (&b"Path: a\n\n.\n"[..], Form::Native)
        );
        assert_eq!(form_of(b""), (&b""[..], Form::Native));
    }
}
