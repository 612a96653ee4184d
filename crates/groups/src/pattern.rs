//! C News newsgroup patterns: `comp,!comp.sys,alt.all.test`.
//!
//! A list of patterns; a pattern is words between dots. `all` matches exactly one word,
//! `!` at the start makes a pattern exclude, and in lists of sites `@` makes it poison: an article in
//! such a group is not for the site, whatever else matches (newsfeeds(5) of INN). A pattern shorter than the group
//! matches everything below it. Each matching pattern scores 20 for a literal word
//! and 19 for an `all`; the highest score decides.
//!
//! The list is stored as a tree of words. A group is matched from the root, and the
//! branch `all` is followed before the literal one. Two cases in which the
//! original differs from its manual follow from that: a repeated pattern is
//! one node of the tree, and its last sign counts; and of equal
//! scores the first one found counts, so the pattern with the earliest `all`
//! wins.

mod as_wildmat;

use article::newsgroups;

use crate::shown;
use crate::wildmat::WildmatResult;

pub use as_wildmat::AsWildmat;

/// Score of a word that is equal.
pub(crate) const LITERAL_POINTS: u32 = 20;
/// Score of a word that `all` matches.
pub(crate) const ALL_POINTS: u32 = 19;

/// A compiled list of C News patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The nodes of the tree, the root first. Empty if the list is empty.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Node {
    /// The result of the pattern that ends here; `None` if none ends here.
    pub(crate) verdict: Option<WildmatResult>,
    /// The node after `all`.
    pub(crate) all: Option<u32>,
    /// The nodes after literal words, sorted by word.
    pub(crate) literal: Vec<(Box<[u8]>, u32)>,
}

impl Pattern {
    /// Compiles a comma-separated list; `@` is an ordinary character. Empty patterns are skipped; any other
    /// text is a valid pattern, so this cannot fail. Matching is case-sensitive.
    pub fn parse(list: &[u8]) -> Self {
        Self::parse_list(list, false)
    }

    /// As [`Pattern::parse`], with `@` for poison: the subscription of a site.
    pub fn parse_poison(list: &[u8]) -> Self {
        Self::parse_list(list, true)
    }

    fn parse_list(list: &[u8], takes_poison: bool) -> Self {
        let mut pattern = Self::default();
        for item in list.split(|&byte| byte == b',') {
            let (verdict, words) = match item {
                [b'!', words @ ..] => (WildmatResult::Fail, words),
                [b'@', words @ ..] if takes_poison => (WildmatResult::Poison, words),
                words => (WildmatResult::Match, words),
            };
            if !words.is_empty() {
                pattern.insert(words, verdict);
            }
        }
        pattern
    }

    /// Compiles a list for names of distributions. These have no case (RFC 5536, 3.2.4; C News compared with it): whoever asks
    /// makes the name lower case.
    pub fn of_distributions(list: &[u8]) -> Self {
        Self::parse(&list.to_ascii_lowercase())
    }

    /// Whether the list matches this group. An empty name never matches.
    pub fn matches(&self, group: &[u8]) -> bool {
        self.result(group) == WildmatResult::Match
    }

    /// The result of the pattern with the highest score.
    pub fn result(&self, group: &[u8]) -> WildmatResult {
        let verdict = if group.is_empty() {
            None
        } else {
            self.verdict(group)
        };
        verdict.unwrap_or(WildmatResult::Fail)
    }

    /// Whether the list matches any group of a Newsgroups value: an excluded group does not veto the others.
    pub fn matches_any(&self, newsgroups: &[u8]) -> bool {
        newsgroups::split(newsgroups).any(|group| self.matches(group))
    }

    /// Whether the list includes nothing, as `!comp,!misc` does: it matches no group.
    pub fn only_excludes(&self) -> bool {
        let mut nodes = self.nodes.iter();
        !nodes.any(|node| node.verdict == Some(WildmatResult::Match))
    }

    /// Returns a node of the tree; the root is 0.
    pub(crate) fn node(&self, index: u32) -> Option<&Node> {
        self.nodes.get(index as usize)
    }

    /// Returns the result of the pattern with the highest score; `None` if none matches.
    ///
    /// Visits each node at most once, so the list bounds the work.
    fn verdict(&self, group: &[u8]) -> Option<WildmatResult> {
        let mut best: Option<(u32, WildmatResult)> = None;
        // Literal branches to follow after the `all` branch beside them.
        let mut waiting: Vec<(u32, Option<&[u8]>, u32)> = Vec::new();
        let mut at = (0u32, Some(group), 0u32);
        loop {
            let (index, rest, score) = at;
            let node = self.nodes.get(index as usize)?;
            if let Some(verdict) = node.verdict
                && best.is_none_or(|(highest, _)| score > highest)
            {
                best = Some((score, verdict));
            }
            let mut next = None;
            if let Some(rest) = rest {
                let (word, rest) = split_word(rest);
                next = node.all.map(|all| (all, rest, score + ALL_POINTS));
                if let Some(literal) = node.literal(word) {
                    let literal = (literal, rest, score + LITERAL_POINTS);
                    match next {
                        Some(_) => waiting.push(literal),
                        None => next = Some(literal),
                    }
                }
            }
            match next.or_else(|| waiting.pop()) {
                Some(branch) => at = branch,
                None => return best.map(|(_, verdict)| verdict),
            }
        }
    }

    /// The list with its words in lower case, for names of distributions, as [`Pattern::of_distributions`].
    pub fn in_lower_case(&self) -> Self {
        let mut lower = Self::default();
        let mut waiting = vec![(0, Vec::new())];
        while let Some((at, words)) = waiting.pop() {
            let Some(node) = self.node(at) else {
                continue;
            };
            if let Some(verdict) = node.verdict {
                lower.insert(&words, verdict);
            }
            let literal = node.literal.iter();
            let literal = literal.map(|(word, next)| (word.to_ascii_lowercase(), *next));
            let all = node.all.map(|next| (b"all".to_vec(), next));
            for (word, next) in literal.chain(all) {
                let words = match at {
                    0 => word,
                    _ => [words.as_slice(), b".", &word].concat(),
                };
                waiting.push((next, words));
            }
        }
        lower
    }

    fn insert(&mut self, words: &[u8], verdict: WildmatResult) {
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let mut at = 0u32;
        for word in words.split(|&byte| byte == b'.') {
            // A list has at most as many words as bytes, and sys and command
            // lines are far below 2^32.
            let new = self.nodes.len() as u32;
            let Some(node) = self.nodes.get_mut(at as usize) else {
                return;
            };
            let next = if word == b"all" {
                *node.all.get_or_insert(new)
            } else {
                match node.find(word) {
                    Ok(next) => next,
                    Err(place) => {
                        node.literal.insert(place, (word.into(), new));
                        new
                    }
                }
            };
            if next == new {
                self.nodes.push(Node::default());
            }
            at = next;
        }
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.verdict = Some(verdict);
        }
    }
}

impl Node {
    fn literal(&self, word: &[u8]) -> Option<u32> {
        if self.literal.is_empty() {
            return None;
        }
        self.find(word).ok()
    }

    /// The node after a literal word, or the index at which to insert it.
    fn find(&self, word: &[u8]) -> Result<u32, usize> {
        let place = self
            .literal
            .binary_search_by(|(other, _)| (**other).cmp(word))?;
        self.literal.get(place).map(|&(_, next)| next).ok_or(place)
    }
}

/// The fault of a list with a `*`, which has no meaning in these patterns and matches nothing: the rest of a sentence that begins with `has` or
/// `there is`. `None` if there is none.
pub fn star_in(list: &[u8]) -> Option<String> {
    memchr::memchr(b'*', list)?;
    let list = shown(list);
    let item = list.split(',').find(|item| item.contains('*'))?;
    let cnews = item.trim_end_matches('*').trim_end_matches('.');
    Some(format!(
        "`*' in `{item}'; patterns are those of C News, where `{}' takes in all below it",
        match cnews.trim_start_matches('!') {
            "" => "all",
            _ => cnews,
        }
    ))
}

/// Splits a name into its first word and the text after the dot.
pub(crate) fn split_word(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'.', name).and_then(|dot| name.split_at_checked(dot)) {
        Some((word, rest)) => (word, rest.get(1..)),
        None => (name, None),
    }
}
