//! The news system as one client sees it: [`nntp::Backend`] over the store.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use access::Grant;
use access::sasl::{Exchange, Mechanism, Step};
use groups::Active;
use groups::active::GroupId;
use nntp::{
    Article, ArticlePosition, Backend, BackendError, ControlFile, Credentials, Found, IdStatus,
    Intake, Marks, OutBuffer, ReceivedArticle, RowsWritten, SaslStep, SharedBytes, TransferKind,
    TransferOutcome,
};
use store::{HistoryLine, LiveReader, Position, Run, Stretch};

use crate::article_batch::{BatchBuilder, ENTRY_BYTES, Poster};
use crate::client::{Client, NO_LOGIN, TOO_MANY};
use crate::counts::What;
use crate::event::Event;
use crate::mailbox::{Mailbox, Message};
use crate::shared::Shared;

/// An article in wire form that is larger is lent, not copied: 64 KiB.
pub const COPIED_BYTES_MAX: usize = 64 << 10;
/// Overview rows that lie together and are longer are lent, not copied: 8 KiB.
const ROWS_COPIED_MAX: usize = 8 << 10;
/// Largest file that LIST shows: 16 MiB.
pub const LIST_FILE_BYTES_MAX: u64 = 16 << 20;

/// What one network thread reads from.
pub struct ThreadStore {
    /// The articles.
    pub live_reader: LiveReader,
    dir: PathBuf,
    files: HashMap<ControlFile, CachedFile>,
}

/// A file as it was read.
struct CachedFile {
    modified: SystemTime,
    text: Arc<Vec<u8>>,
}

impl ThreadStore {
    /// Reads the news directory.
    pub fn new(dir: &Path, live_reader: LiveReader) -> ThreadStore {
        ThreadStore {
            live_reader,
            dir: dir.to_owned(),
            files: HashMap::new(),
        }
    }

    /// The error names the file.
    fn file(&mut self, file: ControlFile) -> std::io::Result<Option<Arc<Vec<u8>>>> {
        let path = self.dir.join(name(file));
        let named = |error: std::io::Error| {
            let why = format!("{}: {error}", path.display());
            std::io::Error::new(error.kind(), why)
        };
        self.read(file, &path).map_err(named)
    }

    fn read(&mut self, file: ControlFile, path: &Path) -> std::io::Result<Option<Arc<Vec<u8>>>> {
        let told = match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            told => told?,
        };
        let modified = told.modified()?;
        if let Some(kept) = self.files.get(&file)
            && kept.modified == modified
            && kept.text.len() as u64 == told.len()
        {
            return Ok(Some(kept.text.clone()));
        }
        if told.len() > LIST_FILE_BYTES_MAX {
            let why = format!("it is larger than {LIST_FILE_BYTES_MAX} bytes");
            return Err(std::io::Error::other(why));
        }
        let text = Arc::new(fs::read(path)?);
        let kept = CachedFile {
            modified,
            text: text.clone(),
        };
        self.files.insert(file, kept);
        Ok(Some(text))
    }
}

fn name(file: ControlFile) -> &'static str {
    match file {
        ControlFile::Newsgroups => "newsgroups",
        ControlFile::ActiveTimes => "active.times",
        ControlFile::DistribPats => "distrib.pats",
        ControlFile::Distributions => "distributions",
        ControlFile::Moderators => "moderators",
        ControlFile::Motd => "motd",
        ControlFile::Subscriptions => "subscriptions",
    }
}

/// A failed look-up, told to the administrator: its reason may name files, which are no business of strangers.
fn trouble<E: std::fmt::Display>(shared: &Shared) -> impl FnOnce(E) -> BackendError {
    |error| {
        let why = &error.to_string();
        shared.sink.tell(&Event::LookupFailed { why });
        BackendError
    }
}

/// A failed look-up in the store. Damage is told once, however often somebody asks for what is damaged.
fn fault(shared: &Shared) -> impl FnOnce(store::Error) -> BackendError {
    |error| {
        if let store::Error::Damaged { path, offset, .. } = &error {
            if !shared.note_damage(path, *offset) {
                return BackendError;
            }
            shared.counts.damaged.one();
        }
        trouble(shared)(error)
    }
}

/// What a session asks, while it is given its input.
pub struct SessionContext<'a> {
    /// The store.
    pub store: &'a mut ThreadStore,
    /// Who asks.
    pub client: &'a mut Client,
    /// Where articles are packed.
    pub batch_builder: &'a mut BatchBuilder,
    /// The input that the session is given.
    pub input: &'a [u8],
    /// What all threads have in common.
    pub shared: &'a Shared,
    /// Where answers that take time go.
    pub mailbox: &'a Arc<Mailbox>,
    /// Seconds since 1970.
    pub now: i64,
    /// Milliseconds of the monotonic clock.
    pub ticks: u64,
    /// When the turn is over.
    pub until: Instant,
}

impl SessionContext<'_> {
    /// Whether the article is larger than this client may send. The other rights are asked by the writer, about the article as it is
    /// filed.
    fn is_too_large(&self, bytes: &[u8]) -> bool {
        let most = self.client.rights.limits().size_max;
        most.is_some_and(|most| bytes.len() as u64 > most)
    }

    /// The rights that the writer asks. `None`: everything is taken.
    fn grant(&self, kind: TransferKind) -> Option<Grant> {
        let rights = &self.client.rights;
        match kind {
            TransferKind::Post => Some(Grant::Post(rights.clone())),
            TransferKind::TakeThis | TransferKind::Ihave => {
                (!rights.takes_all()).then(|| Grant::Send(rights.clone()))
            }
        }
    }

    /// How long a poster has to wait who posts too much.
    fn is_flood(&self) -> Option<Duration> {
        let per_minute = self.client.rights.limits().posts_per_minute_max?;
        let who = match (&self.client.user, self.client.address) {
            (Some(user), _) => access::Poster::User(user),
            (None, Some(address)) => access::Poster::Address(address.ip()),
            (None, None) => return None,
        };
        let floods = self.shared.floods.lock();
        let mut floods = floods.unwrap_or_else(PoisonError::into_inner);
        floods.post(who, per_minute, Instant::now()).err()
    }

    fn follow(&mut self, step: Step) -> SaslStep {
        match step {
            Step::Ask(challenge) => SaslStep::Challenge(challenge),
            Step::Wait(slow) => self.wait(slow),
            Step::Done(outcome) => {
                self.client.exchange = None;
                match outcome {
                    access::Outcome::LoggedIn { user, data } => {
                        match self.client.log_in(Some(user), self.shared) {
                            true => SaslStep::Accepted(self.client.permissions(), data),
                            false => SaslStep::Failed(TOO_MANY),
                        }
                    }
                    access::Outcome::Failed(why) => {
                        self.client.login_failed(self.shared, &why);
                        SaslStep::Failed(NO_LOGIN)
                    }
                    access::Outcome::Malformed(what) => SaslStep::Malformed(what),
                    access::Outcome::Refused(why) => {
                        self.client.login_failed(self.shared, &why);
                        SaslStep::Refused
                    }
                }
            }
        }
    }

    fn wait(&mut self, slow: access::Slow) -> SaslStep {
        let (mailbox, token) = (self.mailbox.clone(), self.client.token);
        let address = self
            .client
            .address
            .map(|address| access::counted(address.ip()));
        let job = move || mailbox.put(Message::LoggedIn(token, slow.run()));
        match self.shared.slow.run(address, Box::new(job)) {
            Ok(()) => SaslStep::Pending,
            // RFC 4643, 2.3.2: not 481, upon which people are asked for another password.
            Err(full) => {
                self.client.login_failed(self.shared, &full.to_string());
                SaslStep::Failed("Too many log in at once; try again later")
            }
        }
    }
}

impl Backend for SessionContext<'_> {
    fn now(&self) -> i64 {
        self.now
    }

    fn is_time_slice_over(&mut self) -> bool {
        Instant::now() >= self.until
    }

    fn intake(&self) -> Intake {
        let intake = self.shared.sink.intake();
        if intake != Intake::Open {
            self.client.peer.add(What::Deferred, 1);
        }
        intake
    }

    fn id_status(&mut self, id: &[u8]) -> Result<IdStatus, BackendError> {
        if self
            .store
            .live_reader
            .seen(id)
            .map_err(fault(self.shared))?
        {
            self.client.tally.add(What::Offered, 1);
            self.client.tally.add(What::Duplicates, 1);
            return Ok(IdStatus::Known);
        }
        let reservations = &self.shared.reservations;
        let seconds = (self.ticks / 1000).cast_signed();
        let (seen, was_told) = reservations.announce(id, self.client.token, seconds);
        self.client.tally.add(What::Offered, u64::from(!was_told));
        match seen {
            IdStatus::Unknown => self.client.has_announced = true,
            IdStatus::Known => self.client.tally.add(What::Duplicates, 1),
            IdStatus::InTransfer => self.client.tally.add(What::Deferred, 1),
        }
        Ok(seen)
    }

    fn receive(&mut self, handed: ReceivedArticle<'_>) -> Option<TransferOutcome> {
        let bytes = self.input.get(handed.article.clone()).unwrap_or_default();
        if self.is_too_large(bytes) {
            self.client.tally.add(What::Size, 1);
            if handed.kind != TransferKind::Post {
                self.shared
                    .reservations
                    .forget(handed.id, self.client.token);
            }
            return Some(TransferOutcome::Refused(b"Too large for you".to_vec()));
        }
        if handed.kind == TransferKind::Post
            && let Some(wait) = self.is_flood()
        {
            let why = format!(
                "Too many posts; come again in {} seconds",
                wait.as_secs() + 1
            );
            self.client.tally.add(What::Flood, 1);
            return Some(TransferOutcome::Refused(why.into_bytes()));
        }
        if handed.kind != TransferKind::Post {
            if let Some(pace) = &mut self.client.sending {
                let wait = pace.take(1, Instant::now());
                self.client.rest(wait, self.ticks);
            }
            self.shared.reservations.came(handed.id, self.client.token);
        }
        let poster = (handed.kind == TransferKind::Post).then(|| {
            Box::new(Poster {
                user: self.client.user.clone().unwrap_or_default(),
                host: self.client.host(),
            })
        });
        self.client.on_the_way.0 += 1;
        self.client.on_the_way.1 += bytes.len() + ENTRY_BYTES;
        let what = (handed.kind, self.client.token);
        let grant = self.grant(handed.kind);
        self.batch_builder
            .add(what, handed.id, handed.article, poster, grant);
        None
    }

    fn article_rejected(&mut self, id: &[u8]) {
        self.client.tally.add(What::Size, 1);
        self.shared.reservations.forget(id, self.client.token);
    }

    fn article_deferred(&mut self, id: &[u8]) {
        self.client.tally.add(What::Deferred, 1);
        self.shared.reservations.forget(id, self.client.token);
    }

    fn mechanisms(&self) -> Vec<&'static str> {
        let mechanisms = self.shared.access().mechanisms(&self.client.identity());
        mechanisms.into_iter().map(Mechanism::name).collect()
    }

    fn log_in(&mut self, credentials: Credentials<'_>) -> SaslStep {
        let access = self.shared.access();
        match credentials {
            Credentials::Password(user, password) => {
                let slow = access.check_password(user, password, &self.client.connection());
                self.wait(slow)
            }
            Credentials::Sasl(name, initial) => {
                let Some(mechanism) = Mechanism::parse(name) else {
                    return SaslStep::Unknown;
                };
                let connection = self.client.connection();
                let identity = self.client.identity();
                let mut exchange = Exchange::new(mechanism, &access, &identity, connection);
                let step = exchange.take(initial);
                self.client.exchange = Some(exchange);
                self.follow(step)
            }
            Credentials::Response(response) => match self.client.exchange.as_mut() {
                Some(exchange) => {
                    let step = exchange.take(Some(response));
                    self.follow(step)
                }
                None => SaslStep::Refused,
            },
            Credentials::Cancelled => {
                self.client.exchange = None;
                SaslStep::Refused
            }
        }
    }

    fn active(&self) -> Arc<Active> {
        self.store.live_reader.active_shared()
    }

    fn marks(&mut self, group: GroupId) -> Result<Marks, BackendError> {
        let (low, high) = self.store.live_reader.marks(group);
        Ok(Marks { low, high })
    }

    fn count(&mut self, group: GroupId) -> Result<u64, BackendError> {
        self.store
            .live_reader
            .count(group)
            .map_err(fault(self.shared))
    }

    fn may_read(&mut self, group: &[u8]) -> bool {
        self.client.rights.may_read(group)
    }

    fn file(&mut self, file: ControlFile) -> Result<Option<Arc<Vec<u8>>>, BackendError> {
        self.store.file(file).map_err(trouble(self.shared))
    }

    fn position(
        &mut self,
        group: &[u8],
        number: u64,
    ) -> Result<Option<ArticlePosition>, BackendError> {
        let found = self.store.live_reader.position(group, number);
        Ok(found
            .map_err(fault(self.shared))?
            .map(|position| ArticlePosition(position.0)))
    }

    fn next(
        &mut self,
        group: &[u8],
        after: u64,
        high: u64,
    ) -> Result<Option<(u64, ArticlePosition)>, BackendError> {
        let found = self.store.live_reader.next(group, after, high);
        Ok(found.map_err(fault(self.shared))?.map(numbered))
    }

    fn previous(
        &mut self,
        group: &[u8],
        before: u64,
        low: u64,
    ) -> Result<Option<(u64, ArticlePosition)>, BackendError> {
        let found = self.store.live_reader.previous(group, before, low);
        Ok(found.map_err(fault(self.shared))?.map(numbered))
    }

    fn find(&mut self, id: &[u8]) -> Result<Option<Found>, BackendError> {
        let rights = &self.client.rights;
        let found = self
            .store
            .live_reader
            .find(id)
            .map_err(fault(self.shared))?;
        Ok(found.map(|found| Found {
            position: ArticlePosition(found.position.0),
            may_be_read: found.links().any(|(name, _)| rights.may_read(name)),
        }))
    }

    fn sent(&mut self) {
        self.client.tally.add(What::Sent, 1);
    }

    fn article(&mut self, position: ArticlePosition) -> Result<Option<Article<'_>>, BackendError> {
        let position = Position(position.0);
        let live_reader = &mut self.store.live_reader;
        let is_large = match live_reader.record(position).map_err(fault(self.shared))? {
            None => return Ok(None),
            Some(record) => record.wire().len() > COPIED_BYTES_MAX,
        };
        let shared = match is_large {
            false => None,
            // It takes a descriptor. Where there is none left, it is copied.
            true => live_reader.stretch(position).ok().flatten().map(|stretch| {
                let shared: Arc<dyn SharedBytes> = Arc::new(SharedRange(stretch));
                shared
            }),
        };
        let record = live_reader.lent();
        let wire = record.wire();
        let header = wire
            .get(..(record.head.wire_header_length as usize).saturating_sub(2))
            .unwrap_or_default();
        let id = HistoryLine::parse(record.line()).map_or(&b""[..], |line| line.id);
        Ok(Some(Article {
            id,
            header,
            wire,
            shared,
        }))
    }

    fn numbers(
        &mut self,
        group: &[u8],
        from: u64,
        high: u64,
        limit: usize,
        numbers: &mut Vec<u64>,
    ) -> Result<Option<u64>, BackendError> {
        let live_reader = &mut self.store.live_reader;
        live_reader
            .numbers(group, (from, high), limit, numbers)
            .map_err(fault(self.shared))
    }

    fn rows(
        &mut self,
        group: &[u8],
        from: u64,
        high: u64,
        bytes_max: usize,
        out: &mut OutBuffer,
    ) -> Result<RowsWritten, BackendError> {
        let mut any = false;
        let live_reader = &mut self.store.live_reader;
        let mut is_readable = true;
        let next = live_reader.rows(group, (from, high), bytes_max, |run| {
            any = true;
            if run.bytes().len() <= ROWS_COPIED_MAX {
                out.push(run.bytes());
                is_readable &= run.is_readable();
            } else {
                let range = 0..run.bytes().len();
                out.push_shared(Arc::new(SharedRows(run)), range);
            }
        });
        let damage = live_reader.take_damage();
        if let Some(damage) = damage {
            // The others are sent all the same.
            let _ = fault(self.shared)(damage);
        }
        let next = next.map_err(fault(self.shared))?;
        match is_readable {
            true => Ok(RowsWritten { any, next }),
            false => Err(BackendError),
        }
    }

    fn row(&mut self, id: &[u8], row: &mut Vec<u8>) -> Result<bool, BackendError> {
        self.store
            .live_reader
            .row_of(id, row)
            .map_err(fault(self.shared))
    }

    fn filed_since(
        &mut self,
        since: i64,
        cursor: Option<u64>,
        limit: usize,
        is_wanted: impl Fn(&[u8]) -> bool,
        mut each: impl FnMut(&[u8]),
    ) -> Result<Option<u64>, BackendError> {
        let rights = &self.client.rights;
        let live_reader = &self.store.live_reader;
        let until = self.until;
        let next = live_reader.filed_since(since, cursor, limit, |found| {
            let fits = |(name, _): (&[u8], u64)| is_wanted(name) && rights.may_read(name);
            if found.links().any(fits) {
                each(found.line.id);
            }
            match Instant::now() >= until {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        next.map_err(fault(self.shared))
    }
}

fn numbered((number, position): (u64, Position)) -> (u64, ArticlePosition) {
    (number, ArticlePosition(position.0))
}

/// Rows, sent from the map they lie in.
#[derive(Debug)]
struct SharedRows(Run);

impl SharedBytes for SharedRows {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn file(&self) -> Option<(BorrowedFd<'_>, u64)> {
        None
    }

    fn is_valid(&self) -> bool {
        self.0.is_readable()
    }
}

/// A large article, sent from its file.
#[derive(Debug)]
struct SharedRange(Stretch);

impl SharedBytes for SharedRange {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn file(&self) -> Option<(BorrowedFd<'_>, u64)> {
        Some((self.0.as_fd(), self.0.offset))
    }

    fn is_valid(&self) -> bool {
        self.0.is_still_there()
    }
}
