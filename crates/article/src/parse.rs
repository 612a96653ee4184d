//! The header of an article, found in one pass.

use std::fmt;
use std::ops::Range;

use memchr::memchr;

use crate::header::{FOLD, Header};

/// How the lines of an article end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// As in a batch or a spool file: LF ends a line, a CR is an ordinary byte.
    Native,
    /// As on the network: only CRLF ends a line, a leading dot is doubled
    /// (RFC 3977, 3.1.1).
    Wire,
}

/// The longest header that is looked at, in bytes; offsets into it are 32 bits wide.
///
/// What lies beyond counts as body, and the article has [`Fault::HeaderTooLong`].
pub const HEADER_BYTES_MAX: usize = u32::MAX as usize;

/// How much of a faulty line a message shows, in bytes.
pub const FAULT_LINE_SHOWN_BYTES_MAX: usize = 512;

/// What is wrong with a header. `Display` gives the text that C News logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault<'a> {
    /// A required header occurs more than once.
    Duplicate(Header),
    /// A line, given here without its end, is neither a field, nor the
    /// continuation of one, nor the blank line after the header.
    NotAHeader(&'a [u8]),
    /// The header is longer than [`HEADER_BYTES_MAX`].
    HeaderTooLong,
    /// A required header is absent.
    Missing(Header),
    /// A required header has nothing but blanks after the colon.
    Empty(Header),
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Duplicate(header) => {
                write!(f, "duplicate required header `{}'", header.name())
            }
            Fault::NotAHeader(line) => {
                let shown = line.get(..FAULT_LINE_SHOWN_BYTES_MAX).unwrap_or(line);
                // A log line must stay one line: a wire line may hold a bare LF.
                let text: String = String::from_utf8_lossy(shown)
                    .chars()
                    .map(|c| if c.is_control() { ' ' } else { c })
                    .collect();
                write!(
                    f,
                    "article \"header\" contains non-RFC-1036-header line `{text}'"
                )
            }
            Fault::HeaderTooLong => write!(f, "header longer than {HEADER_BYTES_MAX} bytes"),
            Fault::Missing(header) => write!(f, "no {}: header", header.name()),
            Fault::Empty(header) => write!(f, "empty {}: header", header.name()),
        }
    }
}

impl std::error::Error for Fault<'_> {}

/// A field from its name to its line end; empty where the header is absent.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    #[inline]
    fn is_absent(self) -> bool {
        self.start == self.end
    }

    fn range(self) -> Option<Range<usize>> {
        (!self.is_absent()).then_some(self.start as usize..self.end as usize)
    }
}

/// An article whose header has been found, borrowed from its bytes.
#[derive(Clone, Debug)]
pub struct Article<'a> {
    bytes: &'a [u8],
    form: Form,
    spans: [Span; Header::COUNT],
    header_len: usize,
    body: usize,
    xrefs: u32,
    fault: Option<Fault<'a>>,
}

impl<'a> Article<'a> {
    /// Finds the header of an article in one pass, without copying or allocating.
    ///
    /// Rules of C News: a header is a name, a colon and white space (a line end
    /// counts, so `Subject:` is an empty header); a line that begins with a blank
    /// or tab continues the field before it; of optional headers the last counts.
    /// This never fails: the first fault is kept, and the rest is still looked at,
    /// so that a refused article can be logged by its id.
    pub fn parse(bytes: &'a [u8], form: Form) -> Article<'a> {
        let mut article = Article {
            bytes,
            form,
            spans: [Span::default(); Header::COUNT],
            header_len: 0,
            body: 0,
            xrefs: 0,
            fault: None,
        };
        match form {
            Form::Native => article.scan::<NativeLines>(),
            Form::Wire => article.scan::<WireLines>(),
        }
        article
    }

    fn scan<L: Lines>(&mut self) {
        let window = self.bytes.get(..HEADER_BYTES_MAX).unwrap_or(self.bytes);
        let mut rest = window;
        loop {
            let at = window.len() - rest.len();
            if rest.is_empty() || rest.starts_with(L::END) {
                self.header_len = at;
                self.body = (at + L::END.len()).min(window.len());
                if rest.is_empty() && window.len() < self.bytes.len() {
                    self.fault.get_or_insert(Fault::HeaderTooLong);
                }
                return;
            }
            let name = Name::of(rest);
            if name.is_header {
                let len = L::field_len(rest, name.len);
                self.note(name.header(rest), at, at + len);
                rest = rest.get(len..).unwrap_or_default();
            } else {
                let len = L::line_len(rest, 0);
                let line = rest.get(..len).unwrap_or_default();
                if L::is_terminator(line) {
                    self.header_len = at;
                    self.body = at;
                    return;
                }
                let line = line.strip_suffix(L::END).unwrap_or(line);
                self.fault.get_or_insert(Fault::NotAHeader(line));
                rest = rest.get(len..).unwrap_or_default();
            }
        }
    }

    #[inline]
    fn note(&mut self, header: Option<Header>, start: usize, end: usize) {
        let Some(header) = header else { return };
        let Some(span) = self.spans.get_mut(header as usize) else {
            return;
        };
        if header.is_required() && !span.is_absent() {
            self.fault.get_or_insert(Fault::Duplicate(header));
            return;
        }
        // Both fit: the window is at most HEADER_BYTES_MAX long.
        *span = Span {
            start: start as u32,
            end: end as u32,
        };
        if header == Header::Xref {
            self.xrefs = self.xrefs.saturating_add(1);
        }
    }

    /// The first fault of the header's form, if any.
    ///
    /// Required headers that are absent or empty are not among these; see
    /// [`Article::required`].
    #[inline]
    pub fn fault(&self) -> Option<&Fault<'a>> {
        self.fault.as_ref()
    }

    /// Whether every required header is there and not empty, tested in the order
    /// of C News: Message-ID, Newsgroups, Path, Subject, Date, From.
    pub fn required(&self) -> Result<(), Fault<'a>> {
        for &header in Header::ALL.iter().take(Header::REQUIRED) {
            match self.value(header) {
                None => return Err(Fault::Missing(header)),
                Some([]) => return Err(Fault::Empty(header)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The value of a header without surrounding blanks and without its line end;
    /// folds inside it are left as they are. `None` if the header is absent,
    /// empty if nothing but blanks follows the colon.
    ///
    /// Of an optional header the last one counts, of a required one the first.
    #[inline]
    pub fn value(&self, header: Header) -> Option<&'a [u8]> {
        let line = self.bytes.get(self.line(header)?)?;
        Some(trim(line.get(header.name().len() + 1..)?))
    }

    /// The bytes of [`Article::value`], as offsets into the article.
    pub fn value_range(&self, header: Header) -> Option<Range<usize>> {
        let line = self.line(header)?;
        let from = line.start + header.name().len() + 1;
        let raw = self.bytes.get(from..line.end)?;
        let leading = raw.len() - trim_start(raw).len();
        let len = trim(raw).len();
        let start = from + if len == 0 { 0 } else { leading };
        Some(start..start + len)
    }

    /// A whole field, from its name to its line end, with continuation lines.
    #[inline]
    pub fn line(&self, header: Header) -> Option<Range<usize>> {
        self.spans.get(header as usize)?.range()
    }

    /// Every field of the header in order: its line (with name, continuation lines
    /// and line end), its name, and its value as in [`Article::value`].
    ///
    /// Lines that are no fields are left out. This walks the header again.
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            header: self.bytes.get(..self.header_len).unwrap_or_default(),
            form: self.form,
            at: 0,
        }
    }

    /// The value of the first field of this name that has one, in any case; for
    /// headers that are not in [`Header`]. Fields with nothing but white space are
    /// passed over.
    pub fn find(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.fields()
            .find(|(_, found, value)| !value.is_empty() && found.eq_ignore_ascii_case(name))
            .map(|(_, _, value)| value)
    }

    /// The lines of every Xref field; nearly always none or one.
    pub fn xref_lines(&self) -> impl Iterator<Item = Range<usize>> + use<'a> {
        let last = if self.xrefs == 1 {
            self.line(Header::Xref)
        } else {
            None
        };
        let many = (self.xrefs > 1).then(|| self.fields());
        let is_xref = |name: &[u8]| Header::from_name(name) == Some(Header::Xref);
        let many = many
            .into_iter()
            .flatten()
            .filter(move |(_, name, _)| is_xref(name));
        last.into_iter().chain(many.map(|(line, _, _)| line))
    }

    /// The length of the header in bytes: the offset of the blank line, or the
    /// article's length if there is none.
    #[inline]
    pub fn header_len(&self) -> usize {
        self.header_len
    }

    /// The offset of the first byte of the body.
    #[inline]
    pub fn body(&self) -> usize {
        self.body
    }

    /// Whether a blank line ends the header.
    pub fn has_separator(&self) -> bool {
        self.body > self.header_len
    }

    /// The whole article.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The form that the article was parsed in.
    #[inline]
    pub fn form(&self) -> Form {
        self.form
    }
}

/// Iterator of [`Article::fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    header: &'a [u8],
    form: Form,
    at: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (Range<usize>, &'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.header.get(self.at..).filter(|rest| !rest.is_empty())?;
            let name = Name::of(rest);
            let len = match (self.form, name.is_header) {
                (Form::Native, true) => NativeLines::field_len(rest, name.len),
                (Form::Native, false) => NativeLines::line_len(rest, 0),
                (Form::Wire, true) => WireLines::field_len(rest, name.len),
                (Form::Wire, false) => WireLines::line_len(rest, 0),
            };
            let line = self.at..self.at + len;
            self.at = line.end;
            if name.is_header {
                let value = trim(rest.get(name.len + 1..len)?);
                return Some((line, rest.get(..name.len)?, value));
            }
        }
    }
}

/// The way lines end in one form; both are compiled into the scanner.
trait Lines {
    /// A line end, and so the blank line after the header.
    const END: &'static [u8];

    /// The length of the first line of `text` with its end, looking for the end
    /// from `from` on; all of `text` if there is no end.
    fn line_len(text: &[u8], from: usize) -> usize;

    /// Whether this line ends an article on the network.
    fn is_terminator(line: &[u8]) -> bool;

    /// The length of the field that `text` begins with, whose name is `name_len` long.
    #[inline]
    fn field_len(text: &[u8], name_len: usize) -> usize {
        let mut len = Self::line_len(text, name_len);
        while let Some(b' ' | b'\t') = text.get(len) {
            len = Self::line_len(text, len);
        }
        len
    }
}

struct NativeLines;

impl Lines for NativeLines {
    const END: &'static [u8] = b"\n";

    #[inline]
    fn line_len(text: &[u8], from: usize) -> usize {
        let tail = text.get(from..).unwrap_or_default();
        memchr(b'\n', tail).map_or(text.len(), |lf| from + lf + 1)
    }

    fn is_terminator(_: &[u8]) -> bool {
        false
    }
}

struct WireLines;

impl Lines for WireLines {
    const END: &'static [u8] = b"\r\n";

    #[inline]
    fn line_len(text: &[u8], mut from: usize) -> usize {
        loop {
            let len = NativeLines::line_len(text, from);
            let line = text.get(..len).unwrap_or_default();
            if len == text.len() || line.ends_with(b"\r\n") {
                return len;
            }
            from = len;
        }
    }

    fn is_terminator(line: &[u8]) -> bool {
        line == b".\r\n"
    }
}

/// What stands before the first colon or white space of a line.
struct Name {
    len: usize,
    /// Whether a colon and white space (or the end of the text) follow.
    is_header: bool,
    /// The first eight bytes of the line, folded, without those after the name.
    key: u64,
}

const ONES: u64 = u64::from_le_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
const COLONS: u64 = u64::from_le_bytes([b':'; 8]);

impl Name {
    /// Looks at eight bytes a step.
    #[inline]
    fn of(text: &[u8]) -> Name {
        let mut key = 0;
        let mut len = 0;
        let mut rest = text;
        while let Some((word, tail)) = rest.split_first_chunk::<8>() {
            let word = u64::from_le_bytes(*word);
            let stop = stops(word);
            let here = (stop.trailing_zeros() / 8) as usize;
            if len == 0 {
                key = head(word | FOLD, here);
            }
            len += here;
            if stop != 0 {
                return Name::ending(text, len, key);
            }
            rest = tail;
        }
        Self::of_tail(text, rest, len, key)
    }

    /// The last, short word of a text.
    #[cold]
    fn of_tail(text: &[u8], rest: &[u8], mut len: usize, mut key: u64) -> Name {
        let here = rest
            .iter()
            .take_while(|&&byte| byte != b':' && byte > b' ')
            .count();
        if len == 0 {
            for (place, byte) in rest.iter().take(here).enumerate() {
                key |= u64::from(byte | 0x20) << (8 * place);
            }
        }
        len += here;
        Name::ending(text, len, key)
    }

    #[inline]
    fn ending(text: &[u8], len: usize, key: u64) -> Name {
        let is_header = len > 0
            && text.get(len) == Some(&b':')
            && text.get(len + 1).is_none_or(|&byte| is_space(byte));
        Name {
            len,
            is_header,
            key,
        }
    }

    #[inline]
    fn header(&self, text: &[u8]) -> Option<Header> {
        Header::from_word(self.key, text.get(..self.len)?)
    }
}

/// The lowest set bit marks the first byte that is a colon or below `!`.
///
/// Borrows can set bits above that one, never below it.
#[inline]
fn stops(word: u64) -> u64 {
    let colon = word ^ COLONS;
    let is_colon = colon.wrapping_sub(ONES) & !colon;
    let is_below = word.wrapping_sub(ONES * 0x21) & !word;
    (is_colon | is_below) & HIGHS
}

/// The first `len` bytes of a word, at most eight.
#[inline]
fn head(word: u64, len: usize) -> u64 {
    if len >= 8 {
        word
    } else {
        word & ((1 << (8 * len)) - 1)
    }
}

/// White space as C's `isspace` has it.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[inline]
fn trim_start(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_blank(*first)
    {
        bytes = rest;
    }
    bytes
}

/// Without blanks, tabs and line ends at either end.
#[inline]
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let mut bytes = trim_start(bytes);
    while let [rest @ .., last] = bytes
        && is_blank(*last)
    {
        bytes = rest;
    }
    bytes
}
