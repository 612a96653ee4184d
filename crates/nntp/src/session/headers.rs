//! OVER, HDR and XPAT (RFC 3977, 8; RFC 2980, 2.6, 2.8 and 2.9).
//!
//! Fields of the overview come from its rows, others from the articles.

use article::scan::has_below;
use article::{decimal, syntax};
use groups::Wildmat;

use crate::backend::{Backend, BackendError};
use crate::command::RangeArgument;
use crate::out::OutBuffer;
use crate::range::Range;

use super::Session;
use super::reply::{NO_CURRENT, NO_ID, NO_NUMBER, PIECE_BYTES, TimeSlice, refuse};

/// Articles read for a piece of a long reply.
const ARTICLES_MAX: usize = 256;

/// An unfinished reply to HDR, XHDR or XPAT.
#[derive(Debug)]
pub(super) struct Headers {
    range: Range,
    field: Field,
    form: Form,
}

/// Source of a field.
#[derive(Debug, Clone)]
enum Field {
    /// This column of the overview; the article number is column 0.
    Column(usize),
    /// The column after the fixed ones that begins with the field's name.
    Xref,
    /// The article's header.
    Header(Box<[u8]>),
}

/// Form of the reply lines.
#[derive(Debug)]
enum Form {
    /// HDR: a missing header has no text.
    New,
    /// XHDR: a missing header is `(none)`.
    Old,
    /// XPAT: only matching headers.
    Matching(Wildmat),
}

/// The fixed columns of the overview after the article number (RFC 3977, 8.3.2).
const COLUMNS: [&[u8]; 7] = [
    b"Subject",
    b"From",
    b"Date",
    b"Message-ID",
    b"References",
    b":bytes",
    b":lines",
];

/// Reply of XOVER instead of 423: an empty list, as in INN. Client libraries take 420 (RFC 2980, 2.8) for an error.
const EMPTY_OVERVIEW: &[u8] = b"224 Overview follows\r\n.\r\n";
/// Reply of XHDR instead of 423, as [`EMPTY_OVERVIEW`].
const EMPTY_HEADERS: &[u8] = b"221 Header follows\r\n.\r\n";

impl Session {
    /// OVER, or XOVER if `is_old`.
    pub(super) fn over<W: Backend>(
        &mut self,
        articles: RangeArgument<'_>,
        is_old: bool,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Range> {
        const FOLLOWS: &[u8] = b"224 Overview follows\r\n";
        if let RangeArgument::Id(id) = articles {
            Session::readable(id, backend, out)?;
            let mut row = Vec::new();
            match backend.row(id, &mut row) {
                Ok(true) => {
                    for part in [FOLLOWS, &row, b".\r\n"] {
                        out.push(part);
                    }
                }
                Ok(false) => out.push(NO_ID),
                Err(error) => refuse(error, out),
            }
            return None;
        }
        let missing = if is_old { EMPTY_OVERVIEW } else { NO_NUMBER };
        let range = self.range(articles, missing, backend, out)?;
        out.push(FOLLOWS);
        Some(range)
    }

    /// HDR, or XHDR if `is_old`.
    pub(super) fn headers<W: Backend>(
        &mut self,
        name: &[u8],
        articles: RangeArgument<'_>,
        is_old: bool,
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Headers> {
        let field = Field::named(name, is_old, out)?;
        let (form, follows, missing): (_, &[u8], _) = if is_old {
            (Form::Old, b"221 Header follows\r\n", EMPTY_HEADERS)
        } else {
            (Form::New, b"225 Headers follow\r\n", NO_NUMBER)
        };
        if let RangeArgument::Id(id) = articles {
            self.of_one(id, &field, &form, follows, backend, out);
            return None;
        }
        let range = self.range(articles, missing, backend, out)?;
        out.push(follows);
        Some(Headers { range, field, form })
    }

    /// XPAT. Several patterns are one pattern with blanks in it, as in INN (RFC 2980, 2.9).
    pub(super) fn find_pattern<W: Backend>(
        &mut self,
        name: &[u8],
        articles: RangeArgument<'_>,
        patterns: &[u8],
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Headers> {
        const FOLLOWS: &[u8] = b"221 Header follows\r\n";
        let field = Field::named(name, true, out)?;
        let words = patterns.split(|byte| matches!(byte, b' ' | b'\t'));
        let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
        let form = Form::Matching(Wildmat::parse_simple(&words.join(&b' ')));
        let range = match articles {
            RangeArgument::Range(range) => range,
            RangeArgument::Id(id) => {
                self.of_one(id, &field, &form, FOLLOWS, backend, out);
                return None;
            }
            // The command parser demands the argument.
            RangeArgument::Current => {
                out.push(b"501 Range or message-id required\r\n");
                return None;
            }
        };
        // An empty list is a valid reply.
        self.reader.selected(backend, out)?;
        out.push(FOLLOWS);
        Some(Headers { range, field, form })
    }

    /// Returns the requested range, from its first existing article on, or replies with `missing` that there is none.
    fn range<W: Backend>(
        &mut self,
        articles: RangeArgument<'_>,
        missing: &[u8],
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Option<Range> {
        let selected = self.reader.selected(backend, out)?;
        let (range, missing) = match articles {
            RangeArgument::Range(range) => (range, missing),
            _ => match selected.current {
                Some(number) => {
                    let (low, high) = (number, number);
                    (Range { low, high }, NO_CURRENT)
                }
                None => {
                    out.push(NO_CURRENT);
                    return None;
                }
            },
        };
        let found = if range.low <= range.high {
            backend.next(&selected.group, range.low.saturating_sub(1), range.high)
        } else {
            Ok(None)
        };
        match found {
            Ok(Some((low, _))) => return Some(Range { low, ..range }),
            Ok(None) => out.push(missing),
            Err(error) => refuse(error, out),
        }
        None
    }

    /// Replies with a field of the article with a message-id.
    fn of_one<W: Backend>(
        &mut self,
        id: &[u8],
        field: &Field,
        form: &Form,
        follows: &[u8],
        backend: &mut W,
        out: &mut OutBuffer,
    ) {
        let Some(position) = Session::readable(id, backend, out) else {
            return;
        };
        let mut row = Vec::new();
        let mut line = Vec::new();
        let mut slice = TimeSlice::default();
        // XHDR and XPAT repeat the argument (RFC 2980, 2.6).
        let name = if matches!(form, Form::New) { b"0" } else { id };
        let is_there = match field {
            Field::Header(header) => backend.article(position, None).map(|article| {
                let found = article.as_ref();
                let found = found.map(|article| value(article.header, header));
                found
                    .map(|value| form.push(name, value, &mut slice, &mut line))
                    .is_some()
            }),
            _ => backend.row(id, &mut row),
        };
        if !row.is_empty() {
            form.push(name, field.of_row(trimmed(&row)), &mut slice, &mut line);
        }
        match is_there {
            Ok(true) => {
                for part in [follows, &line, b".\r\n"] {
                    out.push(part);
                }
            }
            Ok(false) => out.push(NO_ID),
            Err(error) => refuse(error, out),
        }
    }
}

impl Headers {
    /// Writes the next piece. Returns true if the reply is unfinished.
    pub(super) fn write<W: Backend>(
        &mut self,
        group: &[u8],
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Result<bool, BackendError> {
        if self.range.low > self.range.high {
            return Ok(false);
        }
        match &self.field {
            Field::Header(name) => {
                self.form
                    .of_articles(name, &mut self.range, group, backend, out)
            }
            field => {
                let mut rows = OutBuffer::default();
                let Range { low, high } = self.range;
                let next = backend.rows(group, low, high, PIECE_BYTES, &mut rows)?.next;
                let mut text = out.text();
                let text: &mut Vec<u8> = &mut text;
                let mut slice = TimeSlice::default();
                let mut rows = rows.ready().flat_map(lines).peekable();
                while let Some(row) = rows.next() {
                    let number = columns(row).next().unwrap_or_default();
                    slice.work += row.len() / 16;
                    self.form.push(number, field.of_row(row), &mut slice, text);
                    if slice.is_over(backend)
                        && let Some(number) = rows.peek().and_then(|row| number_of(row))
                    {
                        return Ok(self.range.advance_to(Some(number)));
                    }
                }
                Ok(self.range.advance_to(next))
            }
        }
    }
}

impl Form {
    fn of_articles<W: Backend>(
        &self,
        name: &[u8],
        range: &mut Range,
        group: &[u8],
        backend: &mut W,
        out: &mut OutBuffer,
    ) -> Result<bool, BackendError> {
        let mut digits = Vec::new();
        let mut text = out.text();
        let full = text.len().saturating_add(PIECE_BYTES);
        let mut slice = TimeSlice::default();
        for _ in 0..ARTICLES_MAX {
            let after = range.low.saturating_sub(1);
            let Some((number, position)) = backend.next(group, after, range.high)? else {
                return Ok(false);
            };
            if let Some(article) = backend.article(position, Some((group, number)))? {
                digits.clear();
                decimal::push(&mut digits, number);
                let value = value(article.header, name);
                self.push(&digits, value, &mut slice, &mut text);
            }
            // The disk may be slow.
            slice.check_next();
            let next = number.checked_add(1);
            if !range.advance_to(next) || text.len() >= full || slice.is_over(backend) {
                break;
            }
        }
        Ok(range.low <= range.high)
    }

    /// Appends a line, unless the pattern does not match.
    fn push(&self, name: &[u8], value: Option<&[u8]>, slice: &mut TimeSlice, text: &mut Vec<u8>) {
        let before = text.len();
        text.extend_from_slice(name);
        text.push(b' ');
        let start = text.len();
        push_unfolded(value.unwrap_or_default(), text);
        let written = text.get(start..).unwrap_or_default();
        match self {
            Form::New => {}
            Form::Old if written.is_empty() => text.extend_from_slice(b"(none)"),
            Form::Old => {}
            Form::Matching(pattern) => {
                let is_there = !written.is_empty();
                if !(is_there && pattern.matches_counted(written, &mut slice.work)) {
                    return text.truncate(before);
                }
            }
        }
        text.extend_from_slice(b"\r\n");
    }
}

impl Field {
    /// Parses a field name, or replies why it is invalid. With `is_old`, metadata items have no colon.
    fn named(name: &[u8], is_old: bool, out: &mut OutBuffer) -> Option<Field> {
        let is_name = |column: &&[u8]| {
            let bare = column.strip_prefix(b":").filter(|_| is_old);
            column.eq_ignore_ascii_case(name)
                || bare.is_some_and(|bare| bare.eq_ignore_ascii_case(name))
        };
        if let Some(at) = COLUMNS.iter().position(is_name) {
            return Some(Field::Column(at + 1));
        }
        if name.eq_ignore_ascii_case(b"Xref") {
            return Some(Field::Xref);
        }
        if syntax::valid_name(name) {
            return Some(Field::Header(name.into()));
        }
        out.push(match name {
            [b':', rest @ ..] if syntax::valid_name(rest) => b"503 Unknown metadata item\r\n",
            _ => b"501 Invalid header name\r\n",
        });
        None
    }

    /// The value in a row.
    fn of_row<'r>(&self, row: &'r [u8]) -> Option<&'r [u8]> {
        let mut columns = columns(row);
        match self {
            Field::Column(at) => columns.nth(*at),
            _ => columns.skip(COLUMNS.len() + 1).find_map(|column| {
                let (name, value) = column.split_at_checked(b"Xref: ".len())?;
                name.eq_ignore_ascii_case(b"Xref: ").then_some(value)
            }),
        }
    }
}

/// The rows, without their line ends.
fn lines(rows: &[u8]) -> impl Iterator<Item = &[u8]> {
    parts(rows, b'\n')
        .filter(|row| !row.is_empty())
        .map(trimmed)
}

/// The article number at the start of a row.
fn number_of(row: &[u8]) -> Option<u64> {
    decimal::parse(columns(row).next()?)
}

fn columns(row: &[u8]) -> impl Iterator<Item = &[u8]> {
    parts(row, b'\t')
}

/// The parts of `text` between the bytes `between`.
fn parts(text: &[u8], between: u8) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    let ends = memchr::memchr_iter(between, text).chain(std::iter::once(text.len()));
    ends.map(move |end| {
        let part = text.get(start..end).unwrap_or_default();
        start = end + 1;
        part
    })
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The value of the first header field with a name, folds included, in a header as it is sent: a dot at the beginning of a line is doubled
/// (RFC 3977, 3.1.1).
fn value<'h>(header: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    let mut rest = header;
    loop {
        let end = memchr::memchr(b'\n', rest)? + 1;
        let field = rest.strip_prefix(b".").unwrap_or(rest);
        let found = field
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name));
        if found && field.get(name.len()) == Some(&b':') {
            let value = field.get(name.len() + 1..)?;
            let value = match value {
                [b' ' | b'\t', rest @ ..] => rest,
                value => value,
            };
            return Some(unended(value));
        }
        rest = rest.get(end..)?;
    }
}

/// The value up to the end of the field: the first line without a continuation.
fn unended(value: &[u8]) -> &[u8] {
    let goes_on = |&end: &usize| !matches!(value.get(end + 1), Some(b' ' | b'\t'));
    let end = memchr::memchr_iter(b'\n', value).find(goes_on);
    trimmed(
        value
            .get(..end.map_or(value.len(), |end| end + 1))
            .unwrap_or_default(),
    )
}

/// Appends a value unfolded: without CRLF, and with a blank for each TAB, NUL, CR and LF (RFC 3977, 8.3.2).
fn push_unfolded(value: &[u8], text: &mut Vec<u8>) {
    if !has_below(value, b' ') {
        return text.extend_from_slice(value);
    }
    let mut bytes = value.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' if bytes.next_if_eq(&b'\n').is_some() => {}
            b'\t' | b'\r' | b'\n' | 0 => text.push(b' '),
            byte => text.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_begin_with_a_dot() {
        let header = b"Path: a\r\n..Dot: one\r\n two\r\nX: y\r\n";
        assert_eq!(value(header, b".dot"), Some(&b"one\r\n two"[..]));
        assert_eq!(value(header, b"..Dot"), None);
        assert_eq!(value(header, b"Dot"), None);
        assert_eq!(value(header, b"x"), Some(&b"y"[..]));
    }
}
