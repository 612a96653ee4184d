//! The servers under load: each a real process on loopback, with a fresh news directory.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustls::ClientConfig;

use super::{ours, process};
use crate::inn;
use crate::site::{Batch, Site, settle};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// `bench sink`: what the load program and TCP can do.
    Sink,
    Ours,
    InnFiles,
    InnCyclic,
}

impl Subject {
    /// In the order of the table's columns.
    pub const ALL: [Subject; 4] = [
        Subject::Sink,
        Subject::Ours,
        Subject::InnFiles,
        Subject::InnCyclic,
    ];

    /// The name over the column.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Sink => "limit",
            Subject::Ours => "broadsheet",
            Subject::InnFiles => "INN tradspool",
            Subject::InnCyclic => "INN CNFS",
        }
    }
}

/// CNFS begins each article at a multiple of this.
const CYCLIC_BLOCK_BYTES: u64 = 4 << 10;

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
    process: Process,
}

enum Process {
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
    /// Starts a server with the groups of `batch` and no articles.
    ///
    /// # Errors
    /// Why it cannot be started; the reason goes below the table.
    pub fn start(subject: Subject, site: &mut Site, batch: &Batch) -> Result<Running> {
        let disk = site.disk.clone();
        let dir = site.fresh(&disk)?;
        let running = match subject {
            Subject::Sink => sink(dir)?,
            Subject::Ours => ours::start(site, batch)?,
            Subject::InnFiles => with_inn(dir, batch, inn::Storage::FileAnArticle)?,
            Subject::InnCyclic => {
                // Room enough that nothing is overwritten.
                let bytes = batch.bytes + batch.articles * CYCLIC_BLOCK_BYTES / 8 * 9;
                let bytes = bytes.next_multiple_of(1 << 20).max(64 << 20);
                with_inn(dir, batch, inn::Storage::Cyclic { bytes })?
            }
        };
        settle();
        Ok(running)
    }

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

fn sink(dir: PathBuf) -> Result<Running> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("sink")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map(Ended)
        .context("starting bench sink")?;
    let mut port = String::new();
    let output = child.0.stdout.take().context("no output")?;
    BufReader::new(output).read_line(&mut port)?;
    let port = port.trim().parse().context("bench sink's port")?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Ok(Running {
        address,
        readers: address,
        tls: None,
        files: false,
        dir,
        process: Process::Child(child),
    })
}

fn with_inn(dir: PathBuf, batch: &Batch, storage: inn::Storage) -> Result<Running> {
    if let Some(reason) = inn::unusable() {
        bail!("{reason}");
    }
    let peer = super::client::PEER.to_string();
    let server = inn::Server::start_as(
        &dir,
        &batch.dir,
        &inn::Manner {
            storage,
            peer: &peer,
        },
    )?;
    let readers = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    let mut daemon = Ended(server.readers(readers.port())?);
    wait_for(&mut daemon, readers, &dir.join("nnrpd.out"))?;
    Ok(Running {
        address: inn::address(),
        readers,
        tls: None,
        files: true,
        dir,
        process: Process::Inn(server, daemon),
    })
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
