//! A line-based connection, plain, under TLS or compressed, which checks the general rules for replies.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use rustls::{ClientConnection, Stream};

use crate::tls;

/// Time limit of a server's reply.
pub const REPLY_TIMEOUT: Duration = Duration::from_secs(20);

/// Longest first line of a reply, bytes with its CRLF (RFC 3977, 3.1).
const INITIAL_LINE_BYTES_MAX: usize = 512;

/// Longest line of a block, bytes; a longer one is an error of the server.
const LINE_BYTES_MAX: usize = 16 << 20;

/// A connection.
pub struct Connection {
    tcp: TcpStream,
    tls: Option<Box<ClientConnection>>,
    deflate: Option<Box<(Compress, Decompress)>>,
    came: Vec<u8>,
    ended: bool,
}

impl Connection {
    /// Opens a connection.
    pub fn open(address: SocketAddr) -> io::Result<Connection> {
        let tcp = TcpStream::connect_timeout(&address, REPLY_TIMEOUT)?;
        tcp.set_read_timeout(Some(REPLY_TIMEOUT))?;
        tcp.set_write_timeout(Some(REPLY_TIMEOUT))?;
        tcp.set_nodelay(true)?;
        Ok(Connection {
            tcp,
            tls: None,
            deflate: None,
            came: Vec::new(),
            ended: false,
        })
    }

    /// Starts TLS. Octets received before it would be ambiguous, so there must be none (RFC 4642, 2.2.2).
    pub fn start_tls(&mut self) -> io::Result<()> {
        if !self.came.is_empty() {
            return Err(io::Error::other("octets arrived between 382 and TLS"));
        }
        let mut tls = Box::new(tls::client()?);
        while tls.is_handshaking() {
            tls.complete_io(&mut self.tcp)?;
        }
        self.tls = Some(tls);
        Ok(())
    }

    /// Starts compression (RFC 8054, 2.2.2).
    pub fn start_deflate(&mut self) -> io::Result<()> {
        if !self.came.is_empty() {
            return Err(io::Error::other("uncompressed octets arrived after 206"));
        }
        let both = (
            Compress::new(Compression::default(), false),
            Decompress::new(false),
        );
        self.deflate = Some(Box::new(both));
        Ok(())
    }

    /// Sends octets in as few writes as possible.
    pub fn send(&mut self, octets: &[u8]) -> io::Result<()> {
        let octets = match &mut self.deflate {
            Some(both) => deflated(&mut both.0, octets)?,
            None => octets.to_vec(),
        };
        match &mut self.tls {
            Some(tls) => Stream::new(tls.as_mut(), &mut self.tcp).write_all(&octets),
            None => self.tcp.write_all(&octets),
        }
    }

    /// Reads the next line, with its CRLF. `None` at the end of the connection.
    pub fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut looked = 0;
        loop {
            let new = self.came.get(looked..).unwrap_or_default();
            if let Some(at) = new.iter().position(|&octet| octet == b'\n') {
                let rest = self.came.split_off(looked + at + 1);
                return Ok(Some(std::mem::replace(&mut self.came, rest)));
            }
            looked = self.came.len();
            if looked > LINE_BYTES_MAX {
                return Err(io::Error::other("a line exceeds the limit"));
            }
            if !self.more()? {
                let rest = String::from_utf8_lossy(&self.came).into_owned();
                return match rest.is_empty() {
                    true => Ok(None),
                    false => Err(io::Error::other(format!(
                        "the connection ended within a line: {rest}"
                    ))),
                };
            }
        }
    }

    /// Whether the server has closed the connection.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Puts a line back, to be read again.
    pub fn unread(&mut self, line: &[u8]) {
        self.came.splice(0..0, line.iter().copied());
    }

    /// Reads available octets. Returns false at the end of the connection.
    fn more(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let mut buffer = vec![0; 1 << 16];
        let read = match &mut self.tls {
            Some(tls) => Stream::new(tls.as_mut(), &mut self.tcp).read(&mut buffer),
            None => self.tcp.read(&mut buffer),
        };
        let count = match read {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
            // A server may close with our octets unread, and without a TLS close_notify.
            Err(error) if is_end(&error) => 0,
            Err(error) if is_late(&error) => {
                return Err(io::Error::other(format!("no reply in {REPLY_TIMEOUT:?}")));
            }
            Err(error) => return Err(error),
        };
        let new = buffer.get(..count).unwrap_or_default();
        match &mut self.deflate {
            Some(both) => inflate(&mut both.1, new, &mut self.came)?,
            None => self.came.extend_from_slice(new),
        }
        self.ended = count == 0;
        Ok(count > 0)
    }
}

fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe
    )
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn deflated(compress: &mut Compress, octets: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(octets.len() + 64);
    let begin = compress.total_in();
    loop {
        out.reserve(256);
        let used = usize::try_from(compress.total_in() - begin).unwrap_or(usize::MAX);
        let rest = octets.get(used..).unwrap_or_default();
        compress
            .compress_vec(rest, &mut out, FlushCompress::Sync)
            .map_err(io::Error::other)?;
        // There was room left, so the output is complete.
        if out.len() < out.capacity() {
            return Ok(out);
        }
    }
}

fn inflate(decompress: &mut Decompress, octets: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let begin = decompress.total_in();
    loop {
        out.reserve(1 << 16);
        let used = usize::try_from(decompress.total_in() - begin).unwrap_or(usize::MAX);
        let rest = octets.get(used..).unwrap_or_default();
        let before = (decompress.total_in(), decompress.total_out());
        decompress
            .decompress_vec(rest, out, FlushDecompress::Sync)
            .map_err(io::Error::other)?;
        if before == (decompress.total_in(), decompress.total_out()) {
            return Ok(());
        }
    }
}

/// Checks the first line of any reply (RFC 3977, 3.1 and 3.2); returns it without its CRLF.
pub fn initial_line(line: &[u8]) -> Result<&[u8], String> {
    if line.len() > INITIAL_LINE_BYTES_MAX {
        return Err(format!(
            "an initial line of {} octets (RFC 3977, 3.1)",
            line.len()
        ));
    }
    let text = whole_line(line)?;
    let (code, after) = text.split_at_checked(3).unwrap_or((text, b""));
    let is_code = code.len() == 3 && code.iter().all(u8::is_ascii_digit);
    if !is_code || !(after.is_empty() || after.starts_with(b" ")) {
        return Err("it does not begin with three digits (RFC 3977, 3.2)".to_owned());
    }
    Ok(text)
}

/// Checks a line of a block (RFC 3977, 3.1.1); returns it with dots undoubled, or `None` for the last line.
pub fn block_line(line: &[u8]) -> Result<Option<&[u8]>, String> {
    let text = whole_line(line)?;
    match text.strip_prefix(b".") {
        None => Ok(Some(text)),
        Some(b"") => Ok(None),
        Some(rest) if rest.starts_with(b".") => Ok(Some(rest)),
        Some(_) => Err("the dot at its start is not doubled (RFC 3977, 3.1.1)".to_owned()),
    }
}

fn whole_line(line: &[u8]) -> Result<&[u8], String> {
    let text = line
        .strip_suffix(b"\r\n")
        .ok_or("it does not end with CRLF (RFC 3977, 3.1)")?;
    match text.iter().any(|octet| matches!(octet, 0 | b'\r' | b'\n')) {
        true => Err("it contains NUL, CR or LF (RFC 3977, 3.1.1)".to_owned()),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{block_line, initial_line};

    #[test]
    fn every_reply_is_checked() {
        assert_eq!(initial_line(b"205 bye\r\n"), Ok(&b"205 bye"[..]));
        assert_eq!(initial_line(b"205\r\n"), Ok(&b"205"[..]));
        for wrong in [
            &b"205 bye\n"[..],
            b"20 bye\r\n",
            b"205bye\r\n",
            b"205 a\rb\r\n",
        ] {
            assert!(initial_line(wrong).is_err(), "{wrong:?}");
        }
        assert!(initial_line(format!("200 {:508}\r\n", "x").as_bytes()).is_err());
    }

    #[test]
    fn dots_of_a_block_are_undone() {
        assert_eq!(block_line(b"..a\r\n"), Ok(Some(&b".a"[..])));
        assert_eq!(block_line(b".\r\n"), Ok(None));
        assert!(block_line(b".a\r\n").is_err());
    }
}
