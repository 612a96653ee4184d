//! `.exp`: the history lines that expire decides one by one, found without looking at all the others.
//!
//! These are articles with an Expires, be it one that can be read or not, articles that seem to have arrived before one filed earlier
//! (the clock was set back), and late articles (with a number not above the high mark). For all others, position, arrival and number grow
//! together, so that one binary search finds where a policy's cut-off lies.

use crate::Expires;
use crate::history::HistoryLine;

/// Sorts out the lines of one segment.
#[derive(Debug, Default)]
pub struct Exceptions {
    newest: u64,
    lines: Vec<u8>,
}

impl Exceptions {
    /// Behind articles of which the latest arrived at `newest` (see [`Exceptions::newest`]).
    pub fn after(newest: u64) -> Exceptions {
        Exceptions {
            newest,
            lines: Vec::new(),
        }
    }

    /// Looks at the next line (newline included), of an article with this arrival and Expires, late or not.
    #[inline]
    pub fn look_at(&mut self, line: &[u8], arrival: i64, (expires, is_late): (Expires<'_>, bool)) {
        let told = within(arrival);
        if is_late || !expires.is_absent() || told < self.newest || told != arrival.unsigned_abs() {
            self.lines.extend_from_slice(line);
        } else {
            self.newest = told;
        }
    }

    /// As [`Exceptions::look_at`], for a line of any kind.
    pub fn look_at_any(&mut self, line: &[u8]) {
        if let Some(told) = HistoryLine::parse(line)
            && let (Some(arrival), Some(_)) = (told.arrival, told.position)
        {
            self.look_at(line, arrival, (told.expires, told.is_late));
        }
    }

    /// The lines kept since the last [`Exceptions::clear`].
    pub fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Forgets the lines, not the order.
    pub fn clear(&mut self) {
        self.lines.clear();
    }

    /// The latest arrival so far among those that are no exceptions, epoch seconds.
    pub fn newest(&self) -> u64 {
        self.newest
    }
}

/// An arrival as the mark can keep it.
fn within(arrival: i64) -> u64 {
    u64::from(u32::try_from(arrival.max(0)).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_the_order_or_has_an_expires_is_kept() {
        let mut told = Exceptions::default();
        for (line, arrival, expires) in [
            ("a", 100, Expires::Absent),
            ("l", 105, Expires::Absent),
            ("b", 100, Expires::Absent),
            ("c", 90, Expires::Absent),
            ("d", 500, Expires::At(7)),
            ("u", 500, Expires::Unreadable(b"soon")),
            ("e", 101, Expires::Absent),
            ("f", -3, Expires::Absent),
            ("g", 1 << 40, Expires::Absent),
        ] {
            told.look_at(line.as_bytes(), arrival, (expires, line == "l"));
        }
        assert_eq!(told.lines(), b"lcdufg");
        assert_eq!(told.newest(), 101);
    }
}
