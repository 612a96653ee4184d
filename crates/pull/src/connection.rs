//! A blocking connection to a server: the socket, its layers, and a rate.

use std::io::{self, ErrorKind};
use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

use article::article_end::{ArticleEnd, Ending};
use feed::{BlockingConnection, ConnectionError, Remote};
use nntp::client::{PeerError, REPLY_BYTES_MAX, Ready, Reply, Step};
use nntp::{Line, first_line};

use crate::error::Error;
use crate::source::Source;

/// Longest wait for a connection, seconds.
pub const CONNECT_SECONDS_MAX: u64 = 60;
/// Longest line of an overview, bytes: it has several header fields.
pub const ROW_BYTES_MAX: usize = 128 << 10;
/// An article of more than this many times its limit is not read to its end.
const PASSED_OVER_FACTOR: u64 = 16;
/// Size of a read, bytes.
const READ_BYTES: usize = 64 << 10;

/// A connection on which the server waits for commands.
pub struct Connection {
    inner: BlockingConnection,
    rate: Rate,
    /// Received from the socket, bytes.
    pub received_bytes: u64,
}

/// The end of an article's text.
pub enum Text<'a> {
    /// The article in wire form, with its terminator.
    Whole(&'a [u8]),
    /// It was larger than allowed, and is passed over.
    TooLarge,
    /// It did not end within this number of bytes: the connection is of no more use.
    Endless(u64),
}

/// The end of a post.
pub enum Posted {
    /// The server took the article, or has it already.
    Taken,
    /// It refuses the article, with these words.
    Refused(String),
    /// It takes no posts now, with these words.
    NotNow(String),
}

/// A reply for a message.
pub fn words(reply: Reply<'_>) -> String {
    format!("{} {}", reply.code, groups::shown(reply.text))
}

impl Connection {
    /// Connects, and goes on until the server waits for commands of a reader.
    pub fn open(remote: &Remote, source: &Source) -> Result<(Connection, Ready), Error> {
        let server = remote.server();
        let addresses = (server.host.as_str(), server.port).to_socket_addrs();
        let addresses =
            addresses.map_err(|error| ConnectionError::Io("find the address", error))?;
        let mut failed = io::Error::from(ErrorKind::AddrNotAvailable);
        for address in addresses {
            let times = (
                Duration::from_secs(CONNECT_SECONDS_MAX),
                source.timeout_seconds,
            );
            match BlockingConnection::open(remote, address, times) {
                Ok(inner) => {
                    let mut connection = Connection {
                        inner,
                        rate: Rate::new(source.rate),
                        received_bytes: 0,
                    };
                    let ready = connection.begin(remote)?;
                    return Ok((connection, ready));
                }
                Err(ConnectionError::Connect(error)) => failed = error,
                Err(error) => return Err(error.into()),
            }
        }
        Err(ConnectionError::Connect(failed).into())
    }

    fn begin(&mut self, remote: &Remote) -> Result<Ready, Error> {
        let mut opening = remote.opening().for_reading();
        loop {
            let line = self.line(REPLY_BYTES_MAX)?.to_vec();
            let mut out = Vec::new();
            match opening.receive(&line, &mut out)? {
                Step::GoOn => {}
                Step::Ready(ready) => return Ok(ready),
                Step::BeginTls => {
                    self.inner.begin_tls(remote)?;
                    opening.tls_began(&mut out);
                }
                Step::BeginDeflate => {
                    self.inner.begin_deflate();
                    if let Step::Ready(ready) = opening.deflate_began(&mut out)? {
                        return Ok(ready);
                    }
                }
            }
            self.send(&out)?;
        }
    }

    /// Sends commands.
    pub fn send(&mut self, commands: &[u8]) -> Result<(), Error> {
        Ok(self.inner.send(commands)?)
    }

    /// The next reply. `line` holds it.
    pub fn reply<'l>(&mut self, line: &'l mut Vec<u8>) -> Result<Reply<'l>, Error> {
        line.clear();
        line.extend_from_slice(self.line(REPLY_BYTES_MAX)?);
        Ok(Reply::parse(line)?)
    }

    /// The next line, without its CRLF.
    pub fn line(&mut self, bytes_max: usize) -> Result<&[u8], Error> {
        loop {
            match first_line(self.inner.unread(), bytes_max) {
                Line::Whole(line, whole) => {
                    let bytes = line.len();
                    return Ok(self.inner.take(whole).get(..bytes).unwrap_or_default());
                }
                Line::Partial => {}
                Line::TooLong(_) | Line::TooLongSoFar => return Err(PeerError::TooLong.into()),
            }
            self.fill()?;
        }
    }

    /// The text of an article behind its reply. A text of more than `bytes_max` is read to its end and not kept, if it ends within
    /// [`PASSED_OVER_FACTOR`] times as many bytes.
    pub fn text(&mut self, bytes_max: u64) -> Result<Text<'_>, Error> {
        let mut end = ArticleEnd::default();
        let mut is_too_large = false;
        let mut passed_over = 0;
        let bytes = loop {
            let rest = self.inner.unread();
            let passed = match end.search(rest) {
                Ending::At(bytes) => break bytes,
                Ending::NotYet(passed) => passed,
            };
            is_too_large |= rest.len() as u64 > bytes_max;
            if is_too_large {
                self.inner.take(passed);
                end.discard_front(passed);
                passed_over += passed as u64;
                if passed_over > bytes_max.saturating_mul(PASSED_OVER_FACTOR) {
                    return Ok(Text::Endless(passed_over));
                }
            }
            self.fill()?;
        };
        let text = self.inner.take(bytes);
        Ok(match is_too_large || text.len() as u64 > bytes_max {
            true => Text::TooLarge,
            false => Text::Whole(text),
        })
    }

    /// Posts an article in wire form, without its terminator.
    pub fn post(&mut self, text: &[u8]) -> Result<Posted, Error> {
        self.send(b"POST\r\n")?;
        let mut line = Vec::new();
        let reply = self.reply(&mut line)?;
        match reply.code {
            340 => {}
            400 => return Err(reply.to_error().into()),
            _ => return Ok(Posted::NotNow(words(reply))),
        }
        self.send(&[text, b".\r\n"].concat())?;
        let reply = self.reply(&mut line)?;
        match reply.code {
            240 => Ok(Posted::Taken),
            // After a kill between the reply and the mark.
            441 if is_duplicate(reply.text) => Ok(Posted::Taken),
            441 if !is_deferral(reply.text) => Ok(Posted::Refused(words(reply))),
            400 => Err(reply.to_error().into()),
            _ => Ok(Posted::NotNow(words(reply))),
        }
    }

    /// Receives some more, at the rate.
    fn fill(&mut self) -> Result<(), Error> {
        let count = self.inner.fill(self.rate.read_bytes())?;
        self.received_bytes += count as u64;
        self.rate.spend(count);
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.send(b"QUIT\r\n");
        self.inner.close();
    }
}

/// Whether a server says that it has the article already; there is no code for that (INN: `441 435 Duplicate`). A duplicate header field is
/// something else.
fn is_duplicate(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    let names_the_article = has(b"article") || has(b"message-id") || has(b"message id");
    text.split(|byte| !byte.is_ascii_digit())
        .any(|number| number == b"435")
        || has(b"duplicate") && names_the_article && !has(b"header")
}

/// Whether a server that does not take a post wants it later; there is no code for that (Broadsheet: `441 Try again later`; INN: `441 436` and
/// what its transfer said).
fn is_deferral(text: &[u8]) -> bool {
    let text = text.trim_ascii().to_ascii_lowercase();
    text.starts_with(b"try again later") || text.split(|byte| *byte == b' ').next() == Some(b"436")
}

/// Spreads the bytes over the time.
struct Rate {
    per_second: Option<u64>,
    /// When the bytes of before are paid.
    paid: Instant,
}

impl Rate {
    fn new(per_second: Option<u64>) -> Rate {
        Rate {
            per_second,
            paid: Instant::now(),
        }
    }

    /// Size of a read: of a quarter of a second.
    fn read_bytes(&self) -> usize {
        let quarter = self.per_second.unwrap_or(u64::MAX) / 4;
        usize::try_from(quarter)
            .unwrap_or(READ_BYTES)
            .clamp(1, READ_BYTES)
    }

    fn spend(&mut self, bytes: usize) {
        let Some(per_second) = self.per_second else {
            return;
        };
        let now = Instant::now();
        let cost = Duration::from_secs_f64(bytes as f64 / per_second as f64);
        self.paid = self.paid.max(now) + cost;
        std::thread::sleep(self.paid - now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_header_field_is_no_duplicate_article() {
        for text in [
            &b"435 Duplicate"[..],
            b"posting failed (article rejected: 435 already in history)",
            b"Duplicate message-id",
            b"Posting failed: duplicate article",
            b"Duplicate Message ID",
        ] {
            assert!(is_duplicate(text), "{}", text.escape_ascii());
        }
        for text in [
            &b"Duplicate Subject header field"[..],
            b"Duplicate \"Message-ID\" header field in the article",
            b"437 too many groups",
            b"4350 bytes are too many for an article",
        ] {
            assert!(!is_duplicate(text), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn a_post_for_later_is_not_refused() {
        for (text, is_later) in [
            ("Try again later: the disk is full", true),
            (" try again later", true),
            ("436 No space", true),
            ("437 No such group", false),
            ("Article exceeds 4360 bytes", false),
            ("", false),
        ] {
            assert_eq!(is_deferral(text.as_bytes()), is_later, "{text}");
        }
    }
}
