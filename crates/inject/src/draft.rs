//! A post as written by its author: parsed leniently, written in canonical form (C News's `tear` and `canonhdr`).

use article::Header;
use article::syntax::{valid_body, valid_name};

use crate::refusal::{Refusal, shown};

/// Longest header line, bytes without its line end (RFC 5536, 2.2).
pub const HEADER_LINE_BYTES_MAX: usize = 998;
/// Most headers of a post.
pub const HEADERS_MAX: usize = 1000;

/// One header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name without the colon, in its usual spelling.
    pub name: Vec<u8>,
    /// The value without surrounding blanks; folds inside it stay.
    pub value: Vec<u8>,
}

/// A header and a body, in native form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    fields: Vec<Field>,
    /// The text after the blank line.
    pub body: Vec<u8>,
}

impl Draft {
    /// Parses header, blank line and body. `Newsgroups:x` counts as a header, names get their usual spelling,
    /// and headers without a value are dropped, as in C News. If every line of the header ends in CRLF,
    /// CRLF becomes LF in the body too.
    ///
    /// # Errors
    /// A line that is not a header, or a value that is not valid in one.
    pub fn parse(bytes: &[u8]) -> Result<Draft, Refusal> {
        let mut draft = Draft::default();
        let mut rest = bytes;
        let mut number = 0usize;
        let mut is_crlf = true;
        let mut open: Option<Field> = None;
        while !rest.is_empty() {
            let end = rest.iter().position(|&byte| byte == b'\n');
            let (line, after) = match end.and_then(|end| rest.split_at_checked(end)) {
                Some((line, after)) => (line, after.get(1..).unwrap_or_default()),
                None => (rest, &b""[..]),
            };
            rest = after;
            number += 1;
            is_crlf &= line.ends_with(b"\r");
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                break;
            }
            if let (Some(b' ' | b'\t'), Some(field)) = (line.first(), open.as_mut()) {
                field.value.push(b'\n');
                field.value.extend_from_slice(line);
                continue;
            }
            if let Some(field) = open.replace(field(line, number)?) {
                draft.push_checked(field)?;
            }
        }
        if let Some(field) = open {
            draft.push_checked(field)?;
        }
        draft.body = if is_crlf {
            without_cr(rest)
        } else {
            rest.to_vec()
        };
        Ok(draft)
    }

    /// Makes a draft of a body, without a header.
    pub fn of_body(body: Vec<u8>) -> Draft {
        Draft {
            fields: Vec::new(),
            body,
        }
    }

    /// All headers, in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The value of a header; the name is matched in any case.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.fields
            .iter()
            .find(|field| is_named(field, name))
            .map(|field| field.value.as_slice())
    }

    /// The number of headers with this name.
    pub fn count(&self, name: &str) -> usize {
        self.fields.iter().filter(|f| is_named(f, name)).count()
    }

    /// Sets a header: replaces the first one with this name, or appends it.
    pub fn set(&mut self, name: &str, value: &[u8]) {
        let value = value.to_vec();
        match self.fields.iter_mut().find(|field| is_named(field, name)) {
            Some(field) => field.value = value,
            None => self.fields.push(Field {
                name: name.as_bytes().to_vec(),
                value,
            }),
        }
    }

    /// As [`Draft::set`], for an untrusted value, such as an option of a command.
    ///
    /// # Errors
    /// A value that is not valid in a header; so a newline in an option cannot add headers.
    pub fn set_checked(&mut self, name: &str, value: &[u8]) -> Result<(), Refusal> {
        let value = value.trim_ascii();
        if value.contains(&b'\n') || !valid_body(value) {
            return Err(Refusal::Syntax(name.to_owned()));
        }
        check_lengths(name.as_bytes(), value)?;
        self.set(name, value);
        Ok(())
    }

    /// Adds a site to Path, so that the article is not sent there.
    ///
    /// # Errors
    /// The name is not valid in a header.
    pub fn exclude(&mut self, site: &[u8]) -> Result<(), Refusal> {
        let tail = self.value("Path").unwrap_or(b"not-for-mail");
        let path = [site, b"!", tail].concat();
        self.set_checked("Path", &path)
    }

    /// Sets a header as the first one, replacing all others with this name.
    pub fn set_first(&mut self, name: &str, value: &[u8]) {
        self.remove(name);
        let field = Field {
            name: name.as_bytes().to_vec(),
            value: value.to_vec(),
        };
        self.fields.insert(0, field);
    }

    /// Removes all headers with this name.
    pub fn remove(&mut self, name: &str) {
        self.fields.retain(|field| !is_named(field, name));
    }

    /// Keeps only the headers for which `wanted` is true.
    pub fn retain(&mut self, wanted: impl Fn(&Field) -> bool) {
        self.fields.retain(|field| wanted(field));
    }

    /// Writes the whole draft in native form.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.body.len() + 1024);
        self.write_header(&mut out);
        out.push(b'\n');
        out.extend_from_slice(&self.body);
        out
    }

    /// Writes the header alone, without the blank line.
    pub fn write_header(&self, out: &mut Vec<u8>) {
        for field in &self.fields {
            out.extend_from_slice(&field.name);
            out.extend_from_slice(b": ");
            out.extend_from_slice(&field.value);
            out.push(b'\n');
        }
    }

    fn push_checked(&mut self, mut field: Field) -> Result<(), Refusal> {
        let name = || String::from_utf8_lossy(&field.name).into_owned();
        check_lengths(&field.name, &field.value)?;
        // `Subject:` with its text on the next line becomes one line.
        let value = field.value.trim_ascii();
        let end = value.iter().position(|&byte| byte == b'\n');
        let (first, rest) = value.split_at(end.unwrap_or(value.len()));
        // The first line has no blanks at its end, as where it is read again.
        field.value = [first.trim_ascii_end(), rest].concat();
        if field.value.is_empty() {
            return Ok(());
        }
        // A carriage return inside a line would become a line end when the article is read again.
        if !valid_body(&field.value) || field.value.contains(&b'\r') {
            return Err(Refusal::Syntax(name()));
        }
        if self.fields.len() >= HEADERS_MAX {
            return Err(Refusal::TooMany {
                what: "header fields",
                limit: HEADERS_MAX,
            });
        }
        self.fields.push(field);
        Ok(())
    }
}

fn is_named(field: &Field, name: &str) -> bool {
    field.name.eq_ignore_ascii_case(name.as_bytes())
}

fn field(line: &[u8], number: usize) -> Result<Field, Refusal> {
    let colon = line.iter().position(|&byte| byte == b':');
    let parts = colon.and_then(|colon| line.split_at_checked(colon));
    match parts {
        Some((name, value)) if valid_name(name) => Ok(Field {
            name: usual_spelling(name),
            value: value.get(1..).unwrap_or_default().trim_ascii().to_vec(),
        }),
        _ => Err(Refusal::NotAHeader {
            line: number,
            text: shown(line),
        }),
    }
}

/// Headers of mail and news that are not in [`Header`].
const OTHERS: &[&str] = &[
    "Also-Control",
    "Archive",
    "Cancel-Key",
    "Cancel-Lock",
    "Content-Transfer-Encoding",
    "Content-Type",
    "Injection-Date",
    "Injection-Info",
    "Keywords",
    "MIME-Version",
    "Summary",
    "User-Agent",
];

/// The usual spelling of a name: `Message-Id` becomes `Message-ID`. Unknown names do not change.
fn usual_spelling(name: &[u8]) -> Vec<u8> {
    if let Some(header) = Header::from_name(name) {
        return header.name().as_bytes().to_vec();
    }
    let known = OTHERS
        .iter()
        .find(|known| known.as_bytes().eq_ignore_ascii_case(name));
    known.map_or(name, |known| known.as_bytes()).to_vec()
}

/// Checks the lines of a header (RFC 5536, 2.2).
fn check_lengths(name: &[u8], value: &[u8]) -> Result<(), Refusal> {
    let mut lines = value.split(|&byte| byte == b'\n');
    let first = name.len() + 2 + lines.next().map_or(0, <[u8]>::len);
    if first > HEADER_LINE_BYTES_MAX || lines.any(|line| line.len() > HEADER_LINE_BYTES_MAX) {
        return Err(Refusal::LongLine {
            header: shown(name),
            max: HEADER_LINE_BYTES_MAX,
        });
    }
    Ok(())
}

/// Replaces each CRLF by LF; other CRs stay.
fn without_cr(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(line) => {
                out.extend_from_slice(line);
                out.push(b'\n');
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_messy_header_becomes_clean() {
        let text = b"Newsgroups:x\nmessage-id:  <1@a>  \nSUBJECT: a\n\tb\nX-odd: 1\nSummary:\n\nbody\n\nmore";
        let draft = Draft::parse(text).unwrap();
        assert_eq!(
            String::from_utf8(draft.write()).unwrap(),
            "Newsgroups: x\nMessage-ID: <1@a>\nSubject: a\n\tb\nX-odd: 1\n\nbody\n\nmore"
        );
    }

    #[test]
    fn crlf_files_are_parsed_and_bare_cr_stays() {
        let draft = Draft::parse(b"A: b\r\nC: d\r\n\r\none\rtwo\r\n").unwrap();
        assert_eq!(draft.write(), b"A: b\nC: d\n\none\rtwo\n");
        let draft = Draft::parse(b"A: b\n\none\r\ntwo\r").unwrap();
        assert_eq!(draft.body, b"one\r\ntwo\r");
    }

    #[test]
    fn a_line_that_is_not_a_header_is_reported() {
        let error = Draft::parse(b"A: b\nnonsense\n\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2 of the header is not a `Name: value' line: `nonsense'"
        );
        for bad in [&b" lead: x\n\n"[..], b"A b: c\n\n", b": c\n\n"] {
            assert_eq!(Draft::parse(bad).unwrap_err().code(), "not-a-header");
        }
        for bad in [
            &b"A: b\0c\n\n"[..],
            b"A: b\rc\n\n",
            b"A: b\r\n c\r\r\n d\r\n\r\n",
            b"A: \xe9\n\n",
            b"A: b\n \n c\n\n",
            b"A: \x1b[2J\n\n",
        ] {
            assert_eq!(Draft::parse(bad).unwrap_err().code(), "header-syntax");
        }
        let long = format!("A: {}\n\n", "x".repeat(996));
        assert_eq!(
            Draft::parse(long.as_bytes()).unwrap_err().code(),
            "header-line-too-long"
        );
    }

    #[test]
    fn a_header_that_may_not_be_folded_has_no_such_advice() {
        for (name, advice) in [
            ("Subject", "fold it"),
            ("newsgroups", "name fewer groups"),
            ("Followup-To", "name fewer groups"),
        ] {
            let long = format!("{name}: {}\n\n", "x".repeat(998));
            let told = Draft::parse(long.as_bytes()).unwrap_err().to_string();
            assert!(told.ends_with(advice), "{told}");
        }
    }

    #[test]
    fn an_option_makes_one_header() {
        let mut draft = Draft::of_body(b"x\n".to_vec());
        for bad in ["a\nApproved: me", "a\rb", "a\0b", "", "  "] {
            assert!(draft.set_checked("Subject", bad.as_bytes()).is_err());
        }
        draft.set_checked("Subject", b" fine ").unwrap();
        assert_eq!(draft.write(), b"Subject: fine\n\nx\n");
    }
}
