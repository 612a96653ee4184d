//! [`nntp::Backend`] over the store, for one client.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use access::Grant;
use access::sasl::{Exchange, Mechanism, Step};
use article::date::LocalZone;
use groups::Active;
use groups::active::GroupId;
use layers::deflate::Deflate;
use nntp::{
    Article, ArticlePosition, AskedNumber, Backend, BackendError, ControlFile, Credentials, Found,
    IdStatus, Intake, Marks, OutBuffer, ReceivedArticle, RowsWritten, SaslStep, SharedBytes,
    TransferKind, TransferOutcome,
};
use store::{HistoryLine, Position, Snapshot};

use crate::article_batch::{BatchBuilder, ENTRY_BYTES, Poster};
use crate::client::{Client, Fetching, NO_LOGIN, TOO_MANY, TOO_MANY_FAILED};
use crate::counts::Counter;
use crate::event::Event;
use crate::mailbox::{Mailbox, Message};
use crate::reader_counts::ReaderCounts;
use crate::shared::Shared;
use crate::shared_ranges::{SharedRange, SharedRows};
use crate::waiting_posts::TOO_MANY_POSTS;
use crate::worker_pool::IsFull;

/// Largest article in wire form that is copied, bytes: 64 KiB. A larger one is sent from its file.
pub const COPIED_BYTES_MAX: usize = 64 << 10;
/// Fetches of one article from the object store for one command: others may need the local cache meanwhile.
const FETCHES_MAX: u32 = 3;
/// Longest run of overview rows that is copied, bytes: 8 KiB. A longer one is sent from the map.
const ROWS_COPIED_MAX: usize = 8 << 10;
/// Largest file that LIST shows, bytes: 16 MiB.
pub const LIST_FILE_BYTES_MAX: u64 = 16 << 20;

/// The store as one network thread reads it.
pub struct ThreadStore {
    /// Reads articles.
    pub snapshot: Snapshot,
    /// Counts of readers.
    pub readers: ReaderCounts,
    /// The record that is sent.
    record: Vec<u8>,
    dir: PathBuf,
    files: HashMap<ControlFile, CachedFile>,
}

/// A cached file that LIST shows.
struct CachedFile {
    modified: SystemTime,
    text: Arc<Vec<u8>>,
}

impl ThreadStore {
    /// A snapshot of a news directory.
    pub fn new(dir: &Path, mut snapshot: Snapshot) -> ThreadStore {
        // Other clients wait for this thread.
        snapshot.never_fetch();
        ThreadStore {
            snapshot,
            readers: ReaderCounts::default(),
            record: Vec::new(),
            dir: dir.to_owned(),
            files: HashMap::new(),
        }
    }

    /// Reads a file that LIST shows; the error names it.
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
            let why = format!("larger than {LIST_FILE_BYTES_MAX} bytes");
            return Err(std::io::Error::other(why));
        }
        let text = Arc::new(store::regular::read(path)?);
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

/// Logs a failed lookup. Clients do not get the reason: it may name files.
fn trouble<E: std::fmt::Display>(shared: &Shared) -> impl FnOnce(E) -> BackendError {
    |error| {
        let why = &error.to_string();
        shared.sink.log(&Event::LookupFailed { why });
        BackendError::Failed
    }
}

/// Logs a failed lookup in the store; each damage once.
fn fault(shared: &Shared) -> impl FnOnce(store::Error) -> BackendError {
    |error| {
        let place = match &error {
            store::Error::Damaged { path, offset, .. } => Some((path, *offset)),
            store::Error::LostObject { path, .. } => Some((path, 0)),
            _ => None,
        };
        if let Some((path, offset)) = place {
            if !shared.note_damage(path, offset) {
                return BackendError::Failed;
            }
            shared.counts.damaged.increment();
        }
        trouble(shared)(error)
    }
}

/// Logs that the object store does not answer, and that it does again; returns whether an article could not be fetched.
pub(crate) fn note_fetch(shared: &Shared, result: Result<(), store::Error>) -> bool {
    let is_down = matches!(result, Err(store::Error::ObjectStore { .. }));
    let was_down = shared.is_object_store_down.swap(is_down, Ordering::Relaxed);
    match result {
        Err(error) if is_down => {
            if !was_down {
                let why = &error.to_string();
                shared.sink.log(&Event::ObjectStore { why: Some(why) });
            }
            true
        }
        result => {
            if was_down {
                shared.sink.log(&Event::ObjectStore { why: None });
            }
            match result {
                // The session finds that it is gone.
                Ok(()) | Err(store::Error::NoArticle(_)) => false,
                Err(error) => {
                    let _ = fault(shared)(error);
                    true
                }
            }
        }
    }
}

/// Lets a thread fetch an article from the object store, unless that failed a moment ago.
fn fetch(
    (shared, mailbox): (&Shared, &Arc<Mailbox>),
    snapshot: &Snapshot,
    client: &mut Client,
    position: Position,
) -> BackendError {
    let fetches = match client.fetch {
        Fetching::Running { .. } => return BackendError::Pending,
        Fetching::Done {
            position: known,
            has_failed,
            fetches,
        } if known == position => {
            if has_failed || fetches >= FETCHES_MAX {
                client.fetch = Fetching::Nothing;
                return BackendError::Failed;
            }
            fetches
        }
        _ => 0,
    };
    let fetch = match snapshot.fetch_later(position) {
        Ok(fetch) => fetch,
        Err(error) => return fault(shared)(error),
    };
    let token = client.token;
    let displaced = mailbox.clone();
    let displaced = move || displaced.put(Message::FetchDisplaced(token, position));
    let mailbox = mailbox.clone();
    let job = move || mailbox.put(Message::FetchDone(token, position, fetch.run()));
    let address = client.address;
    let address = address.map(|address| access::counted(address.ip()));
    let queued = shared
        .fetchers
        .run(address, Box::new(job), Box::new(displaced));
    match queued {
        Ok(()) => {
            client.fetch = Fetching::Running { position, fetches };
            BackendError::Pending
        }
        // Too many wait already.
        Err(_) => BackendError::Failed,
    }
}

/// Everything a session can reach while it processes input.
pub struct SessionContext<'a> {
    /// The store.
    pub store: &'a mut ThreadStore,
    /// The client.
    pub client: &'a mut Client,
    /// Collects received articles.
    pub batch_builder: &'a mut BatchBuilder,
    /// The session's input.
    pub input: &'a [u8],
    /// State shared by all threads.
    pub shared: &'a Shared,
    /// Receives the results of slow jobs.
    pub mailbox: &'a Arc<Mailbox>,
    /// Seconds since 1970.
    pub now: i64,
    /// Milliseconds of the monotonic clock.
    pub ticks: u64,
    /// End of the time slice.
    pub until: Instant,
}

impl SessionContext<'_> {
    /// Whether an article of so many bytes in native form exceeds the client's size limit. The writer checks the other permissions, on the
    /// article as it is filed.
    fn is_too_large(&self, bytes: usize) -> bool {
        let most = self.client.rights.limits().size_max;
        most.is_some_and(|most| bytes as u64 > most)
    }

    /// Counts and logs an article above a size limit.
    fn note_too_large(&mut self, id: &[u8]) {
        self.client.tally.add(Counter::Size, 1);
        self.shared.sink.log(&Event::TooLarge {
            address: self.client.address,
            entry: self.client.rights.name(),
            id,
        });
    }

    /// Ends the reservation of a message-id.
    fn release(&self, id: &[u8]) {
        if let Ok(hash) = self.store.snapshot.hash(id) {
            self.shared.reservations.release(hash, self.client.token);
        }
    }

    /// The permissions that the writer checks; `None` if everything is accepted.
    fn grant(&self, kind: TransferKind) -> Option<Grant> {
        let rights = &self.client.rights;
        match kind {
            TransferKind::Post => Some(Grant::Post(rights.clone())),
            TransferKind::TakeThis | TransferKind::Ihave => {
                (!rights.takes_all()).then(|| Grant::Send(rights.clone()))
            }
        }
    }

    /// Time to wait for a client above its limit of posts a minute.
    fn is_flood(&self) -> Option<Duration> {
        let per_minute = self.client.rights.limits().posts_per_minute_max?;
        let who = match (&self.client.user, self.client.address) {
            (Some(user), _) => access::Poster::User(user),
            (None, Some(address)) => access::Poster::Address(address.ip()),
            // A session on a pipe, which counts for itself.
            (None, None) => access::Poster::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)),
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
                        if self.client.log_in(Some(user), self.shared) {
                            SaslStep::Accepted(self.client.permissions(), data)
                        } else {
                            SaslStep::Failed(TOO_MANY)
                        }
                    }
                    access::Outcome::Failed(why) => {
                        self.client.login_failed(self.shared, &why);
                        SaslStep::Failed(NO_LOGIN)
                    }
                    access::Outcome::Malformed(what) => SaslStep::Malformed(what),
                    access::Outcome::Refused(why) => {
                        self.client.login_refused(self.shared, &why);
                        SaslStep::Refused
                    }
                }
            }
        }
    }

    fn wait(&mut self, slow: access::PasswordCheck) -> SaslStep {
        let (mailbox, token) = (self.mailbox.clone(), self.client.token);
        let address = self
            .client
            .address
            .map(|address| access::counted(address.ip()));
        let displaced = mailbox.clone();
        let job = move || mailbox.put(Message::LoginDone(token, slow.run()));
        let displaced = move || {
            let why = access::Outcome::Failed(IsFull.to_string());
            displaced.put(Message::LoginDone(token, why));
        };
        let workers = &self.shared.workers;
        match workers.run(address, Box::new(job), Box::new(displaced)) {
            Ok(()) => SaslStep::Pending,
            // RFC 4643, 2.3.2: not 481, after which clients ask for another password.
            Err(full) => {
                self.client.login_failed(self.shared, &full.to_string());
                SaslStep::Failed("Too many logins; try again later")
            }
        }
    }
}

impl Backend for SessionContext<'_> {
    fn now(&self) -> i64 {
        self.now
    }

    fn zone(&self) -> &dyn LocalZone {
        self.shared.config().zone
    }

    fn may_compress(&self) -> bool {
        Deflate::has_room()
    }

    fn is_time_slice_over(&mut self) -> bool {
        Instant::now() >= self.until
    }

    fn intake(&self) -> Intake {
        let intake = self.shared.sink.intake();
        if intake != Intake::Open {
            self.client.peer.add(Counter::Deferred, 1);
        }
        intake
    }

    fn post_intake(&self) -> Intake {
        match self.intake() {
            Intake::Open if !self.shared.posts.has_room(&self.client.owner()) => {
                self.client.peer.add(Counter::Deferred, 1);
                Intake::Closed(format!("{TOO_MANY_POSTS}; try again later").into())
            }
            intake => intake,
        }
    }

    fn id_status(&mut self, id: &[u8]) -> Result<IdStatus, BackendError> {
        let snapshot = &self.store.snapshot;
        let hash = snapshot.hash(id).map_err(fault(self.shared))?;
        self.client.offered = Some(hash);
        let is_known = snapshot.has_hashed(id, hash);
        if is_known.map_err(fault(self.shared))? {
            self.client.tally.add(Counter::Offered, 1);
            self.client.tally.add(Counter::Duplicates, 1);
            return Ok(IdStatus::Known);
        }
        let reservations = &self.shared.reservations;
        let seconds = (self.ticks / 1000).cast_signed();
        let (seen, was_reserved) = reservations.reserve(hash, self.client.token, seconds);
        self.client
            .tally
            .add(Counter::Offered, u64::from(!was_reserved));
        match seen {
            IdStatus::Unknown => self.client.has_reservations = true,
            IdStatus::Known => self.client.tally.add(Counter::Duplicates, 1),
            IdStatus::InTransfer => self.client.tally.add(Counter::Deferred, 1),
        }
        Ok(seen)
    }

    fn receive(&mut self, handed: ReceivedArticle<'_>) -> Option<TransferOutcome> {
        let bytes = self.input.get(handed.article.clone()).unwrap_or_default();
        if self.is_too_large(handed.facts.counts.native_length(bytes.len())) {
            self.note_too_large(handed.id);
            if handed.kind != TransferKind::Post {
                self.release(handed.id);
            }
            return Some(TransferOutcome::Refused(
                b"Article exceeds your size limit".to_vec(),
            ));
        }
        let is_post = handed.kind == TransferKind::Post;
        let size = bytes.len() + ENTRY_BYTES;
        let mut waiting = None;
        if is_post {
            waiting = self.shared.posts.add(self.client.owner(), size);
            if waiting.is_none() {
                self.client.tally.add(Counter::Deferred, 1);
                return Some(TransferOutcome::Deferred(TOO_MANY_POSTS.into()));
            }
        }
        if is_post && let Some(wait) = self.is_flood() {
            let why = match wait.as_secs() {
                0 => "Too many posts; try again in a second".to_owned(),
                more => format!("Too many posts; try again in {} seconds", more + 1),
            };
            self.client.tally.add(Counter::Flood, 1);
            return Some(TransferOutcome::Refused(why.into_bytes()));
        }
        // Its message-id was the last one that the client offered.
        let offered = self.client.offered;
        let offered = offered.filter(|_| !is_post);
        if let Some(hash) = offered {
            if let Some(pace) = &mut self.client.sending {
                let wait = pace.take(1, Instant::now());
                self.client.suspend(wait, self.ticks);
            }
            self.shared.reservations.received(hash, self.client.token);
        }
        let poster = waiting.map(|waiting| {
            let poster = Poster {
                user: self.client.user.clone().unwrap_or_default(),
                host: self.client.host(),
                is_secure: self.client.is_secure,
            };
            (Box::new(poster), waiting)
        });
        self.client.in_flight.0 += 1;
        self.client.in_flight.1 += size;
        let what = (handed.kind, self.client.token);
        let grant = self.grant(handed.kind);
        self.batch_builder.add(
            what,
            (handed.id, offered),
            (handed.article, handed.facts),
            poster,
            grant,
        );
        None
    }

    fn article_rejected(&mut self, id: &[u8]) {
        self.note_too_large(id);
        self.release(id);
    }

    fn article_deferred(&mut self, id: &[u8]) {
        self.client.tally.add(Counter::Deferred, 1);
        self.release(id);
    }

    fn mechanisms(&self) -> Vec<&'static str> {
        let mechanisms = self.shared.access().mechanisms(&self.client.identity());
        mechanisms.into_iter().map(Mechanism::name).collect()
    }

    fn log_in(&mut self, credentials: Credentials<'_>) -> SaslStep {
        let access = self.shared.access();
        if !matches!(credentials, Credentials::Cancelled)
            && self.client.has_to_wait_for_login(self.shared)
        {
            self.client.exchange = None;
            self.client.login_failed(self.shared, TOO_MANY_FAILED);
            return SaslStep::Failed(TOO_MANY_FAILED);
        }
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
        self.store.snapshot.active_shared()
    }

    fn marks(&mut self, group: GroupId) -> Result<Marks, BackendError> {
        let (low, high) = self.store.snapshot.marks(group);
        Ok(Marks { low, high })
    }

    fn count(&mut self, group: GroupId) -> Result<u64, BackendError> {
        let snapshot = &self.store.snapshot;
        let count = snapshot.count(group).map_err(fault(self.shared))?;
        if let Some(damage) = snapshot.take_damage() {
            // The other articles are counted, and served.
            let _ = fault(self.shared)(damage);
        }
        Ok(count)
    }

    fn may_read(&mut self, group: &[u8]) -> bool {
        self.client.rights.may_read(group)
    }

    fn may_list(&mut self, group: &[u8]) -> bool {
        let rights = &self.client.rights;
        rights.may_read(group) || !rights.is_reader() && rights.may_send(group)
    }

    fn group_asked(&mut self, group: &[u8]) {
        self.store.readers.groups.add(group, [1]);
        self.shared.sink.group_asked(group, self.now);
    }

    fn file(&mut self, file: ControlFile) -> Result<Option<Arc<Vec<u8>>>, BackendError> {
        self.store.file(file).map_err(trouble(self.shared))
    }

    fn position(
        &mut self,
        group: &[u8],
        number: u64,
    ) -> Result<Option<ArticlePosition>, BackendError> {
        let found = self.store.snapshot.position(group, number);
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
        let found = self.store.snapshot.next(group, after, high);
        Ok(found.map_err(fault(self.shared))?.map(numbered))
    }

    fn previous(
        &mut self,
        group: &[u8],
        before: u64,
        low: u64,
    ) -> Result<Option<(u64, ArticlePosition)>, BackendError> {
        let found = self.store.snapshot.previous(group, before, low);
        Ok(found.map_err(fault(self.shared))?.map(numbered))
    }

    fn find(&mut self, id: &[u8]) -> Result<Option<Found>, BackendError> {
        let rights = &self.client.rights;
        let snapshot = &self.store.snapshot;
        let found = snapshot.find(id).map_err(fault(self.shared))?;
        let active = snapshot.active();
        Ok(found.map(|found| {
            let mut is_any = false;
            let mut are_all = found.links().next().is_some();
            for (name, _) in found.links() {
                let is_open = rights.may_read(name);
                // A group that was removed opens no article of another one.
                is_any |= is_open && active.find(name).is_some();
                are_all &= is_open;
            }
            Found {
                position: ArticlePosition(found.position.0),
                may_be_read: is_any || are_all,
            }
        }))
    }

    fn is_fetching(&self) -> bool {
        matches!(self.client.fetch, Fetching::Running { .. })
    }

    fn sent(&mut self) {
        self.client.tally.add(Counter::Sent, 1);
    }

    fn message_id(
        &mut self,
        position: ArticlePosition,
        asked: AskedNumber<'_>,
        id: &mut Vec<u8>,
    ) -> Result<bool, BackendError> {
        id.clear();
        let ThreadStore {
            snapshot, record, ..
        } = &mut *self.store;
        match snapshot.line_at(Position(position.0), record) {
            Ok(line) => {
                if let (Some(asked), Some(_)) = (asked, line) {
                    let checked = snapshot.check_number(asked, line, Position(position.0));
                    checked.map_err(fault(self.shared))?;
                }
                id.extend_from_slice(line.as_ref().map_or(b"", |line| line.id));
                Ok(line.is_some())
            }
            // The history line is lost here; the record has it.
            Err(store::Error::Offloaded(_)) => {
                let article = self.article(position, asked)?;
                id.extend_from_slice(article.as_ref().map_or(b"", |article| article.id));
                Ok(article.is_some())
            }
            Err(error) => Err(fault(self.shared)(error)),
        }
    }

    fn article(
        &mut self,
        position: ArticlePosition,
        asked: AskedNumber<'_>,
    ) -> Result<Option<Article<'_>>, BackendError> {
        let position = Position(position.0);
        let ThreadStore {
            snapshot, record, ..
        } = &mut *self.store;
        let found = match snapshot.record(position, record) {
            Err(store::Error::Offloaded(_)) => {
                let thread = (self.shared, self.mailbox);
                return Err(fetch(thread, snapshot, self.client, position));
            }
            found => found,
        };
        self.client.fetch = Fetching::Nothing;
        let Some(record) = found.map_err(fault(self.shared))? else {
            return Ok(None);
        };
        let wire = record.wire();
        let shared = match wire.len() > COPIED_BYTES_MAX {
            false => None,
            // A shared range needs a descriptor; without a free one the article is copied.
            true => snapshot.stretch(position).ok().flatten().map(|stretch| {
                let shared: Arc<dyn SharedBytes> = Arc::new(SharedRange(stretch));
                shared
            }),
        };
        let header = wire
            .get(..record.head.wire_header_length as usize)
            .unwrap_or_default();
        // Where nothing follows the header, the empty line may be missing.
        let header = match header.strip_suffix(b"\r\n") {
            Some(lines) if lines.is_empty() || lines.ends_with(b"\r\n") => lines,
            _ => header,
        };
        let line = HistoryLine::parse(record.line());
        if let Some(asked) = asked {
            let checked = snapshot.check_number(asked, line, position);
            checked.map_err(fault(self.shared))?;
        }
        let id = line.map_or(&b""[..], |line| line.id);
        let is_header_only = record.head.header_only;
        Ok(Some(Article {
            id,
            is_header_only,
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
        let snapshot = &mut self.store.snapshot;
        snapshot
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
        let snapshot = &mut self.store.snapshot;
        let mut is_readable = true;
        let read = snapshot.rows(group, (from, high), bytes_max, |run| {
            any = true;
            if run.bytes().len() <= ROWS_COPIED_MAX {
                out.push(run.bytes());
                is_readable &= run.is_readable();
            } else {
                let range = 0..run.bytes().len();
                out.push_shared(Arc::new(SharedRows(run)), range);
            }
        });
        let read = read.map_err(fault(self.shared))?;
        if let Some(damage) = read.damage {
            // The other rows are sent.
            let _ = fault(self.shared)(damage);
        }
        if is_readable {
            Ok(RowsWritten {
                any,
                next: read.next,
            })
        } else {
            Err(BackendError::Failed)
        }
    }

    fn row(&mut self, id: &[u8], row: &mut Vec<u8>) -> Result<bool, BackendError> {
        self.store
            .snapshot
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
        let snapshot = &self.store.snapshot;
        let until = self.until;
        let active = snapshot.active();
        let next = snapshot.filed_since(since, cursor, limit, |found| {
            let fits = |(name, _): (&[u8], u64)| {
                is_wanted(name) && rights.may_read(name) && active.find(name).is_some()
            };
            if found.links().any(fits) {
                each(found.line.id);
            }
            if Instant::now() >= until {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        next.map_err(fault(self.shared))
    }
}

fn numbered((number, position): (u64, Position)) -> (u64, ArticlePosition) {
    (number, ArticlePosition(position.0))
}
