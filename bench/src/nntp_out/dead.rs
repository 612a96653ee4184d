//! Filing while most peers are dead.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

use super::peers::SinkProcess;
use super::table::{Row, Sender, Table};
use super::{HERE, feeder, wait_until};
use crate::nntp::articles::Prepared;
use crate::nntp::client::PEER;
use crate::nntp::{ours, transit};
use crate::site::{Batch, Site};

/// Number of sites that take articles, and of those that are dead: one half refuses connections, the other never answers.
const LIVE: usize = 10;
const DEAD: usize = 490;

/// Time between the start and the filing: every dead peer was called at least once.
const WARM_UP: Duration = Duration::from_secs(2);

/// How the dead sites are fed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// There are none.
    None,
    /// By batches that nothing sends here.
    Batches,
    /// By NNTP.
    Dead,
}

/// Measures the rate of filing with and without dead sites.
///
/// # Errors
/// A wrong reply.
pub fn measure(
    site: &mut Site,
    batch: &Batch,
    prepared: &Prepared,
    table: &mut Table,
) -> Result<()> {
    if !table.wants(Row::Dead) {
        return Ok(());
    }
    for others in [Others::None, Others::Batches, Others::Dead] {
        let mut sink = SinkProcess::start(LIVE)?;
        let mut ports = sink.ports.clone();
        let mut text = String::new();
        let silent = silent()?;
        match others {
            Others::None => {}
            Others::Batches => {
                let sites = (0..DEAD).map(|number| {
                    format!("\n[[site]]\nname = \"b{number}\"\ngroups = \"all\"\nvia = {{ directory = \"../b\" }}\n")
                });
                text.extend(sites);
            }
            Others::Dead => {
                let refusing = refusing()?;
                ports.extend([refusing, silent.1].into_iter().cycle().take(DEAD));
            }
        }
        text += &feeder::sites(&ports);
        let server = ours::start_with(site, batch, &format!("\"{PEER}\""), &text)?;
        std::thread::sleep(WARM_UP);
        let command = (&prepared.takethis, "239");
        let (articles, time) =
            transit::stream(&server, transit::Over::Plain, 1, command, &prepared.ids, 1)?;
        let rate = articles as f64 / time.as_secs_f64();
        let id = server.id();
        wait_until("the live sites have all", || {
            sink.has(prepared.ids.len() * LIVE)
        })?;
        let threads = fs::read_dir(format!("/proc/{id}/task"))?.count();
        let descriptors = fs::read_dir(format!("/proc/{id}/fd"))?.count();
        let memory = server.memory()? as f64 / 1e6;
        let (rates, cells) = match others {
            Others::None => (Row::DeadNone, Sender::Limit),
            Others::Batches => (Row::Dead, Sender::Limit),
            Others::Dead => (Row::Dead, Sender::Ours),
        };
        table.add(rates, cells, rate);
        if others != Others::None {
            table.add(Row::DeadThreads, cells, threads as f64);
            table.add(Row::DeadDescriptors, cells, descriptors as f64);
            table.add(Row::DeadMemory, cells, memory);
        }
        drop(silent);
    }
    table.note(format!(
        "{DEAD} dead sites: one half refuses connections, the other never answers; beside them (\"limit\") as many sites that wait for batches; {LIVE} sites take all"
    ));
    Ok(())
}

/// A port at which nothing listens.
fn refusing() -> Result<u16> {
    let listener = TcpListener::bind((HERE, 0)).context("a port")?;
    Ok(listener.local_addr()?.port())
}

/// A port whose first connections get no greeting, and whose others get no answer at all.
fn silent() -> Result<(OwnedFd, u16)> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    listen(&socket, 0)?;
    let address = SocketAddr::try_from(getsockname(&socket)?).context("its address")?;
    Ok((socket, address.port()))
}
