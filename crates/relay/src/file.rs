//! Filing: one article at a time into the spool, with its log lines and what it cancels.

mod apply_control;

use std::fs::{File, OpenOptions};

use article::date::FixedOffset;
use article::path::Path as ArticlePath;
use article::{Article, Form, Header, date, old};
use groups::{Sender, Sites};
use store::{Expires, Filing, OverviewFields, Spool};

use crate::compose::{NewLines, piece};
use crate::control::processor::{ControlOptions, ControlProcessor};
use crate::decide::{Arrival, Decision, Scratch, State, decide};
use crate::error::Error;
use crate::log::{Code, LOCAL, Log, Now};
use crate::mirror;
use crate::reason::{Reason, RefusalKind};
use crate::rules::Rules;
use crate::short::ShortList;
use crate::sites::Selector;

pub use apply_control::CancelPolicy;

/// What became of an article, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Filed in its groups, or in `control`.
    Filed,
    /// Filed in `junk`.
    Junked,
    /// Refused: its id is in the history.
    Duplicate,
    /// Refused for another reason.
    Refused(Refusal),
    /// Not filed, and an administrator should know why; the log says it.
    NeedsAttention(Refusal),
}

/// Why an article was not filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it counts as.
    pub kind: RefusalKind,
    /// As the log says it.
    pub text: Vec<u8>,
}

impl Refusal {
    fn new(kind: RefusalKind, text: impl Into<Vec<u8>>) -> Refusal {
        let text = text.into();
        Refusal { kind, text }
    }
}

/// How a [`Filer`] works, besides its [`Rules`].
#[derive(Debug, Clone)]
pub struct FilerOptions {
    /// Take groups and numbers from the incoming Xref when it is of this site, and leave Path alone
    /// (`-b SITE` of relaynews).
    pub mirror: Option<Vec<u8>>,
    /// The zone of the machine, for dates that have none.
    pub zone: FixedOffset,
    /// Log lines in this zone instead of UTC.
    pub log_zone: Option<crate::log::ZoneOffset>,
    /// Who may cancel.
    pub cancel: CancelPolicy,
    /// About control messages that make and remove groups.
    pub processor: ControlOptions,
}

impl Default for FilerOptions {
    fn default() -> FilerOptions {
        FilerOptions {
            mirror: None,
            zone: FixedOffset(0),
            log_zone: None,
            cancel: CancelPolicy::default(),
            processor: ControlOptions::default(),
        }
    }
}

/// The most ids of one cancel or Supersedes that count where a Cancel-Key is asked for. RFC 5537, 5.3 and 5.4 know one; C News
/// took many.
pub const CANCEL_IDS_MAX: usize = 4;

/// The log's name in the news directory.
pub const LOG: &str = "log";

/// Files articles. There is one, because it owns the one writer of the spool.
#[derive(Debug)]
pub struct Filer {
    spool: Spool,
    selector: Selector,
    rules: Rules,
    options: FilerOptions,
    log: Log,
    log_file: File,
    log_path: std::path::PathBuf,
    scratch: Scratch,
    lines: NewLines,
    sites: Vec<u8>,
    text: Vec<u8>,
    converted: Vec<u8>,
    processor: ControlProcessor,
    told: Vec<apply_control::Line>,
    cancels_itself: bool,
}

impl Filer {
    /// A filer into `spool`, whose log is opened for appending.
    ///
    /// # Errors
    /// When the log cannot be opened.
    pub fn new(
        spool: Spool,
        sys: Sites,
        rules: Rules,
        options: FilerOptions,
    ) -> Result<Filer, Error> {
        let log_path = spool.dir().join(LOG);
        let log_file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&log_path)
            .map_err(|source| Error::Open {
                path: log_path.clone(),
                source,
            })?;
        let selector = Selector::new(spool.active(), sys);
        Ok(Filer {
            processor: ControlProcessor::new(spool.dir(), options.processor),
            told: Vec::new(),
            cancels_itself: false,
            spool,
            selector,
            rules,
            log: options.log_zone.map_or_else(Log::new, Log::with_zone),
            options,
            log_file,
            log_path,
            scratch: Scratch::default(),
            lines: NewLines::default(),
            sites: Vec::new(),
            text: Vec::new(),
            converted: Vec::new(),
        })
    }

    /// The rules in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Files by other rules from now on.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// The sites that get what is filed.
    pub fn sites(&self) -> &Sites {
        self.selector.sites()
    }

    /// The spool that is filed into.
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// The news directory.
    pub fn dir(&self) -> &std::path::Path {
        self.spool.dir()
    }

    /// Bytes that wait for the next commit.
    pub fn pending_bytes(&self) -> usize {
        self.spool.pending_bytes()
    }

    /// Bytes of log lines that wait for the next commit.
    pub fn log_bytes(&self) -> usize {
        self.log.pending().len() + self.processor.pending_bytes()
    }

    /// Makes everything filed so far durable, then writes its log lines.
    ///
    /// # Errors
    /// Those of the store and of the log; of a log only when everything is durable ([`Error::is_of_log`]). After an error filing
    /// is over.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.spool.commit()?;
        let told = self.processor.write_log();
        self.log
            .write_to(&mut self.log_file)
            .map_err(|source| Error::Log {
                path: self.log_path.clone(),
                source,
            })?;
        told
    }

    /// Forgets the log lines of what will not be committed any more.
    pub fn abandon(&mut self) {
        self.log.clear();
        self.processor.abandon();
    }

    /// Adds a log line of the caller's.
    pub fn log(&mut self, now: Now, site: &[u8], code: Code, id: &[u8], text: &[u8]) {
        self.log.line(now, site, code, id, text);
    }

    /// Files one article, or refuses it; what happened is in the log at the next commit.
    ///
    /// A News articles and headers of B News are taken too: they are rewritten first.
    ///
    /// # Errors
    /// Only what stops the store. After an error filing is over.
    pub fn file(&mut self, bytes: &[u8], form: Form, now: Now) -> Result<Verdict, Error> {
        self.file_parsed(&Article::parse(bytes, form), None, now)
    }

    /// As [`Filer::file`], for an article in native form whose sender may not do everything.
    ///
    /// # Errors
    /// As [`Filer::file`].
    pub fn file_for(
        &mut self,
        sender: &dyn Sender,
        bytes: &[u8],
        now: Now,
    ) -> Result<Verdict, Error> {
        self.file_parsed(&Article::parse(bytes, Form::Native), Some(sender), now)
    }

    /// As [`Filer::file`], for an article in wire form that a peer announced by its id (RFC 3977, 6.3.2.2): one with another id is
    /// refused, and so is one with a NUL, or one in which others would see other lines than we do. `sender`: the peer, where it may not send everything.
    ///
    /// # Errors
    /// As [`Filer::file`].
    pub fn file_announced(
        &mut self,
        sender: Option<&dyn Sender>,
        id: &[u8],
        bytes: &[u8],
        now: Now,
    ) -> Result<Verdict, Error> {
        let article = Article::parse(bytes, Form::Wire);
        let own = article.value(Header::MessageId).unwrap_or_default();
        let fault: Option<&[u8]> = if own != id {
            Some(b"Message-ID is not the one it was announced with")
        } else if article::wire::has_hidden_lines(bytes, article.header_len()) {
            Some(b"a line ends with LF without CR")
        } else if memchr::memchr(0, bytes).is_some() {
            // RFC 3977, 3.1.1: readers could not get it.
            Some(b"NUL in the article")
        } else {
            None
        };
        if let Some(fault) = fault {
            self.log.line(now, site(&article), Code::Refused, id, fault);
            return Ok(Verdict::Refused(Refusal::new(
                RefusalKind::Malformed,
                fault,
            )));
        }
        self.file_parsed(&article, sender, now)
    }

    fn file_parsed(
        &mut self,
        article: &Article<'_>,
        sender: Option<&dyn Sender>,
        now: Now,
    ) -> Result<Verdict, Error> {
        let form = article.form();
        let is_whole = [Header::MessageId, Header::Date, Header::Subject]
            .iter()
            .all(|header| article.value(*header).is_some());
        if is_whole {
            return self.consider(article, sender, now);
        }
        let mut converted = std::mem::take(&mut self.converted);
        converted.clear();
        let verdict = if old::convert(article, &mut converted) {
            self.consider(&Article::parse(&converted, form), sender, now)
        } else {
            self.consider(article, sender, now)
        };
        self.converted = converted;
        verdict
    }

    /// Logs an article that the batch ends in the middle of. It is not filed: C News filed what there
    /// was of it, and then refused the whole article as a duplicate when the batch came again.
    pub fn short(&mut self, bytes: &[u8], missing: u64, now: Now) {
        let article = Article::parse(bytes, Form::Native);
        let id = article.value(Header::MessageId).unwrap_or_default();
        let text = format!("short by {missing} bytes");
        self.log
            .line(now, site(&article), Code::BadInput, id, text.as_bytes());
    }

    fn consider(
        &mut self,
        article: &Article<'_>,
        sender: Option<&dyn Sender>,
        now: Now,
    ) -> Result<Verdict, Error> {
        let site = site(article);
        let id = article.value(Header::MessageId).unwrap_or_default();
        let mut state = State {
            active: self.spool.active(),
            matrix: &mut self.selector.matrix,
            zone: &self.options.zone,
            sender,
        };
        let arrival = Arrival {
            seconds: now.seconds,
        };
        let seen = |id: &[u8]| self.spool.has(id);
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
                if remember {
                    let expires = self.expires(article);
                    self.spool.remember(id, now.seconds, expires)?;
                }
                self.text.clear();
                reason.write(&mut self.text);
                self.log.line(now, site, Code::Refused, id, &self.text);
                let refusal = || Refusal::new(reason.kind(), self.text.as_slice());
                Ok(match reason {
                    Reason::Duplicate => Verdict::Duplicate,
                    Reason::NoJunk(_) => Verdict::NeedsAttention(refusal()),
                    _ => Verdict::Refused(refusal()),
                })
            }
            Decision::Accept { junk, .. } => {
                if let Some(refusal) = self.refused_by_pending_cancel(article, site, id, now)? {
                    return Ok(Verdict::Refused(refusal));
                }
                if let Err(refusal) = self.take_numbers(article, site, id, now) {
                    return Ok(Verdict::Refused(refusal));
                }
                self.append(article, sender, site, id, junk, now)
            }
        }
    }

    /// Takes a number in each group, or the incoming ones of a mirror, and makes the Xref line.
    fn take_numbers(
        &mut self,
        article: &Article<'_>,
        site: &[u8],
        id: &[u8],
        now: Now,
    ) -> Result<(), Refusal> {
        self.lines.begin_xref(&self.rules.host);
        let taken = match &self.options.mirror {
            None => {
                for group in self.scratch.filed() {
                    let active = self.spool.active_mut();
                    if let Some(number) = active.take_number(*group) {
                        self.lines.push_link(active.name(*group), number);
                    }
                }
                // Fails only after 2^63 articles in one group.
                Ok(())
            }
            Some(mirrored) => {
                mirror::take_numbers(article, mirrored, self.spool.active_mut(), &mut self.lines)
            }
        };
        self.lines.end_xref(article.form());
        let fault = match taken {
            Err(fault) => fault.to_string(),
            Ok(()) if self.lines.link_count() == 0 => "no number left in any group".to_owned(),
            Ok(()) => return Ok(()),
        };
        self.log
            .line(now, site, Code::BadInput, id, fault.as_bytes());
        Err(Refusal::new(RefusalKind::Other, fault))
    }

    /// Hands the article to the store, logs it, and does what it asks for.
    fn append(
        &mut self,
        article: &Article<'_>,
        sender: Option<&dyn Sender>,
        site: &[u8],
        id: &[u8],
        junk: bool,
        now: Now,
    ) -> Result<Verdict, Error> {
        self.apply_control(article, sender, id, now)?;
        match &self.options.mirror {
            None => self.lines.make_path(article, &self.rules.host),
            Some(_) => self.lines.keep_path(),
        }
        let expires = self.expires(article);
        let with_xref = self.rules.xref_single || self.lines.link_count() > 1;
        let body = article.bytes().get(article.body()..).unwrap_or_default();
        let body = piece(article.form(), body);
        self.sites.clear();
        let selected = self.scratch.selected();
        let lines = &self.lines;
        let bytes = || {
            let header = lines.pieces(article, with_xref);
            let lengths = header.items().iter().map(|piece| piece.native_length());
            (lengths.sum::<usize>() + body.native_length()) as u64
        };
        self.selector
            .push_feeds(article, selected, bytes, &mut self.sites);
        self.push_answering_site(article);
        let mut links = ShortList::<(&[u8], u64), 16>::new((b"", 0));
        for link in self.lines.links() {
            links.push(link);
        }
        let pieces = self.lines.pieces(article, with_xref);
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
            links: links.items(),
            sites: &self.sites,
            header: pieces.items(),
            body,
            overview,
        };
        let position = match self.spool.append(&filing) {
            Ok(position) => position,
            Err(error @ store::Error::TooLarge { .. }) => {
                // Concerns this article only. Its numbers stay unused: others may follow them already.
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
        self.tell(site, id, position, now)?;
        Ok(if junk {
            Verdict::Junked
        } else {
            Verdict::Filed
        })
    }

    /// What Expires says. An empty one counts as none.
    fn expires<'a>(&self, article: &Article<'a>) -> Expires<'a> {
        match article.value(Header::Expires) {
            None | Some(b"") => Expires::Absent,
            Some(value) => date::parse(value, &self.options.zone)
                .map_or(Expires::Unreadable(value), Expires::At),
        }
    }
}

/// SITE of the log: the first host in Path, or `(local)` if there is none.
pub fn site<'a>(article: &Article<'a>) -> &'a [u8] {
    ArticlePath::of(article)
        .and_then(|path| path.first_site())
        .unwrap_or(LOCAL)
}
