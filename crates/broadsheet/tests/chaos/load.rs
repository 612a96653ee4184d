//! What peers and readers share: where the nodes are, what was promised, what was seen.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use super::admins::Act;
use super::rig::Node;
use crate::program::Program;
use crate::program::nntp::Client;

/// The replies that peers got about an article.
#[derive(Clone, Debug)]
pub struct Heard {
    pub node: usize,
    /// The life of its news directory, see [`Load::life`].
    pub life: u64,
    pub at: Instant,
    /// The reply, or the status of rnews.
    pub reply: String,
}

/// See the module.
pub struct Load {
    pub seed: u64,
    pub programs: Vec<Arc<Program>>,
    addresses: Vec<Arc<Mutex<Option<String>>>>,
    /// Closed while the disk of a node is changed.
    pub gates: Vec<Arc<RwLock<()>>>,
    /// Nodes that are to join the cluster again: administrators wait for that.
    pub are_new: Vec<Arc<AtomicBool>>,
    lives: Vec<Arc<AtomicU64>>,
    is_over: AtomicBool,
    /// The newest article that a peer has offered.
    pub newest: AtomicU64,
    /// Replies that promise something about an article, by its number.
    pub heard: Mutex<BTreeMap<u64, Vec<Heard>>>,
    /// Which article readers saw under a number of a group, and where first.
    pub seen: Mutex<BTreeMap<(usize, u64), (String, usize)>>,
    /// Articles that a node had taken and did not show: they must have been cancelled.
    pub vanished: Mutex<Vec<(usize, String)>>,
    /// When articles were offered first.
    pub offered: Mutex<BTreeMap<u64, Instant>>,
    /// The changes that administrators made.
    pub acts: Mutex<Vec<Act>>,
    /// Contradictions.
    pub faults: Mutex<Vec<String>>,
    pub samples: AtomicU64,
}

impl Load {
    pub fn new(seed: u64, nodes: &[Node]) -> Arc<Load> {
        Arc::new(Load {
            seed,
            programs: nodes.iter().map(|node| node.program.clone()).collect(),
            addresses: nodes.iter().map(|node| node.address.clone()).collect(),
            gates: nodes.iter().map(|node| node.gate.clone()).collect(),
            are_new: nodes.iter().map(|node| node.is_new.clone()).collect(),
            lives: nodes.iter().map(|node| node.life.clone()).collect(),
            is_over: AtomicBool::new(false),
            newest: AtomicU64::new(1),
            heard: Mutex::default(),
            seen: Mutex::default(),
            vanished: Mutex::default(),
            offered: Mutex::default(),
            acts: Mutex::default(),
            faults: Mutex::default(),
            samples: AtomicU64::new(0),
        })
    }

    pub fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// How often a node has lost what it had, or got the articles of another one: then it may lack what it had told before, until it has
    /// read on.
    pub fn life(&self, node: usize) -> u64 {
        let life = self.lives.get(node);
        life.map_or(0, |life| life.load(Ordering::SeqCst))
    }

    /// The number of a new article.
    pub fn next_number(&self) -> u64 {
        let mut offered = self.offered.lock().unwrap();
        let number = self.newest.fetch_add(1, Ordering::Relaxed) + 1;
        offered.insert(number, Instant::now());
        number
    }

    /// A connection to a node; `None` after a pause if it does not answer now.
    pub fn client(&self, node: usize) -> Option<Client> {
        let address = self.addresses.get(node)?.lock().unwrap().clone();
        let client = address.and_then(|address| Client::greeted_if_any(&address));
        if client.is_none() {
            std::thread::sleep(Duration::from_millis(50));
        }
        client
    }

    /// Notes a reply of a node; `life` was its life before the question.
    pub fn hear(&self, article: u64, (node, life): (usize, u64), reply: &str) {
        let heard = Heard {
            node,
            life,
            at: Instant::now(),
            reply: reply.trim_end().to_owned(),
        };
        self.heard
            .lock()
            .unwrap()
            .entry(article)
            .or_default()
            .push(heard);
    }

    /// Notes a contradiction; the end reports it.
    pub fn fault(&self, what: String) {
        eprintln!("{what}");
        self.faults.lock().unwrap().push(what);
    }
}
