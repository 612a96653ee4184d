//! The history line: C News's format with one more subfield, the position.
//!
//! `<id> TAB arrival~expires~size~position TAB group/number group/number`, with `~late` after the position of a late article
//!
//! `expires` is decimal, the text of a header in which no date can be read, or `-`: see [`crate::history::expires_header`].
//! Without a third field the id was seen but not filed (cancelled in advance, refused, expired).

pub(crate) mod cancels;
pub(crate) mod compacted;
pub(crate) mod exceptions;
pub mod expires_header;
pub(crate) mod lookup;
pub(crate) mod sealed;
pub mod seen_hashes;

use article::decimal;

use crate::io::bytes::cut;
use crate::{Expires, Position};

/// The longest history line read, bytes: an id, four numbers, and every group of a wide cross-post.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// The fifth subfield of a late article.
const LATE: &[u8] = b"late";

/// One parsed history line, borrowing from its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLine<'a> {
    /// The whole line, without its newline.
    pub text: &'a [u8],
    /// The message-id, with its brackets.
    pub id: &'a [u8],
    /// When it came, epoch seconds. `None`: unreadable (expire then drops it, as C News did).
    pub arrival: Option<i64>,
    /// The time of its Expires; absent for `-` or nothing.
    pub expires: Expires<'a>,
    /// Bytes as filed, native form, Path and Xref included.
    pub size: Option<u64>,
    /// Where the article is in the log.
    pub position: Option<Position>,
    /// In one of its groups the number was not above the high mark when it was filed: expire decides it individually.
    pub is_late: bool,
    /// `group/number group/number`; empty when nothing was filed.
    pub links: &'a [u8],
}

impl<'a> HistoryLine<'a> {
    /// Reads one line, with or without its newline. `None` when it has not 2 or 3 fields ("garbled").
    pub fn parse(line: &'a [u8]) -> Option<HistoryLine<'a>> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let (id, rest) = cut(line, b'\t');
        let (dates, links) = cut(rest?, b'\t');
        let links = links.unwrap_or_default();
        if id.is_empty() || memchr::memchr(b'\t', links).is_some() {
            return None;
        }
        // So short that a loop over bytes is the quickest.
        let mut parts = dates.split(|&b| b == b'~');
        Some(HistoryLine {
            text: line,
            id,
            arrival: parts.next().and_then(decimal::parse_signed),
            expires: parts.next().map_or(Expires::Absent, Expires::of_subfield),
            size: parts.next().and_then(decimal::parse),
            position: parts.next().and_then(decimal::parse).map(Position),
            is_late: parts.next() == Some(LATE),
            links,
        })
    }

    /// Whether it was filed under a number in a group.
    pub fn is_in(&self, group: &[u8], number: u64) -> bool {
        self.links().any(|link| link == (group, number))
    }

    /// The groups and numbers it was filed under; unreadable ones are skipped.
    /// Separators are blanks or commas, as in C News; the last slash stands before the number.
    pub fn links(&self) -> impl Iterator<Item = (&'a [u8], u64)> + use<'a> {
        let mut rest = Some(self.links);
        let links = std::iter::from_fn(move || {
            let text = rest?;
            let end = memchr::memchr2(b' ', b',', text).unwrap_or(text.len());
            rest = text.get(end + 1..);
            text.get(..end)
        });
        links.filter_map(|link| {
            let slash = memchr::memrchr(b'/', link)?;
            let (group, number) = link.split_at_checked(slash)?;
            Some((group, decimal::parse(number.get(1..)?)?))
        })
    }

    /// Whether everything in the line of a filed article can be read, as [`push_filed`] writes it.
    pub(crate) fn is_intact(&self) -> bool {
        let links = match self.links {
            b"" => 0,
            links => memchr::memchr2_iter(b' ', b',', links).count() + 1,
        };
        self.arrival.is_some()
            && self.size.is_some()
            && self.position.is_some()
            && self.links().count() == links
    }

    /// True when an article was filed under this id, whether or not it is still alive.
    pub fn is_filed(&self) -> bool {
        !self.links.is_empty()
    }
}

/// Appends the line of an article that was filed.
pub fn push_filed(
    out: &mut Vec<u8>,
    id: &[u8],
    dates: (i64, Expires<'_>),
    size: u64,
    (position, is_late): (Position, bool),
    links: &[(&[u8], u64)],
) {
    push_start(out, id, dates);
    out.push(b'~');
    decimal::push(out, size);
    out.push(b'~');
    decimal::push(out, position.0);
    if is_late {
        out.push(b'~');
        out.extend_from_slice(LATE);
    }
    let mut separator = b'\t';
    for (group, number) in links {
        out.push(separator);
        out.extend_from_slice(group);
        out.push(b'/');
        decimal::push(out, *number);
        separator = b' ';
    }
    out.push(b'\n');
}

/// Appends the line of an id that was seen but not filed. Its size is empty, as in C News.
pub fn push_seen(out: &mut Vec<u8>, id: &[u8], dates: (i64, Expires<'_>)) {
    push_start(out, id, dates);
    out.extend_from_slice(b"~\n");
}

fn push_start(out: &mut Vec<u8>, id: &[u8], (arrival, expires): (i64, Expires<'_>)) {
    push_clean_id(out, id);
    out.push(b'\t');
    decimal::push_signed(out, arrival);
    out.push(b'~');
    expires.push(out);
}

/// In ids a tab or newline becomes a blank (C News's history.c), so that a line keeps its fields.
fn push_clean_id(out: &mut Vec<u8>, id: &[u8]) {
    if memchr::memchr2(b'\t', b'\n', id).is_none() {
        out.extend_from_slice(id);
    } else {
        out.extend(
            id.iter()
                .map(|&b| if b == b'\t' || b == b'\n' { b' ' } else { b }),
        );
    }
}

/// The lines of a text with their offsets, without their newlines.
pub fn lines(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', text).filter_map(move |end| {
        let line = (start as u64, text.get(start..end)?);
        start = end + 1;
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filed_line_goes_there_and_back() {
        let mut out = Vec::new();
        push_filed(
            &mut out,
            b"<1@a>",
            (100, Expires::At(200)),
            3000,
            (Position(64), false),
            &[(b"a.b", 7), (b"c/d", 8)],
        );
        assert_eq!(out, b"<1@a>\t100~200~3000~64\ta.b/7 c/d/8\n");
        let line = HistoryLine::parse(&out).unwrap();
        assert_eq!(line.arrival, Some(100));
        assert_eq!(line.position, Some(Position(64)));
        assert_eq!(
            line.links().collect::<Vec<_>>(),
            [(&b"a.b"[..], 7), (&b"c/d"[..], 8)]
        );
    }

    #[test]
    fn a_seen_line_has_no_third_field() {
        let mut out = Vec::new();
        push_seen(&mut out, b"<1\t@a>", (5, Expires::Absent));
        assert_eq!(out, b"<1 @a>\t5~-~\n");
        let line = HistoryLine::parse(&out).unwrap();
        assert!(!line.is_filed());
        assert_eq!(line.expires, Expires::Absent);
    }

    #[test]
    fn an_expires_that_cannot_be_read_is_kept() {
        let mut out = Vec::new();
        let expires = Expires::Unreadable(b"when\tit~rains");
        push_filed(
            &mut out,
            b"<1@a>",
            (5, expires),
            9,
            (Position(64), true),
            &[(b"a", 1)],
        );
        assert_eq!(out, b"<1@a>\t5~when it rains~9~64~late\ta/1\n");
        let line = HistoryLine::parse(&out).unwrap();
        assert!(line.is_late);
        assert_eq!(line.expires, Expires::Unreadable(b"when it rains"));
        assert_eq!((line.size, line.position), (Some(9), Some(Position(64))));
    }

    #[test]
    fn lines_of_c_news_are_read() {
        let line =
            HistoryLine::parse(b"<x@y>\t746021362~-~\tcomp.lang.c/12, comp.std.c/3").unwrap();
        assert_eq!((line.size, line.position), (None, None));
        assert_eq!(line.links().count(), 2);
        assert_eq!(HistoryLine::parse(b"<x@y>"), None);
        assert_eq!(HistoryLine::parse(b"a\tb\tc\td"), None);
    }
}
