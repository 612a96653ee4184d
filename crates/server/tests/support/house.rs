//! A server with a news directory of many groups and a writer that accepts nothing.
#![allow(missing_docs, clippy::indexing_slicing)] // a test fails by panicking

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use access::{Access, Entry, Login, Tables};
use rustix::net::sockopt::set_socket_send_buffer_size;
use server::{
    ArticleBatch, ArticleSink, Capabilities, ConfigSnapshot, Intake, Plan, Server, Times,
    TransferOutcome,
};
use store::{Options, Published, Spool};

pub const GROUPS: usize = 20_000;
const LONG: Duration = Duration::from_secs(600);

pub struct House {
    _dir: tempfile::TempDir,
    _spool: Spool,
    pub server: Server,
    pub address: SocketAddr,
    /// The network threads do nothing while a test locks it.
    pub gate: Arc<Mutex<()>>,
    /// Whether new clients should use another server.
    pub is_stale: Arc<AtomicBool>,
    /// Batches that the writer has not taken; `None`: it refuses them at once.
    pub waiting: Arc<Mutex<Option<Vec<ArticleBatch>>>>,
    /// Rounds of the network thread.
    pub rounds: Arc<AtomicUsize>,
}

struct Refuses {
    rounds: Arc<AtomicUsize>,
    gate: Arc<Mutex<()>>,
    is_stale: Arc<AtomicBool>,
    waiting: Arc<Mutex<Option<Vec<ArticleBatch>>>>,
}

fn refuse(mut batch: ArticleBatch) {
    batch.set_remaining(&TransferOutcome::Refused(b"no".to_vec()));
    batch.return_to_sender();
}

impl ArticleSink for Refuses {
    fn file(&self, batch: ArticleBatch) {
        match &mut *self.waiting.lock().expect("whole") {
            Some(waiting) => waiting.push(batch),
            None => refuse(batch),
        }
    }

    fn intake(&self) -> Intake {
        Intake::Open
    }

    fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::SeqCst)
    }

    fn before_work(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        drop(self.gate.lock());
    }
}

impl House {
    /// With these entries of `[[access]]`.
    pub fn new(entries: Vec<Entry>) -> House {
        House::with(entries, None, LONG)
    }

    /// A server with small socket buffers, which has to wait for its clients.
    pub fn with_small_buffers() -> House {
        House::with(Vec::new(), Some(4096), LONG)
    }

    /// With these entries of `[[access]]`, and this time limit of connections.
    pub fn limited(entries: Vec<Entry>, limit: Duration) -> House {
        House::with(entries, None, limit)
    }

    /// A server whose writer is held up until [`House::go_on`], with this time limit of connections.
    pub fn held_up(limit: Duration) -> House {
        let house = House::with(Vec::new(), None, limit);
        *house.waiting.lock().expect("whole") = Some(Vec::new());
        house
    }

    /// The writer goes on.
    pub fn go_on(&self) {
        let waiting = self.waiting.lock().expect("whole").take();
        waiting.into_iter().flatten().for_each(refuse);
    }

    fn with(entries: Vec<Entry>, buffer_bytes: Option<usize>, limit: Duration) -> House {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("segments")).expect("made");
        std::fs::create_dir(dir.path().join("bad")).expect("made");
        let active: String = (0..GROUPS)
            .map(|number| format!("misc.group.{number} 0000000000 00001 y\n"))
            .collect();
        std::fs::write(dir.path().join("active"), active).expect("written");
        let published = Published::new();
        let mut spool = Spool::open(dir.path(), Options::default()).expect("a spool");
        spool.publish_to(published.clone());
        let listeners = server::socket::bind_beside(&[], "127.0.0.1:0", false).expect("a port");
        if let Some(bytes) = buffer_bytes {
            // Accepted sockets inherit it.
            set_socket_send_buffer_size(&listeners[0].socket, bytes).expect("set");
        }
        let address = listeners[0].address;
        let gate: Arc<Mutex<()>> = Arc::default();
        let is_stale: Arc<AtomicBool> = Arc::default();
        let waiting: Arc<Mutex<Option<Vec<ArticleBatch>>>> = Arc::default();
        let rounds: Arc<AtomicUsize> = Arc::default();
        let plan = Plan {
            dir: dir.path().to_owned(),
            published,
            sink: Arc::new(Refuses {
                gate: gate.clone(),
                is_stale: is_stale.clone(),
                waiting: waiting.clone(),
                rounds: rounds.clone(),
            }),
            listeners,
            threads: 1,
            spawn: server::worker_pool::spawn_here(),
            begin: Arc::new(|| {}),
            config: ConfigSnapshot {
                access: Arc::new(Access::new(&Tables { entries }, Login::none())),
                capabilities: Arc::new(capabilities()),
                certificates: None,
                zone: &article::date::Utc,
                times: Times {
                    idle: limit,
                    first: limit,
                },
                connections_max: 100,
                connections_per_address_max: 100,
            },
        };
        House {
            server: Server::start(plan).expect("a server"),
            _dir: dir,
            _spool: spool,
            address,
            gate,
            is_stale,
            waiting,
            rounds,
        }
    }

    /// A connection that has read the greeting.
    pub fn greeted(&self) -> BufReader<TcpStream> {
        let mut from = self.connected();
        assert!(line(&mut from).starts_with("200 "));
        from
    }

    /// A connection that has read nothing yet.
    pub fn connected(&self) -> BufReader<TcpStream> {
        let socket = TcpStream::connect(self.address).expect("connected");
        let patience = Some(Duration::from_secs(60));
        socket.set_read_timeout(patience).expect("set");
        socket.set_write_timeout(patience).expect("set");
        BufReader::new(socket)
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        host: "news.test".to_owned(),
        software: "Test 1".to_owned(),
        has_tls: false,
        has_compression: true,
        has_plaintext_passwords: false,
        article_bytes_max: 1 << 20,
        wire_bytes_max: 2 << 20,
        headers_only: false,
        disabled: Vec::new(),
    }
}

pub fn line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).expect("a line");
    line
}

/// Reads a multi-line reply, and returns the number of its lines.
pub fn lines(from: &mut impl BufRead) -> usize {
    let lines = std::iter::from_fn(|| Some(line(from)));
    lines
        .take_while(|line| !matches!(&**line, ".\r\n" | ""))
        .count()
}
