//! C News patterns as a wildmat.
//!
//! Among C News patterns the highest score decides, in a wildmat the rightmost match. So the wildmat has the patterns from the lowest score
//! to the highest, and among equal scores the one with the earliest `all` last.

use super::{ALL_POINTS, LITERAL_POINTS, Pattern};

/// A list of C News patterns as a wildmat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AsWildmat {
    /// The wildmat.
    pub list: String,
    /// The patterns in which a word follows an `all`, such as `comp.all.test`: `all` stands for one word, and `*` for one or more, so the
    /// wildmat means `comp.a.b.test` as well. Without such patterns, list and wildmat have the same result for every group.
    pub widened: Vec<String>,
}

/// A node that is still to be visited, and the words that lead to it; `None` is `all`.
struct Branch<'p> {
    node: u32,
    score: u32,
    words: Vec<Option<&'p [u8]>>,
}

impl<'p> Branch<'p> {
    fn to(&self, node: u32, word: Option<&'p [u8]>) -> Branch<'p> {
        let points = match word {
            Some(_) => LITERAL_POINTS,
            None => ALL_POINTS,
        };
        Branch {
            node,
            score: self.score + points,
            words: self.words.iter().copied().chain([word]).collect(),
        }
    }

    /// The words with dots, as in C News.
    fn pattern(&self) -> String {
        let words = self.words.iter();
        let words = words.map(|word| String::from_utf8_lossy(word.unwrap_or(b"all")));
        words.collect::<Vec<_>>().join(".")
    }

    /// The items of the wildmat for the words.
    fn items(&self, sign: &str) -> Vec<String> {
        let words = self.words.iter();
        let words = words.map(|word| word.map_or("*".to_owned(), escaped));
        let words = words.collect::<Vec<_>>().join(".");
        let mut items = vec![format!("{sign}{words}")];
        if !matches!(self.words.last(), Some(None)) {
            items.push(format!("{sign}{words}.*"));
        }
        items
    }

    fn is_widened(&self) -> bool {
        let mut words = self.words.iter().skip_while(|word| word.is_some());
        words.any(|word| word.is_some())
    }
}

/// A word in which no character has a meaning of its own.
fn escaped(word: &[u8]) -> String {
    let mut text = String::new();
    for character in String::from_utf8_lossy(word).chars() {
        if "*?[\\!@".contains(character) {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

impl Pattern {
    /// Translates the list.
    pub fn as_wildmat(&self) -> AsWildmat {
        let mut items: Vec<(u32, Vec<String>)> = Vec::new();
        let mut widened = Vec::new();
        let mut waiting = vec![Branch {
            node: 0,
            score: 0,
            words: Vec::new(),
        }];
        while let Some(branch) = waiting.pop() {
            let Some(node) = self.node(branch.node) else {
                continue;
            };
            if let Some(verdict) = node.verdict {
                let sign = verdict.sign();
                items.push((branch.score, branch.items(sign)));
                if branch.is_widened() {
                    widened.push(format!("{sign}{}", branch.pattern()));
                }
            }
            // The last one is visited first: literal words before `all`.
            waiting.extend(node.all.map(|all| branch.to(all, None)));
            let literal = node.literal.iter().rev();
            waiting.extend(literal.map(|(word, next)| branch.to(*next, Some(word))));
        }
        items.sort_by_key(|(score, _)| *score);
        let items: Vec<String> = items.into_iter().flat_map(|(_, items)| items).collect();
        AsWildmat {
            list: items.join(","),
            widened,
        }
    }
}
