//! Finds the rules that can match a group, by the first word of its name.
//!
//! A C News pattern only matches groups that begin with its words, so a rule
//! whose patterns all begin with literal words cannot match any
//! other hierarchy. With many groups and many rules this saves most of the
//! matching; the order of the rules is kept.

use hashbrown::{HashMap, HashSet};

use crate::explist::Rule;

/// The rules by first word.
pub(crate) struct RuleIndex {
    /// For first words that occur in a rule: those rules and the ones for any word.
    by_word: HashMap<Vec<u8>, Vec<u32>>,
    /// For all other words.
    any: Vec<u32>,
}

impl RuleIndex {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let words: Vec<Option<Vec<&[u8]>>> = rules
            .iter()
            .map(|rule| first_words(&rule.patterns))
            .collect();
        let all_words: HashSet<&[u8]> = words.iter().flatten().flatten().copied().collect();
        let mut rule_index = Self {
            by_word: all_words
                .into_iter()
                .map(|word| (word.to_vec(), Vec::new()))
                .collect(),
            any: Vec::new(),
        };
        for (index, words) in (0u32..).zip(&words) {
            match words {
                None => {
                    rule_index.any.push(index);
                    for rules in rule_index.by_word.values_mut() {
                        rules.push(index);
                    }
                }
                Some(words) => {
                    for word in words {
                        if let Some(rules) = rule_index.by_word.get_mut(*word)
                            && rules.last() != Some(&index)
                        {
                            rules.push(index);
                        }
                    }
                }
            }
        }
        rule_index
    }

    /// Indexes of the rules that may match a group, in order.
    pub(crate) fn rules(&self, group: &[u8]) -> &[u32] {
        let word = group.split(|byte| *byte == b'.').next().unwrap_or(group);
        self.by_word.get(word).unwrap_or(&self.any)
    }
}

/// The first words of the including patterns; `None` if one matches any word.
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
