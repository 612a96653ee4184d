//! The pattern lists of many sites as one tree: a name is matched with all of them in one walk.
//!
//! The tree is that of [`Pattern`], with the lists stored at the nodes where their patterns end. As there, the walk
//! follows `all` before the literal word, so it meets the nodes of one list in the same order, and the same one of equal
//! scores counts. The cost of a walk depends on the nodes that match the name, and on the lists that have a pattern there;
//! lists about other groups cost nothing.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::wildmat::WildmatResult;

use crate::pattern::{ALL_POINTS, LITERAL_POINTS, Pattern, split_word};

/// Many pattern lists, by number.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    nodes: Vec<Node>,
    /// Edges for literal words, from all nodes.
    literal: HashTable<Edge>,
    hasher: DefaultHashBuilder,
    /// The highest score so far for the current name, by list; 0 if nothing matched. No pattern scores 0.
    best: Vec<u32>,
    /// The lists with a match for the current name.
    reached: Vec<u32>,
    waiting: Vec<(u32, usize, u32)>,
    has_poison: bool,
}

#[derive(Debug, Default)]
struct Node {
    all: Option<u32>,
    has_words: bool,
    /// Lists with a pattern that ends here, and its result.
    ends: Vec<(u32, WildmatResult)>,
}

#[derive(Debug)]
struct Edge {
    from: u32,
    word: Box<[u8]>,
    to: u32,
}

impl Patterns {
    /// Builds the tree; lists are numbered from 0.
    pub(crate) fn new<'p>(lists: impl Iterator<Item = &'p Pattern>) -> Self {
        let mut patterns = Self::default();
        patterns.nodes.push(Node::default());
        for list in lists {
            patterns.add(list);
        }
        patterns
    }

    fn add(&mut self, list: &Pattern) {
        // SITES_MAX is far below 2^32, and so are the words of a settings file.
        let number = self.best.len() as u32;
        self.best.push(0);
        let mut waiting = vec![(0u32, 0u32)];
        while let Some((theirs, ours)) = waiting.pop() {
            let Some(node) = list.node(theirs) else {
                continue;
            };
            if let Some(all) = node.all {
                waiting.push((all, self.all(ours)));
            }
            for (word, to) in &node.literal {
                waiting.push((*to, self.word(ours, word)));
            }
            if let (Some(verdict), Some(here)) = (node.verdict, self.nodes.get_mut(ours as usize)) {
                self.has_poison |= verdict == WildmatResult::Poison;
                here.ends.push((number, verdict));
            }
        }
    }

    /// The node after `all`; added if missing.
    fn all(&mut self, from: u32) -> u32 {
        let new = self.nodes.len() as u32;
        let Some(node) = self.nodes.get_mut(from as usize) else {
            return from;
        };
        let to = *node.all.get_or_insert(new);
        if to == new {
            self.nodes.push(Node::default());
        }
        to
    }

    /// The node after a literal word; added if missing.
    fn word(&mut self, from: u32, word: &[u8]) -> u32 {
        if let Some(to) = self.find(from, word) {
            return to;
        }
        let to = self.nodes.len() as u32;
        self.nodes.push(Node::default());
        if let Some(node) = self.nodes.get_mut(from as usize) {
            node.has_words = true;
        }
        let edge = Edge {
            from,
            word: word.into(),
            to,
        };
        let Self {
            literal, hasher, ..
        } = self;
        literal.insert_unique(hasher.hash_one((from, word)), edge, |edge| {
            hasher.hash_one((edge.from, &*edge.word))
        });
        to
    }

    fn find(&self, from: u32, word: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one((from, word));
        let edge = self
            .literal
            .find(hash, |edge| edge.from == from && *edge.word == *word);
        edge.map(|edge| edge.to)
    }

    /// Whether a pattern poisons.
    pub(crate) fn has_poison(&self) -> bool {
        self.has_poison
    }

    /// Calls `tell` for each list that has a matching pattern, with its result. The last call for
    /// a list counts. An empty name never matches.
    pub(crate) fn each_verdict(&mut self, name: &[u8], mut tell: impl FnMut(usize, WildmatResult)) {
        if name.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        // Bytes of the name still to match, plus one: at the start as if a dot preceded the name.
        let mut at = (0u32, name.len() + 1, 0u32);
        loop {
            let (index, left, score) = at;
            let Some(node) = self.nodes.get(index as usize) else {
                break;
            };
            for &(list, verdict) in &node.ends {
                let Some(best) = self.best.get_mut(list as usize) else {
                    continue;
                };
                if score > *best {
                    if *best == 0 {
                        self.reached.push(list);
                    }
                    *best = score;
                    tell(list as usize, verdict);
                }
            }
            let mut next = None;
            if left > 0 && (node.all.is_some() || node.has_words) {
                let rest = name.get(name.len() + 1 - left..).unwrap_or_default();
                let (word, rest) = split_word(rest);
                let left = rest.map_or(0, |rest| rest.len() + 1);
                next = node.all.map(|all| (all, left, score + ALL_POINTS));
                let literal = if node.has_words {
                    self.find(index, word)
                } else {
                    None
                };
                if let Some(literal) = literal {
                    let literal = (literal, left, score + LITERAL_POINTS);
                    match next {
                        Some(_) => waiting.push(literal),
                        None => next = Some(literal),
                    }
                }
            }
            match next.or_else(|| waiting.pop()) {
                Some(branch) => at = branch,
                None => break,
            }
        }
        for list in self.reached.drain(..) {
            if let Some(best) = self.best.get_mut(list as usize) {
                *best = 0;
            }
        }
        self.waiting = waiting;
    }
}
