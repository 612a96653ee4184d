//! A day of reading and filing: the visits of readers to groups, by Zipf's law, between batches that are filed.
//!
//! A reader begins where he stopped the last time in that group, and reads what is new. His newsreader looks each article up twice, for its header and to
//! show it; some articles he skips after the header, and sometimes he goes back to the one before. Half of the newsreaders change to the
//! directory of the group, as rn did, and the others name the whole path, as nn did.

use bench::generate::{Random, SEED, Zipf};

/// Readers; each is a process.
pub const READERS: u32 = 40;
/// Visits of all readers.
pub const VISITS: usize = 2_000;
/// Visits between two batches.
pub const VISITS_PER_BATCH: usize = 40;
/// Articles read in a visit.
const READ_MAX: u64 = 30;
/// Articles that were unread when the day began, in each group.
const UNREAD_MAX: u64 = 20;
/// Of 100 articles: skipped after the header; followed by a look at the one before.
const SKIPPED: u64 = 30;
const BACK: u64 = 10;
/// Flattens the law a little: no group has more than a sixth of the visits.
const SHIFT: f64 = 1.0;

/// A visit of a reader to a group.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The reader, from 0.
    pub reader: u32,
    /// The index of the group.
    pub group: usize,
    /// Whether the reader's program changes to its directory.
    pub changes_directory: bool,
    /// The numbers looked up, in order.
    pub numbers: Vec<u64>,
}

/// The readers.
pub struct Day {
    random: Random,
    law: Zipf,
    /// The next unread article, by reader and group; 0: not read yet.
    next: Vec<u64>,
    groups: usize,
}

impl Day {
    /// The morning, with this number of groups.
    pub fn new(groups: usize) -> Day {
        Day {
            random: Random::new(SEED),
            law: Zipf::new(groups, SHIFT),
            next: vec![0; groups * READERS as usize],
            groups,
        }
    }

    /// The next visit; `high` returns the last number of a group.
    pub fn visit(&mut self, high: impl Fn(usize) -> u64) -> Visit {
        let reader = self.random.below(u64::from(READERS)) as u32;
        let group = self.law.draw(&mut self.random);
        let high = high(group);
        let mut numbers = Vec::new();
        let first = high.saturating_sub(self.random.below(UNREAD_MAX)).max(1);
        let place = reader as usize * self.groups + group;
        if let Some(next) = self.next.get_mut(place) {
            if *next == 0 {
                *next = first;
            }
            while *next <= high && (numbers.len() as u64) < 2 * READ_MAX {
                let number = *next;
                *next += 1;
                numbers.push(number);
                if !self.random.chance(SKIPPED) {
                    numbers.push(number);
                }
                if number > 1 && self.random.chance(BACK) {
                    numbers.push(number - 1);
                }
            }
        }
        Visit {
            reader,
            group,
            changes_directory: reader.is_multiple_of(2),
            numbers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_goes_on_where_he_stopped() {
        let mut day = Day::new(3);
        let mut last = [0; 3 * READERS as usize];
        for round in 0..200 {
            let visit = day.visit(|_| 50 + round / 20);
            let last = &mut last[visit.reader as usize * 3 + visit.group];
            if let Some(first) = visit.numbers.first() {
                assert!(*last == 0 || *first == *last + 1);
                *last = *visit.numbers.iter().max().unwrap();
            }
            assert!(visit.numbers.iter().all(|number| (1..=60).contains(number)));
        }
    }
}
