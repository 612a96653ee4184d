//! A peer of the test's own that wants every article and counts what it gets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A well-behaved peer. Its threads end with the test program.
pub struct Taker {
    pub address: String,
    got: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Taker {
    /// Listens, and remembers nothing between connections: it takes an article as often as it is offered.
    pub fn start() -> Taker {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let got: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let counts = got.clone();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let counts = counts.clone();
                std::thread::spawn(move || converse(stream, &counts));
            }
        });
        Taker { address, got }
    }

    /// How often it got each article.
    pub fn got(&self) -> BTreeMap<String, usize> {
        self.got.lock().unwrap().clone()
    }

    /// The number of different articles.
    pub fn count(&self) -> usize {
        self.got.lock().unwrap().len()
    }
}

/// One connection. An error ends it, as the other side does.
fn converse(stream: TcpStream, got: &Mutex<BTreeMap<String, usize>>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut out = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    out.write_all(b"200 ready\r\n").ok()?;
    loop {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut words = line.split_whitespace();
        let command = words.next()?.to_ascii_uppercase();
        let id = words.next().unwrap_or_default();
        let reply = match command.as_str() {
            "CAPABILITIES" => "101 list\r\nVERSION 2\r\nIHAVE\r\nSTREAMING\r\n.".to_owned(),
            "MODE" => "203 go on".to_owned(),
            "CHECK" => format!("238 {id}"),
            "TAKETHIS" => {
                let mut line = Vec::new();
                while line != b".\r\n" {
                    line.clear();
                    if input.read_until(b'\n', &mut line).ok()? == 0 {
                        return None;
                    }
                }
                *got.lock().unwrap().entry(id.to_owned()).or_default() += 1;
                format!("239 {id}")
            }
            "QUIT" => return out.write_all(b"205 bye\r\n").ok(),
            _ => "500 what?".to_owned(),
        };
        out.write_all(format!("{reply}\r\n").as_bytes()).ok()?;
    }
}
