//! Free numbers: an article from a mirrored site or another news system brings its numbers along, in any order.

use hashbrown::HashMap;

use crate::Error;
use crate::overview::used_numbers::UsedNumbers;
use crate::spool::Spool;

/// Numbers that are used, in each group.
#[derive(Debug, Default)]
pub struct UsedByGroup(HashMap<Vec<u8>, UsedNumbers>);

impl UsedByGroup {
    /// Notes the links of one article.
    pub fn note<'a>(&mut self, links: impl Iterator<Item = (&'a [u8], u64)>) {
        for (group, number) in links {
            self.0.entry_ref(group).or_default().take(number);
        }
    }

    /// Whether a link was noted.
    pub fn has(&self, group: &[u8], number: u64) -> bool {
        self.0.get(group).is_some_and(|used| used.has(number))
    }
}

impl Spool {
    /// Whether an article can be filed with a number in a group: no article has it or had it. Below the low mark the answer is no,
    /// because clients may forget everything there (RFC 3977, 6.1.1.2); so it is for numbers from which expire has removed articles.
    ///
    /// A number above the high mark costs nothing. The first one below it reads the rows of all segments once; 60 bytes for each
    /// group and each gap in its numbers stay in memory.
    ///
    /// # Errors
    /// The overview of a segment cannot be read.
    pub fn is_free(&mut self, group: &[u8], number: u64) -> Result<bool, Error> {
        let Some(id) = self.active.table.find(group) else {
            return Ok(false);
        };
        if number > self.active.table.high(id) {
            return Ok(true);
        }
        let expired = self.expired.state()?;
        let low = self.active.table.low(id).max(expired.cut(group)).max(1);
        if number < low || !expired.keeps(group, number) {
            return Ok(false);
        }
        Ok(!self.is_used(group, number)?)
    }

    /// Whether an article has a number in a group, or had it, as far as rows tell. With the cost of [`Spool::is_free`].
    ///
    /// # Errors
    /// As [`Spool::is_free`].
    pub fn is_used(&mut self, group: &[u8], number: u64) -> Result<bool, Error> {
        if self.used.is_none() {
            self.used = Some(self.used_by_group()?);
        }
        let used = self.used.as_ref();
        Ok(used.is_some_and(|used| used.has(group, number)))
    }

    /// The greatest number that an article of a group has, as far as rows tell; 0: none has one. With the cost of [`Spool::is_free`].
    ///
    /// # Errors
    /// As [`Spool::is_free`].
    pub fn last_used(&mut self, group: &[u8]) -> Result<u64, Error> {
        if self.used.is_none() {
            self.used = Some(self.used_by_group()?);
        }
        let used = self.used.as_ref().and_then(|used| used.0.get(group));
        Ok(used.map_or(0, UsedNumbers::high))
    }

    fn used_by_group(&self) -> Result<UsedByGroup, Error> {
        let mut used = UsedByGroup::default();
        self.each_block(|block| {
            for rows in block.groups() {
                let numbers = (0..rows.len()).map(|place| (rows.name, rows.number_at(place)));
                used.note(numbers);
            }
        })?;
        used.note(self.derived.rows.links());
        Ok(used)
    }
}
