//! What this node made of the entries: a hash that covers the verdicts on all articles up to an entry, the changes to articles that were
//! there, and the numbers of the groups.

use std::collections::BTreeMap;

use ::cluster::chain::Chain;
use ::cluster::members::{COMPARE_EVERY, OUTCOMES_TOLD};
use article::crc32c;
use groups::Active;
use relay::file::Verdict;

use super::Told;

/// Outcomes that are kept to compare them with those of other nodes, which may be behind.
pub const KEPT: usize = 4 * OUTCOMES_TOLD;

/// The hash so far, and those at the sequence numbers at which nodes compare theirs.
#[derive(Debug, Default)]
pub struct Outcomes {
    hash: Chain,
    kept: BTreeMap<u64, String>,
}

impl Outcomes {
    /// Goes on from a hash.
    pub fn at(hash: Chain) -> Outcomes {
        Outcomes {
            hash,
            kept: BTreeMap::new(),
        }
    }

    /// Goes back to an earlier entry, whose hash is given.
    pub fn go_back_to(&mut self, sequence: u64, hash: Chain) {
        self.hash = hash;
        self.kept.retain(|kept, _| *kept <= sequence);
    }

    /// The hash.
    pub fn hash(&self) -> Chain {
        self.hash
    }

    /// Adds an entry: the results of its articles, the hash of its changes ([`relay::file::Filer::take_changes`]; 0: none), and the active
    /// file after it.
    pub(super) fn add(&mut self, sequence: u64, results: &[Told], changes: u32, active: &Active) {
        let mut bytes: Vec<u8> = results.iter().map(code_of).collect();
        if changes != 0 {
            bytes.extend_from_slice(&changes.to_le_bytes());
        }
        let is_compared = sequence.is_multiple_of(COMPARE_EVERY);
        if is_compared {
            bytes.extend_from_slice(&sum_of(active).to_le_bytes());
        }
        self.hash = self.hash.with(sequence, bytes.len(), crc32c(&bytes));
        if is_compared {
            self.kept.insert(sequence, self.hash.to_string());
            while self.kept.len() > KEPT {
                self.kept.pop_first();
            }
        }
    }

    /// The hashes to compare with those of others.
    pub fn kept(&self) -> &BTreeMap<u64, String> {
        &self.kept
    }

    /// The newest of them, for the others.
    pub fn newest(&self) -> BTreeMap<u64, String> {
        let newest = self.kept.iter().rev().take(OUTCOMES_TOLD);
        newest.map(|(at, hash)| (*at, hash.clone())).collect()
    }
}

/// The byte of a result.
fn code_of(told: &Told) -> u8 {
    match told {
        Told::Verdict(Verdict::Filed) => b'f',
        Told::Verdict(Verdict::Junked) => b'j',
        Told::Verdict(Verdict::Duplicate) => b'd',
        Told::Verdict(Verdict::Refused(_)) => b'r',
        Told::Verdict(Verdict::NeedsAttention(_)) => b'n',
        Told::Verdict(Verdict::Unfiled(_)) => b'u',
        Told::Deferred(_) | Told::Reply(..) => b'-',
    }
}

/// A sum over the names, flags, high marks and low marks of all groups, in whatever order.
fn sum_of(active: &Active) -> u64 {
    let mut line = Vec::new();
    let sums = active.ids().map(|id| {
        line.clear();
        line.extend_from_slice(active.name(id));
        line.extend_from_slice(&active.high(id).to_le_bytes());
        line.extend_from_slice(&active.low(id).to_le_bytes());
        active.flag(id).push(&mut line);
        u64::from(crc32c(&line))
    });
    sums.fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn active(text: &str) -> Active {
        Active::parse(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn numbers_count_and_the_order_of_groups_does_not() {
        let one = active("a 0000000005 0000000001 y\nb 7 1 m\n");
        let sum = sum_of(&one);
        assert_eq!(sum, sum_of(&active("b 7 1 m\na 5 1 y\n")));
        let others = [
            "a 6 1 y\nb 7 1 m\n",
            "a 5 1 y\nb 7 2 m\n",
            "a 5 1 y\nb 7 1 y\n",
            "a 5 1 y\n",
        ];
        for other in others {
            assert_ne!(sum, sum_of(&active(other)), "{other}");
        }
    }

    #[test]
    fn each_verdict_counts() {
        let groups = active("a 1 1 y\n");
        let add = |outcomes: &mut Outcomes, sequence, verdict| {
            outcomes.add(sequence, &[Told::Verdict(verdict)], 0, &groups);
        };
        let (mut one, mut other) = (Outcomes::default(), Outcomes::default());
        add(&mut one, 63, Verdict::Filed);
        add(&mut other, 63, Verdict::Filed);
        assert_eq!(one.hash(), other.hash());
        assert!(one.kept().is_empty());
        let before = one.hash();
        add(&mut one, 64, Verdict::Filed);
        add(&mut other, 64, Verdict::Duplicate);
        assert_ne!(one.kept().get(&64).unwrap(), other.kept().get(&64).unwrap());
        // After a failed commit.
        other.go_back_to(63, before);
        assert!(other.kept().is_empty());
        add(&mut other, 64, Verdict::Filed);
        assert_eq!(one.newest(), other.newest());
        // Changes count, too.
        let (mut with, mut without) = (Outcomes::at(before), Outcomes::at(before));
        with.add(64, &[], 7, &groups);
        without.add(64, &[], 0, &groups);
        assert_ne!(with.hash(), without.hash());
        for times in 2..100 {
            add(&mut one, 64 * times, Verdict::Filed);
        }
        assert_eq!(
            (one.kept().len(), one.newest().len()),
            (KEPT, OUTCOMES_TOLD)
        );
    }
}
