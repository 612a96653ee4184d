//! Starts the servers and the nodes of a cluster, and ends and restarts single ones.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::nntp::client::PEER;
use crate::nntp::ours;
use crate::nntp::running::{Ended, Running, wait_for};
use crate::site::{Batch, Site};

/// Nodes, and servers.
pub const NODES: usize = 3;
/// Longest wait for a node.
pub const PATIENCE: Duration = Duration::from_secs(300);
const PORT: u16 = 4222;

/// A NATS server.
pub struct Server {
    child: Ended,
    host: Ipv4Addr,
    /// The directory with its configuration and its output.
    dir: PathBuf,
}

/// A node.
pub struct Node {
    prepared: ours::Prepared,
    /// `None` while it is down.
    pub running: Option<Running>,
}

impl Node {
    /// Its news directory.
    pub fn news(&self) -> &Path {
        &self.prepared.news
    }
}

/// The servers and nodes of a cluster. They end with it.
pub struct Cluster {
    pub nodes: Vec<Node>,
    pub servers: Vec<Server>,
    binary: PathBuf,
}

impl Server {
    fn start(host: Ipv4Addr, dir: &Path) -> Result<Server> {
        let program = std::env::var_os("NATS_SERVER").unwrap_or_else(|| "nats-server".into());
        let child = Command::new(program)
            .arg("-c")
            .arg(dir.join(format!("{host}.conf")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(dir.join(format!("{host}.log")))?)
            .spawn()
            .context("starting nats-server: name it with NATS_SERVER")?;
        Ok(Server {
            child: Ended(child),
            host,
            dir: dir.to_owned(),
        })
    }

    /// Waits until it accepts connections.
    fn until_up(&mut self) -> Result<()> {
        let log = self.dir.join(format!("{}.log", self.host));
        wait_for(&mut self.child, SocketAddr::from((self.host, PORT)), &log)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// Ends it by SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        self.child.0.kill()?;
        self.child.0.wait()?;
        Ok(())
    }

    /// Starts it again.
    pub fn restart(&mut self) -> Result<()> {
        *self = Server::start(self.host, &self.dir)?;
        self.until_up()
    }
}

impl Cluster {
    /// Makes three servers and three nodes, and starts them.
    ///
    /// # Errors
    /// One of them does not start.
    pub fn start(site: &mut Site, batch: &Batch) -> Result<Cluster> {
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
        for place in 0..NODES {
            let node = ours::prepare(site, batch, &format!("\"{PEER}\""), "")?;
            let file = node.news.join("broadsheet.toml");
            let text = fs::read_to_string(&file)?;
            let section = format!(
                "\n[cluster]\nservers = \"{}\"\nnode = \"node{place}\"\n",
                urls.join(", ")
            );
            fs::write(&file, text + &section)?;
            prepared.push(node);
        }
        let first = prepared.first().context("no node")?.news.clone();
        let dir = first.parent().context("no directory")?.to_owned();
        let mut servers = Vec::new();
        for host in hosts {
            let store = dir.join(format!("nats-{host}"));
            let _ = fs::remove_dir_all(&store);
            let config = Command::new(&binary)
                .args(["cluster", "nats-config", "--dir"])
                .arg(&first)
                .args(["--host", &host.to_string(), "--hosts", &list.join(",")])
                .arg("--store")
                .arg(&store)
                .output()?;
            ensure!(
                config.status.success(),
                "nats-config: {}",
                String::from_utf8_lossy(&config.stderr)
            );
            fs::write(dir.join(format!("{host}.conf")), config.stdout)?;
            servers.push(Server::start(host, &dir)?);
        }
        servers.iter_mut().try_for_each(Server::until_up)?;
        let login = first.join("keys/cluster.login");
        let mut nodes = Vec::new();
        for (place, prepared) in prepared.into_iter().enumerate() {
            let other = prepared.news.join("keys/cluster.login");
            if other != login {
                fs::create_dir_all(prepared.news.join("keys"))?;
                fs::copy(&login, other)?;
            }
            join(&binary, &prepared.news, place == 0)?;
            let running = Some(prepared.start(&binary)?);
            nodes.push(Node { prepared, running });
        }
        Ok(Cluster {
            nodes,
            servers,
            binary,
        })
    }

    /// The nodes that run.
    pub fn running(&self) -> Vec<&Running> {
        self.nodes
            .iter()
            .filter_map(|node| node.running.as_ref())
            .collect()
    }

    /// Starts a node that is down.
    ///
    /// # Errors
    /// The output of the daemon.
    pub fn restart_node(&mut self, place: usize) -> Result<()> {
        let node = self.nodes.get_mut(place).context("no such node")?;
        node.running = Some(node.prepared.start(&self.binary)?);
        Ok(())
    }
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
