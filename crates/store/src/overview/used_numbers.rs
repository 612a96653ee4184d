//! The used numbers of a group: fsck finds a number that was assigned twice, and the writer finds free ones below the high mark.

use std::collections::BTreeMap;

/// The numbers found in one group. They usually increase, so only the gaps are stored: a late article
/// has a number that was skipped.
#[derive(Debug, Default)]
pub struct UsedNumbers {
    high: u64,
    /// From the first number of each gap to its last.
    gaps: BTreeMap<u64, u64>,
}

impl UsedNumbers {
    /// The greatest number found.
    pub fn high(&self) -> u64 {
        self.high
    }

    /// Whether a number was added.
    pub fn has(&self, number: u64) -> bool {
        let gap = self.gaps.range(..=number).next_back();
        number <= self.high && number > 0 && gap.is_none_or(|(_, last)| *last < number)
    }

    /// Adds a number; returns false if it was added before.
    pub fn take(&mut self, number: u64) -> bool {
        if number > self.high {
            let first = self.high + 1;
            if first < number {
                self.gaps.insert(first, number - 1);
            }
            self.high = number;
            return true;
        }
        let gap = self.gaps.range(..=number).next_back();
        let Some((&first, &last)) = gap.filter(|(_, last)| **last >= number) else {
            return false;
        };
        self.gaps.remove(&first);
        if first < number {
            self.gaps.insert(first, number - 1);
        }
        if number < last {
            self.gaps.insert(number + 1, last);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_given_once(numbers in prop::collection::vec(1..30u64, 0..60)) {
            let mut given = UsedNumbers::default();
            let mut model = std::collections::HashSet::new();
            for number in numbers {
                prop_assert_eq!(given.has(number), model.contains(&number));
                prop_assert_eq!(given.take(number), model.insert(number));
                prop_assert_eq!(Some(&given.high()), model.iter().max());
            }
        }
    }
}
