//! The thread in which requests over HTTP run: those who ask wait outside of it, for a bounded time.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::answer::{Fault, shown};

/// The work of a thread.
pub type Job = Box<dyn FnOnce() + Send>;
/// Starts a thread with a name.
pub type Spawn = Arc<dyn Fn(&str, Job) -> io::Result<()> + Send + Sync>;

/// Time that the thread has beyond a limit to say that the limit is over.
const GRACE: Duration = Duration::from_secs(5);
/// Threads that look up names of hosts.
const LOOKUP_THREADS: usize = 2;

static SPAWN: OnceLock<Spawn> = OnceLock::new();

tokio::task_local! {
    /// The fault of the last request of this task.
    static LAST: RefCell<Option<Fault>>;
}

/// Says how the threads of object stores are started, in place of by the thread that needs the first one. A second call has no effect.
pub fn start_threads_by(spawn: Spawn) {
    let _ = SPAWN.set(spawn);
}

/// Notes the fault of a request, or that it has none, for the task that made it.
pub fn note(fault: Option<Fault>) {
    let _ = LAST.try_with(|last| last.replace(fault));
}

/// The thread. It ends when this is dropped.
pub struct Requests {
    runtime: Handle,
    _stop: oneshot::Sender<()>,
}

impl Requests {
    /// Starts the thread.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn start() -> io::Result<Requests> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(LOOKUP_THREADS)
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, is_stopped) = oneshot::channel::<()>();
        let work: Job = Box::new(move || {
            let _ = runtime.block_on(is_stopped);
            // A lookup of a name that hangs is left alone.
            runtime.shutdown_background();
        });
        match SPAWN.get() {
            Some(spawn) => spawn("objects", work)?,
            None => {
                let thread = std::thread::Builder::new().name("objects".to_owned());
                thread.spawn(work)?;
            }
        }
        Ok(Requests {
            runtime: handle,
            _stop: stop,
        })
    }

    /// Does some work in the thread, and waits for it, for `limit` at most.
    pub fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, object_store::Error>> + Send + 'static,
    ) -> Result<T, Fault> {
        let (tell, told) = sync_channel(1);
        let task = self
            .runtime
            .spawn(LAST.scope(RefCell::default(), async move {
                let done = match tokio::time::timeout(limit, work).await {
                    Ok(Ok(done)) => Ok(done),
                    Ok(Err(error)) => Err(fault_of(&error)),
                    Err(_) => Err(Fault::TimedOut),
                };
                let _ = tell.send(done);
            }));
        told.recv_timeout(limit + GRACE).unwrap_or_else(|_| {
            task.abort();
            Err(Fault::TimedOut)
        })
    }
}

/// The fault that was noted, or else the text of the error.
fn fault_of(error: &object_store::Error) -> Fault {
    let last = LAST.try_with(RefCell::take).ok().flatten();
    last.unwrap_or_else(|| Fault::Other(shown(&innermost(error).to_string())))
}

/// The cause of an error that has no further cause.
pub fn innermost<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> &'e (dyn std::error::Error + 'static) {
    let mut inner = error;
    loop {
        // The cause of an `io::Error` is that of the error in it, and not that error.
        let held = inner
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        inner = match held
            .map(|held| held as &(dyn std::error::Error + 'static))
            .or_else(|| inner.source())
        {
            Some(next) => next,
            None => return inner,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &str) -> object_store::Error {
        object_store::Error::Generic {
            store: "test",
            source: text.into(),
        }
    }

    #[test]
    fn work_that_hangs_is_given_up() {
        let requests = Requests::start().unwrap();
        let hangs = std::future::pending::<Result<(), object_store::Error>>();
        let done = requests.run(Duration::from_millis(10), hangs);
        assert_eq!(done, Err(Fault::TimedOut));
        let done = requests.run(Duration::from_secs(60), async { Ok(1) });
        assert_eq!(done, Ok(1));
    }

    #[test]
    fn the_fault_of_the_last_request_counts() {
        let requests = Requests::start().unwrap();
        let limit = Duration::from_secs(60);
        let noted = requests.run::<()>(limit, async {
            note(Some(Fault::TimedOut));
            note(Some(Fault::Unreachable("down".to_owned())));
            Err(generic("text"))
        });
        assert_eq!(noted, Err(Fault::Unreachable("down".to_owned())));
        // Another task notes nothing of it.
        let other = requests.run::<()>(limit, async { Err(generic("text")) });
        assert_eq!(other, Err(Fault::Other("text".to_owned())));
    }
}
