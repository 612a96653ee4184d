//! NATS servers on this machine, for one test.
#![allow(dead_code, reason = "each test crate uses the part it needs")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cluster::entry::ENTRY_BYTES_MAX;
use cluster::jetstream::{find, new_login, public_key};
use cluster::log::{LogError, LogOptions};

/// Starts of a server that ends at once.
const STARTS: usize = 5;

pub struct Servers {
    room: tempfile::TempDir,
    program: PathBuf,
    clients: Vec<u16>,
    routes: Vec<u16>,
    monitors: Vec<u16>,
    logins: [String; 2],
    children: Vec<Option<Child>>,
}

/// The program: of `NATS_SERVER`, of the peers beside the tests, or along PATH. `None`: a skip was printed.
pub fn program() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|exe| {
        let mut above = exe.ancestors().map(|dir| dir.join("peers/nats-server"));
        above.find(|path| path.is_file())
    });
    let named = std::env::var_os("NATS_SERVER").map(PathBuf::from);
    let program = named.or(beside).unwrap_or_else(|| "nats-server".into());
    let runs = Command::new(&program)
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if runs.is_ok() {
        return Some(program);
    }
    eprintln!(
        "skipped: a cluster (there is no nats-server: install Go and run `make peers', or name one with NATS_SERVER)"
    );
    None
}

fn ports(count: usize) -> Vec<u16> {
    let free: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    free.iter().map(port).collect()
}

impl Servers {
    pub fn start(count: usize) -> Option<Servers> {
        Servers::start_with(count, "always")
    }

    pub fn start_with(count: usize, sync_interval: &str) -> Option<Servers> {
        let mut servers = Servers::prepare(count, sync_interval, None)?;
        (0..count).for_each(|place| servers.restart(place));
        Some(servers)
    }

    /// Writes the configurations, and starts nothing. `ways` has the port by which the first of two servers reaches the second; without it
    /// they reach each other directly.
    pub fn prepare(
        count: usize,
        sync_interval: &str,
        ways: Option<&dyn Fn(usize, usize) -> u16>,
    ) -> Option<Servers> {
        let program = program()?;
        let room = tempfile::tempdir().unwrap();
        let logins = [new_login().unwrap(), new_login().unwrap()];
        let keys = logins.clone().map(|seed| public_key(&seed).unwrap());
        let mut all = ports(3 * count);
        let (monitors, routes) = (all.split_off(2 * count), all.split_off(count));
        let clients = all;
        for place in 0..count {
            let urls: Vec<String> = (0..count)
                .filter(|other| ways.is_none() || *other != place)
                .map(|other| ways.map_or(routes[other], |ways| ways(place, other)))
                .map(|port| format!("\"nats://127.0.0.1:{port}\""))
                .collect();
            // With ways of their own, servers must not tell each other and the nodes direct ones.
            let hidden = match ways {
                Some(_) => "advertise: \"127.0.0.1:1\", no_advertise: true, ",
                None => "",
            };
            let cluster = match count {
                1 => String::new(),
                _ => format!(
                    "cluster {{ name: news, listen: \"127.0.0.1:{}\", {hidden}routes: [{}] }}\n",
                    routes[place],
                    urls.join(", ")
                ),
            };
            let text = format!(
                "server_name: s{place}\nlisten: \"127.0.0.1:{}\"\nhttp: \"127.0.0.1:{}\"\nmax_payload: {ENTRY_BYTES_MAX}\n\
                 jetstream {{ store_dir: \"{}\", sync_interval: {sync_interval}, max_memory_store: 67108864, max_file_store: 4294967296 }}\n\
                 {cluster}accounts {{ NEWS {{ jetstream: enabled, users: [ {{nkey: {}}} ] }}, SYS {{ users: [ {{nkey: {}}} ] }} }}\n\
                 system_account: SYS\n",
                clients[place],
                monitors[place],
                room.path().join(format!("s{place}")).display(),
                keys[0],
                keys[1]
            );
            std::fs::write(room.path().join(format!("{place}.conf")), text).unwrap();
        }
        Some(Servers {
            room,
            program,
            clients,
            routes,
            monitors,
            logins,
            children: (0..count).map(|_| None).collect(),
        })
    }

    /// The directory with everything of them.
    pub fn room(&self) -> &Path {
        self.room.path()
    }

    /// The directory in which a server keeps the log.
    pub fn store(&self, place: usize) -> PathBuf {
        self.room.path().join(format!("s{place}"))
    }

    /// The port of a server for nodes.
    pub fn client_port(&self, place: usize) -> u16 {
        self.clients[place]
    }

    /// The port of a server for the other servers.
    pub fn route_port(&self, place: usize) -> u16 {
        self.routes[place]
    }

    /// The process of a server that runs.
    pub fn pid(&self, place: usize) -> Option<u32> {
        self.children[place].as_ref().map(Child::id)
    }

    /// Whether a server runs, and has everything that the others have.
    pub fn is_healthy(&self, place: usize) -> bool {
        let asked = TcpStream::connect(("127.0.0.1", self.monitors[place]));
        let Ok(mut stream) = asked else {
            return false;
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
        let _ = stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n");
        let mut told = String::new();
        let _ = stream.read_to_string(&mut told);
        told.lines()
            .next()
            .is_some_and(|line| line.ends_with(" 200 OK"))
    }

    pub fn options(&self) -> LogOptions {
        let server = |port| format!("nats://127.0.0.1:{port}");
        LogOptions {
            servers: self.clients.iter().map(server).collect(),
            stream: "TEST".to_owned(),
            subject: "broadsheet.TEST".to_owned(),
            node: "test".to_owned(),
            login: Some(self.logins[0].clone()),
            system_login: Some(self.logins[1].clone()),
            ca: None,
            log: String::new(),
            replicas: 3,
            entry_bytes_max: ENTRY_BYTES_MAX,
            ..LogOptions::default()
        }
    }

    /// Starts a server, and waits until it accepts connections.
    pub fn restart(&mut self, place: usize) {
        assert!(self.starts(place), "the server does not start");
    }

    /// As [`Servers::restart`]; false if the server ends again and again.
    pub fn starts(&mut self, place: usize) -> bool {
        let until = Instant::now() + Duration::from_secs(60);
        // A connection of another program may have its port for a moment.
        for _ in 0..STARTS {
            self.spawn(place);
            while self.children[place]
                .as_mut()
                .unwrap()
                .try_wait()
                .unwrap()
                .is_none()
            {
                if TcpStream::connect(("127.0.0.1", self.clients[place])).is_ok() {
                    return true;
                }
                assert!(Instant::now() < until, "the server does not listen");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        self.children[place] = None;
        false
    }

    fn spawn(&mut self, place: usize) {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.room.path().join(format!("{place}.log")))
            .unwrap();
        let child = Command::new(&self.program)
            .arg("-c")
            .arg(self.room.path().join(format!("{place}.conf")))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.children[place] = Some(child.unwrap());
    }

    /// Ends a server, and starts it with another setting of `sync_interval`.
    pub fn restart_with(&mut self, place: usize, sync_interval: &str) {
        self.kill(place);
        let conf = self.room.path().join(format!("{place}.conf"));
        let text = std::fs::read_to_string(&conf).unwrap();
        let (before, rest) = text.split_once("sync_interval: ").unwrap();
        let (_, after) = rest.split_once(',').unwrap();
        std::fs::write(
            &conf,
            format!("{before}sync_interval: {sync_interval},{after}"),
        )
        .unwrap();
        self.restart(place);
    }

    /// Ends a server by SIGKILL.
    pub fn kill(&mut self, place: usize) {
        if let Some(mut child) = self.children[place].take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Waits until every replica of the stream is there and up to date, so that another server may fail.
    pub fn until_whole(&self, options: &LogOptions) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            match find(options) {
                Ok(_) => return,
                Err(LogError::Down(why)) => assert!(Instant::now() < until, "{why}"),
                Err(LogError::Stopped(why)) => panic!("{why}"),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        (0..self.children.len()).for_each(|place| self.kill(place));
    }
}
