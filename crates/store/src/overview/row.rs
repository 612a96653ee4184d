//! Builds the text of an overview row (RFC 3977, 8.3) from an article's header.

use article::{Article, Form, Header, decimal};

use article::scan::has_below;
use article::wire_facts::LineCounts;

use crate::log::record::Record;
use crate::overview::Row;

/// The contents of headers for a row as in the article (with folds); empty if missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct OverviewFields<'a> {
    /// Subject.
    pub subject: &'a [u8],
    /// From.
    pub from: &'a [u8],
    /// Date.
    pub date: &'a [u8],
    /// Message-ID.
    pub id: &'a [u8],
    /// References.
    pub references: &'a [u8],
    /// Xref as filed, without its name.
    pub xref: &'a [u8],
}

impl<'a> OverviewFields<'a> {
    /// The fields of an article; the id is that of filing.
    pub fn of(article: &Article<'a>, id: &'a [u8]) -> OverviewFields<'a> {
        let content = |header| article.content(header).unwrap_or_default();
        OverviewFields {
            subject: content(Header::Subject),
            from: content(Header::From),
            date: content(Header::Date),
            id,
            references: content(Header::References),
            xref: article.value(Header::Xref).unwrap_or_default(),
        }
    }
}

/// Appends a row without its number: a tab, then the fields, then CRLF. `bytes` counts the wire form without
/// doubled dots and terminator, `lines` the lines of the body (RFC 3977, 8.1); of an article without its body, those of the whole one.
pub fn push_row(out: &mut Vec<u8>, fields: &OverviewFields<'_>, bytes: u64, lines: u64) {
    for value in [
        fields.subject,
        fields.from,
        fields.date,
        fields.id,
        fields.references,
    ] {
        out.push(b'\t');
        push_value(out, value);
    }
    out.push(b'\t');
    decimal::push(out, bytes);
    out.push(b'\t');
    decimal::push(out, lines);
    if !fields.xref.is_empty() {
        out.extend_from_slice(b"\tXref: ");
        push_value(out, fields.xref);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends the row of a record, without its number. Returns false if the record is not an article.
pub fn push_row_of(out: &mut Vec<u8>, record: &Record<'_>, id: &[u8]) -> bool {
    let wire = record.wire_article();
    let article = Article::parse(wire, Form::Wire);
    let bytes = record.left_out(&article).map_or_else(
        || (wire.len() - LineCounts::of(wire).doubled_dots) as u64,
        |left_out| left_out.bytes,
    );
    let lines = u64::from(record.head.lines);
    push_row(out, &OverviewFields::of(&article, id), bytes, lines);
    !wire.is_empty()
}

impl Row<'_> {
    /// Whether the text is that of the record of an article, apart from its number, which the caller checks.
    pub(crate) fn is_of(&self, record: &Record<'_>, id: &[u8]) -> bool {
        let Some(tab) = memchr::memchr(b'\t', self.text) else {
            return false;
        };
        let (number, fields) = self.text.split_at(tab);
        let mut row = Vec::new();
        decimal::parse(number) == Some(self.number)
            && push_row_of(&mut row, record, id)
            && row == fields
    }
}

/// Appends a value. Most values have no control characters and are copied unchanged.
fn push_value(out: &mut Vec<u8>, value: &[u8]) {
    if !has_below(value, b' ') {
        out.extend_from_slice(value);
    } else {
        push_unfolded(out, value);
    }
}

/// Unfolds (RFC 3977, 8.3.2: removes a line end before a blank) and replaces every tab, CR, LF and NUL by a blank.
#[cold]
fn push_unfolded(out: &mut Vec<u8>, value: &[u8]) {
    let mut rest = value;
    while let Some(at) = memchr::memchr(b'\n', rest) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, b""));
        push_clean(out, before.strip_suffix(b"\r").unwrap_or(before));
        rest = after.get(1..).unwrap_or_default();
        if !matches!(rest.first(), Some(b' ' | b'\t')) {
            out.push(b' ');
        }
    }
    push_clean(out, rest);
}

fn push_clean(out: &mut Vec<u8>, value: &[u8]) {
    let clean = |&b: &u8| {
        if matches!(b, b'\t' | b'\r' | b'\n' | 0) {
            b' '
        } else {
            b
        }
    };
    out.extend(value.iter().map(clean));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line_of_tabbed_fields() {
        let fields = OverviewFields {
            subject: b"a\r\n\tb\0c\td",
            from: b"f",
            date: b"d",
            id: b"<1@a>",
            references: b"",
            xref: b"h a:1",
        };
        let mut out = Vec::new();
        push_row(&mut out, &fields, 294, 1);
        assert_eq!(out, b"\ta b c d\tf\td\t<1@a>\t\t294\t1\tXref: h a:1\r\n");
    }
}
