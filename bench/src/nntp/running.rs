//! A server that is up: what it uses, and how it is ended.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustls::ClientConfig;

use super::process;
use crate::inn;

/// A server that is up.
pub struct Running {
    /// Where it speaks plain NNTP with peers.
    pub address: SocketAddr,
    /// And with readers.
    pub readers: SocketAddr,
    /// Where it speaks TLS, and how a client is to.
    pub tls: Option<(SocketAddr, Arc<ClientConfig>)>,
    /// Does it keep what it is given?
    pub files: bool,
    /// Its news directory's room, on the file system that is measured.
    pub dir: PathBuf,
    pub(super) process: Process,
}

pub(super) enum Process {
    /// A process of its own.
    Child(Ended),
    /// `innd` for peers, and `nnrpd` as a daemon for readers, which is INN's faster way.
    Inn(inn::Server, Ended),
}

/// A process that is ended with the bench.
pub struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How long a server may take to be there, and to leave.
pub const PATIENCE: Duration = Duration::from_secs(30);

impl Running {
    /// Our server, once its process has been started.
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

    /// The processes that were started; others are below them.
    fn ids(&self) -> Vec<u32> {
        match &self.process {
            Process::Child(child) => vec![child.0.id()],
            Process::Inn(server, readers) => vec![server.id(), readers.0.id()],
        }
    }

    /// User and system time of the server and all it has started, when it has
    /// come to rest.
    ///
    /// # Errors
    /// Those of /proc.
    pub fn cpu(&self) -> Result<Duration> {
        process::at_rest(&self.ids())
    }

    /// Bytes of memory of the server and all that it has started (PSS).
    ///
    /// # Errors
    /// Those of /proc.
    pub fn memory(&self) -> Result<u64> {
        process::memory(&self.ids())
    }

    /// Waits until what it has started for those who have left has gone.
    ///
    /// # Errors
    /// Those of /proc.
    pub fn alone(&self) -> Result<()> {
        process::alone(&self.ids())
    }

    /// Ends it and says how many articles its history has, where that can be asked.
    ///
    /// # Errors
    /// It does not end.
    pub fn stop(self) -> Result<Option<u64>> {
        match self.process {
            Process::Child(mut child) => {
                let id = rustix::process::Pid::from_child(&child.0);
                rustix::process::kill_process(id, rustix::process::Signal::TERM)?;
                let begin = Instant::now();
                while child.0.try_wait()?.is_none() {
                    if begin.elapsed() > PATIENCE {
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

/// A port that nobody has.
///
/// # Errors
/// There is none.
pub fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}

/// Waits until somebody listens there, while the process lives.
///
/// # Errors
/// It ended, or took too long; `log` is what it said.
pub fn wait_for(child: &mut Ended, address: SocketAddr, log: &Path) -> Result<()> {
    let begin = Instant::now();
    while std::net::TcpStream::connect(address).is_err() {
        if child.0.try_wait()?.is_some() || begin.elapsed() > PATIENCE {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            bail!("the server did not start: {}", said.trim());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
