//! Looks up the addresses of peers in threads of its own, since the resolver of the system may take half a minute.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::mailbox::{Mailbox, Message};

/// Most look-ups at the same time.
pub const RESOLVERS_MAX: usize = 4;
/// Most of them for hosts whose last look-up failed: the others do not wait for these.
const FAILED_MAX: usize = RESOLVERS_MAX - 1;

/// Finds the addresses of a host and port.
pub(super) type Find = fn(&str, u16) -> std::io::Result<Vec<SocketAddr>>;

/// The look-ups of all peers.
#[derive(Debug)]
pub(super) struct Resolver {
    queue: Arc<Mutex<Queue>>,
    find: Find,
}

#[derive(Debug, Default)]
struct Queue {
    requests: VecDeque<Request>,
    /// For hosts whose last look-up failed.
    failed: VecDeque<Request>,
    threads: usize,
    /// Number of threads that look up a host whose last look-up failed.
    threads_of_failed: usize,
}

#[derive(Debug)]
struct Request {
    host: String,
    port: u16,
    number: u64,
    has_failed: bool,
    asker: Arc<Mailbox>,
}

impl Default for Resolver {
    fn default() -> Resolver {
        Resolver {
            queue: Arc::default(),
            find: |host, port| Ok((host, port).to_socket_addrs()?.collect()),
        }
    }
}

impl Resolver {
    /// Finds addresses in another way than the system.
    #[cfg(test)]
    pub fn with(find: Find) -> Resolver {
        Resolver {
            find,
            ..Resolver::default()
        }
    }

    /// Looks up a host; the answer comes as [`Message::Resolved`] with this number. `has_failed`: its last look-up failed.
    pub fn look_up(
        &self,
        (host, port): (&str, u16),
        (number, has_failed): (u64, bool),
        asker: &Arc<Mailbox>,
    ) {
        let request = Request {
            host: host.to_owned(),
            port,
            number,
            has_failed,
            asker: asker.clone(),
        };
        if let Ok(address) = host.parse::<IpAddr>() {
            request.answer(Ok(vec![SocketAddr::from((address, port))]));
            return;
        }
        let mut queue = lock(&self.queue);
        if has_failed {
            queue.failed.push_back(request)
        } else {
            queue.requests.push_back(request)
        }
        if queue.threads >= RESOLVERS_MAX || !queue.has_next() {
            return;
        }
        let (shared, find) = (self.queue.clone(), self.find);
        let thread = std::thread::Builder::new().name("resolver".to_owned());
        match thread.spawn(move || serve(&shared, find)) {
            Ok(_) => queue.threads += 1,
            Err(error) if queue.threads == 0 => {
                let Queue {
                    requests, failed, ..
                } = &mut *queue;
                for request in requests.drain(..).chain(failed.drain(..)) {
                    request.answer(Err(error.kind().into()));
                }
            }
            // The other threads look it up.
            Err(_) => {}
        }
    }
}

impl Queue {
    fn has_next(&self) -> bool {
        let may_fail = self.threads_of_failed < FAILED_MAX;
        !self.requests.is_empty() || (may_fail && !self.failed.is_empty())
    }

    fn next(&mut self) -> Option<Request> {
        let first = self.requests.pop_front();
        if first.is_some() || !self.has_next() {
            return first;
        }
        let failed = self.failed.pop_front();
        self.threads_of_failed += usize::from(failed.is_some());
        failed
    }
}

impl Request {
    fn answer(self, found: std::io::Result<Vec<SocketAddr>>) {
        self.asker.put(Message::Resolved(self.number, found));
    }
}

/// Serves the requests; the thread ends when there are no more.
fn serve(queue: &Mutex<Queue>, find: Find) {
    loop {
        let mut waiting = lock(queue);
        let Some(request) = waiting.next() else {
            waiting.threads -= 1;
            return;
        };
        drop(waiting);
        let found = find(&request.host, request.port);
        if request.has_failed {
            lock(queue).threads_of_failed -= 1;
        }
        request.answer(found);
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn hosts_that_cannot_be_found_do_not_delay_others() {
        let resolver = Resolver::with(|host, _| {
            if host == "lost" {
                std::thread::sleep(Duration::from_millis(300));
            }
            Ok(Vec::new())
        });
        let mailbox = Arc::new(Mailbox::new().unwrap());
        for number in 0..12 {
            resolver.look_up(("lost", 119), (number, true), &mailbox);
        }
        std::thread::sleep(Duration::from_millis(20));
        resolver.look_up(("good", 119), (99, false), &mailbox);
        let mut answered = Vec::new();
        let began = Instant::now();
        while answered.len() < 13 {
            for message in mailbox.take_all() {
                if let Message::Resolved(number, _) = message {
                    answered.push(number);
                }
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{answered:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(answered[0], 99, "{answered:?}");
        answered.sort_unstable();
        answered.dedup();
        assert_eq!(answered.len(), 13);
    }
}
