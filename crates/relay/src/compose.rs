//! The article as filed: Xref first, our name at the front of Path, old Xref lines removed, all else unchanged.

use std::ops::Range;

use article::{Article, Form, Header, decimal};
use store::Piece;

use crate::short::ShortList;

/// Usual number of pieces of a header: the part up to Path, the part up to an old Xref, and the rest. More old Xref lines make more pieces.
pub type Pieces<'a> = ShortList<Piece<'a>, 4>;

/// The two lines that are written here. The buffers are reused for the next article.
#[derive(Debug, Default)]
pub struct NewLines {
    /// The Xref field with its line end.
    xref: Vec<u8>,
    /// The ranges of the group names in `xref`.
    names: Vec<Range<usize>>,
    numbers: Vec<u64>,
    /// The start of the Xref value in `xref`.
    value: Range<usize>,
    /// The header as filed up to and with Path; if Path stays unchanged, only the new Xref.
    head: Vec<u8>,
    /// The offset in the article of what follows `head`.
    rest: usize,
}

/// `Xref: `
const XREF: &[u8] = b"Xref: ";

impl NewLines {
    /// Starts the Xref of an article.
    pub fn begin_xref(&mut self, host: &[u8]) {
        self.names.clear();
        self.numbers.clear();
        self.xref.clear();
        self.xref.extend_from_slice(XREF);
        self.xref.extend_from_slice(host);
    }

    /// Adds a group and the article's number in it.
    pub fn push_link(&mut self, group: &[u8], number: u64) {
        self.xref.push(b' ');
        let start = self.xref.len();
        self.xref.extend_from_slice(group);
        self.names.push(start..self.xref.len());
        self.numbers.push(number);
        self.xref.push(b':');
        decimal::push(&mut self.xref, number);
    }

    /// Ends the Xref line with the line end of the article's form.
    pub fn end_xref(&mut self, form: Form) {
        self.value = XREF.len()..self.xref.len();
        self.xref.extend_from_slice(match form {
            Form::Native => b"\n",
            Form::Wire => b"\r\n",
        });
    }

    /// The value of the Xref line.
    pub fn xref_value(&self) -> &[u8] {
        self.xref.get(self.value.clone()).unwrap_or_default()
    }

    /// Number of groups of the article.
    pub fn link_count(&self) -> usize {
        self.names.len()
    }

    /// The groups and numbers, in the order of the calls.
    pub fn links(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let name = |range: &Range<usize>| self.xref.get(range.clone()).unwrap_or_default();
        self.names
            .iter()
            .map(name)
            .zip(self.numbers.iter().copied())
    }

    /// Makes the header up to and with Path, with `host!` before its value. `None`: Path stays unchanged (for a mirror).
    pub fn make_head(&mut self, article: &Article<'_>, host: Option<&[u8]>, with_xref: bool) {
        self.head.clear();
        self.rest = 0;
        if with_xref {
            self.head.extend_from_slice(&self.xref);
        }
        let (Some(host), Some(line), Some(value)) = (
            host,
            article.line(Header::Path),
            article.value_range(Header::Path),
        ) else {
            return;
        };
        let part = |range: Range<usize>| article.bytes().get(range).unwrap_or_default();
        let mut at = 0;
        if article.has_xref() {
            for old in article.xref_lines().filter(|old| old.start < line.start) {
                self.head.extend_from_slice(part(at..old.start));
                at = old.end;
            }
        }
        self.head.extend_from_slice(part(at..value.start));
        self.head.extend_from_slice(host);
        self.head.push(b'!');
        self.head.extend_from_slice(part(value.start..line.end));
        self.rest = line.end;
    }

    /// The header as filed, the blank line included, without old Xref lines.
    #[inline]
    pub fn pieces<'a>(&'a self, article: &Article<'a>) -> Pieces<'a> {
        let mut pieces = Pieces::new(Piece::Native(b""));
        let form = article.form();
        let mut push = |bytes: &'a [u8]| {
            if !bytes.is_empty() {
                pieces.push(piece(form, bytes));
            }
        };
        let part = |range: Range<usize>| article.bytes().get(range).unwrap_or_default();
        push(&self.head);
        let mut at = self.rest;
        if article.has_xref() {
            for old in article.xref_lines().filter(|old| old.start >= self.rest) {
                push(part(at..old.start));
                at = old.end;
            }
        }
        let end = article.body();
        match form {
            Form::Native if at < end => {
                let rest = article.bytes().get(at..).unwrap_or_default();
                pieces.push(Piece::NativeBefore(rest, end - at));
            }
            _ => push(part(at..end)),
        }
        pieces
    }
}

/// The body of an article.
pub fn body<'a>(article: &Article<'a>) -> Piece<'a> {
    let body = article.bytes().get(article.body()..).unwrap_or_default();
    match article.form() {
        Form::Native => Piece::Native(body),
        Form::Wire => Piece::Wire(body, article.body_counts()),
    }
}

/// A piece in the form of its article.
fn piece(form: Form, bytes: &[u8]) -> Piece<'_> {
    match form {
        Form::Native => Piece::Native(bytes),
        Form::Wire => Piece::wire(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filed(text: &str, form: Form, with_xref: bool) -> String {
        let article = Article::parse(text.as_bytes(), form);
        let mut lines = NewLines::default();
        lines.begin_xref(b"us");
        lines.push_link(b"a.b", 7);
        lines.push_link(b"c", 12);
        lines.end_xref(form);
        assert_eq!(lines.xref_value(), b"us a.b:7 c:12");
        assert_eq!(
            lines.links().collect::<Vec<_>>(),
            [(&b"a.b"[..], 7), (&b"c"[..], 12)]
        );
        lines.make_head(&article, Some(b"us"), with_xref);
        let pieces = lines.pieces(&article);
        let bytes: Vec<u8> = pieces
            .items()
            .iter()
            .flat_map(|piece| piece.bytes().to_vec())
            .collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn xref_comes_first_and_path_gets_our_name() {
        assert_eq!(
            filed(
                "Subject: s\nPath:  x!y\nFrom: f\n\nbody\n",
                Form::Native,
                true
            ),
            "Xref: us a.b:7 c:12\nSubject: s\nPath:  us!x!y\nFrom: f\n\n"
        );
    }

    #[test]
    fn every_old_xref_goes() {
        let one = "Xref: o q:1\nPath: x\nA: a\n\n";
        let many = "Xref: o q:1\n r:2\nA: a\nxref: o\nPath: x\nXREF: p\n\n";
        assert_eq!(filed(one, Form::Native, false), "Path: us!x\nA: a\n\n");
        assert_eq!(filed(many, Form::Native, false), "A: a\nPath: us!x\n\n");
    }

    #[test]
    fn folds_stay() {
        assert_eq!(
            filed("Path: x!\n y\nA: a\n\n", Form::Native, false),
            "Path: us!x!\n y\nA: a\n\n"
        );
    }

    #[test]
    fn wire_form_stays_wire_form() {
        assert_eq!(
            filed("Path: x\r\nA: a\r\n\r\n", Form::Wire, true),
            "Xref: us a.b:7 c:12\r\nPath: us!x\r\nA: a\r\n\r\n"
        );
    }
}
