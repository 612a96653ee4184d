//! NNTP, and HTTP, with the daemon beside a test.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::daemon::{Daemon, PATIENCE};

/// A client.
pub struct Wire {
    stream: BufReader<TcpStream>,
}

impl Wire {
    /// Connects, and reads no greeting.
    pub fn connect(address: &str) -> Wire {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Wire {
            stream: BufReader::new(stream),
        }
    }

    /// Says this, and returns the line that answers.
    pub fn ask(&mut self, text: &str) -> String {
        self.say(text.as_bytes());
        self.line()
    }

    pub fn say(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// A line without its end; empty at the end of the connection.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Everything up to the end of the connection.
    pub fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap();
        String::from_utf8_lossy(&rest).into_owned()
    }
}

/// The address in a line that the daemon says with this in it.
pub fn address(daemon: &Daemon, part: &str) -> String {
    let line = daemon.until_said(part);
    let (_, rest) = line.split_once(part).unwrap();
    let end = rest.find(['/', ' ', '"']).unwrap_or(rest.len());
    rest.get(..end).unwrap().to_owned()
}

/// What an HTTP request is answered with.
pub fn http(address: &str, request: &str) -> String {
    let mut wire = Wire::connect(address);
    wire.say(request.as_bytes());
    wire.rest()
}
