//! A connection to the daemon, seen from the daemon.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::request::Answer;

/// Who connects says what he wants within this.
const ASK_WITHIN: Duration = Duration::from_secs(10);
/// A client that does not read for so long is told nothing more.
const READ_WITHIN: Duration = Duration::from_secs(2);

/// The other end of a connection.
#[derive(Debug)]
pub struct Client {
    pub(super) stream: UnixStream,
    is_deaf: bool,
}

impl Client {
    /// Whoever connected.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new(stream: UnixStream) -> io::Result<Client> {
        stream.set_read_timeout(Some(ASK_WITHIN))?;
        stream.set_write_timeout(Some(READ_WITHIN))?;
        Ok(Client {
            stream,
            is_deaf: false,
        })
    }

    /// Answers a line. A client that is gone, or does not read, keeps nobody waiting.
    pub fn say(&mut self, answer: &Answer) {
        if self.is_deaf {
            return;
        }
        let Ok(mut line) = serde_json::to_vec(answer) else {
            return;
        };
        line.push(b'\n');
        self.is_deaf = self.stream.write_all(&line).is_err();
    }

    /// The bare connection, which may be silent for as long as it likes.
    pub fn into_stream(self) -> io::Result<UnixStream> {
        self.stream.set_read_timeout(None)?;
        Ok(self.stream)
    }
}
