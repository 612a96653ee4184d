//! A peer of the test's own that takes articles and counts what it gets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A well-behaved peer. Its threads end with the test program.
pub struct Taker {
    pub address: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// How often each article came.
    got: Mutex<BTreeMap<String, usize>>,
    /// Bytes of all articles.
    bytes: AtomicU64,
    /// The pause after each article, µs.
    pause: AtomicU64,
    /// CHECK of an article that it has gets 438.
    remembers: bool,
}

impl Taker {
    /// Listens, and takes an article as often as it is offered.
    pub fn start() -> Taker {
        Taker::with(State::default())
    }

    /// Listens, and does not want what it has. It pauses after each article, µs.
    pub fn remembering(pause: u64) -> Taker {
        Taker::with(State {
            pause: AtomicU64::new(pause),
            remembers: true,
            ..State::default()
        })
    }

    fn with(state: State) -> Taker {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(state);
        let shared = state.clone();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let state = shared.clone();
                std::thread::spawn(move || converse(stream, &state));
            }
        });
        Taker { address, state }
    }

    /// How often it got each article.
    pub fn got(&self) -> BTreeMap<String, usize> {
        self.state.got.lock().unwrap().clone()
    }

    /// The number of different articles.
    pub fn count(&self) -> usize {
        self.state.got.lock().unwrap().len()
    }

    pub fn has(&self, id: &str) -> bool {
        self.state.got.lock().unwrap().contains_key(id)
    }

    /// Bytes of all articles that it got.
    pub fn bytes(&self) -> u64 {
        self.state.bytes.load(Ordering::SeqCst)
    }

    /// Ends the pauses.
    pub fn hurry(&self) {
        self.state.pause.store(0, Ordering::SeqCst);
    }
}

/// One connection. An error ends it, as the other side does.
fn converse(stream: TcpStream, state: &State) -> Option<()> {
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
            "MODE" if id.eq_ignore_ascii_case("HEADFEED") => "250 headers only".to_owned(),
            "MODE" => "203 go on".to_owned(),
            "CHECK" if state.remembers && state.got.lock().unwrap().contains_key(id) => {
                format!("438 {id}")
            }
            "CHECK" => format!("238 {id}"),
            "TAKETHIS" => {
                let (mut line, mut bytes) = (Vec::new(), 0);
                while line != b".\r\n" {
                    line.clear();
                    match input.read_until(b'\n', &mut line).ok()? {
                        0 => return None,
                        count => bytes += count as u64,
                    }
                }
                state.bytes.fetch_add(bytes, Ordering::SeqCst);
                *state.got.lock().unwrap().entry(id.to_owned()).or_default() += 1;
                let pause = state.pause.load(Ordering::SeqCst);
                std::thread::sleep(Duration::from_micros(pause));
                format!("239 {id}")
            }
            "QUIT" => return out.write_all(b"205 bye\r\n").ok(),
            _ => "500 what?".to_owned(),
        };
        out.write_all(format!("{reply}\r\n").as_bytes()).ok()?;
    }
}
