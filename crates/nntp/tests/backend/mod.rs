//! A backend in memory, and a client of a session.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use article::date::{FixedOffset, LocalZone};
use article::decimal;
use groups::Active;
use groups::active::GroupId;
use nntp::{
    Article, ArticlePosition, AskedNumber, Backend, BackendError, Capabilities, ControlFile,
    Credentials, Found, IdStatus, Intake, Marks, Next, OutBuffer, Permissions, ReceivedArticle,
    RowsWritten, SaslStep, Session, SharedBytes, TransferKind, TransferOutcome,
};

/// An article of the backend.
#[derive(Debug, Clone)]
pub struct Stored {
    pub id: Vec<u8>,
    pub wire: Vec<u8>,
    pub header_len: usize,
    pub links: Vec<(Vec<u8>, u64)>,
    pub filed: i64,
}

#[derive(Debug)]
struct Whole(Vec<u8>);

impl SharedBytes for Whole {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn file(&self) -> Option<(BorrowedFd<'_>, u64)> {
        None
    }

    fn is_valid(&self) -> bool {
        true
    }
}

/// A backend in memory.
pub struct Fake {
    pub now: i64,
    pub zone: FixedOffset,
    pub active: Arc<Active>,
    pub numbers: HashMap<Vec<u8>, BTreeMap<u64, usize>>,
    pub articles: Vec<Stored>,
    pub ids: HashMap<Vec<u8>, usize>,
    pub closed_groups: BTreeSet<Vec<u8>>,
    pub files: HashMap<&'static str, Arc<Vec<u8>>>,
    pub intake: Intake,
    pub coming: BTreeSet<Vec<u8>>,
    pub received: Vec<(TransferKind, Vec<u8>, std::ops::Range<usize>)>,
    pub rejected: Vec<Vec<u8>>,
    pub said: Vec<String>,
    pub sasl: Vec<SaslStep>,
    pub mechanisms: Vec<&'static str>,
    /// Articles above this size are shared, bytes.
    pub shared_above: usize,
    /// Most rows of one call.
    pub rows_max: usize,
    /// Number of the first failing lookup; all later ones fail too.
    pub fails_at: Option<usize>,
    pub lookups: usize,
    /// Each article has to be fetched before it is read for the first time.
    pub is_cold: bool,
    pub fetching: Option<u64>,
    pub fetched: std::collections::HashSet<u64>,
    /// Checks of the clock in a time slice; `None`: a slice never ends.
    pub checks_per_slice: Option<usize>,
    /// Checks of the clock in this time slice.
    pub checks_in_slice: usize,
}

impl Fake {
    pub fn new(active: &str) -> Fake {
        Fake {
            now: 1_000_000_000,
            zone: FixedOffset(0),
            active: Arc::new(Active::parse(active.as_bytes().to_vec()).unwrap()),
            numbers: HashMap::new(),
            articles: Vec::new(),
            ids: HashMap::new(),
            closed_groups: BTreeSet::new(),
            files: HashMap::new(),
            intake: Intake::Open,
            coming: BTreeSet::new(),
            received: Vec::new(),
            rejected: Vec::new(),
            said: Vec::new(),
            sasl: Vec::new(),
            mechanisms: vec!["PLAIN", "SCRAM-SHA-256"],
            shared_above: 2000,
            rows_max: 3,
            fails_at: None,
            lookups: 0,
            is_cold: false,
            fetching: None,
            fetched: std::collections::HashSet::new(),
            checks_per_slice: None,
            checks_in_slice: 0,
        }
    }

    /// Three groups, the second empty, the third closed, and four articles; number 3 of the first is missing.
    pub fn usual() -> Fake {
        let mut fake = Fake::new(
            "misc.test 0000000005 0000000001 y\nmisc.empty 0000000007 0000000008 m\nlocal.secret 0000000002 0000000001 y\n",
        );
        fake.closed_groups.insert(b"local.secret".to_vec());
        let bodies = ["one\r\n", "..two\r\ndots\r\n", "four\r\n", "five\r\n"];
        for (number, body) in [1, 2, 4, 5].into_iter().zip(bodies) {
            let header = format!(
                "Path: a!b\r\nFrom: me{number}@example.com\r\nNewsgroups: misc.test\r\nSubject: no. {number}\r\n\tfolded\r\nDate: Mon, 20 Dec 1993 04:39:2{number} GMT\r\nMessage-ID: <{number}@test>\r\nX-Odd: odd {number}\r\nXref: host misc.test:{number}\r\n"
            );
            let links = [("misc.test", number)];
            fake.add(&header, body, &links, 900_000_000 + number as i64);
        }
        let header = "Path: a\r\nFrom: me@example.com\r\nNewsgroups: local.secret\r\nSubject: hidden\r\nDate: Mon, 20 Dec 1993 04:39:21 GMT\r\nMessage-ID: <secret@test>\r\n";
        fake.add(header, "psst\r\n", &[("local.secret", 1)], 900_000_010);
        fake
    }

    /// Files an article; its message-id is in the header.
    pub fn add(&mut self, header: &str, body: &str, links: &[(&str, u64)], filed: i64) {
        let id = header
            .lines()
            .find_map(|line| line.strip_prefix("Message-ID: "))
            .unwrap()
            .as_bytes()
            .to_vec();
        let at = self.articles.len();
        for (group, number) in links {
            let group = group.as_bytes().to_vec();
            self.numbers.entry(group).or_default().insert(*number, at);
        }
        self.ids.insert(id.clone(), at);
        let links = links.iter().map(|(g, n)| (g.as_bytes().to_vec(), *n));
        self.articles.push(Stored {
            id,
            wire: format!("{header}\r\n{body}.\r\n").into_bytes(),
            header_len: header.len(),
            links: links.collect(),
            filed,
        });
    }

    fn ask(&mut self) -> Result<(), BackendError> {
        self.lookups += 1;
        match self.fails_at {
            Some(at) if self.lookups > at => Err(BackendError::Failed),
            _ => Ok(()),
        }
    }

    fn of(&self, group: &[u8], low: u64, high: u64) -> Vec<(u64, usize)> {
        let all = self.numbers.get(group).into_iter().flatten();
        all.map(|(&number, &at)| (number, at))
            .filter(|(number, _)| (low..=high).contains(number))
            .collect()
    }

    /// The overview row, from the first tab on.
    pub fn row_text(&self, at: usize) -> Vec<u8> {
        let stored = &self.articles[at];
        let header =
            String::from_utf8_lossy(&stored.wire[..stored.header_len]).replace("\r\n\t", " ");
        let field = |name: &str| {
            let prefix = format!("{name}: ");
            header
                .lines()
                .find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
                .unwrap_or_default()
        };
        let body = &stored.wire[stored.header_len + 2..];
        let lines = body.iter().filter(|&&b| b == b'\n').count() - 1;
        let mut row = format!(
            "\t{}\t{}\t{}\t{}\t{}\t{}\t{lines}",
            field("Subject"),
            field("From"),
            field("Date"),
            field("Message-ID"),
            field("References"),
            stored.wire.len() - 3,
        );
        let xref = field("Xref");
        if !xref.is_empty() {
            row.push_str(&format!("\tXref: {xref}"));
        }
        row.push_str("\r\n");
        row.into_bytes()
    }
}

impl Backend for Fake {
    fn now(&self) -> i64 {
        self.now
    }

    fn is_time_slice_over(&mut self) -> bool {
        self.checks_in_slice += 1;
        self.checks_per_slice
            .is_some_and(|most| self.checks_in_slice > most)
    }

    fn zone(&self) -> &dyn LocalZone {
        &self.zone
    }

    fn intake(&self) -> Intake {
        self.intake.clone()
    }

    fn id_status(&mut self, id: &[u8]) -> Result<IdStatus, BackendError> {
        self.ask()?;
        if self.ids.contains_key(id) {
            return Ok(IdStatus::Known);
        }
        Ok(if self.coming.contains(id) {
            IdStatus::InTransfer
        } else {
            IdStatus::Unknown
        })
    }

    fn receive(&mut self, article: ReceivedArticle<'_>) -> Option<TransferOutcome> {
        self.received
            .push((article.kind, article.id.to_vec(), article.article));
        None
    }

    fn article_rejected(&mut self, id: &[u8]) {
        self.rejected.push(id.to_vec());
    }

    fn article_deferred(&mut self, id: &[u8]) {
        self.rejected.push(id.to_vec());
    }

    fn mechanisms(&self) -> Vec<&'static str> {
        self.mechanisms.clone()
    }

    fn log_in(&mut self, credentials: Credentials<'_>) -> SaslStep {
        self.said.push(format!("{credentials:?}"));
        if self.sasl.is_empty() {
            SaslStep::Refused
        } else {
            self.sasl.remove(0)
        }
    }

    fn active(&self) -> Arc<Active> {
        self.active.clone()
    }

    fn marks(&mut self, group: GroupId) -> Result<Marks, BackendError> {
        self.ask()?;
        Ok(Marks {
            low: self.active.low(group),
            high: self.active.high(group),
        })
    }

    fn count(&mut self, group: GroupId) -> Result<u64, BackendError> {
        self.ask()?;
        let name = self.active.name(group).to_vec();
        Ok(self.of(&name, 0, u64::MAX).len() as u64)
    }

    fn may_read(&mut self, group: &[u8]) -> bool {
        !self.closed_groups.contains(group)
    }

    fn file(&mut self, file: ControlFile) -> Result<Option<Arc<Vec<u8>>>, BackendError> {
        self.ask()?;
        let name = format!("{file:?}");
        Ok(self.files.get(name.as_str()).cloned())
    }

    fn position(
        &mut self,
        group: &[u8],
        number: u64,
    ) -> Result<Option<ArticlePosition>, BackendError> {
        self.ask()?;
        Ok(self
            .of(group, number, number)
            .first()
            .map(|&(_, at)| ArticlePosition(at as u64)))
    }

    fn next(
        &mut self,
        group: &[u8],
        after: u64,
        high: u64,
    ) -> Result<Option<(u64, ArticlePosition)>, BackendError> {
        self.ask()?;
        let of = self.of(group, after.saturating_add(1), high);
        Ok(of
            .first()
            .map(|&(number, at)| (number, ArticlePosition(at as u64))))
    }

    fn previous(
        &mut self,
        group: &[u8],
        before: u64,
        low: u64,
    ) -> Result<Option<(u64, ArticlePosition)>, BackendError> {
        self.ask()?;
        let of = self.of(group, low, before.saturating_sub(1));
        Ok(of
            .last()
            .map(|&(number, at)| (number, ArticlePosition(at as u64))))
    }

    fn find(&mut self, id: &[u8]) -> Result<Option<Found>, BackendError> {
        self.ask()?;
        let Some(&at) = self.ids.get(id) else {
            return Ok(None);
        };
        let links = &self.articles[at].links;
        let is_open = |(group, _): &(Vec<u8>, u64)| !self.closed_groups.contains(group);
        Ok(Some(Found {
            position: ArticlePosition(at as u64),
            may_be_read: links.iter().any(is_open),
        }))
    }

    fn message_id(
        &mut self,
        position: ArticlePosition,
        _: AskedNumber<'_>,
        id: &mut Vec<u8>,
    ) -> Result<bool, BackendError> {
        self.ask()?;
        let found = self.articles.get(position.0 as usize);
        id.clear();
        id.extend_from_slice(found.map_or(b"", |stored| &stored.id));
        Ok(found.is_some())
    }

    fn article(
        &mut self,
        position: ArticlePosition,
        _: AskedNumber<'_>,
    ) -> Result<Option<Article<'_>>, BackendError> {
        self.ask()?;
        if self.is_cold && !self.fetched.contains(&position.0) {
            self.fetching = Some(position.0);
            return Err(BackendError::Pending);
        }
        let shared_above = self.shared_above;
        Ok(self.articles.get(position.0 as usize).map(|stored| {
            let is_large = stored.wire.len() > shared_above;
            let shared: Option<Arc<dyn SharedBytes>> = if is_large {
                Some(Arc::new(Whole(stored.wire.clone())))
            } else {
                None
            };
            let (header, _) = stored.wire.split_at(stored.header_len);
            Article {
                id: &stored.id,
                header,
                is_header_only: false,
                wire: if is_large { header } else { &stored.wire },
                shared,
            }
        }))
    }

    fn is_fetching(&self) -> bool {
        self.fetching.is_some()
    }

    fn numbers(
        &mut self,
        group: &[u8],
        from: u64,
        high: u64,
        limit: usize,
        numbers: &mut Vec<u64>,
    ) -> Result<Option<u64>, BackendError> {
        self.ask()?;
        let of = self.of(group, from, high);
        let mut all = of.iter().map(|&(number, _)| number);
        numbers.extend(all.by_ref().take(limit.min(self.rows_max)));
        Ok(all.next())
    }

    fn rows(
        &mut self,
        group: &[u8],
        from: u64,
        high: u64,
        bytes_max: usize,
        out: &mut OutBuffer,
    ) -> Result<RowsWritten, BackendError> {
        self.ask()?;
        let of = self.of(group, from, high);
        let mut all = of.into_iter().peekable();
        let mut any = false;
        let mut written = 0;
        for _ in 0..self.rows_max {
            let Some((number, at)) = all.next() else {
                break;
            };
            any = true;
            let mut line = Vec::new();
            decimal::push(&mut line, number);
            line.extend(self.row_text(at));
            written += line.len();
            if number % 2 == 0 {
                let length = line.len();
                out.push_shared(Arc::new(Whole(line)), 0..length);
            } else {
                out.push(&line);
            }
            if written > bytes_max {
                break;
            }
        }
        let next = all.peek().map(|&(number, _)| number);
        Ok(RowsWritten { any, next })
    }

    fn row(&mut self, id: &[u8], row: &mut Vec<u8>) -> Result<bool, BackendError> {
        self.ask()?;
        let Some(&at) = self.ids.get(id) else {
            return Ok(false);
        };
        row.push(b'0');
        row.extend(self.row_text(at));
        Ok(true)
    }

    fn filed_since(
        &mut self,
        since: i64,
        cursor: Option<u64>,
        limit: usize,
        is_wanted: impl Fn(&[u8]) -> bool,
        mut each: impl FnMut(&[u8]),
    ) -> Result<Option<u64>, BackendError> {
        self.ask()?;
        let from = cursor.unwrap_or(0) as usize;
        let end = (from + limit.min(self.rows_max)).min(self.articles.len());
        for stored in &self.articles[from..end] {
            let is_open = |group: &[u8]| !self.closed_groups.contains(group);
            let fits = stored
                .links
                .iter()
                .any(|(group, _)| is_wanted(group) && is_open(group));
            if stored.filed >= since && fits {
                each(&stored.id);
            }
        }
        Ok((end < self.articles.len()).then_some(end as u64))
    }
}

/// All permissions.
pub const ALL: Permissions = Permissions {
    reads: true,
    posts: true,
    sends: true,
    headfeed: true,
    could_log_in: false,
    needs_tls_to_log_in: false,
    could_post: false,
    is_logged_in: false,
};

pub fn capabilities() -> Capabilities {
    Capabilities {
        host: "news.test".to_owned(),
        software: "Test 1".to_owned(),
        has_tls: false,
        has_compression: false,
        has_plaintext_passwords: true,
        article_bytes_max: 10_000,
        wire_bytes_max: 20_000,
        headers_only: false,
        disabled: Vec::new(),
    }
}

/// A client of one session.
pub struct Client {
    pub session: Session,
    pub backend: Fake,
    pub out: OutBuffer,
    input: Vec<u8>,
    /// What the session waits for.
    pub next: Next,
    /// Largest number of bytes in `out`.
    pub most_waiting: usize,
    pub articles: Vec<Vec<u8>>,
    /// Number of time slices.
    pub slices: usize,
}

impl Client {
    pub fn new(backend: Fake) -> Client {
        Client::with(backend, capabilities(), ALL)
    }

    pub fn with(backend: Fake, capabilities: Capabilities, permissions: Permissions) -> Client {
        Client {
            session: Session::new(Arc::new(capabilities), permissions, false),
            backend,
            out: OutBuffer::default(),
            input: Vec::new(),
            next: Next::More,
            most_waiting: 0,
            articles: Vec::new(),
            slices: 0,
        }
    }

    /// Sends bytes and returns all output.
    pub fn say(&mut self, bytes: impl AsRef<[u8]>) -> Vec<u8> {
        self.input.extend_from_slice(bytes.as_ref());
        let mut got = Vec::new();
        loop {
            self.slices += 1;
            self.backend.checks_in_slice = 0;
            let processed = self
                .session
                .process(&self.input, &mut self.backend, &mut self.out);
            self.most_waiting = self.most_waiting.max(self.out.len());
            for (kind, id, range) in std::mem::take(&mut self.backend.received) {
                self.articles.push(self.input[range].to_vec());
                Session::complete_transfer(kind, &id, &TransferOutcome::Accepted, &mut self.out);
            }
            self.input.drain(..processed.used);
            let ready: Vec<u8> = self.out.ready().flatten().copied().collect();
            self.out.sent(ready.len());
            got.extend(ready);
            self.next = processed.next;
            match processed.next {
                Next::Drain | Next::PendingReply | Next::Yield => {}
                Next::Fetch => {
                    let fetched = self.backend.fetching.take();
                    self.backend.fetched.insert(fetched.expect("a fetch"));
                }
                Next::More | Next::StartTls | Next::Compress | Next::Close => return got,
            }
        }
    }

    /// Plays a script: sends the lines with `> `, and compares the output with the lines with `< ` after them.
    pub fn play(&mut self, script: &str) {
        let mut lines = script
            .lines()
            .map(str::trim_start)
            .filter(|line| !line.is_empty())
            .peekable();
        while let Some(line) = lines.next() {
            let sent = line
                .strip_prefix('>')
                .expect("a line to be sent")
                .trim_start();
            let mut wanted = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with('<')) {
                let line = line[1..].strip_prefix(' ').unwrap_or(&line[1..]);
                wanted.push(line.replace("\\t", "\t"));
            }
            let got = self.say(format!("{sent}\r\n"));
            let got = String::from_utf8_lossy(&got).into_owned();
            let got: Vec<&str> = got.split_terminator("\r\n").collect();
            assert_eq!(got, wanted, "after {sent}");
        }
    }
}
