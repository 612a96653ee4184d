//! The object store of a news directory, as the store uses it.

use std::collections::HashMap;
use std::fmt::Debug;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;
use crate::offload::object_name::ObjectName;

/// Time after a failure in which the object store is not asked again: each attempt may take as long as its timeout.
const RETRY: Duration = Duration::from_secs(5);

/// An object store. Names are below the site's prefix, and have no characters but letters, digits, `/`, `-` and `.`.
pub trait Objects: Send + Sync + Debug {
    /// Stores an object of `length` bytes; it is durable when this returns. It replaces one of that name.
    ///
    /// # Errors
    /// The store does not answer or refuses, or `content` ends early.
    fn put(&self, name: &str, content: &mut dyn Read, length: u64) -> io::Result<()>;

    /// Stores an object if there is none of that name. Returns false if there is one. A store that cannot decide that replaces the object.
    ///
    /// # Errors
    /// As [`Objects::put`].
    fn put_new(&self, name: &str, content: &[u8]) -> io::Result<bool> {
        self.put(name, &mut &*content, content.len() as u64)?;
        Ok(true)
    }

    /// Fills `buffer` with the bytes of an object from an offset on.
    ///
    /// # Errors
    /// `NotFound` if there is no such object, `UnexpectedEof` if it is shorter; `ResourceBusy` or `InvalidData` if this object alone cannot be
    /// used; or the store does not answer or refuses.
    fn read(&self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// The length of an object, bytes; `None` if there is none.
    ///
    /// # Errors
    /// The store does not answer or refuses.
    fn length(&self, name: &str) -> io::Result<Option<u64>>;

    /// Returns whether the place has never been used: a failed search for the owner is no error then. The first object makes a directory.
    fn is_unused(&self) -> bool {
        false
    }

    /// Deletes an object, if it exists; the deletion is durable when this returns.
    ///
    /// # Errors
    /// The store does not answer or refuses.
    fn delete(&self, name: &str) -> io::Result<()>;
}

/// An object store and how it is used.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The object store.
    pub objects: Arc<dyn Objects>,
    /// Largest size of the local cache, bytes of the disk.
    pub cache_bytes_max: u64,
}

type Connect = fn(&Path) -> io::Result<Connection>;

static CONNECT: OnceLock<Connect> = OnceLock::new();
static CONNECTED: Mutex<Option<HashMap<PathBuf, Known>>> = Mutex::new(None);

/// The object store of a news directory that this process uses.
#[derive(Debug)]
struct Known {
    store: Arc<ObjectStore>,
    /// The settings may be others now.
    is_stale: bool,
}

impl Known {
    fn new(connection: Connection, counters: Arc<Counters>) -> Known {
        Known {
            store: Arc::new(ObjectStore {
                connection,
                failed: Mutex::default(),
                is_ours: AtomicBool::new(false),
                counters,
            }),
            is_stale: false,
        }
    }
}

/// Says how the object store of a news directory is found: its settings belong to crates that use this one. Called once, at the start of the
/// program; a second call has no effect.
pub fn connect_by(connect: Connect) {
    let _ = CONNECT.set(connect);
}

/// Uses this object store for a news directory whose settings are not there yet.
pub fn connect(dir: &Path, connection: Connection) {
    let mut connected = CONNECTED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = Known::new(connection, Arc::default());
    connected
        .get_or_insert_default()
        .insert(dir.to_owned(), known);
}

/// Lets the next use of a news directory's object store read the settings again: they, or the keys, may have changed.
pub fn reconnect(dir: &Path) {
    let mut connected = CONNECTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = connected.as_mut().and_then(|all| all.get_mut(dir)) {
        known.is_stale = true;
    }
}

/// The object store of a news directory. The first use in a process, or after [`reconnect`], reads the settings; later ones get the same.
pub fn of(dir: &Path) -> Result<Arc<ObjectStore>, Error> {
    let at = |source| Error::ObjectStore {
        doing: "use",
        object: "any object".to_owned(),
        source,
    };
    let mut connected = CONNECTED.lock().unwrap_or_else(PoisonError::into_inner);
    let connected = connected.get_or_insert_default();
    let known = connected.get(dir);
    if let Some(known) = known.filter(|known| !known.is_stale) {
        return Ok(known.store.clone());
    }
    let counters = known.map(|known| known.store.counters.clone());
    let connect = CONNECT.get().ok_or_else(|| {
        at(io::Error::new(
            io::ErrorKind::Unsupported,
            "this program does not know it",
        ))
    })?;
    let fresh = Known::new(connect(dir).map_err(at)?, counters.unwrap_or_default());
    let store = fresh.store.clone();
    connected.insert(dir.to_owned(), fresh);
    Ok(store)
}

/// How the object store of a news directory answers, as far as this process asked it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// The last failure, if no success came after it.
    pub failure: Option<String>,
    /// Number of reads.
    pub fetches: u64,
    /// Bytes read.
    pub fetched_bytes: u64,
}

/// The health of a news directory's object store; `None` if this process has not asked it.
pub fn health(dir: &Path) -> Option<Health> {
    let connected = CONNECTED.lock().unwrap_or_else(PoisonError::into_inner);
    let store = &connected.as_ref()?.get(dir)?.store;
    let failed = store.failed.lock().unwrap_or_else(PoisonError::into_inner);
    Some(Health {
        failure: failed.as_ref().map(|failed| failed.what.clone()),
        fetches: store.counters.fetches.load(Ordering::Relaxed),
        fetched_bytes: store.counters.fetched_bytes.load(Ordering::Relaxed),
    })
}

/// The object store of a news directory, with its health.
#[derive(Debug)]
pub struct ObjectStore {
    connection: Connection,
    failed: Mutex<Option<Failed>>,
    /// No other news directory uses the place.
    is_ours: AtomicBool,
    counters: Arc<Counters>,
}

/// What was read from the object stores of a news directory.
#[derive(Debug, Default)]
struct Counters {
    fetches: AtomicU64,
    fetched_bytes: AtomicU64,
}

#[derive(Debug)]
struct Failed {
    at: Instant,
    kind: io::ErrorKind,
    what: String,
}

impl ObjectStore {
    /// Whether it is known that no other news directory uses the place.
    pub fn is_ours(&self) -> bool {
        self.is_ours.load(Ordering::Relaxed)
    }

    /// Notes that no other news directory uses the place.
    pub fn set_ours(&self) {
        self.is_ours.store(true, Ordering::Relaxed);
    }

    /// The store itself, for an object that is no segment.
    pub fn raw(&self) -> &dyn Objects {
        &*self.connection.objects
    }

    /// Largest size of the local cache, bytes of the disk.
    pub fn cache_bytes_max(&self) -> u64 {
        self.connection.cache_bytes_max
    }

    /// As [`Objects::put`].
    pub fn put(&self, name: ObjectName, content: &mut dyn Read, length: u64) -> Result<(), Error> {
        let put = self
            .connection
            .objects
            .put(&name.to_string(), content, length);
        self.note(put).map_err(at("store", name))
    }

    /// As [`ObjectStore::read`], for those for whom others wait: for [`RETRY`] after a failure it fails at once.
    pub fn read_if_up(&self, name: ObjectName, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if let Some(failed) = &*self.failed.lock().unwrap_or_else(PoisonError::into_inner)
            && failed.at.elapsed() < RETRY
        {
            return Err(io::Error::new(failed.kind, failed.what.clone()));
        }
        self.read(name, offset, buffer)
    }

    /// As [`Objects::read`]. The error never looks like one of the local disk.
    pub fn read(&self, name: ObjectName, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.counters.fetches.fetch_add(1, Ordering::Relaxed);
        self.counters
            .fetched_bytes
            .fetch_add(buffer.len() as u64, Ordering::Relaxed);
        let read = self
            .connection
            .objects
            .read(&name.to_string(), offset, buffer);
        self.note(read)
    }

    /// As [`Objects::length`].
    pub fn length(&self, name: ObjectName) -> Result<Option<u64>, Error> {
        let length = self.connection.objects.length(&name.to_string());
        self.note(length).map_err(at("look for", name))
    }

    /// As [`Objects::delete`].
    pub fn delete(&self, name: ObjectName) -> Result<(), Error> {
        let deleted = self.connection.objects.delete(&name.to_string());
        self.note(deleted).map_err(at("delete", name))
    }

    /// Notes whether the store answers.
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        // An object that is missing, short or archived is an answer.
        let is_answer = |error: &io::Error| {
            use io::ErrorKind::{NotFound, ResourceBusy, UnexpectedEof};
            matches!(error.kind(), NotFound | ResourceBusy | UnexpectedEof)
        };
        let failure = result.as_ref().err().filter(|error| !is_answer(error));
        let failed = failure.map(|error| Failed {
            at: Instant::now(),
            kind: error.kind(),
            what: error.to_string(),
        });
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = failed;
        // Without the number of the system's error: that would mean a bad sector here.
        result.map_err(|error| io::Error::new(error.kind(), error.to_string()))
    }
}

/// Wraps an answer with what was being done to which object.
pub fn at(doing: &'static str, name: ObjectName) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::ObjectStore {
        doing,
        object: name.to_string(),
        source,
    }
}
