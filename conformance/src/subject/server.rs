//! A server of the suite's own, on loopback, in a directory that goes with it.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Absent;

/// How long a server may take to open its door.
const DOOR: Duration = Duration::from_secs(60);

/// How long it may take to leave when it is asked to.
const LEAVING: Duration = Duration::from_secs(2);

/// A running server.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) tls_address: Option<SocketAddr>,
    children: Vec<Child>,
    room: tempfile::TempDir,
}

impl Server {
    /// One that is about to start in `room`.
    pub(super) fn new(room: tempfile::TempDir) -> Result<Server, Absent> {
        Ok(Server {
            address: free_address()?,
            tls_address: None,
            children: Vec::new(),
            room,
        })
    }

    pub(super) fn dir(&self) -> &Path {
        self.room.path()
    }

    /// Starts a program of it, and waits until it listens. What it says goes to `NAME.out`.
    pub(super) fn start(
        &mut self,
        name: &str,
        command: &mut Command,
        door: SocketAddr,
    ) -> Result<(), Absent> {
        let broken = |error: std::io::Error| Absent::Broken(format!("{name}: {error}"));
        let said = self.dir().join(format!("{name}.out"));
        let log = fs::File::create(&said).map_err(broken)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(broken)?)
            .stderr(log)
            .spawn()
            .map_err(broken)?;
        self.children.push(child);
        let begin = Instant::now();
        while TcpStream::connect(door).is_err() {
            let ended = match self.children.last_mut() {
                Some(child) => child.try_wait().map_err(broken)?.is_some(),
                None => true,
            };
            if ended || begin.elapsed() > DOOR {
                let said = fs::read_to_string(&said).unwrap_or_default();
                return Err(Absent::Broken(format!("{name} did not start: {said}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for child in &mut self.children {
            let mut asked = Command::new("kill");
            let _ = asked.arg(child.id().to_string()).status();
            let begin = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && begin.elapsed() < LEAVING {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An address on loopback that nobody uses now.
pub(super) fn free_address() -> Result<SocketAddr, Absent> {
    let broken = |error: std::io::Error| Absent::Broken(format!("a port: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(broken)?;
    listener.local_addr().map_err(broken)
}

/// A certificate and its key, `cert.pem` and `key.pem` in `dir`, made by the program openssl; `false` where that is missing.
pub(super) fn make_certificate(dir: &Path) -> bool {
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30",
        ])
        .args(["-subj", "/CN=news.example.org"])
        .args(["-addext", "subjectAltName=DNS:news.example.org"])
        .arg("-keyout")
        .arg(dir.join("key.pem"))
        .arg("-out")
        .arg(dir.join("cert.pem"))
        .output();
    made.is_ok_and(|made| made.status.success())
}
