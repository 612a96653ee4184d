//! The directory of a site, `feeds/SITE/`: cursor, deferred articles, pause, and the lock of the program that serves it.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use groups::shown;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use store::disk::RealDisk;
use store::{Lock, Position, Snapshot};

use crate::answers::{self, AnswerFile, AnswerNotes};
use crate::cursor::{self, Cursor, CursorFile};
use crate::deferred::{self, Deferred};
use crate::enrolment;
use crate::error::Error;
use crate::ihave::REQUEST_POSITION;
use crate::site_directory::{FEEDS, directory};

/// The file that pauses a feed, made by hand or by `feed pause`; its first line is the reason.
pub const PAUSED: &str = "paused";
/// The file with the reason why the feed could not be served.
const FAILING: &str = "failing";
/// The file with the beginning of the outage about which the administrator got a mail.
const MAILED: &str = "failing.mailed";
/// The lock file of the program that serves the site.
const LOCK: &str = "lock";
/// How long to retry a busy lock: a process that another thread starts holds it between fork and exec, and [`is_busy`] holds it for a
/// moment.
const FORK_PATIENCE: Duration = Duration::from_millis(100);

/// The state of a site, read without its lock.
#[derive(Debug, Clone)]
pub struct SiteSummary {
    /// Its cursor.
    pub cursor: Cursor,
    /// Its deferred articles.
    pub deferred: Vec<Deferred>,
    /// The reason of the pause, if it is paused.
    pub paused: Option<String>,
    /// Why it could not be served when that was last tried; `None` if it could.
    pub failure: Option<FeedFailure>,
}

/// Why a feed cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedFailure {
    /// Time of the first failure since it could be served, seconds since 1970.
    pub since: i64,
    /// The reason.
    pub why: String,
}

impl SiteSummary {
    /// Whether nothing of it lies beyond the end of the log.
    pub fn is_within(&self, end: Position) -> bool {
        self.cursor.within(end) == self.cursor
            && self.deferred.iter().all(|article| article.position < end)
    }
}

/// A site that this program serves exclusively while the value lives.
#[derive(Debug)]
pub struct SiteState {
    site: Vec<u8>,
    dir: PathBuf,
    file: CursorFile,
    cursor: Cursor,
    deferred: Vec<Deferred>,
    answers: Option<AnswerFile>,
    _lock: Lock,
}

/// The result of serving a site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The last article passed, and the commit sequence number of its record.
    pub last: Option<(Position, u64)>,
    /// Number of delivered articles.
    pub sent: u64,
    /// Their size in native form, bytes.
    pub sent_bytes: u64,
    /// Number of articles that had expired or were cancelled.
    pub skipped: u64,
    /// The current time, seconds since 1970.
    pub now: i64,
}

/// Reads the state of a site; `None` if it has no feed.
///
/// # Errors
/// The files cannot be read, or are damaged.
pub fn look(news: &Path, site: &[u8]) -> Result<Option<SiteSummary>, Error> {
    let dir = directory(news, site)?;
    let Some(cursor) = CursorFile::read(&dir)? else {
        return Ok(None);
    };
    Ok(Some(SiteSummary {
        cursor,
        deferred: deferred::read(&dir)?,
        paused: paused(news, site)?,
        failure: read_failure(&dir),
    }))
}

/// The position from which records name a site. Those filed while it was not enrolled do not, whatever an earlier enrolment wrote: the
/// enrolment that follows writes a new one.
fn selected_now(news: &Path, site: &[u8], dir: &Path) -> Result<Position, Error> {
    Ok(if enrolment::is_enrolled(news, site)? {
        cursor::selected_from(dir)
    } else {
        cursor::NOWHERE
    })
}

/// Reads why a feed could not be served; an unreadable file counts as none.
pub fn failure(news: &Path, site: &[u8]) -> Option<FeedFailure> {
    read_failure(&directory(news, site).ok()?)
}

/// Whether any feed could not be served, also one that is no longer a site.
pub fn any_failure(news: &Path) -> bool {
    let feeds = std::fs::read_dir(news.join(FEEDS)).into_iter().flatten();
    let mut feeds = feeds.flatten();
    feeds.any(|feed| feed.path().join(FAILING).exists())
}

/// Whether the administrator got a mail about this outage.
pub fn is_mailed(news: &Path, site: &[u8], failure: &FeedFailure) -> bool {
    let read = |dir: PathBuf| store::regular::read_to_string(&dir.join(MAILED));
    let mailed = directory(news, site).ok().and_then(|dir| read(dir).ok());
    mailed.is_some_and(|since| since.trim_end().parse() == Ok(failure.since))
}

/// Notes that the administrator got a mail about an outage.
///
/// # Errors
/// [`Error::Name`], or the disk's.
pub fn note_mailed(news: &Path, site: &[u8], failure: &FeedFailure) -> Result<(), Error> {
    let path = directory(news, site)?.join(MAILED);
    write_note(&path, &format!("{}\n", failure.since)).map_err(Error::io("write", &path))
}

fn read_failure(dir: &Path) -> Option<FeedFailure> {
    let text = store::regular::read(&dir.join(FAILING)).ok()?;
    let text = shown(text.trim_ascii_end());
    let (since, why) = text.split_once(' ')?;
    Some(FeedFailure {
        since: since.parse().ok()?,
        why: why.to_owned(),
    })
}

/// Notes why a feed could not be served, or that it could. The time of the first failure stays. The note may be lost.
pub fn note_failure(news: &Path, site: &[u8], why: Option<&str>, now: i64) {
    let Ok(dir) = directory(news, site) else {
        return;
    };
    let path = dir.join(FAILING);
    let known = read_failure(&dir);
    let _ = match why {
        None if known.is_none() => Ok(()),
        None => std::fs::remove_file(path),
        Some(why) => {
            let why = why.replace('\n', " ");
            match known {
                Some(known) if known.why == why => Ok(()),
                known => {
                    let since = known.map_or(now, |known| known.since);
                    write_note(&path, &format!("{since} {why}\n"))
                }
            }
        }
    };
}

fn write_note(path: &Path, line: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true);
    store::regular::open_with(path, options)?.write_all(line.as_bytes())
}

/// Whether a program serves the site now. It takes a shared lock for a moment.
///
/// # Errors
/// [`Error::Name`].
pub fn is_busy(news: &Path, site: &[u8]) -> Result<bool, Error> {
    let path = directory(news, site)?.join(LOCK);
    let shared =
        store::regular::open(&path).map(|file| flock(&file, FlockOperation::NonBlockingLockShared));
    Ok(matches!(shared, Ok(Err(Errno::WOULDBLOCK))))
}

/// Reads the reason of the pause; `None` if the site is not paused.
///
/// # Errors
/// The file cannot be read.
pub fn paused(news: &Path, site: &[u8]) -> Result<Option<String>, Error> {
    let path = directory(news, site)?.join(PAUSED);
    match store::regular::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => {
            let text = read.map_err(Error::io("read", &path))?;
            let line = text.split(|&byte| byte == b'\n').next();
            Ok(Some(shown(line.unwrap_or_default())))
        }
    }
}

/// Pauses a feed, also while it is served and after a power cut, until [`resume`].
///
/// # Errors
/// [`Error::Unknown`], [`Error::NoCursor`], or an I/O error.
pub fn pause(news: &Path, site: &[u8], why: &str) -> Result<(), Error> {
    let dir = known(news, site)?;
    let path = dir.join(PAUSED);
    let line = format!("{}\n", why.replace('\n', " "));
    store::replace(&RealDisk, &path, |file| file.write_at(line.as_bytes(), 0))?;
    Ok(())
}

/// Resumes a feed. Returns false if it was not paused.
///
/// # Errors
/// [`Error::Unknown`], [`Error::NoCursor`], or an I/O error.
pub fn resume(news: &Path, site: &[u8]) -> Result<bool, Error> {
    let path = known(news, site)?.join(PAUSED);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        removed => {
            removed.map_err(Error::io("remove", &path))?;
            store::sync_parent(&RealDisk, &path)?;
            Ok(true)
        }
    }
}

/// Takes the lock, with retries for so long.
fn take_lock(dir: &Path, patience: Duration) -> Result<Lock, store::Error> {
    let began = Instant::now();
    loop {
        match Lock::take_named(dir, LOCK, false) {
            Err(store::Error::Locked(_)) if began.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(1));
            }
            taken => return taken,
        }
    }
}

fn known(news: &Path, site: &[u8]) -> Result<PathBuf, Error> {
    let dir = directory(news, site)?;
    match dir.is_dir() {
        true => Ok(dir),
        false if enrolment::is_enrolled(news, site)? => Err(Error::NoCursor(shown(site))),
        false => Err(Error::Unknown(shown(site))),
    }
}

impl SiteState {
    /// Locks a site to serve it. `snapshot` catches up, so that it sees at least as far as the program that served the site before.
    ///
    /// If the log lost its end (a power cut with `sync = "none"`), the cursor returns to the start of that segment: the site refuses
    /// articles sent twice as duplicates.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Unknown`], [`Error::NoCursor`], [`Error::Cursor`], or the store's.
    pub fn take(news: &Path, site: &[u8], snapshot: &mut Snapshot) -> Result<SiteState, Error> {
        SiteState::take_only(news, site)?.check(news, snapshot)
    }

    /// As [`SiteState::take`], without retries: a thread that has other work tries again later.
    ///
    /// # Errors
    /// As [`SiteState::take`].
    pub fn try_take(news: &Path, site: &[u8], snapshot: &mut Snapshot) -> Result<SiteState, Error> {
        SiteState::take_within(news, site, Duration::ZERO)?.check(news, snapshot)
    }

    /// Moves the cursor back if the log lost its end, and looks whether records name the site.
    fn check(mut self, news: &Path, snapshot: &mut Snapshot) -> Result<SiteState, Error> {
        let place = &mut self;
        snapshot.catch_up()?;
        place.cursor.selected_from = selected_now(news, &place.site, &place.dir)?;
        if place.has_lost_its_end(snapshot) {
            let base = match place.cursor.last {
                Some((last, _)) => snapshot.base_of(last),
                None => snapshot.oldest(),
            };
            answers::forget(&place.dir);
            // The last article may be one that was delivered ahead of a backlog.
            place.move_to(base.min(place.cursor.position))?;
        }
        Ok(self)
    }

    /// Moves what lies beyond the end of the log back to it: the log lost its end, and what is filed there now is something else. Returns
    /// whether anything did. The caller holds the lock of the news system.
    ///
    /// # Errors
    /// An I/O error.
    pub fn keep_within(&mut self, end: Position) -> Result<bool, Error> {
        let cursor = self.cursor.within(end);
        let is_within = |article: &Deferred| article.position < end;
        if cursor == self.cursor && self.deferred.iter().all(is_within) {
            return Ok(false);
        }
        answers::forget(&self.dir);
        let list = self.deferred.iter().copied().filter(is_within).collect();
        self.set_deferred(list)?;
        self.write(cursor, true)?;
        Ok(true)
    }

    /// Forgets the answers of the site: the articles at their positions are others now.
    pub fn forget_answers(&self) {
        answers::forget(&self.dir);
    }

    /// As [`SiteState::take`], without a check of the cursor.
    ///
    /// # Errors
    /// As [`SiteState::take`].
    pub fn take_only(news: &Path, site: &[u8]) -> Result<SiteState, Error> {
        SiteState::take_within(news, site, FORK_PATIENCE)
    }

    fn take_within(news: &Path, site: &[u8], patience: Duration) -> Result<SiteState, Error> {
        let dir = known(news, site)?;
        let lock = take_lock(&dir, patience).map_err(|error| match error {
            store::Error::Locked(_) => Error::Busy(shown(site)),
            error => Error::Store(error),
        })?;
        let (file, cursor) =
            CursorFile::open(&dir, true)?.ok_or_else(|| Error::NoCursor(shown(site)))?;
        Ok(SiteState {
            deferred: deferred::read(&dir)?,
            site: site.to_vec(),
            dir,
            file,
            cursor,
            answers: None,
            _lock: lock,
        })
    }

    fn has_lost_its_end(&self, snapshot: &Snapshot) -> bool {
        let ahead = self.cursor.ahead.map_or(Position(0), |(_, to)| to);
        if self.cursor.position.max(ahead) > snapshot.end() {
            return true;
        }
        self.cursor.last.is_some_and(|(last, commit_sequence)| {
            match snapshot.record(last, &mut Vec::new()) {
                Ok(Some(record)) => record.head.commit_sequence != commit_sequence,
                // It was whole when it was sent, and is there.
                Err(error) if error.is_unreadable() => false,
                // Newer records overlap that position, or it is damaged; then some articles are sent twice.
                Err(store::Error::Damaged { .. }) => true,
                // The segment was removed: the log continues after it.
                Ok(None) | Err(_) => false,
            }
        })
    }

    /// The site.
    pub fn site(&self) -> &[u8] {
        &self.site
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The site's cursor.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// The deferred articles.
    pub fn deferred(&self) -> &[Deferred] {
        &self.deferred
    }

    /// Whether the feed is paused.
    pub fn is_paused(&self) -> bool {
        self.dir.join(PAUSED).exists()
    }

    /// Advances the cursor past delivered articles. Without `durable`, a power cut may reset it, and some articles are sent twice.
    ///
    /// # Errors
    /// An I/O error. The articles may then be sent twice.
    pub fn pass(&mut self, next: Position, progress: Progress, durable: bool) -> Result<(), Error> {
        let mut cursor = self.cursor;
        cursor.advance(next);
        cursor.last = progress.last.or(cursor.last);
        cursor.sent = cursor.sent.saturating_add(progress.sent);
        cursor.sent_bytes = cursor.sent_bytes.saturating_add(progress.sent_bytes);
        cursor.skipped = cursor.skipped.saturating_add(progress.skipped);
        if progress.sent > 0 {
            cursor.sent_at = u64::try_from(progress.now).unwrap_or(0);
        }
        if cursor == self.cursor {
            return Ok(());
        }
        self.write(cursor, durable)
    }

    /// Sets the cursor durably.
    ///
    /// # Errors
    /// An I/O error.
    pub fn move_to(&mut self, position: Position) -> Result<(), Error> {
        let cursor = Cursor {
            position,
            last: None,
            ahead: None,
            ..self.cursor
        };
        self.write(cursor, true)
    }

    /// Sets the cursor where the administrator says, durably, and forgets the deferred articles: the walk meets those behind the position again.
    /// Only a cursor that moves back keeps those before the position.
    ///
    /// # Errors
    /// An I/O error. Deferred articles may then be sent twice.
    pub fn reset(&mut self, position: Position) -> Result<(), Error> {
        let is_back = position < self.cursor.position;
        let kept = self.deferred.iter().copied();
        let kept = kept.filter(|article| is_back && article.position < position);
        let kept = kept.collect();
        // The cursor first: after a kill between the two, articles are sent twice, and none is skipped.
        self.move_to(position)?;
        self.set_deferred(kept)?;
        // An answer to a sendme message begins anew.
        let path = self.dir.join(REQUEST_POSITION);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &path)(error));
            }
            _ => {}
        }
        // An empty list is a removed file.
        Ok(store::sync_parent(
            &RealDisk,
            &self.dir.join(deferred::FILE),
        )?)
    }

    /// Replaces the cursor. Without `durable`, a power cut may bring an earlier one back, and some articles are sent twice.
    ///
    /// # Errors
    /// An I/O error.
    pub fn set_cursor(&mut self, cursor: Cursor, durable: bool) -> Result<(), Error> {
        self.write(cursor, durable)
    }

    /// Writes answers, without a sync: their loss costs nothing else.
    pub(crate) fn write_answers(&mut self, notes: &mut AnswerNotes, now: Instant) {
        answers::write(&self.dir, &mut self.answers, notes, now);
    }

    /// Writes the answers before the site is released.
    pub(crate) fn write_last_answers(mut self, notes: &mut AnswerNotes, now: Instant) {
        answers::write_last(&self.dir, self.answers.take(), notes, now);
    }

    fn write(&mut self, cursor: Cursor, durable: bool) -> Result<(), Error> {
        let path = self.dir.join(crate::cursor::FILE);
        self.file
            .write(cursor, durable)
            .map_err(Error::io("write", &path))?;
        self.cursor = cursor;
        Ok(())
    }

    /// Replaces the deferred articles durably. Call it before the cursor passes those articles.
    ///
    /// # Errors
    /// An I/O error, or [`Error::TooManyDeferred`].
    pub fn set_deferred(&mut self, list: Vec<Deferred>) -> Result<(), Error> {
        deferred::write(&self.dir, &shown(&self.site), &list)?;
        self.deferred = list;
        Ok(())
    }
}
