//! The name cache: names and nodes together, with counts.

use crate::names::{NAME_BYTES_MAX, Names};
use crate::nodes::{Nodes, SoftReference};

/// A node as a user of the cache keeps it: void once the node was removed, its place reused, or the cache purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    reference: SoftReference,
    /// How often the capabilities had been used up.
    purges: u32,
}

/// How often the cache helped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Names found.
    pub hits: u64,
    /// Names not found.
    pub misses: u64,
    /// Names found whose node had died; each is a miss too.
    pub stale: u64,
    /// Names not kept, because they are too long; each is a miss too.
    pub too_long: u64,
    /// How often all names were forgotten, because the capabilities were used up.
    pub purges: u64,
}

/// A name cache whose nodes have contents of type `T`.
#[derive(Debug)]
pub struct NameCache<T> {
    nodes: Nodes<T>,
    names: Names,
    purges: u32,
    counts: Counts,
}

impl<T> NameCache<T> {
    /// An empty cache for this many names and nodes. With 0 names it keeps the nodes and finds nothing by name.
    pub fn new(names_max: usize, nodes_max: usize) -> NameCache<T> {
        NameCache::with_nodes(names_max, Nodes::new(nodes_max))
    }

    /// An empty cache with this table of nodes.
    pub fn with_nodes(names_max: usize, nodes: Nodes<T>) -> NameCache<T> {
        NameCache {
            nodes,
            names: Names::new(names_max),
            purges: 0,
            counts: Counts::default(),
        }
    }

    /// Adds a node without a name, such as the root. Another node may lose its place.
    pub fn add(&mut self, content: T) -> Node {
        self.prepare();
        let reference = self.nodes.add(content);
        self.node(reference)
    }

    /// Finds a name in a directory.
    pub fn find(&mut self, directory: Node, name: &[u8]) -> Option<Node> {
        let found = self.look_up(directory, name);
        match found {
            Some(_) => self.counts.hits += 1,
            None => self.counts.misses += 1,
        }
        found
    }

    fn look_up(&mut self, directory: Node, name: &[u8]) -> Option<Node> {
        // A directory in which names are looked up stays.
        self.content(directory)?;
        let directory = directory.reference;
        if name.len() > NAME_BYTES_MAX {
            self.counts.too_long += 1;
            return None;
        }
        let reference = self.names.find(directory, name)?;
        // The name of a dead directory is not found: the reference to it differs.
        if self.nodes.get(reference).is_none() {
            self.counts.stale += 1;
            self.names.remove(directory, name);
            return None;
        }
        Some(self.node(reference))
    }

    /// Enters a name of a node. Nothing happens if the directory or the node has died.
    pub fn enter(&mut self, directory: Node, name: &[u8], node: Node) {
        if let (Some(directory), Some(node)) = (self.reference(directory), self.reference(node)) {
            self.names.enter(directory, name, node);
        }
    }

    /// Forgets one name; its node stays.
    pub fn forget_name(&mut self, directory: Node, name: &[u8]) {
        if let Some(directory) = self.reference(directory) {
            self.names.remove(directory, name);
        }
    }

    /// The content of a node, unless it died. Counts as a use.
    pub fn content(&mut self, node: Node) -> Option<&mut T> {
        let reference = self.reference(node)?;
        self.nodes.get(reference)
    }

    /// Whether a node is alive. Does not count as a use.
    pub fn is_alive(&self, node: Node) -> bool {
        self.reference(node).is_some()
    }

    /// Removes a node. All its names die at once, and all names in it.
    pub fn remove(&mut self, node: Node) -> Option<T> {
        self.prepare();
        let reference = self.reference(node)?;
        self.nodes.remove(reference)
    }

    /// Forgets all names and nodes: every [`Node`] is void.
    pub fn purge(&mut self) {
        self.names.purge();
        self.nodes.clear();
        self.purges = self.purges.wrapping_add(1);
        self.counts.purges += 1;
    }

    /// The counts since the start.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Purges when the capabilities are used up: a new one could be that of a dead reference.
    fn prepare(&mut self) {
        if self.nodes.is_used_up() {
            self.purge();
        }
    }

    fn node(&self, reference: SoftReference) -> Node {
        Node {
            reference,
            purges: self.purges,
        }
    }

    fn reference(&self, node: Node) -> Option<SoftReference> {
        (node.purges == self.purges && self.nodes.is_alive(node.reference))
            .then_some(node.reference)
    }
}
