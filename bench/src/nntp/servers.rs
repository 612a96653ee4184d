//! The servers under load: each a real process on loopback, with a fresh news directory.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::ours;
use super::running::{Ended, Process, Running, free_port, wait_for};
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
