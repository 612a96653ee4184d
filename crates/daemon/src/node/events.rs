//! News of the log on their way to the writer.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ::cluster::log::LogEvent;

use crate::lock::lock;

/// The queue of news. The thread of the log bounds the bytes of entries in it.
pub struct Events {
    queue: Mutex<VecDeque<LogEvent>>,
    /// Counts the threads of the log: one that was replaced is not heard any more.
    thread: AtomicU64,
    came: Condvar,
    wake: Box<dyn Fn() + Send + Sync>,
}

/// One thread's way to the queue.
pub struct Sender {
    events: Arc<Events>,
    thread: u64,
}

impl Events {
    /// An empty queue. `wake` is called when it gets its first element.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Events {
        Events {
            queue: Mutex::default(),
            thread: AtomicU64::new(0),
            came: Condvar::new(),
            wake: Box::new(wake),
        }
    }

    /// Empties the queue, and returns the way of a new thread, the only one that is heard from now on.
    pub fn anew(self: &Arc<Events>) -> Sender {
        Sender {
            events: self.clone(),
            thread: self.forget(),
        }
    }

    /// Empties the queue. No thread that was started before is heard from now on; returns the number of the next.
    pub fn forget(&self) -> u64 {
        let mut queue = lock(&self.queue);
        queue.clear();
        self.thread.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// True if there are no news.
    pub fn is_empty(&self) -> bool {
        lock(&self.queue).is_empty()
    }

    /// Waits up to this time for news.
    pub fn wait(&self, patience: Duration) {
        let queue = lock(&self.queue);
        if queue.is_empty() {
            drop(self.came.wait_timeout(queue, patience));
        }
    }

    /// Removes the oldest.
    pub fn take(&self) -> Option<LogEvent> {
        lock(&self.queue).pop_front()
    }
}

impl Sender {
    /// Adds an event, unless another thread took this one's place.
    pub fn put(&self, event: LogEvent) {
        let mut queue = lock(&self.events.queue);
        if self.events.thread.load(Ordering::SeqCst) != self.thread {
            return;
        }
        queue.push_back(event);
        let is_first = queue.len() == 1;
        drop(queue);
        self.events.came.notify_one();
        if is_first {
            (self.events.wake)();
        }
    }
}
