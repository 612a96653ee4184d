//! A running server: its resource usage, and its shutdown.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustls::ClientConfig;

use super::process;
use crate::inn;

/// A running server.
pub struct Running {
    /// Its plain NNTP address for peers.
    pub address: SocketAddr,
    /// Its address for readers.
    pub readers: SocketAddr,
    /// Its TLS address, and the client's configuration.
    pub tls: Option<(SocketAddr, Arc<ClientConfig>)>,
    /// Whether it stores articles.
    pub files: bool,
    /// Its directory, on the measured file system.
    pub dir: PathBuf,
    pub(super) process: Process,
}

pub(super) enum Process {
    /// A single process.
    Child(Ended),
    /// `innd` for peers, and `nnrpd` as a daemon for readers, which is INN's faster way.
    Inn(inn::Server, Ended),
}

/// A process that is killed at the end of the bench.
pub struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Time limit for a server to start, and to exit.
pub const TIMEOUT: Duration = Duration::from_secs(30);

impl Running {
    /// A server after the start of its process.
    pub fn of_child(
        child: Ended,
        address: SocketAddr,
        tls: Option<(SocketAddr, Arc<ClientConfig>)>,
        dir: PathBuf,
    ) -> Running {
        Running {
            address,
            readers: address,
            tls,
            files: true,
            dir,
            process: Process::Child(child),
        }
    }

    /// The processes that were started; others are their descendants.
    fn ids(&self) -> Vec<u32> {
        match &self.process {
            Process::Child(child) => vec![child.0.id()],
            Process::Inn(server, readers) => vec![server.id(), readers.0.id()],
        }
    }

    /// The process of the server.
    pub fn id(&self) -> u32 {
        match &self.process {
            Process::Child(child) => child.0.id(),
            Process::Inn(server, _) => server.id(),
        }
    }

    /// User and system time of the server and its descendants, once it is
    /// idle.
    ///
    /// # Errors
    /// Those of /proc.
    pub fn cpu(&self) -> Result<Duration> {
        process::at_rest(&self.ids())
    }

    /// Memory of the server and its descendants, bytes (PSS).
    ///
    /// # Errors
    /// Those of /proc.
    pub fn memory(&self) -> Result<u64> {
        process::memory(&self.ids())
    }

    /// Waits until its processes for clients that have quit have exited.
    ///
    /// # Errors
    /// Those of /proc.
    pub fn alone(&self) -> Result<()> {
        process::alone(&self.ids())
    }

    /// Stops it and returns the number of articles in its history, if available.
    ///
    /// # Errors
    /// It does not exit.
    pub fn stop(self) -> Result<Option<u64>> {
        match self.process {
            Process::Child(mut child) => {
                let id = rustix::process::Pid::from_child(&child.0);
                rustix::process::kill_process(id, rustix::process::Signal::TERM)?;
                let begin = Instant::now();
                while child.0.try_wait()?.is_none() {
                    if begin.elapsed() > TIMEOUT {
                        bail!("the server does not stop");
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
                Ok(None)
            }
            Process::Inn(server, readers) => {
                drop(readers);
                server.stop().map(Some)
            }
        }
    }
}

/// Waits until the process listens there.
///
/// # Errors
/// It exited, or exceeded the time limit; `log` has its output.
pub fn wait_for(child: &mut Ended, address: SocketAddr, log: &Path) -> Result<()> {
    let begin = Instant::now();
    while std::net::TcpStream::connect(address).is_err() {
        if child.0.try_wait()?.is_some() || begin.elapsed() > TIMEOUT {
            let printed = std::fs::read_to_string(log).unwrap_or_default();
            bail!("the server did not start: {}", printed.trim());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
