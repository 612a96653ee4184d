//! A peer that takes articles by NNTP. It notes each one in the recording before it acknowledges it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;

/// See the module. Its threads end with the process.
pub struct Peer {
    /// Where it listens.
    pub address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    got: HashSet<String>,
    /// Offers of articles that it had.
    again: usize,
    /// Where it notes articles.
    recording: Option<File>,
}

/// The line of the recording for an article.
pub fn mark(id: &str) -> String {
    format!("sent {id}")
}

impl Peer {
    /// Listens on loopback.
    pub fn start() -> Result<Peer> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                std::thread::spawn(move || converse(stream, &state));
            }
        });
        Ok(Peer { address, state })
    }

    /// Notes articles in this file from now on.
    pub fn record(&self, recording: Option<File>) {
        self.with(|state| state.recording = recording);
    }

    /// Lets it have these articles and no others.
    pub fn reset(&self, got: HashSet<String>) {
        self.with(|state| {
            state.got = got;
            state.again = 0;
        });
    }

    /// Whether it has an article.
    pub fn has(&self, id: &str) -> bool {
        self.with(|state| state.got.contains(id))
    }

    /// Number of its articles.
    pub fn count(&self) -> usize {
        self.with(|state| state.got.len())
    }

    /// Number of offers of articles that it had, since the last reset.
    pub fn again(&self) -> usize {
        self.with(|state| state.again)
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One connection. An error ends it, as the other side does.
fn converse(stream: TcpStream, state: &Mutex<State>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut out = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    out.write_all(b"200 ready\r\n").ok()?;
    loop {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut words = line.split_whitespace();
        let (command, id) = (words.next()?, words.next().unwrap_or_default());
        let reply = match command {
            "CAPABILITIES" => "101 list\r\nVERSION 2\r\nIHAVE\r\nSTREAMING\r\n.".to_owned(),
            "MODE" => "203 go on".to_owned(),
            "CHECK" => {
                let mut state = lock();
                let has = state.got.contains(id);
                state.again += usize::from(has);
                format!("{} {id}", if has { 438 } else { 238 })
            }
            "TAKETHIS" => {
                let mut line = Vec::new();
                while line != b".\r\n" {
                    line.clear();
                    if input.read_until(b'\n', &mut line).ok()? == 0 {
                        return None;
                    }
                }
                let mut state = lock();
                if let Some(recording) = &mut state.recording {
                    recording.write_all(mark(id).as_bytes()).ok()?;
                }
                let is_new = state.got.insert(id.to_owned());
                state.again += usize::from(!is_new);
                format!("239 {id}")
            }
            "QUIT" => return out.write_all(b"205 bye\r\n").ok(),
            _ => "500 what?".to_owned(),
        };
        out.write_all(format!("{reply}\r\n").as_bytes()).ok()?;
    }
}
