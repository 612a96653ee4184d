//! The client side of SMTP (RFC 5321): one mail to one recipient, to a mail server near by. No TLS and no login.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Longest line of a reply, bytes. RFC 5321, 4.5.3.1.5, allows 512.
pub const REPLY_LINE_BYTES_MAX: usize = 2048;
/// Most lines of a reply.
pub const REPLY_LINES_MAX: usize = 100;
/// Timeout of connecting to one address, seconds.
pub const CONNECT_SECONDS_MAX: u64 = 30;
/// Timeout of one reply, seconds (RFC 5321, 4.5.3.2).
pub const REPLY_SECONDS_MAX: u64 = 300;
/// Part of a mail that is written at once, bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// The errors of a delivery.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection.
    #[error("cannot connect to the mail server {server}: {source}")]
    Connect {
        /// The server.
        server: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The connection failed, or the server did not speak SMTP.
    #[error("the mail server {server} failed at {step}: {source}")]
    Broken {
        /// The server.
        server: String,
        /// The command.
        step: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The server replied with an error.
    #[error("the mail server {server} {} the mail to {recipient} at {step}: {reply}",
        if *code < 500 { "defers" } else { "refuses" })]
    Reply {
        /// The server.
        server: String,
        /// The recipient.
        recipient: String,
        /// The command.
        step: &'static str,
        /// The code of the reply.
        code: u16,
        /// The reply, for display.
        reply: String,
    },
}

impl Error {
    /// True if nothing listens at the address.
    pub fn is_no_server(&self) -> bool {
        matches!(self, Error::Connect { .. })
    }

    /// True if the error may concern this mail only, so that the next mail is worth a try.
    pub fn is_of_this_mail(&self) -> bool {
        matches!(self, Error::Reply { .. })
    }
}

/// The addresses in a mail transaction.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    /// Our name, for EHLO.
    pub hello: &'a str,
    /// The address that gets bounces.
    pub sender: &'a str,
    /// The one recipient.
    pub recipient: &'a str,
}

/// A reply: its code, and its text lines.
struct Reply {
    code: u16,
    lines: Vec<String>,
}

impl Reply {
    /// The reply in one line, for display.
    fn shown(&self) -> String {
        format!("{} {}", self.code, self.lines.join(" / "))
    }
}

/// A connection to a mail server, with one deadline for everything.
pub struct Connection {
    server: String,
    stream: BufReader<TcpStream>,
    deadline: Instant,
}

impl Connection {
    /// Connects to `server` (`HOST:PORT`), and tries each of its addresses.
    ///
    /// # Errors
    /// The name has no address, or none of them accepts the connection.
    pub fn open(server: &str, limit: Duration) -> Result<Connection, Error> {
        let failed = |source| Error::Connect {
            server: server.to_owned(),
            source,
        };
        let deadline = Instant::now() + limit;
        let addresses: Vec<SocketAddr> = server.to_socket_addrs().map_err(failed)?.collect();
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in addresses {
            let longest = limit.min(Duration::from_secs(CONNECT_SECONDS_MAX));
            match TcpStream::connect_timeout(&address, longest) {
                Ok(stream) => {
                    return Ok(Connection {
                        server: server.to_owned(),
                        stream: BufReader::new(stream),
                        deadline,
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    /// Reads the greeting and ends the session. Returns the greeting, for display.
    ///
    /// # Errors
    /// The server does not speak SMTP, or accepts no mail.
    pub fn greeting(mut self) -> Result<String, Error> {
        let greeting = self.reply("greeting")?;
        let _ = self.write(b"QUIT\r\n");
        match greeting.code {
            220 => Ok(greeting.shown()),
            _ => Err(self.broken("greeting", other(greeting.shown()))),
        }
    }

    /// Delivers the mail in a file, which is read to its end.
    ///
    /// # Errors
    /// The server did not accept it. After an error at its end the server may have accepted it nevertheless (RFC 5321, 4.5.3.2.6).
    pub fn deliver(mut self, envelope: Envelope<'_>, mail: &File) -> Result<(), Error> {
        let recipient = envelope.recipient;
        let greeting = self.reply("greeting")?;
        self.must_be(greeting, "greeting", 2, recipient)?;
        let (hello, sender) = (envelope.hello, envelope.sender);
        let mut reply = self.command("EHLO", &format!("EHLO {hello}"))?;
        let is_extended = reply.code / 100 == 2;
        if !is_extended {
            reply = self.command("HELO", &format!("HELO {hello}"))?;
        }
        // RFC 6152. Mail is 8-bit data wherever articles are.
        let is_8bit = is_extended && reply.lines.iter().any(|line| is_keyword(line, "8BITMIME"));
        self.must_be(reply, "EHLO", 2, recipient)?;
        let body = if is_8bit { " BODY=8BITMIME" } else { "" };
        let reply = self.command("MAIL FROM", &format!("MAIL FROM:<{sender}>{body}"))?;
        self.must_be(reply, "MAIL FROM", 2, recipient)?;
        let reply = self.command("RCPT TO", &format!("RCPT TO:<{recipient}>"))?;
        self.must_be(reply, "RCPT TO", 2, recipient)?;
        let reply = self.command("DATA", "DATA")?;
        self.must_be(reply, "DATA", 3, recipient)?;
        let step = "the text";
        self.write_text(mail)
            .map_err(|source| self.broken(step, source))?;
        let reply = self.reply(step)?;
        self.must_be(reply, step, 2, recipient)?;
        let _ = self.write(b"QUIT\r\n");
        Ok(())
    }

    fn must_be(
        &self,
        reply: Reply,
        step: &'static str,
        hundreds: u16,
        recipient: &str,
    ) -> Result<(), Error> {
        match reply.code / 100 {
            found if found == hundreds => Ok(()),
            4 | 5 => Err(Error::Reply {
                server: self.server.clone(),
                recipient: recipient.to_owned(),
                step,
                code: reply.code,
                reply: reply.shown(),
            }),
            _ => Err(self.broken(step, other(format!("unexpected reply {}", reply.shown())))),
        }
    }

    fn broken(&self, step: &'static str, source: io::Error) -> Error {
        Error::Broken {
            server: self.server.clone(),
            step,
            source,
        }
    }

    fn command(&mut self, step: &'static str, line: &str) -> Result<Reply, Error> {
        self.write(format!("{line}\r\n").as_bytes())
            .map_err(|source| self.broken(step, source))?;
        self.reply(step)
    }

    /// Time that the next system call may take.
    fn patience(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(left.min(Duration::from_secs(REPLY_SECONDS_MAX)))
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let patience = self.patience()?;
            let stream = self.stream.get_mut();
            stream.set_write_timeout(Some(patience))?;
            match stream.write(bytes).map_err(timed_out) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes the mail and the final dot.
    fn write_text(&mut self, mail: &File) -> io::Result<()> {
        let mut mail = BufReader::with_capacity(CHUNK_BYTES, mail);
        let mut lines = WireLines::default();
        let mut out = Vec::new();
        loop {
            let chunk = mail.fill_buf()?;
            let count = chunk.len();
            if count == 0 {
                break;
            }
            lines.put(chunk, &mut out);
            mail.consume(count);
            self.write(&out)?;
            out.clear();
        }
        lines.end(&mut out);
        self.write(&out)
    }

    /// Reads a reply (RFC 5321, 4.2).
    fn reply(&mut self, step: &'static str) -> Result<Reply, Error> {
        let mut lines = Vec::new();
        loop {
            let line = self.line().map_err(|source| self.broken(step, source))?;
            let (code, is_last, text) = match parse_line(&line) {
                Some(parsed) if lines.len() < REPLY_LINES_MAX => parsed,
                _ => {
                    let shown = crate::refusal::shown(&line);
                    return Err(self.broken(step, other(format!("no SMTP reply: {shown}"))));
                }
            };
            lines.push(text);
            if is_last {
                return Ok(Reply { code, lines });
            }
        }
    }

    /// Reads a line without its end.
    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            let patience = self.patience()?;
            self.stream.get_ref().set_read_timeout(Some(patience))?;
            let buffer = match self.stream.fill_buf().map_err(timed_out) {
                Ok([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = buffer.iter().position(|&byte| byte == b'\n');
            let count = end.map_or(buffer.len(), |end| end + 1);
            line.extend_from_slice(buffer.get(..count).unwrap_or_default());
            self.stream.consume(count);
            if line.len() > REPLY_LINE_BYTES_MAX {
                return Err(other("a line of the reply is too long".to_owned()));
            }
            if end.is_some() {
                return Ok(line.trim_ascii_end().to_vec());
            }
        }
    }
}

/// A socket timeout looks like a socket that would block.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

fn other(told: String) -> io::Error {
    io::Error::other(told)
}

/// The code of a line, whether it is the last one, and its text for display.
fn parse_line(line: &[u8]) -> Option<(u16, bool, String)> {
    let (code, rest) = line.split_at_checked(3)?;
    let code = std::str::from_utf8(code).ok()?.parse().ok()?;
    let is_last = match rest.first() {
        None | Some(b' ') => true,
        Some(b'-') => false,
        Some(_) => return None,
    };
    let text = crate::refusal::shown(rest.get(1..).unwrap_or_default());
    (200..600).contains(&code).then_some((code, is_last, text))
}

fn is_keyword(line: &str, keyword: &str) -> bool {
    let word = line.split_ascii_whitespace().next();
    word.is_some_and(|word| word.eq_ignore_ascii_case(keyword))
}

/// Converts text to SMTP's lines (RFC 5321, 2.3.8 and 4.5.2): every line ends with CRLF, a dot at its begin is doubled, and a CR
/// elsewhere, which the RFC forbids and some servers take for an end of a line, becomes a blank.
struct WireLines {
    is_start: bool,
    is_after_cr: bool,
}

impl Default for WireLines {
    fn default() -> WireLines {
        WireLines {
            is_start: true,
            is_after_cr: false,
        }
    }
}

impl WireLines {
    fn put(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            if std::mem::take(&mut self.is_after_cr) && byte != b'\n' {
                out.push(b' ');
                self.is_start = false;
            }
            match byte {
                b'\r' => self.is_after_cr = true,
                b'\n' => {
                    out.extend_from_slice(b"\r\n");
                    self.is_start = true;
                }
                _ => {
                    if byte == b'.' && self.is_start {
                        out.push(b'.');
                    }
                    out.push(byte);
                    self.is_start = false;
                }
            }
        }
    }

    fn end(self, out: &mut Vec<u8>) {
        if self.is_after_cr || !self.is_start {
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b".\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wire(text: &[u8], at: usize) -> Vec<u8> {
        let (one, two) = text.split_at(at.min(text.len()));
        let (mut lines, mut out) = (WireLines::default(), Vec::new());
        lines.put(one, &mut out);
        lines.put(two, &mut out);
        lines.end(&mut out);
        out
    }

    #[test]
    fn lines_are_those_of_smtp() {
        for (text, sent) in [
            (&b""[..], &b".\r\n"[..]),
            (b"a\n.\n..b\r\nc", b"a\r\n..\r\n...b\r\nc\r\n.\r\n"),
            (b"a\r.\rb\n", b"a . b\r\n.\r\n"),
            (b"a\n\r", b"a\r\n\r\n.\r\n"),
            (b"\xe9\0\n", b"\xe9\0\r\n.\r\n"),
        ] {
            assert_eq!(wire(text, 2), sent, "{}", text.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn no_text_ends_itself(text in proptest::collection::vec(proptest::sample::select(b"\r\n.a".to_vec()), 0..40), at in 0usize..40) {
            let sent = wire(&text, at);
            let ends = sent.windows(3).filter(|part| *part == b".\r\n");
            let begin = sent.starts_with(b".\r\n") as usize;
            let inner = sent.windows(5).filter(|part| *part == b"\r\n.\r\n").count();
            prop_assert_eq!(begin + inner, 1);
            prop_assert!(ends.count() >= 1);
            for (index, &byte) in sent.iter().enumerate() {
                match byte {
                    b'\r' => prop_assert_eq!(sent[index + 1], b'\n'),
                    b'\n' => prop_assert_eq!(sent[index - 1], b'\r'),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn replies_are_parsed_strictly() {
        assert_eq!(parse_line(b"250"), Some((250, true, String::new())));
        let parsed = parse_line(b"250-8BITMIME").unwrap();
        assert_eq!((parsed.1, is_keyword(&parsed.2, "8bitmime")), (false, true));
        for line in [
            &b"25"[..],
            b"+50 x",
            b"100 x",
            b"999 x",
            b"250x",
            b"\xff50 x",
        ] {
            assert_eq!(parse_line(line), None, "{}", line.escape_ascii());
        }
    }
}
