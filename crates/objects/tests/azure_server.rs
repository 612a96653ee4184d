//! Azurite, Microsoft's emulator of Azure Blob Storage, on this machine, for one test.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and each uses a part"
)]

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// The container.
pub const CONTAINER: &str = "news-articles";
const ACCOUNT: &str = "broadsheettest";
const KEY: &str = "MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmY=";
/// Time for the program to start, or to end.
const PATIENCE: Duration = Duration::from_secs(120);

/// Makes a container, as Azurite has no option for that: the arguments are its URL, the account and the key.
const MAKE_CONTAINER: &str = r"
const [url, account, key] = process.argv.slice(1);
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
const version = '2021-08-06', date = new Date().toUTCString();
const text = 'PUT' + '\n'.repeat(12) + `x-ms-date:${date}\nx-ms-version:${version}\n/${account}${new URL(url).pathname}\nrestype:container`;
const mac = require('crypto').createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
const secure = url.startsWith('https:');
const headers = { 'x-ms-date': date, 'x-ms-version': version, 'content-length': 0, authorization: `SharedKey ${account}:${mac}` };
const request = require(secure ? 'https' : 'http').request(url + '?restype=container', { method: 'PUT', headers }, answer => {
  answer.resume();
  if (answer.statusCode !== 201) { console.error(answer.statusCode, answer.headers); process.exitCode = 1; }
});
request.on('error', error => { console.error(error); process.exitCode = 1; });
request.end();
";

pub struct AzureServer {
    room: tempfile::TempDir,
    program: PathBuf,
    port: u16,
    child: Option<Child>,
    tls: Option<[PathBuf; 2]>,
}

/// A free port that no connection to elsewhere gets by chance while the server starts, which takes seconds: they get 32768 and above.
fn free_port() -> u16 {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() as u16;
    loop {
        let tried = TRIED.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + first.wrapping_add(tried) % 10_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The program: of `AZURITE`, of the peers beside the tests, or along PATH. `None`: a skip was printed.
fn program() -> Option<PathBuf> {
    let name = "peers/azurite/node_modules/.bin/azurite-blob";
    let beside = std::env::current_exe().ok().and_then(|exe| {
        let mut above = exe.ancestors().map(|dir| dir.join(name));
        above.find(|path| path.is_file())
    });
    let named = std::env::var_os("AZURITE").map(PathBuf::from);
    let program = named.or(beside).unwrap_or_else(|| "azurite-blob".into());
    let mut runs = Command::new(&program);
    let runs = runs
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if runs.status().is_ok_and(|status| status.success()) {
        return Some(program);
    }
    eprintln!(
        "skipped: Azure Blob Storage (there is no azurite-blob: install Node.js with npm and run `make peers', or name it with AZURITE)"
    );
    None
}

impl AzureServer {
    /// Starts a server with an empty container; with TLS by the files of a certificate and of its key. `None`: a skip was printed.
    pub fn start_with(tls: Option<[PathBuf; 2]>) -> Option<AzureServer> {
        let mut server = AzureServer {
            program: program()?,
            room: tempfile::tempdir().unwrap(),
            port: free_port(),
            child: None,
            tls,
        };
        server.restart();
        let made = Command::new("node")
            .args(["-e", MAKE_CONTAINER])
            .arg(format!("{}/{CONTAINER}", server.endpoint()))
            .args([ACCOUNT, KEY])
            .output();
        let made = made.unwrap();
        let told = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(made.status.success(), "{told}");
        Some(server)
    }

    /// The URL of the account.
    pub fn endpoint(&self) -> String {
        match self.tls {
            Some(_) => format!("https://localhost:{}/{ACCOUNT}", self.port),
            None => format!("http://127.0.0.1:{}/{ACCOUNT}", self.port),
        }
    }

    /// The account and its key.
    pub fn keys(&self) -> [&'static str; 2] {
        [ACCOUNT, KEY]
    }

    /// Starts the server again, and waits until it accepts connections.
    pub fn restart(&mut self) {
        let log = self.room.path().join("log");
        let out = File::create(&log).unwrap();
        let mut command = Command::new(&self.program);
        command.args(["--blobHost", "127.0.0.1", "--blobPort"]);
        command.arg(self.port.to_string()).arg("--location");
        command.arg(self.room.path().join("data"));
        command.args(["--skipApiVersionCheck", "--disableTelemetry", "--silent"]);
        if let Some([certificate, key]) = &self.tls {
            command.arg("--cert").arg(certificate).arg("--key").arg(key);
        }
        let child = command
            .env("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{KEY}"))
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn();
        self.child = Some(child.unwrap());
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            let told = || fs::read_to_string(&log).unwrap();
            assert!(ended.is_none(), "the server has ended: {}", told());
            assert!(
                Instant::now() < until,
                "the server does not listen: {}",
                told()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server: by SIGTERM, on which it writes what it has.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let pid = child.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        let until = Instant::now() + PATIENCE;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > until {
                child.kill().unwrap();
                child.wait().unwrap();
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for AzureServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
