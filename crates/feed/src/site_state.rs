//! One site's directory, `feeds/SITE/`: its cursor, what is deferred, whether it is paused; and the lock of who serves it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use store::{Lock, Position, Reader};

use crate::cursor::{Cursor, CursorFile};
use crate::deferred::{self, Deferred};
use crate::error::Error;

/// Where the directories of sites lie, in the news directory.
pub const FEEDS: &str = "feeds";
/// A file of this name in the site's directory stops the feed; its first line says why. Made by hand or by `feed pause`.
pub const PAUSED: &str = "paused";
/// The lock of who serves the site.
const LOCK: &str = "lock";
/// How long a lock is asked for that seems to be held.
const FORK_PATIENCE: Duration = Duration::from_millis(100);
/// Longest name of a site, bytes: that of a file.
pub const SITE_NAME_BYTES_MAX: usize = 255;

/// What is known of a site without serving it.
#[derive(Debug, Clone)]
pub struct SiteSummary {
    /// How far it is.
    pub cursor: Cursor,
    /// What is to be offered again.
    pub deferred: Vec<Deferred>,
    /// Why it is paused, if it is.
    pub paused: Option<String>,
}

/// One site, served by this program alone for as long as this lives.
#[derive(Debug)]
pub struct SiteState {
    site: Vec<u8>,
    dir: PathBuf,
    file: CursorFile,
    cursor: Cursor,
    deferred: Vec<Deferred>,
    _lock: Lock,
}

/// What came of serving a site for a while.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The last article passed and the stamp of its record.
    pub last: Option<(Position, u64)>,
    /// Articles that the site has now.
    pub sent: u64,
    /// Their bytes, native form.
    pub sent_bytes: u64,
    /// Articles that were gone.
    pub skipped: u64,
    /// The time now, epoch seconds.
    pub now: i64,
}

/// The directory of a site.
///
/// # Errors
/// [`Error::Name`]: no file can have this name.
pub fn directory(news: &Path, site: &[u8]) -> Result<PathBuf, Error> {
    let is_plain = !matches!(site, b"" | b"." | b"..")
        && site.len() <= SITE_NAME_BYTES_MAX
        && !site
            .iter()
            .any(|&byte| byte == b'/' || byte.is_ascii_control());
    match is_plain {
        true => Ok(news.join(FEEDS).join(OsStr::from_bytes(site))),
        false => Err(Error::Name(shown(site))),
    }
}

/// A site's name for people.
pub fn shown(site: &[u8]) -> String {
    String::from_utf8_lossy(site).into_owned()
}

/// What is known of a site. `None`: it has no feed.
///
/// # Errors
/// Its files cannot be read, or are damaged.
pub fn look(news: &Path, site: &[u8]) -> Result<Option<SiteSummary>, Error> {
    let dir = directory(news, site)?;
    let Some(cursor) = CursorFile::read(&dir)? else {
        return Ok(None);
    };
    Ok(Some(SiteSummary {
        cursor,
        deferred: deferred::read(&dir)?,
        paused: paused(news, site)?,
    }))
}

/// True when somebody serves a site now. Its lock is shared for a moment; who takes it then waits for that.
///
/// # Errors
/// [`Error::Name`].
pub fn is_busy(news: &Path, site: &[u8]) -> Result<bool, Error> {
    let path = directory(news, site)?.join(LOCK);
    let shared =
        std::fs::File::open(path).map(|file| flock(&file, FlockOperation::NonBlockingLockShared));
    Ok(matches!(shared, Ok(Err(Errno::WOULDBLOCK))))
}

/// Why a site is paused, if it is.
///
/// # Errors
/// The file cannot be read.
pub fn paused(news: &Path, site: &[u8]) -> Result<Option<String>, Error> {
    let path = directory(news, site)?.join(PAUSED);
    match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => {
            let text = read.map_err(Error::io("read", &path))?;
            let line = text.split(|&byte| byte == b'\n').next();
            Ok(Some(shown(line.unwrap_or_default())))
        }
    }
}

/// Stops a feed, also one that is being served, until [`resume`].
///
/// # Errors
/// [`Error::Unknown`], or the disk's.
pub fn pause(news: &Path, site: &[u8], why: &str) -> Result<(), Error> {
    let dir = known(news, site)?;
    let path = dir.join(PAUSED);
    std::fs::write(&path, format!("{}\n", why.replace('\n', " ")))
        .map_err(Error::io("write", &path))
}

/// Lets a feed go on. False: it was not paused.
///
/// # Errors
/// [`Error::Unknown`], or the disk's.
pub fn resume(news: &Path, site: &[u8]) -> Result<bool, Error> {
    let path = known(news, site)?.join(PAUSED);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true).map_err(Error::io("remove", &path)),
    }
}

/// A program that another thread is starting has the lock for a moment too, between fork and exec, though it was given back here; and
/// who only looks ([`is_busy`]) has it for a moment.
fn take_lock(dir: &Path) -> Result<Lock, store::Error> {
    let began = Instant::now();
    loop {
        match Lock::take_named(dir, LOCK, false) {
            Err(store::Error::Locked(_)) if began.elapsed() < FORK_PATIENCE => {
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
        false => Err(Error::Unknown(shown(site))),
    }
}

impl SiteState {
    /// Takes a site to serve it. `reader` is refreshed, so that it sees at least as far as whoever served the site before.
    ///
    /// Where the log lost its end since (a power cut with `sync = "none"`), the cursor goes back to the start of that segment:
    /// what is sent twice is refused as duplicate.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Unknown`], [`Error::Cursor`], or the store's.
    pub fn take(news: &Path, site: &[u8], reader: &mut Reader) -> Result<SiteState, Error> {
        let mut place = SiteState::take_only(news, site)?;
        reader.refresh(news)?;
        if place.has_lost_its_end(reader) {
            let base = match place.cursor.last {
                Some((last, _)) => reader.base_of(last),
                None => reader.oldest(),
            };
            place.move_to(base)?;
        }
        Ok(place)
    }

    /// As [`SiteState::take`], for who knows better where the cursor should be.
    ///
    /// # Errors
    /// As [`SiteState::take`].
    pub fn take_only(news: &Path, site: &[u8]) -> Result<SiteState, Error> {
        let dir = known(news, site)?;
        let lock = take_lock(&dir).map_err(|error| match error {
            store::Error::Locked(_) => Error::Busy(shown(site)),
            error => Error::Store(error),
        })?;
        let (file, cursor) =
            CursorFile::open(&dir, true)?.ok_or_else(|| Error::Unknown(shown(site)))?;
        Ok(SiteState {
            deferred: deferred::read(&dir)?,
            site: site.to_vec(),
            dir,
            file,
            cursor,
            _lock: lock,
        })
    }

    fn has_lost_its_end(&self, reader: &Reader) -> bool {
        if self.cursor.position > reader.end() {
            return true;
        }
        self.cursor.last.is_some_and(|(last, commit_sequence)| {
            match reader.lender().record(last) {
                Ok(record) => record.head.commit_sequence != commit_sequence,
                // What was filed since lies across that place; or it is damaged, and then some go out twice.
                Err(store::Error::Damaged { .. }) => true,
                // Gone: it was there, so the log goes on behind it.
                Err(_) => false,
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

    /// How far it is.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// What is to be offered again.
    pub fn deferred(&self) -> &[Deferred] {
        &self.deferred
    }

    /// True when somebody paused the feed.
    pub fn is_paused(&self) -> bool {
        self.dir.join(PAUSED).exists()
    }

    /// Passes the articles before `next`: the transport said yes. `durable`: a power cut cannot bring the cursor back either; without,
    /// it may, and some go out twice.
    ///
    /// # Errors
    /// The disk's. The articles may then go out twice.
    pub fn pass(&mut self, next: Position, progress: Progress, durable: bool) -> Result<(), Error> {
        let mut cursor = self.cursor;
        cursor.position = next.max(cursor.position);
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

    /// Puts the cursor somewhere else, durably.
    ///
    /// # Errors
    /// The disk's.
    pub fn move_to(&mut self, position: Position) -> Result<(), Error> {
        let cursor = Cursor {
            position,
            last: None,
            ..self.cursor
        };
        self.write(cursor, true)
    }

    fn write(&mut self, cursor: Cursor, durable: bool) -> Result<(), Error> {
        let path = self.dir.join(crate::cursor::FILE);
        self.file
            .write(cursor, durable)
            .map_err(Error::io("write", &path))?;
        self.cursor = cursor;
        Ok(())
    }

    /// Sets the list of what is to be offered again, durably. Write it before the cursor passes those articles.
    ///
    /// # Errors
    /// The disk's, or [`Error::TooManyDeferred`].
    pub fn set_deferred(&mut self, list: Vec<Deferred>) -> Result<(), Error> {
        deferred::write(&self.dir, &shown(&self.site), &list)?;
        self.deferred = list;
        Ok(())
    }
}
