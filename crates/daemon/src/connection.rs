//! A client's connection to the daemon, on the daemon's side.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::request::Answer;

/// Time limit for the request of a client.
const ASK_WITHIN: Duration = Duration::from_secs(10);
/// Time limit for a client that does not read; after it, replies are discarded.
const READ_WITHIN: Duration = Duration::from_secs(2);

/// A connection to a client.
#[derive(Debug)]
pub struct Client {
    pub(super) stream: UnixStream,
    is_deaf: bool,
}

impl Client {
    /// Accepts the connection of a client.
    ///
    /// # Errors
    /// An I/O error.
    pub fn new(stream: UnixStream) -> io::Result<Client> {
        stream.set_read_timeout(Some(ASK_WITHIN))?;
        stream.set_write_timeout(Some(READ_WITHIN))?;
        Ok(Client {
            stream,
            is_deaf: false,
        })
    }

    /// Sends a line of the reply. A client that has closed the connection or does not read blocks no thread.
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

    /// The connection without a time limit, since it may be silent for any time.
    pub fn into_stream(self) -> io::Result<UnixStream> {
        self.stream.set_read_timeout(None)?;
        Ok(self.stream)
    }
}
