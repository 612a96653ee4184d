//! The time from the commit of an article to its arrival at a peer, when nothing else is sent.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender as Channel, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::feeder::sites;
use super::peers::innfeed;
use super::table::Sender;
use crate::inn::{InnOptions, Server};
use crate::nntp::client::{Client, PEER};
use crate::nntp::ours;
use crate::site::{Batch, Site};

/// Pause before each article.
const QUIET: Duration = Duration::from_millis(5);

/// Articles that are not counted: the first ones open the connection.
const WARM_UPS: usize = 10;

/// Time limit for the arrival of an article.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Articles with their ids.
type Articles = [(String, Vec<u8>)];

/// Sends the articles one by one to a new server that feeds a peer; the time of each, in ms from 239 to its offer at the peer.
///
/// # Errors
/// A server fails, or an article does not arrive.
pub fn times(
    sender: Sender,
    site: &mut Site,
    groups: &Batch,
    articles: &Articles,
) -> Result<Vec<f64>> {
    let (port, arrivals) = peer()?;
    if sender == Sender::Ours {
        let peer = format!("\"{PEER}\"");
        let server = ours::start_with(site, groups, &peer, &sites(&[port]))?;
        return send(server.address, articles, &arrivals);
    }
    let disk = site.disk.clone();
    let dir = site.fresh(&disk)?.canonicalize()?;
    let options = InnOptions {
        peer: &PEER.to_string(),
        feeds: "innfeed!:!*:Tc,Wnm*:/usr/lib/news/bin/innfeed\np0:*:Tm:innfeed!\n",
        innfeed: &innfeed(&dir, &[port]),
        ..InnOptions::default()
    };
    let server = Server::start_as(&dir, &groups.dir, &options)?;
    let times = send(server.address, articles, &arrivals);
    server.stop()?;
    times
}

fn send(
    to: SocketAddr,
    articles: &Articles,
    arrivals: &Receiver<(String, Instant)>,
) -> Result<Vec<f64>> {
    let mut client = Client::peer(to)?;
    client.ask("MODE STREAM", "203")?;
    let mut came = HashMap::new();
    let mut times = Vec::new();
    for (number, (id, bytes)) in articles.iter().enumerate() {
        std::thread::sleep(QUIET);
        client.send(&[format!("TAKETHIS {id}\r\n").as_bytes(), bytes].concat())?;
        client.expect("239")?;
        let begin = Instant::now();
        while !came.contains_key(id) {
            let (id, at) = arrivals
                .recv_timeout(TIMEOUT)
                .with_context(|| format!("{id} does not arrive"))?;
            came.entry(id).or_insert(at);
        }
        if let (Some(at), WARM_UPS..) = (came.get(id), number) {
            times.push(at.saturating_duration_since(begin).as_secs_f64() * 1e3);
        }
    }
    Ok(times)
}

/// The median, and the time within which 99 % arrive.
///
/// # Errors
/// There are none.
pub fn middle_and_late(mut times: Vec<f64>) -> Result<(f64, f64)> {
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len() - 1));
    match times.is_empty() {
        true => bail!("no article was measured"),
        false => Ok((
            at(50).copied().unwrap_or(0.0),
            at(99).copied().unwrap_or(0.0),
        )),
    }
}

/// A peer that wants everything, and tells when each offer comes.
fn peer() -> Result<(u16, Receiver<(String, Instant)>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listening")?;
    let port = listener.local_addr()?.port();
    let (told, arrivals) = channel();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let told = told.clone();
            // A connection that fails is the end of that connection.
            std::thread::spawn(move || drop(converse(stream, &told)));
        }
    });
    Ok((port, arrivals))
}

fn converse(mut stream: TcpStream, told: &Channel<(String, Instant)>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::with_capacity(256 << 10, stream.try_clone()?);
    stream.write_all(b"200 peer\r\n")?;
    let (mut bytes, mut held) = (Vec::new(), None);
    loop {
        bytes.clear();
        if input.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(());
        }
        let now = Instant::now();
        let line = String::from_utf8_lossy(&bytes);
        let mut words = line.split_ascii_whitespace();
        let (command, id) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        if held.is_some() && command != "." {
            continue;
        }
        let reply = match command {
            "CHECK" | "TAKETHIS" | "IHAVE" => {
                told.send((id.to_owned(), now))?;
                let code = match command {
                    "CHECK" => 238,
                    "TAKETHIS" => 239,
                    _ => 235,
                };
                let reply = format!("{code} {id}\r\n");
                match command {
                    "CHECK" => reply,
                    "TAKETHIS" => {
                        held = Some(reply);
                        continue;
                    }
                    _ => {
                        held = Some(reply);
                        "335 send\r\n".into()
                    }
                }
            }
            "." => held.take().unwrap_or_default(),
            "CAPABILITIES" => "101 list\r\nVERSION 2\r\nIHAVE\r\nSTREAMING\r\n.\r\n".into(),
            "MODE" => "203 stream\r\n".into(),
            "QUIT" => return Ok(stream.write_all(b"205 bye\r\n")?),
            _ => "500 what?\r\n".into(),
        };
        stream.write_all(reply.as_bytes())?;
    }
}

#[cfg(test)]
mod tests {
    use super::middle_and_late;

    #[test]
    fn the_latest_of_few_counts() {
        let times = vec![3.0, 1.0, 2.0];
        assert_eq!(middle_and_late(times).ok(), Some((2.0, 3.0)));
        assert!(middle_and_late(Vec::new()).is_err());
    }
}
