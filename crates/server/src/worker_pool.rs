//! A few threads for what takes long: passwords (argon2) and authenticator programs. Network threads never wait for
//! them; a job sends its result to the mailbox of the one who asked. Addresses take turns: one that has many jobs keeps no other waiting
//! behind all of them.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Jobs that wait. With more, logging in fails for now (RFC 4643, 2.3.2: 403), and whoever guesses passwords waits.
pub const LOGIN_JOBS_MAX: usize = 256;
/// Jobs of one address (of IPv6, its network of 64 bits) that wait: an eighth of all.
pub const SLOW_JOBS_PER_ADDRESS_MAX: usize = 32;
/// Threads at most. A job of argon2 takes the whole of a core and 19 MB.
pub const LOGIN_THREADS_MAX: usize = 4;
/// A thread without work ends after this.
const IDLE: Duration = Duration::from_secs(30);

/// Something that takes long.
pub type Job = Box<dyn FnOnce() + Send>;
/// Starts a thread of this name. Network threads may be confined, and what they started would be so, too.
pub type Spawn = Arc<dyn Fn(&str, Job) -> std::io::Result<()> + Send + Sync>;

/// The pool. Without jobs it has no threads. Clones are the same pool; when the last is gone, what waits is done to
/// the end and the threads end.
#[derive(Clone)]
pub struct WorkerPool {
    shared: Arc<Shared>,
    /// Counts the owners; threads only hold `shared`.
    _alive: Arc<Alive>,
}

/// Threads as the caller's own.
#[must_use]
pub fn spawn_here() -> Spawn {
    Arc::new(|name, job| {
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(job).map(drop)
    })
}

/// The pool has no room: as many jobs wait as may, of all or of this address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many logins at once; try again later")]
pub struct IsFull;

struct Shared {
    state: Mutex<State>,
    wakes: Condvar,
    threads_max: usize,
    idle: Duration,
    spawn: Spawn,
}

struct State {
    jobs: Queue,
    threads: usize,
    idle_threads: usize,
    is_over: bool,
}

/// What waits. Addresses take turns.
#[derive(Default)]
struct Queue {
    of_address: HashMap<Option<IpAddr>, VecDeque<Job>>,
    /// Addresses that have jobs, the next one in front.
    turns: VecDeque<Option<IpAddr>>,
    jobs: usize,
}

impl Queue {
    fn has_room(&self, address: Option<IpAddr>) -> bool {
        let own = self.of_address.get(&address).map_or(0, VecDeque::len);
        self.jobs < LOGIN_JOBS_MAX && own < SLOW_JOBS_PER_ADDRESS_MAX
    }

    fn push(&mut self, address: Option<IpAddr>, job: Job) {
        let own = self.of_address.entry(address).or_default();
        if own.is_empty() {
            self.turns.push_back(address);
        }
        own.push_back(job);
        self.jobs += 1;
    }

    fn pop(&mut self) -> Option<Job> {
        let address = self.turns.pop_front()?;
        let own = self.of_address.get_mut(&address)?;
        let job = own.pop_front()?;
        match own.is_empty() {
            true => drop(self.of_address.remove(&address)),
            false => self.turns.push_back(address),
        }
        self.jobs -= 1;
        Some(job)
    }
}

struct Alive {
    shared: Arc<Shared>,
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.wakes.notify_all();
    }
}

impl WorkerPool {
    /// As many threads as cores, but 2 at least and `LOGIN_THREADS_MAX` at most; each starts when it is needed.
    #[must_use]
    pub fn new(spawn: Spawn) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        WorkerPool::with(cores.clamp(2, LOGIN_THREADS_MAX), IDLE, spawn)
    }

    /// With other figures, for tests.
    #[must_use]
    pub fn with(threads_max: usize, idle: Duration, spawn: Spawn) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                jobs: Queue::default(),
                threads: 0,
                idle_threads: 0,
                is_over: false,
            }),
            wakes: Condvar::new(),
            threads_max,
            idle,
            spawn,
        });
        let alive = Arc::new(Alive {
            shared: Arc::clone(&shared),
        });
        WorkerPool {
            shared,
            _alive: alive,
        }
    }

    /// Has `job` done for an address (as it is counted; `None`: this machine), in its turn. It must not wait for another job.
    ///
    /// # Errors
    /// `LOGIN_JOBS_MAX` jobs wait already, or `SLOW_JOBS_PER_ADDRESS_MAX` of this address, or no thread can be started; the job is dropped.
    pub fn run(&self, address: Option<IpAddr>, job: Job) -> Result<(), IsFull> {
        let mut state = self.shared.lock();
        if !state.jobs.has_room(address) {
            return Err(IsFull);
        }
        if state.idle_threads <= state.jobs.jobs && state.threads < self.shared.threads_max {
            let shared = Arc::clone(&self.shared);
            match (self.shared.spawn)("slow", Box::new(move || shared.work())) {
                Ok(()) => state.threads += 1,
                Err(_) if state.threads == 0 => return Err(IsFull),
                // Those that run do it later.
                Err(_) => {}
            }
        }
        state.jobs.push(address, job);
        drop(state);
        self.shared.wakes.notify_one();
        Ok(())
    }

    /// Jobs that wait for a thread.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.shared.lock().jobs.jobs
    }

    /// Threads there are now.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.shared.lock().threads
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Jobs run without the lock; nothing here leaves it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut leaves = Leaves {
            shared: self,
            is_counted: false,
        };
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop() {
                drop(state);
                job();
                state = self.lock();
                continue;
            }
            if state.is_over {
                leaves.now(&mut state);
                return;
            }
            state.idle_threads += 1;
            let (next, waited) = self
                .wakes
                .wait_timeout(state, self.idle)
                .unwrap_or_else(PoisonError::into_inner);
            state = next;
            state.idle_threads -= 1;
            if waited.timed_out() && state.jobs.jobs == 0 {
                leaves.now(&mut state);
                return;
            }
        }
    }
}

/// A thread of the pool that ends: the count is right also when a job panicked.
struct Leaves<'a> {
    shared: &'a Shared,
    is_counted: bool,
}

impl Leaves<'_> {
    /// Under the same lock as the look for jobs, so that none comes between.
    fn now(&mut self, state: &mut State) {
        state.threads -= 1;
        self.is_counted = true;
    }
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        if !self.is_counted {
            self.shared.lock().threads -= 1;
        }
    }
}
