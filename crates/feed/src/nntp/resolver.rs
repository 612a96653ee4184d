//! Looks up the addresses of peers in threads of its own, since the resolver of the system may take half a minute.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::mailbox::{Mailbox, Message};

/// Most look-ups at the same time.
pub const RESOLVERS_MAX: usize = 4;

/// The look-ups of all peers.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    queue: Arc<Mutex<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    requests: VecDeque<Request>,
    threads: usize,
}

#[derive(Debug)]
struct Request {
    host: String,
    port: u16,
    number: u64,
    asker: Arc<Mailbox>,
}

impl Resolver {
    /// Looks up a host; the answer comes as [`Message::Resolved`] with this number.
    pub fn look_up(&self, (host, port): (&str, u16), number: u64, asker: &Arc<Mailbox>) {
        let request = Request {
            host: host.to_owned(),
            port,
            number,
            asker: asker.clone(),
        };
        if let Ok(address) = host.parse::<IpAddr>() {
            request.answer(Ok(vec![SocketAddr::from((address, port))]));
            return;
        }
        let mut queue = lock(&self.queue);
        queue.requests.push_back(request);
        if queue.threads >= RESOLVERS_MAX {
            return;
        }
        let shared = self.queue.clone();
        let thread = std::thread::Builder::new().name("resolver".to_owned());
        match thread.spawn(move || serve(&shared)) {
            Ok(_) => queue.threads += 1,
            Err(error) if queue.threads == 0 => {
                for request in queue.requests.drain(..) {
                    request.answer(Err(error.kind().into()));
                }
            }
            // The other threads look it up.
            Err(_) => {}
        }
    }
}

impl Request {
    fn answer(self, found: std::io::Result<Vec<SocketAddr>>) {
        self.asker.put(Message::Resolved(self.number, found));
    }
}

/// Serves the requests; the thread ends when there are no more.
fn serve(queue: &Mutex<Queue>) {
    loop {
        let mut waiting = lock(queue);
        let Some(request) = waiting.requests.pop_front() else {
            waiting.threads -= 1;
            return;
        };
        drop(waiting);
        let found = (request.host.as_str(), request.port).to_socket_addrs();
        request.answer(found.map(Iterator::collect));
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
