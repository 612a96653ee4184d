//! A server of S3 that knows storage classes on this machine, for one test: moto, which is in Python and checks no keys.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The bucket.
pub const BUCKET: &str = "news-articles";

pub struct MotoServer {
    child: Child,
    address: String,
}

/// The directory of the peers beside the tests that has the modules.
fn modules() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok()?;
    let mut above = beside.ancestors().map(|dir| dir.join("peers/moto"));
    above.find(|path| path.join("moto").is_dir())
}

impl MotoServer {
    /// Starts a server with an empty bucket. `None`: a skip was printed.
    pub fn start() -> Option<MotoServer> {
        let mut command = Command::new("python3");
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]);
        if let Some(modules) = modules() {
            command.env("PYTHONPATH", modules);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let found = child.ok().and_then(|mut child| {
            let said = BufReader::new(child.stderr.take()?);
            // To its end where the module is missing.
            let mut lines = said.lines().map_while(Result::ok);
            let address = lines.find_map(|line| {
                let (_, rest) = line.split_once("Running on http://")?;
                Some(rest.split_whitespace().next()?.to_owned())
            });
            // It goes on to say what it is asked, and must not fill the pipe.
            std::thread::spawn(move || lines.for_each(drop));
            let server = MotoServer {
                child,
                address: address?,
            };
            Some(server)
        });
        match &found {
            None => {
                eprintln!("skipped: storage classes of S3 (there is no moto: run `make peers')")
            }
            Some(server) => server.put("", "", b""),
        }
        found
    }

    /// The URL of the server.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stores an object with further header lines, or makes the bucket.
    pub fn put(&self, name: &str, header: &str, content: &[u8]) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!(
            "PUT /{BUCKET}/{name} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{header}Content-Length: {}\r\n\r\n",
            self.address,
            content.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream.write_all(content).unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).unwrap();
        assert!(told.starts_with("HTTP/1.1 200"), "{told}");
    }
}

impl Drop for MotoServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
