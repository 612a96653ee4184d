//! A peer that writes without waiting and reads replies as they arrive: one thread, a non-blocking socket.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::client::TIMEOUT;

/// Bytes per write.
const PIECE_BYTES: usize = 256 << 10;

/// The connection: plain, or TLS.
pub enum Link {
    Plain(TcpStream),
    Tls(Box<ClientConnection>, TcpStream),
}

impl Link {
    /// Starts TLS on a new stream: handshake, and the greeting.
    ///
    /// # Errors
    /// Those of TLS and of the system.
    pub fn tls(mut stream: TcpStream, settings: &Arc<ClientConfig>) -> Result<Link> {
        let name = ServerName::try_from("127.0.0.1").context("an address as a name")?;
        let mut tls = ClientConnection::new(settings.clone(), name)?;
        let mut greeting = Vec::new();
        let mut reading = rustls::Stream::new(&mut tls, &mut stream);
        while !greeting.ends_with(b"\n") {
            let mut byte = [0];
            reading
                .read_exact(&mut byte)
                .context("the greeting over TLS")?;
            greeting.extend_from_slice(&byte);
        }
        if !greeting.starts_with(b"200 ") && !greeting.starts_with(b"201 ") {
            bail!("the greeting is: {}", String::from_utf8_lossy(&greeting));
        }
        tls.set_buffer_limit(Some(2 * PIECE_BYTES));
        Ok(Link::Tls(Box::new(tls), stream))
    }

    fn stream(&self) -> &TcpStream {
        match self {
            Link::Plain(stream) | Link::Tls(_, stream) => stream,
        }
    }

    /// Writes without blocking; 0 if nothing can be written now.
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let piece = bytes.get(..PIECE_BYTES).unwrap_or(bytes);
        match self {
            Link::Plain(_) if piece.is_empty() => Ok(0),
            Link::Plain(stream) => or_later(stream.write(piece)),
            Link::Tls(tls, stream) => {
                while tls.wants_write() {
                    if or_later(tls.write_tls(stream))? == 0 {
                        return Ok(0);
                    }
                }
                let taken = tls.writer().write(piece)?;
                while tls.wants_write() && or_later(tls.write_tls(stream))? > 0 {}
                Ok(taken)
            }
        }
    }

    /// Reads without blocking; 0 if nothing is available now.
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        match self {
            Link::Plain(stream) => match stream.read(into) {
                Ok(0) => bail!("the server has closed the connection"),
                other => or_later(other),
            },
            Link::Tls(tls, stream) => {
                match tls.read_tls(stream) {
                    Ok(0) => bail!("the server has closed the connection"),
                    other => or_later(other)?,
                };
                tls.process_new_packets()?;
                or_later(tls.reader().read(into))
            }
        }
    }

    /// Whether TLS has bytes to write.
    fn holds_back(&self) -> bool {
        matches!(self, Link::Tls(tls, _) if tls.wants_write())
    }
}

fn or_later(result: io::Result<usize>) -> Result<usize> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        other => Ok(other?),
    }
}

/// Writes `bytes` and reads one line for each command of `ids`: `code`, a space and the id. `may_write` returns how many bytes may have
/// been written after a number of replies.
///
/// # Errors
/// Another reply, which the message contains.
pub fn pump<'a>(
    link: &mut Link,
    bytes: &[u8],
    code: &str,
    ids: impl Iterator<Item = &'a String>,
    may_write: &dyn Fn(u64) -> usize,
) -> Result<u64> {
    link.stream().set_nonblocking(true)?;
    let mut ids = ids.peekable();
    let (mut written, mut answered) = (0, 0);
    let mut buffer = vec![0; 64 << 10];
    let mut partial = Vec::new();
    while ids.peek().is_some() {
        let end = may_write(answered).min(bytes.len());
        let wrote = link.write(bytes.get(written..end).unwrap_or_default())?;
        written += wrote;
        let read = link
            .read(&mut buffer)
            .with_context(|| format!("after {answered} replies"))?;
        let mut came = buffer.get(..read).unwrap_or_default();
        while let Some(end) = memchr::memchr(b'\n', came) {
            let (line, rest) = came.split_at(end + 1);
            came = rest;
            let line = match partial.is_empty() {
                true => line,
                false => {
                    partial.extend_from_slice(line);
                    &partial
                }
            };
            let id = ids.next().context("a reply to nothing")?;
            if !answers(line, code, id) {
                let line = String::from_utf8_lossy(line);
                bail!(
                    "reply {answered} should be {code} {id} and is: {}",
                    line.trim_end()
                );
            }
            answered += 1;
            partial.clear();
        }
        partial.extend_from_slice(came);
        if wrote == 0 && read == 0 {
            wait(link, written < end)?;
        }
    }
    link.stream().set_nonblocking(false)?;
    Ok(answered)
}

fn answers(line: &[u8], code: &str, id: &str) -> bool {
    let rest = line.strip_prefix(code.as_bytes());
    let rest = rest.and_then(|rest| rest.strip_prefix(b" "));
    let rest = rest.and_then(|rest| rest.strip_prefix(id.as_bytes()));
    rest.is_some_and(|rest| rest.starts_with(b"\r\n") || rest.starts_with(b" "))
}

fn wait(link: &Link, to_write: bool) -> Result<()> {
    let mut flags = PollFlags::IN;
    if to_write || link.holds_back() {
        flags |= PollFlags::OUT;
    }
    let mut sockets = [PollFd::new(link.stream(), flags)];
    let patience = Timespec {
        tv_sec: TIMEOUT.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    if poll(&mut sockets, Some(&patience))? == 0 {
        bail!("no reply for {} s", TIMEOUT.as_secs());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::{Link, pump};

    /// The result of `pump` when a server answers two commands with `replies`, one byte at a time.
    fn pumped(replies: &'static [u8]) -> anyhow::Result<u64> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("known")).expect("connected");
        let (mut server, _) = listener.accept().expect("accepted");
        server.set_nodelay(true).expect("set");
        let answering = std::thread::spawn(move || {
            let mut asked = [0; 8];
            server.read_exact(&mut asked).expect("asked");
            for reply in replies.chunks(1) {
                // A client that has found a wrong reply reads no further.
                let _ = server.write_all(reply);
            }
        });
        let ids = ["<a@b>".to_owned(), "<c@d>".to_owned()];
        let mut link = Link::Plain(stream);
        let summary = pump(&mut link, b"ONE\nTWO\n", "239", ids.iter(), &|_| usize::MAX);
        answering.join().expect("it answered");
        summary
    }

    #[test]
    fn every_reply_is_compared() {
        assert_eq!(pumped(b"239 <a@b>\r\n239 <c@d> ok\r\n").ok(), Some(2));
        for (replies, wrong) in [
            (&b"239 <a@b>\r\n439 <c@d>\r\n"[..], "439 <c@d>"),
            (b"239 <c@d>\r\n239 <a@b>\r\n", "239 <c@d>"),
            (b"239 <a@b>\r\n", "closed"),
        ] {
            let printed = pumped(replies).err().map(|error| format!("{error:#}"));
            assert!(
                printed
                    .as_ref()
                    .is_some_and(|printed| printed.contains(wrong)),
                "{printed:?}"
            );
        }
    }
}
