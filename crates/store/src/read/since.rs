//! History lines from a time on, in pieces.

use std::ops::ControlFlow;

use crate::Error;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::read::snapshot::{Found, Snapshot};

impl Snapshot {
    /// Calls `each` for the articles that arrived then (epoch seconds) or later and are visible, in the order in which they came, and
    /// looks at `limit` lines at most, or as far as `each` goes on. Where to go on; `None`: that was all.
    ///
    /// # Errors
    /// A history file cannot be read.
    pub fn filed_since(
        &self,
        seconds: i64,
        from: Option<u64>,
        limit: usize,
        mut each: impl FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<Option<u64>, Error> {
        self.lines_since(seconds, from, limit, |line| {
            let is_new = line.arrival.is_some_and(|arrival| arrival >= seconds);
            match self.found(line).filter(|_| is_new) {
                Some(found) => each(found),
                None => ControlFlow::Continue(()),
            }
        })
    }

    /// Calls `each` for history lines in the order in which they came, from the first that may have arrived at a time on, or from an
    /// address on where this stopped before. Looks at `limit` lines at most, or as far as `each` goes on. The
    /// address to go on with; `None`: there is no more.
    ///
    /// # Errors
    /// A history file cannot be read.
    fn lines_since<'r>(
        &'r self,
        seconds: i64,
        from: Option<u64>,
        limit: usize,
        mut each: impl FnMut(HistoryLine<'r>) -> ControlFlow<()>,
    ) -> Result<Option<u64>, Error> {
        let start = match from {
            Some(address) => address,
            None => self.first_since(seconds)?,
        };
        let bases: Vec<u64> = self.histories()?.collect();
        let first = bases.partition_point(|base| *base <= start);
        let mut left = limit.max(1);
        for &base in bases.get(first.saturating_sub(1)..).unwrap_or_default() {
            let (history, end) = self.history(base)?;
            let offset = start.saturating_sub(base);
            let lines = history.lines_from(offset);
            for (offset, line) in lines.take_while(|(offset, _)| *offset < end) {
                if left == 0 {
                    return Ok(Some(base + offset));
                }
                left -= 1;
                if let Some(line) =
                    HistoryLine::parse(line).filter(|_| !self.expired().forgets_line(line))
                    && each(line).is_break()
                {
                    left = 0;
                }
            }
        }
        Ok(None)
    }

    /// The address of a line in front of which none arrived at that time or later. Lines lie in the order of their arrival, but for a
    /// clock that was put back.
    fn first_since(&self, seconds: i64) -> Result<u64, Error> {
        let mut address = u64::MAX;
        for base in self.histories()?.rev() {
            let (history, _) = self.history(base)?;
            let Some(newest) = newest(history.text()) else {
                continue;
            };
            if newest < seconds {
                break;
            }
            address = base + first_in(&history, seconds);
        }
        Ok(address)
    }
}

fn arrival(line: &[u8]) -> i64 {
    // One that cannot be read is not passed over by the search.
    HistoryLine::parse(line)
        .and_then(|line| line.arrival)
        .unwrap_or(i64::MAX)
}

fn newest(text: &[u8]) -> Option<i64> {
    let text = text.strip_suffix(b"\n")?;
    let start = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    text.get(start..).map(arrival)
}

/// The offset, in the whole history, of the first line that arrived then or later.
fn first_in(history: &History<'_>, seconds: i64) -> u64 {
    let text = history.text();
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = low + (high - low) / 2;
        // The line that has this byte.
        let before = text.get(..middle).unwrap_or_default();
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let rest = text.get(start..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        if arrival(rest.get(..length).unwrap_or_default()) < seconds {
            low = start + length.max(1);
        } else {
            high = start;
        }
    }
    history.whole_offset(low as u64)
}
