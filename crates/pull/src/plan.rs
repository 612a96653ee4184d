//! Which numbers of a group to read next. Pure.

use nntp::client::GroupMarks;

use crate::marks::Mark;

/// Most articles of a group that are looked through after the server has numbered it anew.
pub const OVERLAP_ARTICLES_MAX: u64 = 20_000;

/// The articles of a group to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Nothing is new.
    Nothing,
    /// The articles of these numbers, in order. `is_checked`: the first number is that of the mark, whose message-id must be the same.
    Read {
        /// First number.
        from: u64,
        /// Last number.
        until: u64,
        /// Whether to compare the first article with the mark.
        is_checked: bool,
    },
    /// The numbers mean something else than before: look through these, and read from the first article on that the history knows; without
    /// one, read the last ones: all, if these are all that the group has.
    Overlap {
        /// First number.
        from: u64,
        /// Last number.
        until: u64,
        /// Articles to read if none is known.
        last: u64,
    },
}

/// The mark of a group that was never read, before its last `first` articles: also where it has none, so that nothing that comes later counts as
/// old.
pub fn first_mark(marks: GroupMarks, first: u64) -> Mark {
    let GroupMarks { low, high, .. } = marks;
    Mark {
        number: high.saturating_sub(first).max(low.saturating_sub(1)),
        id: None,
    }
}

/// Plans which articles of a group with these numbers to read; `first`: number of articles of a renumbered group of which none is known.
pub fn plan(mark: &Mark, marks: GroupMarks, first: u64) -> Plan {
    let GroupMarks { low, high, .. } = marks;
    if high < mark.number {
        // An empty group may forget its numbers; then there is nothing to look at.
        return renumbered(marks, first);
    }
    if high < low || high == mark.number && mark.id.is_none() {
        return Plan::Nothing;
    }
    if mark.number < low {
        // The article of the mark has expired there. All others are new, or known from another group.
        return Plan::Read {
            from: low,
            until: high,
            is_checked: false,
        };
    }
    Plan::Read {
        from: match mark.id {
            Some(_) => mark.number,
            None => mark.number + 1,
        },
        until: high,
        is_checked: mark.id.is_some(),
    }
}

/// Plans which articles of a renumbered group to read.
pub fn renumbered(marks: GroupMarks, first: u64) -> Plan {
    let GroupMarks { low, high, .. } = marks;
    match high < low || high == 0 {
        true => Plan::Nothing,
        false => Plan::Overlap {
            from: low.max(high.saturating_add(1).saturating_sub(OVERLAP_ARTICLES_MAX)),
            until: high,
            last: if high - low < OVERLAP_ARTICLES_MAX {
                u64::MAX
            } else {
                first
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(low: u64, high: u64) -> GroupMarks {
        GroupMarks {
            count: high.saturating_add(1).saturating_sub(low),
            low,
            high,
        }
    }

    fn mark(number: u64) -> Mark {
        Mark {
            number,
            id: Some(b"<a@b>"[..].into()),
        }
    }

    fn read(from: u64, until: u64, is_checked: bool) -> Plan {
        Plan::Read {
            from,
            until,
            is_checked,
        }
    }

    #[test]
    fn the_first_time_the_last_ones_are_read() {
        let first = |low, high, first| {
            let marks = marks(low, high);
            plan(&first_mark(marks, first), marks, first)
        };
        assert_eq!(first(1, 500, 100), read(401, 500, false));
        assert_eq!(first(450, 500, 100), read(450, 500, false));
        assert_eq!(first(1, 500, u64::MAX), read(1, 500, false));
        for (low, high) in [(0, 0), (1, 0), (501, 500)] {
            assert_eq!(first(low, high, 100), Plan::Nothing);
        }
        assert_eq!(first(1, 500, 0), Plan::Nothing);
    }

    #[test]
    fn what_comes_after_an_empty_first_time_is_all_read() {
        for ((low, high), first) in [((0, 0), 1), ((1, 0), 1), ((5, 4), 1), ((1, 4), 0)] {
            let mark = first_mark(marks(low, high), first);
            let from = if high == 4 { 5 } else { 1 };
            let later = plan(&mark, marks(from.min(low.max(1)), 300), first);
            assert_eq!(later, read(from, 300, false), "{low} {high}");
        }
    }

    #[test]
    fn then_what_lies_behind_the_mark() {
        assert_eq!(plan(&mark(500), marks(1, 500), 100), read(500, 500, true));
        assert_eq!(plan(&mark(500), marks(501, 500), 100), Plan::Nothing);
        assert_eq!(plan(&mark(500), marks(1, 510), 100), read(500, 510, true));
        let unnamed = Mark {
            number: 500,
            id: None,
        };
        assert_eq!(plan(&unnamed, marks(1, 500), 100), Plan::Nothing);
        assert_eq!(plan(&unnamed, marks(1, 510), 100), read(501, 510, false));
    }

    #[test]
    fn other_numbers_are_looked_through() {
        let overlap = |from, until, last| Plan::Overlap { from, until, last };
        let all = plan(&mark(500), marks(1, 499), 100);
        assert_eq!(all, overlap(1, 499, u64::MAX));
        assert_eq!(plan(&mark(500), marks(1, 0), 100), Plan::Nothing);
        let last = plan(&mark(9_500_000), marks(1_000_000, 9_000_000), 100);
        assert_eq!(last, overlap(8_980_001, 9_000_000, 100));
    }

    #[test]
    fn articles_behind_an_expired_mark_are_all_read() {
        let all = plan(&mark(500), marks(600, 700), 100);
        assert_eq!(all, read(600, 700, false));
        let all = plan(&mark(9), marks(1_000_000, 9_000_000), 100);
        assert_eq!(all, read(1_000_000, 9_000_000, false));
    }
}
