//! Three nodes, three servers and a link between any two of them, so that each can be cut.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

use cluster::log::LogOptions;

use super::admins::policy;
use super::articles::ACTIVE;
use super::comebacks::{Comeback, Counts};
use super::power::Lossy;
use crate::program::Program;
use crate::program::cluster::{become_node, reseed_by_hand};
use crate::program::daemon::Daemon;
use crate::program::feeding::add_peer;
use crate::program::link::Link;
use crate::program::nats::Servers;
use crate::program::small::Small;
use crate::program::taker::Taker;

/// Nodes, and servers.
pub const COUNT: usize = 3;
/// The disk of the last node. An entry needs a segment of 64 MiB.
const DISK: &str = "768m";
/// The size of the log: it is trimmed within a run.
const LOG: &str = "24 MiB";
/// The node whose power may be lost.
pub const LOSSY: usize = 1;
/// The node that is of an earlier build, if one is told.
const OLDER: usize = 0;
/// Seconds by which the clocks of the nodes are ahead.
const CLOCKS: [i64; COUNT] = [0, 1800, -1800];

/// A node.
pub struct Node {
    pub program: Arc<Program>,
    /// Where it listens, while it runs.
    pub address: Arc<Mutex<Option<String>>>,
    pub daemon: Option<Daemon>,
    /// Closed while its disk is changed.
    pub gate: Arc<RwLock<()>>,
    /// It was made anew, and has not joined the cluster yet.
    pub is_new: Arc<AtomicBool>,
    /// See [`super::load::Load::life`].
    pub life: Arc<AtomicU64>,
    pub said: Vec<String>,
    /// Lines of it that were acted on.
    pub read: usize,
    /// It is away, and will be started.
    pub comeback: Option<Comeback>,
    /// Its disk, if that may lose what was not synced.
    lossy: Option<Lossy>,
    clock: Option<(PathBuf, i64)>,
    /// Its disk, if it is a small one.
    disk: Option<Small>,
}

pub struct Rig {
    pub nodes: Vec<Node>,
    pub servers: Servers,
    /// The peer that the cluster feeds, which does not want what it has.
    pub taker: Taker,
    /// The ways of each node to each server.
    to_servers: Vec<Vec<Link>>,
    /// The ways of each server to each other.
    between: Vec<Vec<Link>>,
    begun: Instant,
    /// A node that has other numbers than the others: nobody may look at it.
    pub diverged: Option<usize>,
    pub counts: Counts,
    /// The events of the run, with the time since its beginning.
    pub journal: Vec<String>,
    /// Where everything is kept after a failure.
    keep: PathBuf,
}

impl Rig {
    /// `None`: a reason was printed.
    pub fn start(keep: PathBuf) -> Option<Rig> {
        let links = || {
            let row = || (0..COUNT).map(|_| Link::start()).collect();
            (0..COUNT).map(|_| row()).collect::<Vec<Vec<Link>>>()
        };
        let (to_servers, between) = (links(), links());
        let way = |from: usize, to: usize| between[from][to].port();
        let mut servers = Servers::prepare(COUNT, "always", Some(&way))?;
        let mut rooms = tempfile_rooms();
        let taker = Taker::remembering(0);
        for from in 0..COUNT {
            for to in 0..COUNT {
                to_servers[from][to].heal(&format!("127.0.0.1:{}", servers.client_port(to)));
                between[from][to].heal(&format!("127.0.0.1:{}", servers.route_port(to)));
            }
        }
        (0..COUNT).for_each(|place| servers.restart(place));
        let clock = compile_clock(servers.room());
        let nodes = (0..COUNT).map(|place| {
            let program = rooms.remove(0);
            add_peer(&program, &taker.address, "");
            let disk = match place + 1 == COUNT {
                true => Small::under(&program, DISK),
                false => None,
            };
            let lossy = match place == LOSSY && clock.is_some() {
                true => Lossy::under(&program, servers.room()),
                false => None,
            };
            let (file, text) = policy();
            program.write(file, text.as_bytes());
            let options = LogOptions {
                servers: to_servers[place]
                    .iter()
                    .map(|link| format!("nats://{}", link.address))
                    .collect(),
                ..servers.options()
            };
            become_node(&program, options, (place == 0).then_some(LOG));
            // The run acts as the administrator. An earlier build does not know the setting, and waits for him anyway.
            if program.build.is_none() {
                reseed_by_hand(&program);
            }
            Node {
                program: Arc::new(program),
                address: Arc::default(),
                daemon: None,
                gate: Arc::default(),
                is_new: Arc::default(),
                life: Arc::default(),
                said: Vec::new(),
                read: 0,
                comeback: None,
                lossy,
                clock: clock.clone().map(|clock| (clock, CLOCKS[place])),
                disk,
            }
        });
        let nodes = nodes.collect();
        let mut rig = Rig {
            nodes,
            servers,
            taker,
            to_servers,
            between,
            begun: Instant::now(),
            diverged: None,
            counts: Counts::default(),
            journal: Vec::new(),
            keep,
        };
        (0..COUNT).for_each(|place| rig.start_node(place));
        Some(rig)
    }

    pub fn note(&mut self, what: &str) {
        let line = format!("{:7.2} s: {what}", self.begun.elapsed().as_secs_f64());
        self.journal.push(line);
    }

    /// Starts a node. If it ends at once, [`Rig::tend`] starts it again.
    pub fn start_node(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        let mut command = node.program.command(&["serve", "--dir", "news"]);
        if let Some((clock, ahead)) = &node.clock {
            command
                .env("LD_PRELOAD", clock)
                .env("CHAOS_CLOCK", ahead.to_string());
        }
        let daemon = Daemon::launch_by(&node.program, command);
        let heard = daemon.hear("listening at ", &mut node.said);
        let address = heard.and_then(|line| Some(line.rsplit_once(' ')?.1.to_owned()));
        node.daemon = Some(daemon);
        let is_open = self.diverged != Some(place);
        *node.address.lock().unwrap() = address.filter(|_| is_open);
    }

    pub fn kill_node(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        *node.address.lock().unwrap() = None;
        if let Some(mut daemon) = node.daemon.take() {
            daemon.kill();
            node.said.extend(daemon.said());
        }
        node.said.push("-- killed".to_owned());
    }

    /// Cuts the power of the node whose disk loses something by that.
    pub fn cut_power(&mut self) {
        // Nothing is said after it, not even that the disk is gone.
        Self::signal(self.node_pid(LOSSY), "STOP");
        let node = &self.nodes[LOSSY];
        node.life.fetch_add(1, Ordering::SeqCst);
        if let Some(lossy) = &node.lossy {
            lossy.cut();
            self.counts.power_cuts += 1;
        }
        self.kill_node(LOSSY);
    }

    /// Starts its machine again. False while a command still runs there.
    pub fn power_is_back(&mut self) -> bool {
        let node = &self.nodes[LOSSY];
        node.life.fetch_add(1, Ordering::SeqCst);
        if let Some(lossy) = &node.lossy {
            let Some(boot) = lossy.start() else {
                return false;
            };
            let clock = node
                .clock
                .iter()
                .map(|(clock, _)| clock.display().to_string());
            let preload = clock.map(|clock| ("LD_PRELOAD".to_owned(), clock));
            let boot = ("CHAOS_BOOT".to_owned(), boot);
            *node.program.environment.lock().unwrap() = preload.chain([boot]).collect();
        }
        self.start_node(LOSSY);
        true
    }

    /// Whether a node has a disk that loses something with the power.
    pub fn has_lossy(&self) -> bool {
        self.nodes[LOSSY].lossy.is_some()
    }

    /// Starts nodes again that have ended by themselves, as systemd would, and those that come back.
    pub fn tend(&mut self) {
        self.tend_comebacks();
        self.hear_nodes();
        for place in 0..COUNT {
            let node = &mut self.nodes[place];
            let Some(daemon) = &mut node.daemon else {
                continue;
            };
            let ended = daemon.ended();
            node.said.extend(daemon.said());
            if let Some(status) = ended {
                let last = node.said.last().cloned().unwrap_or_default();
                self.note(&format!("node {place} ended with status {status}: {last}"));
                self.start_node(place);
            }
        }
    }

    /// Sends a signal to a process.
    pub fn signal(pid: Option<u32>, name: &str) {
        if let Some(pid) = pid {
            let sent = Command::new("kill")
                .args(["-s", name, &pid.to_string()])
                .status();
            assert!(sent.unwrap().success());
        }
    }

    pub fn node_pid(&self, place: usize) -> Option<u32> {
        self.nodes[place].daemon.as_ref().map(Daemon::pid)
    }

    /// The way of a node to a server.
    pub fn node_link(&self, node: usize, server: usize) -> &Link {
        &self.to_servers[node][server]
    }

    /// The ways between two servers.
    pub fn server_links(&self, one: usize, other: usize) -> [&Link; 2] {
        [&self.between[one][other], &self.between[other][one]]
    }

    pub fn heal_node_link(&self, node: usize, server: usize) {
        let link = &self.to_servers[node][server];
        link.end_silence();
        link.heal(&format!("127.0.0.1:{}", self.servers.client_port(server)));
    }

    pub fn heal_server_links(&self, one: usize, other: usize) {
        for (from, to) in [(one, other), (other, one)] {
            let link = &self.between[from][to];
            link.end_silence();
            link.heal(&format!("127.0.0.1:{}", self.servers.route_port(to)));
        }
    }

    /// The disk of the last node, if it can be filled.
    pub fn disk(&self) -> Option<&Small> {
        self.nodes[COUNT - 1].disk.as_ref()
    }

    /// Whether all servers have everything.
    pub fn servers_are_whole(&self) -> bool {
        (0..COUNT).all(|place| self.servers.is_healthy(place))
    }

    fn keep_everything(&mut self) {
        let _ = std::fs::remove_dir_all(&self.keep);
        let _ = std::fs::create_dir_all(&self.keep);
        let copy = |from: &Path, to: &str| {
            let to = self.keep.join(to);
            let _ = Command::new("cp").arg("-a").args([from, &to]).status();
        };
        for (place, node) in self.nodes.iter_mut().enumerate() {
            if let Some(daemon) = &mut node.daemon {
                daemon.kill();
                node.said.extend(daemon.said());
            }
            copy(&node.program.path(""), &format!("node{place}"));
            let _ = std::fs::write(
                self.keep.join(format!("node{place}.said")),
                node.said.join("\n"),
            );
        }
        (0..COUNT).for_each(|place| self.servers.kill(place));
        copy(self.servers.room(), "servers");
        eprintln!("{}", self.journal.join("\n"));
        eprintln!("everything is kept in {}", self.keep.display());
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.keep_everything();
        }
    }
}

fn tempfile_rooms() -> Vec<Program> {
    let older = std::env::var_os("BROADSHEET_CHAOS_OLDER").map(PathBuf::from);
    let room = |place| {
        let mut program = Program::with_news(ACTIVE);
        program.build = older.clone().filter(|_| place == OLDER);
        if program.build.is_some() {
            // It makes the log, by commands of this build: a log that the earlier one can apply.
            let versions = ("BROADSHEET_TEST_DECISIONS".to_owned(), "1-1".to_owned());
            program.environment.lock().unwrap().push(versions);
        }
        program
    };
    (0..COUNT).map(room).collect()
}

/// The library that lets clocks go wrong. `None`: a reason was printed.
fn compile_clock(dir: &Path) -> Option<PathBuf> {
    let library = dir.join("clock.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chaos/clock.c");
    let done = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .status();
    if done.is_ok_and(|status| status.success()) {
        return Some(library);
    }
    eprintln!("skipped: clocks that are an hour apart (there is no C compiler)");
    None
}
