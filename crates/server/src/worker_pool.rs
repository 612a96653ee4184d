//! A few threads for slow jobs: passwords (argon2) and authenticator programs. Network threads never wait for them; a job sends its
//! result to the mailbox of its network thread. Addresses are served round robin, so that one with many jobs does not block the others;
//! nor do many with several each: when the queue is full, an address without a job takes the place of the last job of the one with most.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Maximum number of waiting jobs. Above it, logins fail with 403 (RFC 4643, 2.3.2).
pub const LOGIN_JOBS_MAX: usize = 256;
/// Maximum number of waiting jobs of one address (of IPv6, its /64 network): an eighth of all.
pub const SLOW_JOBS_PER_ADDRESS_MAX: usize = 32;
/// Maximum number of threads. An argon2 job uses one core and 19 MB.
pub const LOGIN_THREADS_MAX: usize = 4;
/// Idle time after which a thread ends.
const IDLE: Duration = Duration::from_secs(30);

/// A slow job.
pub type Job = Box<dyn FnOnce() + Send>;

/// A job that waits, and what answers instead of it if it must make room.
struct Waiting {
    job: Job,
    displaced: Job,
}

/// Starts a thread with a name. A confined network thread cannot: its threads would be confined, too.
pub type Spawn = Arc<dyn Fn(&str, Job) -> std::io::Result<()> + Send + Sync>;

/// The pool. Without jobs it has no threads. Clones share the pool; after the last is dropped, the waiting jobs are finished and the
/// threads end.
#[derive(Clone)]
pub struct WorkerPool {
    shared: Arc<Shared>,
    /// Held by owners only; threads hold `shared`.
    _alive: Arc<Alive>,
}

/// Starts threads from the calling thread.
#[must_use]
pub fn spawn_here() -> Spawn {
    Arc::new(|name, job| {
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(job).map(drop)
    })
}

/// The queue is full, in total or for this address.
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

/// The waiting jobs, served round robin by address.
#[derive(Default)]
struct Queue {
    of_address: HashMap<Option<IpAddr>, VecDeque<Waiting>>,
    /// Addresses with jobs, the next one in front.
    turns: VecDeque<Option<IpAddr>>,
    jobs: usize,
}

impl Queue {
    /// Makes room for a job of an address. Returns what answers for the job that had to go, if one had to.
    fn make_room(&mut self, address: Option<IpAddr>) -> Result<Option<Job>, IsFull> {
        let own = self.of_address.get(&address).map_or(0, VecDeque::len);
        match self.jobs < LOGIN_JOBS_MAX {
            true if own < SLOW_JOBS_PER_ADDRESS_MAX => Ok(None),
            false if own == 0 => self.displace().map(Some).ok_or(IsFull),
            _ => Err(IsFull),
        }
    }

    /// Removes the last job of the address with the most, unless each has only one.
    fn displace(&mut self) -> Option<Job> {
        let most = self.of_address.values_mut().max_by_key(|jobs| jobs.len())?;
        if most.len() < 2 {
            return None;
        }
        let last = most.pop_back()?;
        self.jobs -= 1;
        Some(last.displaced)
    }

    fn push(&mut self, address: Option<IpAddr>, job: Waiting) {
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
        if own.is_empty() {
            drop(self.of_address.remove(&address))
        } else {
            self.turns.push_back(address)
        }
        self.jobs -= 1;
        Some(job.job)
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
    /// A pool with as many threads as cores, but at least 2 and at most `LOGIN_THREADS_MAX`; each starts on demand.
    #[must_use]
    pub fn new(spawn: Spawn) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        WorkerPool::with(cores.clamp(2, LOGIN_THREADS_MAX), IDLE, spawn)
    }

    /// A pool with other limits, for tests.
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

    /// Queues a job of an address (of IPv6, its /64 network; `None` for this machine). A job must not wait for another one. If it later has to
    /// make room for another address, `displaced` runs instead.
    ///
    /// # Errors
    /// `LOGIN_JOBS_MAX` jobs wait already, one an address at most or some of this one, or `SLOW_JOBS_PER_ADDRESS_MAX` of this address, or no thread can be started; the job is dropped.
    pub fn run(&self, address: Option<IpAddr>, job: Job, displaced: Job) -> Result<(), IsFull> {
        let mut state = self.shared.lock();
        let gone = state.jobs.make_room(address)?;
        if state.idle_threads <= state.jobs.jobs && state.threads < self.shared.threads_max {
            let shared = Arc::clone(&self.shared);
            match (self.shared.spawn)("slow", Box::new(move || shared.work())) {
                Ok(()) => state.threads += 1,
                Err(_) if state.threads == 0 => {
                    drop(state);
                    answer_for(gone);
                    return Err(IsFull);
                }
                // The running threads do it later.
                Err(_) => {}
            }
        }
        state.jobs.push(address, Waiting { job, displaced });
        drop(state);
        self.shared.wakes.notify_one();
        answer_for(gone);
        Ok(())
    }

    /// Number of waiting jobs.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.shared.lock().jobs.jobs
    }

    /// Number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.shared.lock().threads
    }
}

/// Answers for a job that had to make room.
fn answer_for(gone: Option<Job>) {
    if let Some(answer) = gone {
        answer();
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

/// Corrects the number of threads when one ends, after a panic too.
struct Leaves<'a> {
    shared: &'a Shared,
    is_counted: bool,
}

impl Leaves<'_> {
    /// Counts the end under the same lock as the check for jobs, so that no job is missed.
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
