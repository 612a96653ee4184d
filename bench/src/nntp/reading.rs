//! The load of readers: OVER, ARTICLE, connecting and quitting.

use std::net::SocketAddr;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use super::articles::{Prepared, body};
use super::client::Client;
use super::running::Running;

/// Rows that one OVER requests.
pub const OVER_ROWS: u64 = 1_000;

/// Outstanding ARTICLE commands on a pipelined connection.
pub const DEPTH: usize = 32;

/// Articles compared with the sent ones before the measurement.
const COMPARED: u64 = 200;

/// The group that is read, from the server's reply 211.
#[derive(Clone)]
pub struct Group {
    name: String,
    low: u64,
    high: u64,
}

impl Group {
    /// Rows that one OVER returns in this group.
    pub fn rows(&self) -> u64 {
        OVER_ROWS.min(self.high - self.low + 1)
    }
}

/// The repeated operation of one client; returns its number.
type Work<'a> = dyn Fn(&mut Client, u64) -> Result<u64> + Sync + 'a;

/// Runs `connections` readers in the group until `time` is over; returns the number of operations, and the time.
fn run_readers(
    server: &Running,
    group: &Group,
    connections: u64,
    time: Duration,
    prepare: &(dyn Fn(&mut Client) -> Result<()> + Sync),
    work: &Work<'_>,
) -> Result<(u64, Duration)> {
    let mut clients = Vec::new();
    for _ in 0..connections {
        let mut client = reader_in(server, group)?;
        prepare(&mut client)?;
        clients.push(client);
    }
    let begin = Instant::now();
    let done = in_threads(clients, &|client, number| {
        let (mut done, mut turn) = (0, number * 7);
        while begin.elapsed() < time {
            done += work(client, turn)?;
            turn += 1;
        }
        Ok(done)
    })?;
    Ok((done, begin.elapsed()))
}

fn in_threads<T: Send>(
    subjects: Vec<T>,
    work: &(dyn Fn(&mut T, u64) -> Result<u64> + Sync),
) -> Result<u64> {
    let all = Barrier::new(subjects.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(subjects)
            .map(|(number, mut subject)| {
                let all = &all;
                scope.spawn(move || {
                    all.wait();
                    work(&mut subject, number)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .map_err(|_| anyhow!("a reader's thread failed"))?
            })
            .sum()
    })
}

fn reader_in(server: &Running, group: &Group) -> Result<Client> {
    let mut client = Client::reader(server.readers)?;
    client.ask(&format!("GROUP {}", group.name), "211")?;
    Ok(client)
}

/// Selects the largest group; compares its first articles with the
/// sent ones (except Path and Xref), if the server stores articles.
///
/// # Errors
/// Articles are missing, or differ from the sent ones.
pub fn select_group(server: &Running, prepared: &Prepared) -> Result<Group> {
    let mut client = Client::reader(server.readers)?;
    let (name, sent) = &prepared.largest;
    let reply = client.ask(&format!("GROUP {name}"), "211")?;
    let mut numbers = reply.split(' ').skip(1).map(str::parse::<u64>);
    let (Some(Ok(count)), Some(Ok(low)), Some(Ok(high))) =
        (numbers.next(), numbers.next(), numbers.next())
    else {
        bail!("an odd reply to GROUP: {reply}")
    };
    if count < *sent || high < low {
        bail!("{name} should have {sent} articles: {reply}");
    }
    let group = Group {
        name: name.clone(),
        low,
        high,
    };
    if server.files {
        for number in low..high.min(low + COMPARED) {
            compare(&mut client, prepared, number)?;
        }
    }
    Ok(group)
}

fn compare(client: &mut Client, prepared: &Prepared, number: u64) -> Result<()> {
    let reply = client.ask(&format!("ARTICLE {number}"), "220")?;
    let id = reply.split(' ').nth(2).unwrap_or_default();
    let sent = prepared
        .body_of(id)
        .with_context(|| format!("nothing like this was sent: {reply}"))?;
    let article = client.block()?;
    if body(article) != Some(sent) {
        let got = String::from_utf8_lossy(article);
        bail!("article {number}, {id}, is not what was sent:\n{got}");
    }
    let count = article.len();
    client.consume(count);
    Ok(())
}

/// Sends OVER for [`OVER_ROWS`] rows, one command at a time; returns the number of commands.
///
/// # Errors
/// A wrong number of rows.
pub fn over(
    server: &Running,
    group: &Group,
    connections: u64,
    time: Duration,
) -> Result<(u64, Duration)> {
    let rows = group.rows();
    let windows = (group.high - group.low + 1) / rows;
    run_readers(
        server,
        group,
        connections,
        time,
        &|_| Ok(()),
        &|client, turn| {
            let from = group.low + turn % windows * rows;
            let command = format!("OVER {from}-{}", from + rows - 1);
            client.ask(&command, "224")?;
            let block = client.block()?;
            let count = block.len();
            // The terminator is a line, too.
            let lines = memchr::memchr_iter(b'\n', block).count() as u64;
            if lines != rows + 1 {
                let begin = block.get(..1_000.min(count)).unwrap_or_default();
                bail!(
                    "{command}: {} rows, beginning with\n{}",
                    lines - 1,
                    String::from_utf8_lossy(begin)
                );
            }
            client.consume(count);
            Ok(1)
        },
    )
}

/// Sends ARTICLE by number on one connection, one command at a time.
///
/// # Errors
/// A reply is not the requested article.
pub fn articles_one_by_one(
    server: &Running,
    group: &Group,
    quick_ack: bool,
    time: Duration,
) -> Result<(u64, Duration)> {
    let prepare = |client: &mut Client| client.acknowledge_at_once(quick_ack);
    run_readers(server, group, 1, time, &prepare, &|client, turn| {
        let number = group.low + turn % (group.high - group.low + 1);
        client.send(format!("ARTICLE {number}\r\n").as_bytes())?;
        whole_article(client, number)?;
        Ok(1)
    })
}

/// Sends ARTICLE by number, with [`DEPTH`] outstanding on each connection, further ones as replies arrive.
///
/// # Errors
/// A reply is not the requested article.
pub fn articles_pipelined(
    server: &Running,
    group: &Group,
    connections: u64,
    quick_ack: bool,
    time: Duration,
) -> Result<(u64, Duration)> {
    let size = group.high - group.low + 1;
    // Half of the replies arrive before the next half is requested: two writes per round trip, not one each.
    let half = DEPTH as u64 / 2;
    let ask = |client: &mut Client, turn: u64| {
        let commands: String = (turn * half..(turn + 1) * half)
            .map(|index| format!("ARTICLE {}\r\n", group.low + index % size))
            .collect();
        client.send(commands.as_bytes())
    };
    let take = |client: &mut Client, turn: u64| {
        (turn * half..(turn + 1) * half)
            .try_for_each(|index| whole_article(client, group.low + index % size))
    };
    let mut clients = Vec::new();
    for _ in 0..connections {
        let mut client = reader_in(server, group)?;
        client.acknowledge_at_once(quick_ack)?;
        clients.push(client);
    }
    let begin = Instant::now();
    let done = in_threads(clients, &|client, number| {
        let first = number * 7;
        let mut turn = first;
        ask(client, turn)?;
        while begin.elapsed() < time {
            ask(client, turn + 1)?;
            take(client, turn)?;
            turn += 1;
        }
        take(client, turn)?;
        Ok((turn + 1 - first) * half)
    })?;
    Ok((done, begin.elapsed()))
}

/// Reads and consumes a reply to ARTICLE.
fn whole_article(client: &mut Client, number: u64) -> Result<()> {
    let mut looked = 0;
    let end = loop {
        let held = client.unread();
        // Three bytes back, because the terminator may be split.
        if let Some(end) =
            memchr::memmem::find(held.get(looked..).unwrap_or_default(), b"\r\n.\r\n")
        {
            break looked + end + 5;
        }
        looked = held.len().saturating_sub(4);
        client.more()?;
    };
    let article = client.unread().get(..end).unwrap_or_default();
    let expected = format!("220 {number} <");
    if !article.starts_with(expected.as_bytes()) {
        let got = String::from_utf8_lossy(article);
        bail!("ARTICLE {number}: {got}");
    }
    client.consume(end);
    Ok(())
}

/// Readers that connect, read the greeting and quit, from `threads` threads; returns their number.
///
/// # Errors
/// A reply other than 205, or no end of the connection after it.
pub fn connect_and_quit(
    address: SocketAddr,
    threads: u64,
    time: Duration,
) -> Result<(u64, Duration)> {
    let begin = Instant::now();
    let done = in_threads(vec![(); threads as usize], &|(), _| {
        let mut done = 0;
        while begin.elapsed() < time {
            let mut client = Client::small_reader(address)?;
            client.ask("QUIT", "205")?;
            client.until_closed()?;
            done += 1;
        }
        Ok(done)
    })?;
    Ok((done, begin.elapsed()))
}

/// Connects `count` readers that select the group and then do nothing.
///
/// # Errors
/// The server refuses a reader.
pub fn idle(server: &Running, group: &Group, count: u64) -> Result<Vec<Client>> {
    let mut clients = Vec::new();
    for number in 0..count {
        let mut client = Client::small_reader(server.readers)
            .with_context(|| format!("reader {}", number + 1))?;
        client.ask(&format!("GROUP {}", group.name), "211")?;
        clients.push(client);
    }
    Ok(clients)
}
