//! The receivers that keep nothing, and INN as a sender.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::table::Sender;
use super::wait_until;
use crate::inn::{InnOptions, Server};
use crate::measure::Usages;
use crate::nntp::client::Client;
use crate::nntp::running::{Ended, Running};
use crate::site::{Batch, Site, settle};

/// `bench sink` as a process, with a connection for questions.
pub struct SinkProcess {
    pub ports: Vec<u16>,
    asking: Client,
    _process: Ended,
}

impl SinkProcess {
    /// Starts one that wants everything, on so many ports.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(ports: usize) -> Result<SinkProcess> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["sink", "--wants", "--ports", &ports.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map(Ended)
            .context("starting bench sink")?;
        let mut line = String::new();
        let output = child.0.stdout.take().context("no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let ports = line
            .split_whitespace()
            .map(|port| port.parse().context("bench sink's port"))
            .collect::<Result<Vec<u16>>>()?;
        let first = *ports.first().context("bench sink printed no port")?;
        let asking = Client::reader(SocketAddr::from((Ipv4Addr::LOCALHOST, first)))?;
        Ok(SinkProcess {
            ports,
            asking,
            _process: child,
        })
    }

    /// The first port.
    pub fn port(&self) -> u16 {
        self.ports.first().copied().unwrap_or_default()
    }

    /// Sets all counts to zero.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn reset(&mut self) -> Result<()> {
        self.asking.ask("XRESET", "290").map(drop)
    }

    fn counts(&mut self) -> Result<[u64; 4]> {
        let line = self.asking.ask("XCOUNT", "290")?;
        let mut numbers = line.split(' ').skip(1).map(|word| word.parse().ok());
        let mut next = || numbers.next().flatten().with_context(|| line.clone());
        Ok([next()?, next()?, next()?, next()?])
    }

    /// Whether so many articles have come, equally many on each port.
    ///
    /// # Errors
    /// More have come than were sent.
    pub fn has(&mut self, articles: usize) -> Result<bool> {
        let [all, fewest, ..] = self.counts()?;
        if all > articles as u64 {
            bail!("{all} articles have come, of {articles}");
        }
        Ok(fewest * self.ports.len() as u64 == articles as u64)
    }

    /// Waits for so many articles.
    ///
    /// # Errors
    /// They do not come.
    pub fn expect(&mut self, articles: usize) -> Result<()> {
        wait_until("all articles are there", || self.has(articles))
    }

    /// Articles a second, from the first offer to the last article.
    ///
    /// # Errors
    /// Nothing has come.
    pub fn rate(&mut self) -> Result<f64> {
        let [all, _, first, last] = self.counts()?;
        if all == 0 || last <= first {
            bail!("no article has come");
        }
        Ok(all as f64 * 1e9 / (last - first) as f64)
    }
}

/// Interval between two questions for an article.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// Asks a server for an article until it has it; the time at which it had. The end of a sender is later: innfeed waits before it ends.
///
/// # Errors
/// Those of the connection.
pub fn arrival(server: &Running, id: String) -> Result<JoinHandle<Result<Instant>>> {
    let mut client = Client::peer(server.address)?;
    Ok(std::thread::spawn(move || {
        loop {
            client.send(format!("STAT {id}\r\n").as_bytes())?;
            match client.expect("2") {
                Ok(_) => return Ok(Instant::now()),
                Err(error) if format!("{error:#}").contains("430") => std::thread::sleep(ASK_EVERY),
                Err(error) => return Err(error),
            }
        }
    }))
}

/// An INN with the articles, and the list of them that innxmit and innfeed take.
pub struct InnPeer {
    server: Server,
    /// A token and a message-id each.
    lines: Vec<String>,
}

/// The site of the list.
const SITE: &str = "peer";

impl InnPeer {
    /// Files the batch.
    ///
    /// # Errors
    /// INN fails, or has not all articles in its list.
    pub fn start(site: &mut Site, batch: &Batch) -> Result<InnPeer> {
        let disk = site.disk.clone();
        let dir = site.fresh(&disk)?;
        let options = InnOptions {
            feeds: &format!("{SITE}:*:Tf,Wnm:\n"),
            ..InnOptions::default()
        };
        let server = Server::start_as(&dir, &batch.dir, &options)?;
        server.feed(&batch.dir.join("batch"))?;
        let list = server.dir().join("spool/outgoing").join(SITE);
        let mut lines = Vec::new();
        wait_until("INN lists its articles", || {
            server.flush(SITE)?;
            let text = std::fs::read_to_string(&list).unwrap_or_default();
            lines = text.lines().map(|line| format!("{line}\n")).collect();
            Ok(lines.len() as u64 == batch.articles)
        })?;
        settle();
        Ok(InnPeer { server, lines })
    }

    /// Sends the first articles to the ports; returns when the program has ended.
    ///
    /// # Errors
    /// It fails.
    pub fn send(&self, sender: Sender, ports: &[u16], articles: usize) -> Result<Usages> {
        let list: String = self
            .lines
            .iter()
            .take(articles)
            .map(String::as_str)
            .collect();
        let nothing = Path::new("/dev/null");
        if sender == Sender::Innxmit {
            let file = self.server.write("spool/outgoing/sending", &list)?;
            let file = file.to_string_lossy();
            let port = ports.first().context("no port")?.to_string();
            let words = ["-P", &port, "127.0.0.1", &file];
            return self.server.measured("innxmit", &words, nothing);
        }
        for (number, _) in ports.iter().enumerate() {
            self.server
                .write(&format!("spool/innfeed/p{number}"), &list)?;
        }
        let path = self
            .server
            .write("etc/innfeed.conf", &innfeed(self.server.dir(), ports))?;
        let path = path.to_string_lossy();
        self.server
            .measured("innfeed", &["-x", "-c", &path], nothing)
    }
}

/// innfeed.conf with a peer for each port: innfeed's defaults, but it writes no page of its status.
pub fn innfeed(dir: &Path, ports: &[u16]) -> String {
    let dir = dir.display();
    let mut text = format!(
        "backlog-directory: {dir}/spool/innfeed\npid-file: {dir}/tmp/innfeed.pid\nlog-file: {dir}/log/innfeed.log\n\
         status-file: {dir}/log/innfeed.status\ngen-html: false\n"
    );
    for (number, port) in ports.iter().enumerate() {
        text += &format!("peer p{number} {{\n  ip-name: 127.0.0.1\n  port-number: {port}\n}}\n");
    }
    text
}
