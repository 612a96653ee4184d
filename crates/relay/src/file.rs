//! Files articles in the spool, with their log lines and the effects of control messages.

mod apply_control;
mod entries;

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use article::date::{LocalZone, Utc};
use article::path::Path as ArticlePath;
use article::wire_facts::WireFacts;
use article::{Article, Form, Header, Identity, LeftOut, date, old};
use groups::active::READABLE_NUMBER_MAX;
use groups::{Sender, Sites};
use store::{Expires, Filing, IdHash, OverviewFields, Spool};

use crate::compose::{NewLines, body};
use crate::control::processor::{ControlOptions, ControlProcessor};
use crate::decide::{Arrival, Decision, Scratch, State, decide};
use crate::error::Error;
use crate::free_space;
use crate::headers_only;
use crate::log::{Code, LOCAL, Log, Now};
use crate::mirror::{self, MirrorError};
use crate::reason::{DUPLICATE, Reason, RefusalKind};
use crate::rules::Rules;
use crate::short::ShortList;
use crate::sites::Selector;

pub use apply_control::CancelPolicy;

/// Interval between looks whether the log was renamed.
const LOG_LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The result of filing an article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Filed in its groups, or in `control`.
    Filed,
    /// Filed in `junk`.
    Junked,
    /// Refused: the history has its id.
    Duplicate,
    /// Refused for another reason.
    Refused(Refusal),
    /// Not filed for a reason that needs the administrator; the log has it.
    NeedsAttention(Refusal),
    /// As [`Verdict::NeedsAttention`], and the article must be kept: nothing is wrong with it.
    Unfiled(Refusal),
}

/// Why an article was not filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its category.
    pub kind: RefusalKind,
    /// The reason, as logged.
    pub text: Vec<u8>,
}

impl Refusal {
    fn new(kind: RefusalKind, text: impl Into<Vec<u8>>) -> Refusal {
        let text = text.into();
        Refusal { kind, text }
    }
}

/// Options of a [`Filer`], besides its [`Rules`].
#[derive(Debug, Clone)]
pub struct FilerOptions {
    /// Copy groups and numbers from the incoming Xref of this site, and leave Path unchanged (`-b SITE` of relaynews).
    pub mirror: Option<Vec<u8>>,
    /// The local time zone, for dates without a zone.
    pub zone: &'static dyn LocalZone,
    /// The time zone of log lines, instead of UTC.
    pub log_zone: Option<crate::log::ZoneOffset>,
    /// The condition for cancels.
    pub cancel: CancelPolicy,
    /// Options for control messages that create and remove groups.
    pub processor: ControlOptions,
    /// Articles come without their bodies, and no others are filed ([`crate::headers_only`]).
    pub headers_only: bool,
    /// Time for which a cancelled article can be restored, seconds; its space stays as long.
    pub restorable_seconds: i64,
    /// Free space of the disk below which nothing is filed, bytes; 0 for no limit.
    pub keep_free: u64,
}

impl Default for FilerOptions {
    fn default() -> FilerOptions {
        FilerOptions {
            mirror: None,
            zone: &Utc,
            log_zone: None,
            cancel: CancelPolicy::default(),
            processor: ControlOptions::default(),
            headers_only: false,
            restorable_seconds: 0,
            keep_free: 0,
        }
    }
}

/// When the history is asked for the id of an article.
#[derive(Clone, Copy)]
enum IdTest<'a> {
    /// In the order of relaynews.
    InOrder,
    /// Before all other tests.
    First,
    /// It was asked.
    Done(FreshId<'a>),
}

/// An id that the history does not have.
#[derive(Clone, Copy)]
struct FreshId<'a> {
    id: &'a [u8],
    hash: IdHash,
}

/// Where an article comes from.
#[derive(Clone, Copy, Default)]
struct Source<'a> {
    /// Its sender, if its permissions are limited.
    sender: Option<&'a dyn Sender>,
    /// A peer announced it ([`State::is_announced`]).
    is_announced: bool,
}

/// An accepted article, and what was found out about it on the way.
#[derive(Clone, Copy)]
struct Accepted<'a> {
    article: &'a Article<'a>,
    path: Option<ArticlePath<'a>>,
    /// SITE of its log lines.
    site: &'a [u8],
    id: &'a [u8],
    hash: IdHash,
    /// One of its numbers is not above the high mark.
    is_late: bool,
    /// It is filed in `junk`.
    junk: bool,
    /// Its stated size, if it came without its body.
    left_out: Option<LeftOut>,
}

/// Maximum number of ids in one cancel or Supersedes if a Cancel-Key is required; more are ignored. RFC 5537, 5.3 and 5.4 allow
/// one; C News accepted any number.
pub const CANCEL_IDS_MAX: usize = 4;

/// Name of the log in the news directory.
pub const LOG: &str = "log";

/// Files articles. It owns the writer of the spool, so there is only one.
#[derive(Debug)]
pub struct Filer {
    spool: Spool,
    selector: Selector,
    rules: Rules,
    options: FilerOptions,
    log: Log,
    log_file: File,
    log_path: std::path::PathBuf,
    /// When the log was last known to have its name.
    log_named: Instant,
    scratch: Scratch,
    lines: NewLines,
    sites: Vec<u8>,
    text: Vec<u8>,
    converted: Vec<u8>,
    processor: ControlProcessor,
    effects: Vec<apply_control::Line>,
    /// The changes since a node last asked; `None`: nobody asks.
    changes: Option<u32>,
    cancels_itself: bool,
    /// The last article of a batch was a duplicate.
    is_last_duplicate: bool,
    /// The free space was found sufficient since the last commit.
    is_space_checked: bool,
}

impl Filer {
    /// A filer for `spool`; opens the log for appending.
    ///
    /// # Errors
    /// The log or the pending cancels cannot be opened, or the news directory has the other kind of articles.
    pub fn new(
        spool: Spool,
        sys: Sites,
        rules: Rules,
        options: FilerOptions,
    ) -> Result<Filer, Error> {
        headers_only::check(spool.dir(), options.headers_only)?;
        let log_path = spool.dir().join(LOG);
        let log_file = open_log(&log_path).map_err(|source| Error::Open {
            path: log_path.clone(),
            source,
        })?;
        let selector = Selector::new(spool.active(), sys);
        Ok(Filer {
            processor: ControlProcessor::new(spool.dir(), options.processor),
            effects: Vec::new(),
            changes: None,
            cancels_itself: false,
            is_last_duplicate: false,
            is_space_checked: false,
            spool,
            selector,
            rules,
            log: options.log_zone.map_or_else(Log::new, Log::with_zone),
            options,
            log_file,
            log_path,
            log_named: Instant::now(),
            scratch: Scratch::default(),
            lines: NewLines::default(),
            sites: Vec::new(),
            text: Vec::new(),
            converted: Vec::new(),
        })
    }

    /// The current rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Sets the sender of the next articles, as [`Log::sent_by`].
    pub fn sent_by(&mut self, name: &[u8], from: &[u8]) {
        self.log.sent_by(name, from);
    }

    /// Changes the rules for the next articles.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// Bytes of the disk that have to stay free.
    pub fn keep_free(&self) -> u64 {
        self.options.keep_free
    }

    /// The sites.
    pub fn sites(&self) -> &Sites {
        self.selector.sites()
    }

    /// The spool.
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// The news directory.
    pub fn dir(&self) -> &std::path::Path {
        self.spool.dir()
    }

    /// Bytes pending for the next commit.
    pub fn pending_bytes(&self) -> usize {
        self.spool.pending_bytes()
    }

    /// Bytes of log lines pending for the next commit.
    pub fn log_bytes(&self) -> usize {
        self.log.pending().len() + self.processor.pending_bytes()
    }

    /// Whether it files articles without their bodies only.
    pub fn is_headers_only(&self) -> bool {
        self.options.headers_only
    }

    /// Makes all filed articles durable, then writes their log lines.
    ///
    /// # Errors
    /// Errors of the store or of a log; those of a log only after all articles are durable ([`Error::is_of_log`]). After an error
    /// the filer must not be used.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.is_space_checked = false;
        self.spool.commit()?;
        let control_log = self.processor.write_log();
        if !self.log.pending().is_empty() {
            self.follow_log()?;
        }
        self.log
            .write_to(&mut self.log_file)
            .map_err(|source| Error::Log {
                path: self.log_path.clone(),
                source,
            })?;
        control_log
    }

    /// Opens the log again if somebody renamed it; looks once a second at most.
    fn follow_log(&mut self) -> Result<(), Error> {
        if self.log_named.elapsed() < LOG_LOOK_AGAIN {
            return Ok(());
        }
        self.log_named = Instant::now();
        let identity = |told: std::fs::Metadata| (told.dev(), told.ino());
        let named = std::fs::metadata(&self.log_path).map(identity).ok();
        let opened = self.log_file.metadata().map(identity).ok();
        if named != opened {
            self.log_file = open_log(&self.log_path).map_err(|source| Error::Log {
                path: self.log_path.clone(),
                source,
            })?;
        }
        Ok(())
    }

    /// Discards the pending log lines after a failed commit.
    pub fn abandon(&mut self) {
        self.log.clear();
        self.processor.abandon();
    }

    /// Adds a log line.
    pub fn log(&mut self, now: Now, site: &[u8], code: Code, id: &[u8], text: &[u8]) {
        self.log.line(now, site, code, id, text);
    }

    /// Files or refuses one article; the next commit writes its log lines.
    ///
    /// Articles of A News and headers of B News are converted first.
    ///
    /// # Errors
    /// Errors that stop the store. After an error the filer must not be used.
    pub fn file(&mut self, bytes: &[u8], form: Form, now: Now) -> Result<Verdict, Error> {
        let article = Article::parse(bytes, form);
        self.file_parsed(&article, IdTest::InOrder, Source::default(), now)
    }

    /// As [`Filer::file`], for an article in native form from a batch. If the history has its id, it is a duplicate, whatever else is
    /// wrong with it; relaynews tests the header, the groups and the date first.
    ///
    /// # Errors
    /// As [`Filer::file`].
    pub fn file_from_batch(&mut self, bytes: &[u8], now: Now) -> Result<Verdict, Error> {
        let mut id_test = IdTest::First;
        // Duplicates rarely come alone. The header of one need not be parsed, but of a new article this is work done twice.
        if self.is_last_duplicate
            && let Some(Identity { id, path }) = Identity::of(bytes)
        {
            let hash = self.spool.hash(id)?;
            if self.spool.has_hashed(id, hash)? {
                let path = ArticlePath::new(path, None);
                let site = first_site(Some(&path));
                self.log.line(now, site, Code::Refused, id, DUPLICATE);
                return Ok(Verdict::Duplicate);
            }
            id_test = IdTest::Done(FreshId { id, hash });
        }
        let article = Article::parse(bytes, Form::Native);
        let verdict = self.file_parsed(&article, id_test, Source::default(), now)?;
        self.is_last_duplicate = verdict == Verdict::Duplicate;
        Ok(verdict)
    }

    /// As [`Filer::file`], for an article in native form from a sender with limited permissions.
    ///
    /// # Errors
    /// As [`Filer::file`].
    pub fn file_for(
        &mut self,
        sender: &dyn Sender,
        bytes: &[u8],
        now: Now,
    ) -> Result<Verdict, Error> {
        let article = Article::parse(bytes, Form::Native);
        let source = Source {
            sender: Some(sender),
            is_announced: false,
        };
        self.file_parsed(&article, IdTest::InOrder, source, now)
    }

    /// As [`Filer::file`], for an article in wire form that a peer announced by its id (RFC 3977, 6.3.2.2), with the facts found when
    /// it was received. Refuses an article with another id or with a NUL, one whose lines other servers would interpret
    /// differently, and one that looks as if it was posted here. It never counts as posted here. `sender` is a peer with limited permissions.
    ///
    /// # Errors
    /// As [`Filer::file`].
    pub fn file_announced(
        &mut self,
        sender: Option<&dyn Sender>,
        id: &[u8],
        (bytes, facts): (&[u8], WireFacts),
        now: Now,
    ) -> Result<Verdict, Error> {
        let article = Article::received(bytes, facts.counts);
        let own = article.value(Header::MessageId).unwrap_or_default();
        let id_error = (own != id).then(|| Reason::of_unannounced(&article));
        let error: Option<&[u8]> = if let Some(error) = &id_error {
            Some(error)
        } else if facts.has_hidden_lines(bytes, article.header_len()) {
            Some(b"a line ends with LF without CR")
        } else if has_bare_carriage_return(&article) {
            // RFC 5536, 2.2 forbids it; some take it for the end of the line.
            Some(b"a CR without LF in the header")
        } else if facts.has_nul {
            // RFC 3977, 3.1.1 forbids NUL, so the article could not be sent to readers.
            Some(b"NUL in the article")
        } else if article
            .value(Header::Path)
            .is_some_and(ArticlePath::is_of_injection)
        {
            // With our name before it, it would look like an article that was posted here.
            Some(b"Path begins with .POSTED: no site has relayed the article")
        } else {
            None
        };
        if let Some(error) = error {
            self.log.line(now, site(&article), Code::Refused, id, error);
            return Ok(Verdict::Refused(Refusal::new(
                RefusalKind::Malformed,
                error,
            )));
        }
        let source = Source {
            sender,
            is_announced: true,
        };
        self.file_parsed(&article, IdTest::InOrder, source, now)
    }

    fn file_parsed(
        &mut self,
        article: &Article<'_>,
        id_test: IdTest<'_>,
        source: Source<'_>,
        now: Now,
    ) -> Result<Verdict, Error> {
        self.check_space()?;
        let form = article.form();
        let is_complete = [Header::MessageId, Header::Date, Header::Subject]
            .iter()
            .all(|header| article.line(*header).is_some());
        if is_complete {
            return self.process(article, id_test, source, now);
        }
        let mut converted = std::mem::take(&mut self.converted);
        converted.clear();
        let verdict = if old::convert(article, &mut converted) {
            self.process(&Article::parse(&converted, form), id_test, source, now)
        } else {
            self.process(article, id_test, source, now)
        };
        self.converted = converted;
        verdict
    }

    /// Before a site has groups it refuses everything, and what is sent again later has to be new. Nodes of a cluster decide alike in each
    /// version.
    fn may_remember(&self) -> bool {
        self.spool.active().has_ordinary_groups() || self.spool.follows_log()
    }

    /// Refuses to file while too little of the disk is free: looks with the first article of each commit.
    fn check_space(&mut self) -> Result<(), Error> {
        let keep_free = self.options.keep_free;
        if keep_free == 0 || self.is_space_checked {
            return Ok(());
        }
        free_space::check(self.spool.dir(), 0, keep_free)?;
        self.is_space_checked = true;
        Ok(())
    }

    /// Logs an article that is cut off by the end of its batch. It is not filed: C News filed the incomplete article, and then refused
    /// the complete one as a duplicate when the batch was sent again.
    pub fn short(&mut self, bytes: &[u8], missing: u64, now: Now) {
        let article = Article::parse(bytes, Form::Native);
        let id = article.value(Header::MessageId).unwrap_or_default();
        let text = format!("short by {missing} bytes");
        self.log
            .line(now, site(&article), Code::BadInput, id, text.as_bytes());
    }

    /// Logs an article that its batch skips because it is too large; returns the text, with its id and site. `head` is its start.
    pub fn too_large(&mut self, head: &[u8], size: u64, now: Now) -> String {
        let article = Article::parse(head, Form::Native);
        let id = article.value(Header::MessageId).unwrap_or_default();
        let site = site(&article);
        let limit = self.rules.article_bytes_max;
        let text = format!("article too large: {size} bytes, the limit is {limit}");
        self.log.line(now, site, Code::Refused, id, text.as_bytes());
        let shown = groups::shown;
        format!("{text}: {} from {}", shown(id), shown(site))
    }

    fn process(
        &mut self,
        article: &Article<'_>,
        id_test: IdTest<'_>,
        source: Source<'_>,
        now: Now,
    ) -> Result<Verdict, Error> {
        let path = ArticlePath::of(article);
        let site = first_site(path.as_ref());
        let id = article.value(Header::MessageId).unwrap_or_default();
        let fresh = match id_test {
            IdTest::InOrder => None,
            IdTest::First => {
                let hash = self.spool.hash(id)?;
                if self.spool.has_hashed(id, hash)? {
                    self.log.line(now, site, Code::Refused, id, DUPLICATE);
                    return Ok(Verdict::Duplicate);
                }
                Some(FreshId { id, hash })
            }
            IdTest::Done(fresh) => Some(fresh),
        };
        let mut state = State {
            active: self.spool.active(),
            matrix: &mut self.selector.matrix,
            zone: self.options.zone,
            sender: source.sender,
            is_announced: source.is_announced,
        };
        let arrival = Arrival {
            seconds: now.seconds,
        };
        let hashed = Cell::new(None);
        let seen = |id: &[u8]| {
            if let Some(fresh) = fresh
                && std::ptr::eq(fresh.id, id)
            {
                hashed.set(Some(fresh.hash));
                return Ok(false);
            }
            let hash = self.spool.hash(id)?;
            hashed.set(Some(hash));
            self.spool.has_hashed(id, hash)
        };
        let decision = decide(
            article,
            arrival,
            &mut state,
            &self.rules,
            seen,
            &mut self.scratch,
        )?;
        for group in self.scratch.excluded() {
            self.text.clear();
            self.text.extend_from_slice(b"group `");
            self.text
                .extend_from_slice(self.spool.active().name(*group));
            self.text.extend_from_slice(b"' is 'x'ed");
            self.log.line(now, site, Code::Active, id, &self.text);
        }
        match decision {
            Decision::Refuse { reason, remember } => {
                if remember && self.may_remember() {
                    let expires = self.expires(article);
                    self.spool.remember(id, now.seconds, expires)?;
                }
                self.text.clear();
                reason.write(&mut self.text);
                self.log.line(now, site, Code::Refused, id, &self.text);
                let refusal = || Refusal::new(reason.kind(), self.text.as_slice());
                Ok(match reason {
                    Reason::Duplicate => Verdict::Duplicate,
                    Reason::NoJunk(_) | Reason::NoControl => Verdict::NeedsAttention(refusal()),
                    _ => Verdict::Refused(refusal()),
                })
            }
            Decision::Accept { junk, .. } => {
                if let Some(refusal) = self.refused_by_pending_cancel(article, site, id, now)? {
                    return Ok(Verdict::Refused(refusal));
                }
                let is_headers_only = self.options.headers_only;
                let left_out = match headers_only::left_out(article, is_headers_only) {
                    Ok(left_out) => left_out,
                    Err(error) => {
                        let error = error.as_bytes();
                        self.log.line(now, site, Code::Refused, id, error);
                        let kind = RefusalKind::Malformed;
                        return Ok(Verdict::Refused(Refusal::new(kind, error)));
                    }
                };
                let is_late = match self.take_numbers(article, site, id, now)? {
                    Ok(is_late) => is_late,
                    Err(verdict) => return Ok(verdict),
                };
                let hash = match hashed.get() {
                    Some(hash) => hash,
                    None => self.spool.hash(id)?,
                };
                let accepted = Accepted {
                    article,
                    path,
                    site,
                    id,
                    hash,
                    is_late,
                    junk,
                    left_out,
                };
                self.append(&accepted, source, now)
            }
        }
    }

    /// Assigns a number in each group, or copies those of a mirrored site, and builds the Xref line. Returns whether a number is late; the
    /// inner error is the verdict of an article without numbers.
    fn take_numbers(
        &mut self,
        article: &Article<'_>,
        site: &[u8],
        id: &[u8],
        now: Now,
    ) -> Result<Result<bool, Verdict>, Error> {
        self.lines.begin_xref(&self.rules.host);
        let taken = match &self.options.mirror {
            None => self.take_next_numbers(),
            Some(mirrored) => {
                mirror::take_numbers(article, mirrored, &mut self.spool, &mut self.lines)?
            }
        };
        self.lines.end_xref(article.form());
        let (error, is_kept) = match taken {
            Err(error) => (error.to_string(), error.is_kept()),
            // An active with a wrong high mark: it is the administrator's, not the article's fault.
            Ok(_) if self.lines.link_count() == 0 => {
                ("no number left in any group".to_owned(), true)
            }
            Ok(is_late) => return Ok(Ok(is_late)),
        };
        self.log
            .line(now, site, Code::BadInput, id, error.as_bytes());
        let refusal = Refusal::new(RefusalKind::Other, error);
        Ok(Err(if is_kept {
            Verdict::Unfiled(refusal)
        } else {
            Verdict::Refused(refusal)
        }))
    }

    /// Takes the next number of each group of the article. Returns false: no number is out of order.
    ///
    /// # Errors
    /// [`MirrorError::UsedUp`] if a group has given the highest number that clients understand. No group gives a number then: in the other
    /// groups only, the article would be lost to the readers of this one.
    fn take_next_numbers(&mut self) -> Result<bool, MirrorError> {
        let active = self.spool.active_mut();
        let mut filed = self.scratch.filed().iter();
        if let Some(full) = filed.find(|group| active.high(**group) >= READABLE_NUMBER_MAX) {
            return Err(MirrorError::UsedUp(groups::escaped(active.name(*full))));
        }
        for group in self.scratch.filed() {
            if let Some(number) = active.take_number(*group) {
                self.lines.push_link(active.name(*group), number);
            }
        }
        Ok(false)
    }

    /// Appends the article to the store, logs it, and applies its control message.
    fn append(
        &mut self,
        accepted: &Accepted<'_>,
        source: Source<'_>,
        now: Now,
    ) -> Result<Verdict, Error> {
        let Accepted {
            article,
            path,
            site,
            id,
            hash,
            is_late,
            junk,
            left_out,
        } = *accepted;
        self.apply_control(article, source.sender, id, now)?;
        let with_xref = self.rules.xref_single || self.lines.link_count() > 1;
        let host = match &self.options.mirror {
            None => Some(self.rules.host.as_slice()),
            Some(_) => None,
        };
        self.lines.make_head(article, host, with_xref);
        let expires = self.expires(article);
        let body = body(article);
        self.sites.clear();
        let selected = self.scratch.selected();
        let lines = &self.lines;
        let bytes = || {
            if let Some(left_out) = left_out {
                return left_out.bytes;
            }
            let header = lines.pieces(article);
            let lengths = header.items().iter().map(|piece| piece.native_length());
            (lengths.sum::<usize>() + body.native_length()) as u64
        };
        let is_announced = source.is_announced;
        self.selector.push_feeds(
            path.as_ref(),
            is_announced,
            selected,
            bytes,
            &mut self.sites,
        );
        self.push_answering_site(article);
        let mut links = ShortList::<(&[u8], u64), 4>::new((b"", 0));
        for link in self.lines.links() {
            links.push(link);
        }
        let pieces = self.lines.pieces(article);
        let mut overview = OverviewFields::of(article, id);
        overview.xref = if with_xref {
            self.lines.xref_value()
        } else {
            b""
        };
        let filing = Filing {
            id,
            arrival: now.seconds,
            expires,
            is_late,
            links: links.items(),
            sites: &self.sites,
            header: pieces.items(),
            body,
            left_out,
            overview,
        };
        let position = match self.spool.append_hashed(&filing, hash) {
            Ok(position) => position,
            Err(error @ store::Error::TooLarge { .. }) => {
                // An error of this article only. Its numbers stay unused, since later numbers may be assigned already.
                let text = error.to_string();
                self.log.line(now, site, Code::Refused, id, text.as_bytes());
                let refusal = Refusal::new(RefusalKind::Other, text);
                return Ok(Verdict::NeedsAttention(refusal));
            }
            Err(error) => return Err(error.into()),
        };
        self.log.line(now, site, Code::Filed, id, &self.sites);
        if junk {
            self.text.clear();
            self.text.extend_from_slice(b"junked due to groups `");
            let groups = article.value(Header::Newsgroups).unwrap_or_default();
            self.text.extend_from_slice(groups);
            self.text.push(b'\'');
            self.log.line(now, site, Code::Junked, id, &self.text);
        }
        self.log_effects(site, id, position, now)?;
        Ok(if junk {
            Verdict::Junked
        } else {
            Verdict::Filed
        })
    }

    /// The value of Expires. An empty one counts as missing.
    fn expires<'a>(&self, article: &Article<'a>) -> Expires<'a> {
        match article.value(Header::Expires) {
            None | Some(b"") => Expires::Absent,
            Some(value) => date::parse(value, self.options.zone)
                .map_or(Expires::Unreadable(value), Expires::At),
        }
    }
}

/// Whether the header of an article in wire form has a CR without LF.
fn has_bare_carriage_return(article: &Article<'_>) -> bool {
    let header = article
        .bytes()
        .get(..article.header_len())
        .unwrap_or_default();
    let mut returns = memchr::memchr_iter(b'\r', header);
    returns.any(|at| header.get(at + 1) != Some(&b'\n'))
}

fn open_log(path: &std::path::Path) -> std::io::Result<File> {
    store::regular::append(path)
}

/// SITE of a log line: the first host in Path, or `(local)` without one.
pub fn site<'a>(article: &Article<'a>) -> &'a [u8] {
    first_site(ArticlePath::of(article).as_ref())
}

fn first_site<'a>(path: Option<&ArticlePath<'a>>) -> &'a [u8] {
    path.and_then(ArticlePath::first_site).unwrap_or(LOCAL)
}
