//! OVER, HDR and XPAT (RFC 3977, 8; RFC 2980, 2.6, 2.8 and 2.9).
//!
//! Fields that the overview has are taken from its rows, others from the articles.

use article::scan::lowest;
use article::{decimal, syntax};
use groups::Wildmat;

use crate::backend::{Backend, BackendError};
use crate::command::Articles;
use crate::out::Out;
use crate::range::Range;

use super::Session;
use super::reply::{NO_CURRENT, NO_ID, NO_NUMBER, PIECE_BYTES, Slice, refuse};

/// So many articles are looked into for a piece of an answer.
const ARTICLES_MAX: usize = 256;

/// An answer to HDR, XHDR or XPAT.
#[derive(Debug)]
pub(super) struct Headers {
    range: Range,
    field: Field,
    form: Form,
}

/// Where a field is found.
#[derive(Debug, Clone)]
enum Field {
    /// In this column of the overview; the number is column 0.
    Column(usize),
    /// Behind the fixed columns, with its name.
    Xref,
    /// In the article.
    Header(Box<[u8]>),
}

/// How it is shown.
#[derive(Debug)]
enum Form {
    /// HDR: nothing for a header that is not there.
    New,
    /// XHDR: `(none)` for it.
    Old,
    /// XPAT: those only that match.
    Matching(Wildmat),
}

/// The fixed columns of the overview (RFC 3977, 8.3.2), the first behind the number.
const COLUMNS: [&[u8]; 7] = [
    b"Subject",
    b"From",
    b"Date",
    b"Message-ID",
    b"References",
    b":bytes",
    b":lines",
];

/// RFC 2980, 2.6 and 2.8: what XHDR and XOVER say instead of 423.
const NONE_SELECTED: &[u8] = b"420 No articles in this range\r\n";

impl Session {
    /// OVER, and XOVER where `is_old`.
    pub(super) fn over<W: Backend>(
        &mut self,
        articles: Articles<'_>,
        is_old: bool,
        backend: &mut W,
        out: &mut Out,
    ) -> Option<Range> {
        const FOLLOWS: &[u8] = b"224 Overview follows\r\n";
        if let Articles::Id(id) = articles {
            Session::readable(id, backend, out)?;
            let mut row = Vec::new();
            match backend.row(id, &mut row) {
                Ok(true) => {
                    for part in [FOLLOWS, &row, b".\r\n"] {
                        out.push(part);
                    }
                }
                Ok(false) => out.push(NO_ID),
                Err(trouble) => refuse(trouble, out),
            }
            return None;
        }
        let missing = if is_old { NONE_SELECTED } else { NO_NUMBER };
        let range = self.range(articles, missing, backend, out)?;
        out.push(FOLLOWS);
        Some(range)
    }

    /// HDR, and XHDR where `is_old`.
    pub(super) fn headers<W: Backend>(
        &mut self,
        name: &[u8],
        articles: Articles<'_>,
        is_old: bool,
        backend: &mut W,
        out: &mut Out,
    ) -> Option<Headers> {
        let field = Field::named(name, is_old, out)?;
        let (form, follows, missing): (_, &[u8], _) = match is_old {
            true => (Form::Old, b"221 Header follows\r\n", NONE_SELECTED),
            false => (Form::New, b"225 Headers follow\r\n", NO_NUMBER),
        };
        if let Articles::Id(id) = articles {
            self.of_one(id, &field, &form, follows, backend, out);
            return None;
        }
        let range = self.range(articles, missing, backend, out)?;
        out.push(follows);
        Some(Headers { range, field, form })
    }

    /// XPAT. Several patterns are one with blanks in it, as in INN (RFC 2980, 2.9).
    pub(super) fn find_pattern<W: Backend>(
        &mut self,
        name: &[u8],
        articles: Articles<'_>,
        patterns: &[u8],
        backend: &mut W,
        out: &mut Out,
    ) -> Option<Headers> {
        const FOLLOWS: &[u8] = b"221 Header follows\r\n";
        let field = Field::named(name, true, out)?;
        let words = patterns.split(|byte| matches!(byte, b' ' | b'\t'));
        let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
        let form = Form::Matching(Wildmat::parse_simple(&words.join(&b' ')));
        let range = match articles {
            Articles::Range(range) => range,
            Articles::Id(id) => {
                self.of_one(id, &field, &form, FOLLOWS, backend, out);
                return None;
            }
            // It cannot be left out: see the parser of commands.
            Articles::Current => {
                out.push(b"501 Which articles?\r\n");
                return None;
            }
        };
        // An empty list is an answer here.
        self.reader.selected(backend, out)?;
        out.push(FOLLOWS);
        Some(Headers { range, field, form })
    }

    /// The articles that are asked for, from the first that is there; says that there are none.
    fn range<W: Backend>(
        &mut self,
        articles: Articles<'_>,
        missing: &[u8],
        backend: &mut W,
        out: &mut Out,
    ) -> Option<Range> {
        let selected = self.reader.selected(backend, out)?;
        let (range, missing) = match articles {
            Articles::Range(range) => (range, missing),
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
        let found = match range.low <= range.high {
            true => backend.next(&selected.group, range.low.saturating_sub(1), range.high),
            false => Ok(None),
        };
        match found {
            Ok(Some((low, _))) => return Some(Range { low, ..range }),
            Ok(None) => out.push(missing),
            Err(trouble) => refuse(trouble, out),
        }
        None
    }

    /// A field of the article with an id.
    fn of_one<W: Backend>(
        &mut self,
        id: &[u8],
        field: &Field,
        form: &Form,
        follows: &[u8],
        backend: &mut W,
        out: &mut Out,
    ) {
        let Some(place) = Session::readable(id, backend, out) else {
            return;
        };
        let mut row = Vec::new();
        let mut line = Vec::new();
        let mut slice = Slice::default();
        // XHDR and XPAT name the article as it was named (RFC 2980, 2.6).
        let name = if matches!(form, Form::New) { b"0" } else { id };
        let is_there = match field {
            Field::Header(header) => backend.article(place).map(|article| {
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
            Err(trouble) => refuse(trouble, out),
        }
    }
}

impl Headers {
    /// Writes more of it. True: there is yet more.
    pub(super) fn write<W: Backend>(
        &mut self,
        group: &[u8],
        backend: &mut W,
        out: &mut Out,
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
                let mut rows = Out::default();
                let Range { low, high } = self.range;
                let next = backend.rows(group, low, high, PIECE_BYTES, &mut rows)?.next;
                let mut text = out.text();
                let text: &mut Vec<u8> = &mut text;
                let mut slice = Slice::default();
                let mut rows = rows.ready().flat_map(lines).peekable();
                while let Some(row) = rows.next() {
                    let number = columns(row).next().unwrap_or_default();
                    slice.work += row.len() / 16;
                    self.form.push(number, field.of_row(row), &mut slice, text);
                    if slice.is_over(backend)
                        && let Some(number) = rows.peek().and_then(|row| number_of(row))
                    {
                        return Ok(self.range.go_on(Some(number)));
                    }
                }
                Ok(self.range.go_on(next))
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
        out: &mut Out,
    ) -> Result<bool, BackendError> {
        let mut digits = Vec::new();
        let mut text = out.text();
        let full = text.len().saturating_add(PIECE_BYTES);
        let mut slice = Slice::default();
        for _ in 0..ARTICLES_MAX {
            let after = range.low.saturating_sub(1);
            let Some((number, place)) = backend.next(group, after, range.high)? else {
                return Ok(false);
            };
            if let Some(article) = backend.article(place)? {
                digits.clear();
                decimal::push(&mut digits, number);
                let value = value(article.header, name);
                self.push(&digits, value, &mut slice, &mut text);
            }
            // It may have come from a slow disk.
            slice.look();
            let next = number.checked_add(1);
            if !range.go_on(next) || text.len() >= full || slice.is_over(backend) {
                break;
            }
        }
        Ok(range.low <= range.high)
    }

    /// Writes a line; nothing where it does not match.
    fn push(&self, name: &[u8], value: Option<&[u8]>, slice: &mut Slice, text: &mut Vec<u8>) {
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
    /// The field of a name; says why there is none. `is_old`: names without a colon may mean metadata.
    fn named(name: &[u8], is_old: bool, out: &mut Out) -> Option<Field> {
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
            [b':', rest @ ..] if syntax::valid_name(rest) => b"503 No such metadata\r\n",
            _ => b"501 That is no name of a header\r\n",
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

/// Rows, without their ends.
fn lines(rows: &[u8]) -> impl Iterator<Item = &[u8]> {
    parts(rows, b'\n')
        .filter(|row| !row.is_empty())
        .map(trimmed)
}

/// The number that a row begins with.
fn number_of(row: &[u8]) -> Option<u64> {
    decimal::parse(columns(row).next()?)
}

fn columns(row: &[u8]) -> impl Iterator<Item = &[u8]> {
    parts(row, b'\t')
}

/// What lies between bytes of a kind.
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

/// The value of the first header field of a name, folds included.
fn value<'h>(header: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    let mut rest = header;
    loop {
        let end = memchr::memchr(b'\n', rest)? + 1;
        let found = rest
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name));
        if found && rest.get(name.len()) == Some(&b':') {
            let value = rest.get(name.len() + 1..)?;
            let value = value.strip_prefix(b" ").unwrap_or(value);
            return Some(unended(value));
        }
        rest = rest.get(end..)?;
    }
}

/// Up to the end of the field: the first line that no other continues.
fn unended(value: &[u8]) -> &[u8] {
    let goes_on = |&end: &usize| !matches!(value.get(end + 1), Some(b' ' | b'\t'));
    let end = memchr::memchr_iter(b'\n', value).find(goes_on);
    trimmed(
        value
            .get(..end.map_or(value.len(), |end| end + 1))
            .unwrap_or_default(),
    )
}

/// As RFC 3977, 8.3.2 wants it: no CRLF, and a blank for each TAB, NUL, CR and LF.
fn push_unfolded(value: &[u8], text: &mut Vec<u8>) {
    if lowest(value) >= b' ' {
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
