//! A server started by the suite, on loopback, in a temporary directory.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Absent;

/// Time limit for a server to open its listener.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit for a server to exit after SIGTERM.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// A running server.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) tls_address: Option<SocketAddr>,
    children: Vec<Child>,
    directory: tempfile::TempDir,
}

impl Server {
    /// A server that will start in `directory` and listen at `address`.
    pub(super) fn new(directory: tempfile::TempDir, address: SocketAddr) -> Server {
        Server {
            address,
            tls_address: None,
            children: Vec::new(),
            directory,
        }
    }

    pub(super) fn dir(&self) -> &Path {
        self.directory.path()
    }

    /// Starts a program of the server, and waits until it listens. Its output goes to `NAME.out`.
    pub(super) fn start(
        &mut self,
        name: &str,
        command: &mut Command,
        listener: SocketAddr,
    ) -> Result<(), Absent> {
        self.start_until(name, command, |_| TcpStream::connect(listener).ok())?;
        Ok(())
    }

    /// Starts a program of the server, and waits until its output is sufficient.
    pub(super) fn start_until<T>(
        &mut self,
        name: &str,
        command: &mut Command,
        enough: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Absent> {
        let broken = |error: std::io::Error| Absent::Broken(format!("{name}: {error}"));
        let log_path = self.dir().join(format!("{name}.out"));
        let log = fs::File::create(&log_path).map_err(broken)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(broken)?)
            .stderr(log)
            .spawn()
            .map_err(broken)?;
        self.children.push(child);
        let begin = Instant::now();
        loop {
            let so_far = fs::read(&log_path).unwrap_or_default();
            let so_far = String::from_utf8_lossy(&so_far);
            if let Some(found) = enough(&so_far) {
                return Ok(found);
            }
            let ended = match self.children.last_mut() {
                Some(child) => child.try_wait().map_err(broken)?.is_some(),
                None => true,
            };
            if ended || begin.elapsed() > START_TIMEOUT {
                return Err(Absent::Broken(format!("{name} did not start: {so_far}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for child in &mut self.children {
            let mut asked = Command::new("kill");
            let _ = asked.arg(child.id().to_string()).status();
            let begin = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && begin.elapsed() < EXIT_TIMEOUT {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An unused address on loopback, for a server that cannot choose one itself. Another process may take it first.
pub(super) fn free_address() -> Result<SocketAddr, Absent> {
    let broken = |error: std::io::Error| Absent::Broken(format!("a port: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(broken)?;
    listener.local_addr().map_err(broken)
}

/// Makes a certificate and its key, `cert.pem` and `key.pem` in `dir`, with the program openssl; returns `false` if that is not installed.
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
