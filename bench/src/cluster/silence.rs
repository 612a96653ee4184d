//! How long a peer hears nothing when a node or a server dies.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::start::{Cluster, NODES};
use crate::nntp::articles::Prepared;
use crate::nntp::client::Client;
use crate::nntp::number;

/// Time before a fault, and after it until what died is started again, and after that.
const BEFORE: Duration = Duration::from_secs(3);
const DEAD: Duration = Duration::from_secs(20);
const AFTER: Duration = Duration::from_secs(10);
/// Pause of a peer after a refusal.
const PAUSE: Duration = Duration::from_millis(10);
/// Pause between two articles.
const QUIET: Duration = Duration::from_millis(2);

/// Kills each node and each server once; prints the longest time between two acknowledgements for a peer that uses another node as soon as
/// one fails.
///
/// # Errors
/// A server does not start again.
pub fn measure(cluster: &mut Cluster, prepared: &Prepared) -> Result<()> {
    let faults = (BEFORE + DEAD + AFTER) * 2 * NODES as u32;
    let articles = prepared.further((faults.as_millis() / QUIET.as_millis()) as u64);
    for place in 0..2 * NODES {
        let begin = place * articles.len() / (2 * NODES);
        let end = (place + 1) * articles.len() / (2 * NODES);
        let addresses = cluster
            .running()
            .iter()
            .map(|node| node.address)
            .collect::<Vec<_>>();
        let (is_over, times) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let name = match place < NODES {
            true => format!("node {place}"),
            false => format!("server {}", place - NODES),
        };
        let died = std::thread::scope(|scope| -> Result<(Instant, Instant)> {
            let (is_over, times) = (&is_over, &times);
            let articles = articles.get(begin..end).unwrap_or_default();
            // The first to be tried is the one that dies, if it is a node.
            let peer = scope.spawn(move || {
                let mut node = place % NODES;
                let mut client: Option<Client> = None;
                for (id, bytes) in articles {
                    while !is_over.load(Ordering::Relaxed) {
                        let address = addresses.get(node).copied().context("no node")?;
                        let taken = client
                            .take()
                            .map_or_else(|| Client::peer(address), Ok)
                            .and_then(|mut client| offer(&mut client, id, bytes).map(|()| client));
                        if let Ok(taken) = taken {
                            client = Some(taken);
                            times
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .push(Instant::now());
                            std::thread::sleep(QUIET);
                            break;
                        }
                        node = (node + 1) % NODES;
                        std::thread::sleep(PAUSE);
                    }
                }
                anyhow::Ok(())
            });
            std::thread::sleep(BEFORE);
            let died = Instant::now();
            let killed = kill(cluster, place);
            std::thread::sleep(DEAD);
            let back = Instant::now();
            let restarted = restart(cluster, place);
            std::thread::sleep(AFTER);
            is_over.store(true, Ordering::Relaxed);
            peer.join().map_err(|_| anyhow!("the peer failed"))??;
            killed?;
            restarted?;
            Ok((died, back))
        })?;
        let times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
        let gap = |from: Instant, to: Instant| {
            let pairs = times
                .windows(2)
                .filter_map(|two| Some((*two.first()?, *two.last()?)));
            let gaps = pairs
                .filter(|(one, other)| *other > from && *one < to)
                .map(|(one, other)| other - one);
            let last = times
                .last()
                .map_or(Duration::MAX, |last| to.saturating_duration_since(*last));
            gaps.max().unwrap_or_default().max(last)
        };
        println!(
            "silence: {name} killed: {} s, started again: {} s ({} articles were acknowledged)",
            number(gap(died.0, died.1).as_secs_f64()),
            number(gap(died.1, died.1 + AFTER).as_secs_f64()),
            times.len()
        );
    }
    Ok(())
}

/// Offers an article; one that the node has already was acknowledged.
fn offer(client: &mut Client, id: &str, bytes: &[u8]) -> Result<()> {
    let line = client.ask(&format!("IHAVE {id}"), "")?;
    if line.starts_with("435 ") {
        return Ok(());
    }
    if !line.starts_with("335 ") {
        return Err(anyhow!(line));
    }
    client.send(bytes)?;
    client.expect("235").map(drop)
}

fn kill(cluster: &mut Cluster, place: usize) -> Result<()> {
    match cluster.nodes.get_mut(place) {
        // Dropping kills it.
        Some(node) => drop(node.running.take()),
        None => cluster
            .servers
            .get_mut(place - NODES)
            .context("no server")?
            .kill()?,
    }
    Ok(())
}

fn restart(cluster: &mut Cluster, place: usize) -> Result<()> {
    match place < NODES {
        true => cluster.restart_node(place),
        false => cluster
            .servers
            .get_mut(place - NODES)
            .context("no server")?
            .restart(),
    }
}
