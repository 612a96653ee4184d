//! Lines of C News's history, `ID TAB arrival~expiry~size TAB group/number ...`, with dates as people wrote them before 1987.

use article::date::{self, Utc};
use store::HistoryLine;

/// A line of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line, as its fields.
    pub fields: HistoryLine<'a>,
    /// When the article arrived, epoch seconds; `None`: unreadable.
    pub arrived: Option<i64>,
}

impl<'a> Line<'a> {
    /// Parses a line, without its newline. `None`: garbled.
    pub fn parse(line: &'a [u8]) -> Option<Line<'a>> {
        let fields = HistoryLine::parse(line)?;
        article::message_id::check(fields.id).ok()?;
        let dates = line.split(|&b| b == b'\t').nth(1).unwrap_or_default();
        let arrived = dates.split(|&b| b == b'~').next().and_then(epoch);
        Some(Line { fields, arrived })
    }
}

/// A date of a history line: decimal seconds, or human text.
pub fn epoch(text: &[u8]) -> Option<i64> {
    match article::decimal::parse_signed(text) {
        Some(seconds) => Some(seconds),
        None => date::parse(text, &Utc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_read() {
        let line = Line::parse(b"<1@a>\t756362361~-~1234\tcomp.test/1 comp.misc/7").unwrap();
        assert_eq!(line.arrived, Some(756_362_361));
        assert_eq!(line.fields.links().count(), 2);
        let line = Line::parse(b"<1@a>\tMon Dec 20 04:39:21 GMT 1993~-\tcomp.test/5").unwrap();
        assert_eq!(line.arrived, Some(756_362_361));
        let line = Line::parse(b"<1@a>\t756362361~-~").unwrap();
        assert_eq!(line.fields.links().count(), 0);
        for bad in [&b""[..], b"no id\t1~-", b"<1@a>", b"<1@a>\t1\tx\ty"] {
            assert_eq!(Line::parse(bad), None);
        }
    }

    proptest! {
        #[test]
        fn anything_is_read(line in prop::collection::vec(prop::sample::select(b"<a@b>\t1~-/. ,\xff".to_vec()), 0..80)) {
            if let Some(line) = Line::parse(&line) {
                prop_assert!(line.fields.links().count() <= 80);
            }
        }
    }
}
