//! Metrics for Prometheus: a page over HTTP, generated for each request.
//!
//! One thread serves all clients, as their sockets become ready; a client has two seconds in all. When there are too many, the one that has
//! waited longest for its own request gives way. The thread sleeps in the kernel between requests.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use settings::NewsDirectory;

use super::sandbox::{Role, Sandbox};
use super::say;
use super::writer_handle::WriterHandle;

use client::Client;

mod client;
mod page;
pub mod table;

/// Longest request, bytes; a longer one is refused.
pub const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Clients that are served at once. For a further one the oldest is dropped.
pub const CLIENTS_MAX: usize = 64;
/// Time limit of a request and its reply.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause after an error of accept (no free descriptors).
const PAUSE: Duration = Duration::from_secs(1);

/// Opens the socket at the address of `nntp.metrics`.
///
/// # Errors
/// The address, and the cause.
pub fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .with_context(|| format!("cannot serve metrics at {address} (nntp.metrics)"))
}

/// Answers requests, in a thread that runs until the process ends.
///
/// # Errors
/// The thread cannot be created.
pub fn start(
    listener: TcpListener,
    directory: NewsDirectory,
    writer: Arc<WriterHandle>,
    since: i64,
    sandbox: Arc<Sandbox>,
) -> io::Result<()> {
    if let Ok(address) = listener.local_addr() {
        say(&format!("metrics at http://{address}/metrics"));
    }
    let mut page = page::Page::new(directory, writer, since);
    listener.set_nonblocking(true)?;
    let thread = std::thread::Builder::new().name("metrics".to_owned());
    thread.spawn(move || {
        sandbox.confine(Role::Reader);
        let mut clients = Vec::new();
        loop {
            serve(&listener, &mut clients, &mut || page.text());
        }
    })?;
    Ok(())
}

/// Waits for sockets that are ready, and serves them.
fn serve(listener: &TcpListener, clients: &mut Vec<Client>, page: &mut impl FnMut() -> String) {
    let now = Instant::now();
    clients.retain(|client| client.until > now);
    let ends = clients.iter().map(|client| client.until).min();
    let left = ends.map(|end| end.saturating_duration_since(now) + Duration::from_millis(1));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    let sockets = clients.iter().map(Client::polled);
    let mut polled: Vec<PollFd<'_>> = sockets.collect();
    polled.push(PollFd::new(listener, PollFlags::IN));
    if poll(&mut polled, left.as_ref()).is_err() {
        return;
    }
    let mut ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
    let has_new = ready.pop().unwrap_or(false);
    let mut ready = ready.into_iter();
    clients.retain_mut(|client| !ready.next().unwrap_or(false) || client.advance(page));
    if has_new {
        match listener.accept() {
            Ok((stream, _)) => {
                if clients.len() >= CLIENTS_MAX {
                    clients.remove(0);
                }
                let client = Client::new(stream, Instant::now() + PATIENCE);
                // The request is often there already.
                clients.extend(
                    client
                        .ok()
                        .into_iter()
                        .filter_map(|mut client| client.advance(page).then_some(client)),
                );
            }
            // It is gone already.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// The reply to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reply {
    /// The page.
    Page,
    /// The header of the page only.
    Head,
    /// An error.
    Other(&'static str),
}

/// Parses the first line of a request (RFC 9112, 3); its header is ignored.
fn judge(request: &[u8]) -> Reply {
    let line = request.split(|&b| b == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = line.split(|&b| b == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Reply::Other("400 Bad Request");
    };
    let is_method = !method.is_empty() && method.iter().all(u8::is_ascii_uppercase);
    if !is_method || !version.starts_with(b"HTTP/1.") {
        return Reply::Other("400 Bad Request");
    }
    let path = target.split(|&b| b == b'?').next().unwrap_or_default();
    match (path, method) {
        (b"/metrics", b"GET") => Reply::Page,
        (b"/metrics", b"HEAD") => Reply::Head,
        (b"/metrics", _) => Reply::Other("405 Method Not Allowed"),
        _ => Reply::Other("404 Not Found"),
    }
}

/// The text of a reply.
fn text(reply: Reply, page: &mut impl FnMut() -> String) -> String {
    let (status, body) = match reply {
        Reply::Page | Reply::Head => ("200 OK", page()),
        Reply::Other(status) => (status, format!("{status}\n")),
    };
    let kind = match reply {
        Reply::Other(_) => "text/plain; charset=utf-8",
        _ => "text/plain; version=0.0.4; charset=utf-8",
    };
    let mut text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n",
        body.len()
    );
    if status.starts_with("405") {
        text.push_str("Allow: GET, HEAD\r\n");
    }
    text.push_str("\r\n");
    if reply != Reply::Head {
        text.push_str(&body);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_get_and_head_of_the_page() {
        let cases: [(&[u8], Reply); 8] = [
            (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Reply::Page),
            (b"GET /metrics?a=b HTTP/1.0\n\n", Reply::Page),
            (b"HEAD /metrics HTTP/1.1\r\n\r\n", Reply::Head),
            (
                b"POST /metrics HTTP/1.1\r\n\r\n",
                Reply::Other("405 Method Not Allowed"),
            ),
            (b"GET / HTTP/1.1\r\n\r\n", Reply::Other("404 Not Found")),
            (b"GET /metrics\r\n\r\n", Reply::Other("400 Bad Request")),
            (
                b"GET  /metrics HTTP/1.1\r\n\r\n",
                Reply::Other("400 Bad Request"),
            ),
            (b"", Reply::Other("400 Bad Request")),
        ];
        for (request, reply) in cases {
            assert_eq!(judge(request), reply, "{}", request.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = judge(&bytes);
        }
    }
}
