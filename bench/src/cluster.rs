//! `bench cluster`: three nodes with a log in three NATS servers, all on this machine, beside a site of one machine.
//!
//! Each article is filed three times and stored three times more by the servers, with six processes on the same processors: what a
//! cluster of three machines does must be more.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::machine;
use crate::nntp::articles::Prepared;
use crate::nntp::client::PEER;
use crate::nntp::ours;
use crate::nntp::process;
use crate::nntp::running::{Ended, Running, wait_for};
use crate::nntp::transit::{quiet_ihave, windowed};
use crate::nntp::{groups_alone, number};
use crate::plan::Plan;
use crate::site::{Batch, Site};

/// Default number of rounds.
pub const ROUNDS: u32 = 3;
/// Articles that are streamed, and with `--quick`.
const ARTICLES: u64 = 20_000;
const ARTICLES_QUICK: u64 = 4_000;
/// Articles in flight.
const WINDOW: usize = 200;
/// Articles of the latency row.
const QUIET_ARTICLES: u64 = 300;
/// Nodes, and servers.
const NODES: usize = 3;
/// Longest wait for the other nodes.
const PATIENCE: Duration = Duration::from_secs(60);
const PORT: u16 = 4222;

/// The figures of one round.
struct Figures {
    /// Articles a second.
    rate: f64,
    /// CPU time an article, µs: of the node that takes the articles, of all nodes, of all servers.
    cpu: [f64; 3],
    /// Time of a single article, ms: median, and 99 %.
    quiet: [f64; 2],
    /// Time from the last reply until all nodes had all articles, ms.
    lag: f64,
}

/// Measures and prints.
///
/// # Errors
/// A wrong reply, or a server that does not start.
pub fn run(plan: &Plan) -> Result<()> {
    let mut site = Site::new(plan)?;
    let articles = if plan.quick { ARTICLES_QUICK } else { ARTICLES };
    let prepared = Prepared::new(articles);
    let batch = groups_alone(&site, &prepared)?;
    println!("{}", machine::description());
    println!(
        "{:22} {:>12} {:>10} {:>10} {:>10} {:>9} {:>9} {:>9}",
        "", "articles/s", "µs node", "µs nodes", "µs servers", "one, ms", "99 %, ms", "lag, ms"
    );
    for round in 1..=plan.rounds {
        let alone = ours::start(&mut site, &batch)?;
        let figures = measure(&prepared, &[alone], &[])?;
        print(&format!("{round}: one machine"), &figures);
        let (servers, nodes) = cluster(&mut site, &batch)?;
        let figures = measure(&prepared, &nodes, &servers)?;
        print(&format!("{round}: three nodes"), &figures);
    }
    Ok(())
}

fn print(what: &str, figures: &Figures) {
    let [node, nodes, servers] = figures.cpu.map(number);
    let [median, late] = figures.quiet.map(number);
    println!(
        "{what:22} {:>12} {node:>10} {nodes:>10} {servers:>10} {median:>9} {late:>9} {:>9}",
        number(figures.rate),
        number(figures.lag)
    );
}

fn measure(prepared: &Prepared, nodes: &[Running], servers: &[Ended]) -> Result<Figures> {
    let first = nodes.first().context("no node")?;
    let ids: Vec<u32> = nodes.iter().map(Running::id).collect();
    let server_ids: Vec<u32> = servers.iter().map(|server| server.0.id()).collect();
    let count = prepared.ids.len();
    let cpu = || -> Result<[Duration; 3]> {
        let node = process::cpu(&[first.id()])?;
        let servers = match server_ids.is_empty() {
            true => Duration::ZERO,
            false => process::cpu(&server_ids)?,
        };
        Ok([node, process::cpu(&ids)?, servers])
    };
    let before = cpu()?;
    let (answered, time) = windowed(first, prepared, (0, count), WINDOW)?;
    ensure!(
        answered == count as u64,
        "{answered} of {count} were answered"
    );
    let replied = Instant::now();
    let last = prepared.ids.last().context("no articles")?;
    for node in nodes {
        until_there(node, last)?;
    }
    let lag = replied.elapsed();
    let after = cpu()?;
    let mut cpu = [0.0; 3];
    for (place, (after, before)) in cpu.iter_mut().zip(after.into_iter().zip(before)) {
        *place = after.saturating_sub(before).as_secs_f64() * 1e6 / count as f64;
    }
    let mut times = quiet_ihave(first, &prepared.further(QUIET_ARTICLES))?;
    times.sort_unstable();
    let at = |part: f64| {
        let place = (times.len() as f64 * part) as usize;
        times
            .get(place)
            .map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    Ok(Figures {
        rate: count as f64 / time.as_secs_f64(),
        cpu,
        quiet: [at(0.5), at(0.99)],
        lag: lag.as_secs_f64() * 1e3,
    })
}

/// Waits until a node has an article.
fn until_there(node: &Running, id: &str) -> Result<()> {
    let begin = Instant::now();
    let mut reader = crate::nntp::client::Client::reader(node.address)?;
    loop {
        if reader.ask(&format!("STAT {id}"), "223").is_ok() {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            bail!("a node lacks {id}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Starts the servers and the nodes.
fn cluster(site: &mut Site, batch: &Batch) -> Result<(Vec<Ended>, Vec<Running>)> {
    let hosts: Vec<Ipv4Addr> = (0..NODES)
        .map(|place| Ipv4Addr::new(127, 0, 0, 21 + place as u8))
        .collect();
    let list: Vec<String> = hosts.iter().map(Ipv4Addr::to_string).collect();
    let urls: Vec<String> = list
        .iter()
        .map(|host| format!("nats://{host}:{PORT}"))
        .collect();
    let binary = site.binary.clone();
    let mut prepared = Vec::new();
    for _ in 0..NODES {
        let node = ours::prepare(site, batch, &format!("\"{PEER}\""), "")?;
        let file = node.news.join("broadsheet.toml");
        let text = fs::read_to_string(&file)?;
        let section = format!("\n[cluster]\nservers = \"{}\"\n", urls.join(", "));
        fs::write(&file, text + &section)?;
        prepared.push(node);
    }
    let dir = prepared.first().context("no node")?.news.clone();
    let mut servers = Vec::new();
    for host in &list {
        let store = dir.with_file_name(format!("nats-{host}"));
        let _ = fs::remove_dir_all(&store);
        let config = Command::new(&binary)
            .args(["cluster", "nats-config", "--dir"])
            .arg(&dir)
            .args(["--host", host, "--hosts", &list.join(","), "--store"])
            .arg(&store)
            .output()?;
        ensure!(
            config.status.success(),
            "nats-config: {}",
            String::from_utf8_lossy(&config.stderr)
        );
        let file = dir.with_file_name(format!("{host}.conf"));
        fs::write(&file, config.stdout)?;
        let log = dir.with_file_name(format!("{host}.log"));
        let program = std::env::var_os("NATS_SERVER").unwrap_or_else(|| "nats-server".into());
        let child = Command::new(program)
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("starting nats-server: name it with NATS_SERVER")?;
        servers.push((Ended(child), log));
    }
    for ((server, log), host) in servers.iter_mut().zip(&hosts) {
        wait_for(server, SocketAddr::from((*host, PORT)), log)?;
    }
    let servers = servers.into_iter().map(|(server, _)| server).collect();
    let login = dir.join("keys/cluster.login");
    let mut nodes = Vec::new();
    for (place, node) in prepared.into_iter().enumerate() {
        let other = node.news.join("keys/cluster.login");
        if other != login {
            fs::create_dir_all(node.news.join("keys"))?;
            fs::copy(&login, other)?;
        }
        join(&binary, &node.news, place == 0)?;
        nodes.push(node.start(&binary)?);
    }
    Ok((servers, nodes))
}

/// Makes a news directory a node. The servers need a moment to choose a leader.
fn join(binary: &Path, news: &Path, is_first: bool) -> Result<()> {
    let begin = Instant::now();
    loop {
        let word = if is_first { "init" } else { "join" };
        let done = Command::new(binary)
            .args(["cluster", word, "--dir"])
            .arg(news)
            .output()?;
        if done.status.success() {
            return Ok(());
        }
        let why = String::from_utf8_lossy(&done.stderr).into_owned();
        ensure!(begin.elapsed() < PATIENCE, "cluster {word}: {why}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
