//! A server of S3 on this machine, for one test: versitygw, or Garage.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and each uses a part"
)]

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The bucket.
pub const BUCKET: &str = "news-articles";
/// The region.
pub const REGION: &str = "test-1";
const KEY: &str = "GK00112233445566778899aabb";
const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

pub struct S3Server {
    room: tempfile::TempDir,
    program: PathBuf,
    is_garage: bool,
    region: &'static str,
    port: u16,
    child: Option<Child>,
    tls: Option<[PathBuf; 2]>,
}

/// The program: of `S3_SERVER`, of the peers beside the tests, or along PATH. `None`: a skip was printed.
fn program() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|exe| {
        let mut above = exe.ancestors().map(|dir| dir.join("peers/versitygw"));
        above.find(|path| path.is_file())
    });
    let named = std::env::var_os("S3_SERVER").map(PathBuf::from);
    let program = named.or(beside).unwrap_or_else(|| "versitygw".into());
    let mut runs = Command::new(&program);
    let runs = runs.arg("--version").stdout(Stdio::null()).status();
    if runs.is_ok() {
        return Some(program);
    }
    eprintln!(
        "skipped: a bucket of S3 (there is no versitygw: install Go and run `make peers', or name it, or Garage, with S3_SERVER)"
    );
    None
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl S3Server {
    /// Starts a server with an empty bucket; with TLS by the files of a certificate and of its key. Garage has none, so then there is no
    /// server. `None`: a skip was printed.
    pub fn start_with(region: &'static str, tls: Option<[PathBuf; 2]>) -> Option<S3Server> {
        let program = program()?;
        let is_garage = program.ends_with("garage");
        if is_garage && tls.is_some() {
            eprintln!("skipped: TLS to a bucket of S3 (Garage has none)");
            return None;
        }
        let room = tempfile::tempdir().unwrap();
        fs::create_dir_all(room.path().join("buckets").join(BUCKET)).unwrap();
        let mut server = S3Server {
            room,
            program,
            is_garage,
            region,
            port: free_port(),
            child: None,
            tls,
        };
        server.restart();
        Some(server)
    }

    /// The URL of the servers.
    pub fn endpoint(&self) -> String {
        match self.tls {
            Some(_) => format!("https://localhost:{}", self.port),
            None => format!("http://127.0.0.1:{}", self.port),
        }
    }

    /// The access key and the secret key.
    pub fn keys(&self) -> [&'static str; 2] {
        [KEY, SECRET]
    }

    /// Whether the objects are files that a test can look at.
    pub fn has_files(&self) -> bool {
        !self.is_garage
    }

    /// The files below the bucket, with their paths there, sorted.
    pub fn files(&self) -> Vec<String> {
        let root = self.bucket();
        let mut found = Vec::new();
        let mut waiting = vec![root.clone()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path)
                } else {
                    found.push(path.strip_prefix(&root).unwrap().display().to_string())
                }
            }
        }
        found.sort();
        found
    }

    /// The directory of the bucket.
    pub fn bucket(&self) -> PathBuf {
        self.room.path().join("buckets").join(BUCKET)
    }

    /// Starts the server again, and waits until it accepts connections.
    pub fn restart(&mut self) {
        let log = File::create(self.room.path().join("log")).unwrap();
        let mut command = Command::new(&self.program);
        if self.is_garage {
            self.write_garage();
            command.arg("-c").arg(self.room.path().join("garage.toml"));
            command.args(["server", "--single-node", "--default-bucket"]);
            command.env("GARAGE_DEFAULT_ACCESS_KEY", KEY);
            command.env("GARAGE_DEFAULT_SECRET_KEY", SECRET);
            command.env("GARAGE_DEFAULT_BUCKET", BUCKET);
        } else {
            command.args(["--access", KEY, "--secret", SECRET]);
            command.args(["--region", self.region]);
            command.args(["--quiet", "--keep-alive", "--port"]);
            command.arg(format!("127.0.0.1:{}", self.port));
            if let Some([certificate, key]) = &self.tls {
                command.arg("--cert").arg(certificate).arg("--key").arg(key);
            }
            command.arg("posix").arg(self.room.path().join("buckets"));
            let sidecar = self.room.path().join("sidecar");
            fs::create_dir_all(&sidecar).unwrap();
            command.arg("--sidecar").arg(sidecar);
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.child = Some(child.unwrap());
        let until = Instant::now() + Duration::from_secs(120);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            let log = || fs::read_to_string(self.room.path().join("log")).unwrap();
            assert!(ended.is_none(), "the server has ended: {}", log());
            assert!(
                Instant::now() < until,
                "the server does not listen: {}",
                log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server by SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn write_garage(&self) {
        let path = self.room.path().join("garage.toml");
        if path.exists() {
            return;
        }
        let room = self.room.path().display();
        let text = format!(
            "metadata_dir = \"{room}/meta\"\ndata_dir = \"{room}/data\"\ndb_engine = \"sqlite\"\nreplication_factor = 1\n\
             rpc_bind_addr = \"127.0.0.1:{}\"\nrpc_secret = \"{SECRET}\"\n\
             [s3_api]\ns3_region = \"{}\"\napi_bind_addr = \"127.0.0.1:{}\"\n",
            free_port(),
            self.region,
            self.port
        );
        fs::write(path, text).unwrap();
    }
}

/// Writes a file with keys that only its owner may read.
pub fn write_login(path: &Path, key: &str, secret: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{key}\n{secret}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.kill();
    }
}
