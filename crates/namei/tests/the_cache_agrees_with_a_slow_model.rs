//! The cache and a model made of lists do the same, whatever happens: also while capabilities are used up and begin again.

#![allow(clippy::indexing_slicing)]

use namei::nodes::Nodes;
use namei::{NameCache, Node};
use proptest::prelude::*;

const NAMES: [&[u8]; 4] = [b"1", b"2", b"lang", b"a-name-that-is-too-long-to-be-kept"];
const NAMES_MAX: usize = 5;
const NODES_MAX: usize = 4;

/// The nodes and names that are kept, the least recently used first.
#[derive(Default)]
struct Model {
    nodes: Vec<usize>,
    names: Vec<((usize, usize), usize)>,
}

impl Model {
    fn use_node(&mut self, node: usize) -> bool {
        let is_alive = self.nodes.contains(&node);
        if is_alive {
            self.nodes.retain(|&other| other != node);
            self.nodes.push(node);
        }
        is_alive
    }

    fn add(&mut self, node: usize) {
        if self.nodes.len() == NODES_MAX {
            self.nodes.remove(0);
        }
        self.nodes.push(node);
    }

    fn find(&mut self, directory: usize, name: usize) -> Option<usize> {
        if !self.use_node(directory) {
            return None;
        }
        let at = self
            .names
            .iter()
            .position(|(key, _)| *key == (directory, name))?;
        let entry = self.names.remove(at);
        if !self.use_node(entry.1) {
            return None;
        }
        self.names.push(entry);
        Some(entry.1)
    }

    fn enter(&mut self, directory: usize, name: usize, node: usize) {
        let is_kept = NAMES[name].len() <= namei::names::NAME_BYTES_MAX;
        if !is_kept || !self.nodes.contains(&directory) || !self.nodes.contains(&node) {
            return;
        }
        self.names.retain(|(key, _)| *key != (directory, name));
        if self.names.len() == NAMES_MAX {
            self.names.remove(0);
        }
        self.names.push(((directory, name), node));
    }
}

#[derive(Debug, Clone)]
enum Step {
    Add,
    Find(prop::sample::Index, usize),
    Enter(prop::sample::Index, usize, prop::sample::Index),
    Forget(prop::sample::Index, usize),
    Remove(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let node = || any::<prop::sample::Index>();
    let name = || 0..NAMES.len();
    prop_oneof![
        2 => Just(Step::Add),
        4 => (node(), name()).prop_map(|(directory, name)| Step::Find(directory, name)),
        4 => (node(), name(), node()).prop_map(|(directory, name, node)| Step::Enter(directory, name, node)),
        1 => (node(), name()).prop_map(|(directory, name)| Step::Forget(directory, name)),
        1 => node().prop_map(Step::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_cache_agrees_with_a_slow_model(
        before_the_end in 2..40u32,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let nodes = Nodes::with_capability(NODES_MAX, u32::MAX - before_the_end);
        let mut cache = NameCache::with_nodes(NAMES_MAX, nodes);
        let mut model = Model::default();
        // Every node ever added, the recent ones most often used below.
        let mut added: Vec<Node> = Vec::new();
        let mut purges = 0;
        for step in steps {
            let at = |index: prop::sample::Index| {
                let recent = added.len().min(2 * NODES_MAX);
                added.len() - 1 - index.index(recent)
            };
            if added.is_empty() || matches!(step, Step::Add) {
                added.push(cache.add(added.len()));
                if cache.counts().purges > purges {
                    model = Model::default();
                }
                model.add(added.len() - 1);
            } else {
                match step {
                    Step::Add => {}
                    Step::Find(directory, name) => {
                        let directory = at(directory);
                        let found = cache.find(added[directory], NAMES[name]);
                        let number = found.and_then(|node| cache.content(node).copied());
                        prop_assert_eq!(number, model.find(directory, name));
                    }
                    Step::Enter(directory, name, node) => {
                        let (directory, node) = (at(directory), at(node));
                        cache.enter(added[directory], NAMES[name], added[node]);
                        model.enter(directory, name, node);
                    }
                    Step::Forget(directory, name) => {
                        let directory = at(directory);
                        cache.forget_name(added[directory], NAMES[name]);
                        if model.nodes.contains(&directory) {
                            model.names.retain(|(key, _)| *key != (directory, name));
                        }
                    }
                    Step::Remove(node) => {
                        let node = at(node);
                        let removed = cache.remove(added[node]);
                        if cache.counts().purges > purges {
                            model = Model::default();
                        }
                        let is_alive = model.nodes.contains(&node);
                        prop_assert_eq!(removed, is_alive.then_some(node));
                        model.nodes.retain(|&other| other != node);
                    }
                }
            }
            purges = cache.counts().purges;
        }
    }
}
