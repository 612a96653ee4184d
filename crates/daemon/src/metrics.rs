//! Metrics for Prometheus: a page over HTTP, generated for each request.
//!
//! One thread answers one request after the other; each has two seconds in all. It sleeps in the kernel between requests.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use settings::NewsDirectory;

use super::sandbox::{Role, Sandbox};
use super::say;
use super::writer_handle::WriterHandle;

mod page;

/// Longest request, bytes; a longer one is refused.
pub const REQUEST_BYTES_MAX: usize = 8 << 10;
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
    let thread = std::thread::Builder::new().name("metrics".to_owned());
    thread.spawn(move || {
        sandbox.confine(Role::Reader);
        for stream in listener.incoming() {
            match stream {
                // Ignores clients that close the connection early.
                Ok(stream) => drop(answer(&stream, || page.text())),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    })?;
    Ok(())
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

fn answer(stream: &TcpStream, page: impl FnOnce() -> String) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let reply = match read_request(stream, until)? {
        Some(request) => judge(&request),
        None => Reply::Other("431 Request Header Fields Too Large"),
    };
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
    write(stream, text.as_bytes(), until)?;
    stream.shutdown(Shutdown::Write)?;
    if reply == Reply::Other("431 Request Header Fields Too Large") {
        // Closing a socket with unread input resets the connection, and the client may lose the reply.
        while read(stream, &mut [0; 4096], until)? > 0 {}
    }
    Ok(())
}

/// Reads the request with its header; `None` if it is too long.
fn read_request(stream: &TcpStream, until: Instant) -> io::Result<Option<Vec<u8>>> {
    let mut request = Vec::new();
    let mut piece = [0; 2048];
    loop {
        let count = read(stream, &mut piece, until)?;
        request.extend_from_slice(piece.get(..count).unwrap_or_default());
        let is_whole = request.windows(4).any(|end| end == b"\r\n\r\n")
            || request.windows(2).any(|end| end == b"\n\n");
        if is_whole || count == 0 {
            return Ok(Some(request));
        }
        if request.len() > REQUEST_BYTES_MAX {
            return Ok(None);
        }
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

fn read(mut stream: &TcpStream, into: &mut [u8], until: Instant) -> io::Result<usize> {
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

fn write(mut stream: &TcpStream, mut text: &[u8], until: Instant) -> io::Result<()> {
    while !text.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(text) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            written => text = text.get(written?..).unwrap_or_default(),
        }
    }
    Ok(())
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
