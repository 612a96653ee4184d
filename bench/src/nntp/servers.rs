//! The measured servers: each a real process on loopback, with a new news directory.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::ours;
use super::running::{Ended, Process, Running, wait_for};
use crate::inn;
use crate::machine::free_port;
use crate::site::{Batch, Site, settle};

/// A measured server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// `bench sink`: the maximum of the load program and TCP.
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

    /// The name above the column.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Sink => "limit",
            Subject::Ours => "broadsheet",
            Subject::InnFiles => "INN tradspool",
            Subject::InnCyclic => "INN CNFS",
        }
    }
}

/// CNFS aligns each article to this.
const CYCLIC_BLOCK_BYTES: u64 = 4 << 10;

/// Starts a server with the groups of `batch` and no articles.
///
/// # Errors
/// It cannot be started; the reason is printed below the table.
pub fn start(subject: Subject, site: &mut Site, batch: &Batch) -> Result<Running> {
    start_for(subject, site, batch, &super::client::PEER.to_string())
}

/// As [`start`]; the addresses in `peers` may feed INN.
///
/// # Errors
/// As [`start`].
pub fn start_for(subject: Subject, site: &mut Site, batch: &Batch, peers: &str) -> Result<Running> {
    let disk = site.disk.clone();
    let dir = site.fresh(&disk)?;
    let running = match subject {
        Subject::Sink => sink(dir)?,
        Subject::Ours => ours::start(site, batch)?,
        Subject::InnFiles => with_inn(dir, batch, inn::Storage::FileAnArticle, peers)?,
        Subject::InnCyclic => {
            // Large enough that nothing is overwritten.
            let bytes = batch.bytes + batch.articles * CYCLIC_BLOCK_BYTES / 8 * 9;
            let bytes = bytes.next_multiple_of(1 << 20).max(64 << 20);
            with_inn(dir, batch, inn::Storage::Cyclic { bytes }, peers)?
        }
    };
    settle();
    Ok(running)
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

fn with_inn(dir: PathBuf, batch: &Batch, storage: inn::Storage, peers: &str) -> Result<Running> {
    if let Some(reason) = inn::missing_reason() {
        bail!("{reason}");
    }
    let options = inn::InnOptions {
        storage,
        peer: peers,
        ..inn::InnOptions::default()
    };
    let server = inn::Server::start_as(&dir, &batch.dir, &options)?;
    let readers = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    let mut daemon = Ended(server.readers(readers.port())?);
    wait_for(&mut daemon, readers, &dir.join("nnrpd.out"))?;
    Ok(Running {
        address: server.address,
        readers,
        tls: None,
        files: true,
        dir,
        process: Process::Inn(server, daemon),
    })
}
