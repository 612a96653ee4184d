//! Which rules can reach a group at all, by the first word of its name.
//!
//! A pattern of C News matches only groups that begin with its words, so a rule
//! whose patterns all begin with plain words is out of the question for every
//! other hierarchy. That saves most of the matching where there are many groups
//! and many rules; the order of rules is kept.

use hashbrown::{HashMap, HashSet};

use crate::explist::Rule;

/// Rules by the first word of the groups they can match.
pub(crate) struct Reach {
    /// For words that some rule names: those rules and the ones for any word.
    by_word: HashMap<Vec<u8>, Vec<u32>>,
    /// For all other words.
    any: Vec<u32>,
}

impl Reach {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let words: Vec<Option<Vec<&[u8]>>> = rules
            .iter()
            .map(|rule| first_words(&rule.patterns))
            .collect();
        let all_words: HashSet<&[u8]> = words.iter().flatten().flatten().copied().collect();
        let mut reach = Self {
            by_word: all_words
                .into_iter()
                .map(|word| (word.to_vec(), Vec::new()))
                .collect(),
            any: Vec::new(),
        };
        for (index, words) in (0u32..).zip(&words) {
            match words {
                None => {
                    reach.any.push(index);
                    for rules in reach.by_word.values_mut() {
                        rules.push(index);
                    }
                }
                Some(words) => {
                    for word in words {
                        if let Some(rules) = reach.by_word.get_mut(*word)
                            && rules.last() != Some(&index)
                        {
                            rules.push(index);
                        }
                    }
                }
            }
        }
        reach
    }

    /// Indices of the rules that may match a group, in their order.
    pub(crate) fn rules(&self, group: &[u8]) -> &[u32] {
        let word = group.split(|byte| *byte == b'.').next().unwrap_or(group);
        self.by_word.get(word).unwrap_or(&self.any)
    }
}

/// The first words of the patterns that say yes; `None` if one is open to any.
fn first_words(patterns: &[u8]) -> Option<Vec<&[u8]>> {
    patterns
        .split(|byte| *byte == b',')
        .filter(|pattern| !pattern.is_empty() && !pattern.starts_with(b"!"))
        .map(|pattern| match pattern.split(|byte| *byte == b'.').next() {
            None | Some(b"" | b"all") => None,
            Some(word) => Some(word),
        })
        .collect()
}
