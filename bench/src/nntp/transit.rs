//! The load of peers: TAKETHIS, CHECK and single IHAVEs.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::articles::{Commands, Prepared};
use super::client::{Client, peer_stream};
use super::pipeline::{Link, pump};
use super::running::Running;

/// Pause between two single IHAVEs.
const QUIET: Duration = Duration::from_millis(5);

/// Bytes appended before the bare `fdatasync`.
const APPENDED_BYTES: usize = 4 << 10;

/// The kind of a peer's connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Over {
    Plain,
    Tls,
}

/// Sends every command once over `connections` connections, each its share, and reads every
/// reply. The time is from the first byte of a command to the last reply.
///
/// # Errors
/// A reply other than `code` and the id of the command.
pub fn stream(
    server: &Running,
    over: Over,
    connections: usize,
    (commands, code): (&Commands, &str),
    ids: &[String],
    times: u64,
) -> Result<(u64, Duration)> {
    let mut links = Vec::new();
    for _ in 0..connections {
        links.push(link(server, over)?);
    }
    let share = ids.len().div_ceil(connections.max(1));
    let begin = Instant::now();
    let answered = std::thread::scope(|scope| {
        let peers: Vec<_> = links
            .into_iter()
            .zip(ids.chunks(share))
            .enumerate()
            .map(|(number, (mut link, ids))| {
                let from = number * share;
                let bytes = commands.part(from, from + ids.len());
                scope.spawn(move || -> Result<u64> {
                    let mut answered = 0;
                    for _ in 0..times {
                        answered += pump(&mut link, bytes, code, ids.iter(), &|_| usize::MAX)?;
                    }
                    Ok(answered)
                })
            })
            .collect();
        peers
            .into_iter()
            .map(|peer| peer.join().map_err(|_| anyhow!("a peer's thread failed"))?)
            .sum::<Result<u64>>()
    })?;
    Ok((answered, begin.elapsed()))
}

/// Sends the articles `from..to` over one connection, at most `window` of them without a reply.
///
/// # Errors
/// As [`stream`].
pub fn windowed(
    server: &Running,
    prepared: &Prepared,
    (from, to): (usize, usize),
    window: usize,
) -> Result<(u64, Duration)> {
    let mut link = link(server, Over::Plain)?;
    let commands = &prepared.takethis;
    let ids = prepared.ids.get(from..to).unwrap_or_default();
    let may_write = |answered| {
        let end = (from + answered as usize + window).min(to);
        commands.part(from, end).len()
    };
    let begin = Instant::now();
    let bytes = commands.part(from, to);
    let answered = pump(&mut link, bytes, "239", ids.iter(), &may_write)?;
    Ok((answered, begin.elapsed()))
}

/// Sends the articles `from..to` by IHAVE over so many connections, one at a time on each.
///
/// # Errors
/// A reply other than 335 and 235.
pub fn ihave(
    server: &Running,
    prepared: &Prepared,
    (from, to): (usize, usize),
    connections: usize,
) -> Result<(u64, Duration)> {
    let mut peers = Vec::new();
    for _ in 0..connections {
        peers.push(Client::peer(server.address)?);
    }
    let next = AtomicUsize::new(from);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let send = |mut peer: Client| -> Result<()> {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(id) = prepared.ids.get(place).filter(|_| place < to) else {
                    return Ok(());
                };
                let command = prepared.takethis.part(place, place + 1);
                let line = memchr::memchr(b'\n', command).map_or(0, |end| end + 1);
                peer.ask(&format!("IHAVE {id}"), "335")?;
                peer.send(command.get(line..).unwrap_or_default())?;
                peer.expect("235").with_context(|| format!("IHAVE {id}"))?;
            }
        };
        let threads: Vec<_> = peers
            .into_iter()
            .map(|peer| scope.spawn(move || send(peer)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|peer| peer.join().map_err(|_| anyhow!("a peer's thread failed"))?)
    })?;
    Ok(((to - from) as u64, begin.elapsed()))
}

fn link(server: &Running, over: Over) -> Result<Link> {
    match over {
        Over::Plain => {
            let mut client = Client::peer(server.address)?;
            client.ask("MODE STREAM", "203")?;
            Ok(Link::Plain(client.into_stream()))
        }
        Over::Tls => {
            let (address, settings) = server.tls.as_ref().context("no TLS here")?;
            Link::tls(peer_stream(*address)?, settings)
        }
    }
}

/// Sends one article at a time by IHAVE, with a pause in between; returns each time from the
/// command to 235.
///
/// # Errors
/// A reply other than 335 and 235.
pub fn quiet_ihave(server: &Running, articles: &[(String, Vec<u8>)]) -> Result<Vec<Duration>> {
    let mut peer = Client::peer(server.address)?;
    let mut times = Vec::new();
    for (id, bytes) in articles {
        std::thread::sleep(QUIET);
        let begin = Instant::now();
        peer.ask(&format!("IHAVE {id}"), "335")?;
        peer.send(bytes)?;
        peer.expect("235").with_context(|| format!("IHAVE {id}"))?;
        times.push(begin.elapsed());
    }
    Ok(times)
}

/// Measures the machine's limit for that: an append and `fdatasync`, with the same pauses.
///
/// # Errors
/// Those of the file system.
pub fn bare_appends(dir: &Path, count: usize) -> Result<Vec<Duration>> {
    let mut file = File::create_new(dir.join("appended"))?;
    let bytes = vec![b'x'; APPENDED_BYTES];
    let mut times = Vec::new();
    for _ in 0..count {
        std::thread::sleep(QUIET);
        let begin = Instant::now();
        file.write_all(&bytes)?;
        file.sync_data()?;
        times.push(begin.elapsed());
    }
    Ok(times)
}

/// The mean time of an append of these bytes with `fdatasync`, of `count` one after the other.
///
/// # Errors
/// Those of the file system.
pub fn appends(dir: &Path, bytes: &[u8], count: usize) -> Result<Duration> {
    let path = dir.join("synced");
    let mut file = File::create(&path)?;
    let begin = Instant::now();
    for _ in 0..count {
        file.write_all(bytes)?;
        file.sync_data()?;
    }
    let time = begin.elapsed();
    std::fs::remove_file(path)?;
    Ok(time / u32::try_from(count.max(1)).unwrap_or(u32::MAX))
}

/// Checks that every id is known, by 438 to CHECK.
///
/// # Errors
/// An unknown id.
pub fn all_known(server: &Running, prepared: &Prepared) -> Result<()> {
    let command = (&prepared.check, "438");
    stream(server, Over::Plain, 1, command, &prepared.ids, 1).map(drop)
}
