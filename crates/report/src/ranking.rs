//! Counts by name in bounded memory: the largest keep their names, the others are added up.

use std::collections::HashMap;

/// Names that a ranking keeps by default.
pub const NAMES_MAX: usize = 20_000;
/// Longest name, bytes. A longer one is truncated.
pub const NAME_BYTES_MAX: usize = 256;

/// `N` counts for each name. The first one decides the rank.
#[derive(Debug, Clone)]
pub struct Ranking<const N: usize> {
    rows: HashMap<Box<[u8]>, [u64; N]>,
    others: [u64; N],
    names_max: usize,
}

/// A name with its counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<const N: usize> {
    /// The name.
    pub name: String,
    /// Its counts.
    pub counts: [u64; N],
}

impl<const N: usize> Default for Ranking<N> {
    fn default() -> Ranking<N> {
        Ranking::new(NAMES_MAX)
    }
}

impl<const N: usize> Ranking<N> {
    /// An empty ranking that keeps so many names.
    pub fn new(names_max: usize) -> Ranking<N> {
        Ranking {
            rows: HashMap::new(),
            others: [0; N],
            names_max: names_max.max(2),
        }
    }

    /// Adds counts to a name. When there are too many names, the smaller half of them loses theirs.
    pub fn add(&mut self, name: &[u8], counts: [u64; N]) {
        let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
        if let Some(row) = self.rows.get_mut(name) {
            return sum(row, &counts);
        }
        if self.rows.len() >= self.names_max {
            self.forget_half();
        }
        self.rows.insert(name.into(), counts);
    }

    /// Adds counts without a name.
    pub fn add_others(&mut self, counts: [u64; N]) {
        sum(&mut self.others, &counts);
    }

    /// True without any counts.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.others.iter().all(|count| *count == 0)
    }

    /// Adds another ranking.
    pub fn merge(&mut self, other: &Ranking<N>) {
        for (name, counts) in &other.rows {
            self.add(name, *counts);
        }
        self.add_others(other.others);
    }

    /// The sum of all counts.
    pub fn total(&self) -> [u64; N] {
        let mut total = self.others;
        for counts in self.rows.values() {
            sum(&mut total, counts);
        }
        total
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The `most` largest, the largest first, and the sum of all others.
    pub fn largest(&self, most: usize) -> (Vec<Row<N>>, [u64; N]) {
        let mut rows: Vec<(&Box<[u8]>, &[u64; N])> = self.rows.iter().collect();
        rows.sort_by(|(one, a), (other, b)| b.first().cmp(&a.first()).then(one.cmp(other)));
        let mut others = self.others;
        for (_, counts) in rows.iter().skip(most) {
            sum(&mut others, counts);
        }
        let named = rows.into_iter().take(most).map(|(name, counts)| Row {
            name: groups::shown(name),
            counts: *counts,
        });
        (named.collect(), others)
    }

    /// The `most` largest; the others without their names.
    #[must_use]
    pub fn cut(self, most: usize) -> Ranking<N> {
        let mut ranks: Vec<(&Box<[u8]>, u64)> = self
            .rows
            .iter()
            .map(|(name, counts)| (name, rank(counts)))
            .collect();
        ranks.sort_by(|(one, a), (other, b)| b.cmp(a).then(one.cmp(other)));
        let kept = ranks.into_iter().take(most);
        let rows: HashMap<Box<[u8]>, [u64; N]> = kept
            .filter_map(|(name, _)| Some((name.clone(), *self.rows.get(name)?)))
            .collect();
        let mut others = self.others;
        for (name, counts) in &self.rows {
            if !rows.contains_key(name) {
                sum(&mut others, counts);
            }
        }
        Ranking {
            rows,
            others,
            names_max: self.names_max,
        }
    }

    fn forget_half(&mut self) {
        let mut ranks: Vec<u64> = self.rows.values().map(rank).collect();
        let half = self.names_max / 2;
        let place = ranks.len().saturating_sub(half + 1);
        let (_, least, _) = ranks.select_nth_unstable(place);
        let least = *least;
        // Of names with the same rank as the first that goes, as many stay as there is room for.
        let above = self.rows.values().filter(|row| rank(row) > least).count();
        let mut room = half.saturating_sub(above);
        let others = &mut self.others;
        self.rows.retain(|_, counts| {
            let is_level = rank(counts) == least && room > 0;
            room -= usize::from(is_level);
            let stays = is_level || rank(counts) > least;
            if !stays {
                sum(others, counts);
            }
            stays
        });
    }
}

fn rank<const N: usize>(counts: &[u64; N]) -> u64 {
    counts.first().copied().unwrap_or_default()
}

fn sum<const N: usize>(to: &mut [u64; N], counts: &[u64; N]) {
    for (to, count) in to.iter_mut().zip(counts) {
        *to = to.saturating_add(*count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_sums_are_right() {
        let mut ranking: Ranking<2> = Ranking::new(100);
        for number in 0..10_000u64 {
            ranking.add(format!("small{number}").as_bytes(), [1, 2]);
            ranking.add(b"large", [10, 0]);
            assert!(ranking.len() <= 100);
        }
        assert_eq!(ranking.total(), [110_000, 20_000]);
        let (rows, others) = ranking.largest(1);
        assert_eq!(rows.first().unwrap().name, "large");
        assert_eq!(rows.first().unwrap().counts, [100_000, 0]);
        assert_eq!(others, [10_000, 20_000]);
        let mut all = Ranking::new(10);
        all.merge(&ranking);
        assert_eq!(all.total(), ranking.total());
    }

    #[test]
    fn a_tie_is_sorted_by_name() {
        let mut ranking: Ranking<1> = Ranking::default();
        for name in ["b", "a", "c\n"] {
            ranking.add(name.as_bytes(), [1]);
        }
        let (rows, others) = ranking.largest(2);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!((names, others), (vec!["a", "b"], [1]));
    }
}
