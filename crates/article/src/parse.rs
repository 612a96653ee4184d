//! Parses the header of an article in one pass.

use std::fmt;
use std::ops::Range;

use memchr::memchr;

use crate::header::{Header, Key};
use crate::scan::{BLOCK, LineFeeds, first_block, length_until, name_ends};
use crate::simd;
use crate::wire_facts::LineCounts;

/// The line format of an article.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// As in a batch or a spool file: LF ends a line, CR is an ordinary byte.
    Native,
    /// As on the network: only CRLF ends a line, and a leading dot is doubled
    /// (RFC 3977, 3.1.1).
    Wire,
}

/// Longest header, bytes; offsets into it are 32 bits wide.
///
/// Anything beyond counts as body, and the article has [`HeaderError::HeaderTooLong`].
pub const HEADER_BYTES_MAX: usize = u32::MAX as usize;

/// Maximum part of a bad line that a message contains, bytes.
pub const BAD_LINE_SHOWN_BYTES_MAX: usize = 512;

/// An error in a header. `Display` gives the text that C News logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError<'a> {
    /// A required header occurs more than once.
    Duplicate(Header),
    /// A line (without its line end) that is neither a field, nor the
    /// continuation of one, nor the blank line after the header.
    NotAHeader(&'a [u8]),
    /// The header is longer than [`HEADER_BYTES_MAX`].
    HeaderTooLong,
    /// A required header is absent.
    Missing(Header),
    /// A required header contains only blanks after the colon.
    Empty(Header),
}

impl fmt::Display for HeaderError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeaderError::Duplicate(header) => {
                write!(f, "duplicate required header `{}'", header.name())
            }
            HeaderError::NotAHeader(line) => {
                let shown = line.get(..BAD_LINE_SHOWN_BYTES_MAX).unwrap_or(line);
                // A log line must stay one line; a wire line may contain a bare LF.
                let text: String = String::from_utf8_lossy(shown)
                    .chars()
                    .map(|c| if c.is_control() { ' ' } else { c })
                    .collect();
                write!(
                    f,
                    "article \"header\" contains non-RFC-1036-header line `{text}'"
                )
            }
            HeaderError::HeaderTooLong => write!(f, "header longer than {HEADER_BYTES_MAX} bytes"),
            HeaderError::Missing(header) => write!(f, "no {}: header", header.name()),
            HeaderError::Empty(header) => write!(f, "empty {}: header", header.name()),
        }
    }
}

impl std::error::Error for HeaderError<'_> {}

/// The range of a field from its name to its line end; empty if the header is absent.
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

/// The slot of [`Article::spans`] shared by all fields not in [`Header`].
const UNKNOWN: usize = Header::COUNT;

/// No slot of [`Article::spans`]: no field is open.
const NONE: usize = UNKNOWN + 1;

/// An article with a parsed header, borrowed from its bytes.
#[derive(Clone, Debug)]
pub struct Article<'a> {
    bytes: &'a [u8],
    form: Form,
    spans: [Span; Header::COUNT + 1],
    header_len: usize,
    body: usize,
    xrefs: u32,
    /// In wire form only.
    header_counts: LineCounts,
    received_counts: Option<LineCounts>,
    error: Option<HeaderError<'a>>,
}

impl<'a> Article<'a> {
    /// Parses the header in one pass, without copying or allocating.
    ///
    /// Rules of C News: a header is a name, a colon and white space (a line end
    /// counts, so `Subject:` is an empty header); a line that begins with a blank
    /// or tab continues the field before it; of repeated optional headers the last counts,
    /// except of References.
    /// Parsing never fails: the first error is kept and the rest is parsed all the
    /// same, so that a refused article can be logged with its id.
    pub fn parse(bytes: &'a [u8], form: Form) -> Article<'a> {
        let mut article = Article {
            bytes,
            form,
            spans: [Span::default(); Header::COUNT + 1],
            header_len: 0,
            body: 0,
            xrefs: 0,
            header_counts: LineCounts::default(),
            received_counts: None,
            error: None,
        };
        match form {
            Form::Native => simd::scan_header::<false>(&mut article),
            Form::Wire => simd::scan_header::<true>(&mut article),
        }
        article
    }

    /// As [`Article::parse`], for an article in wire form whose lines were counted when it was received.
    pub fn received(bytes: &'a [u8], counts: LineCounts) -> Article<'a> {
        Article {
            received_counts: Some(counts),
            ..Article::parse(bytes, Form::Wire)
        }
    }

    /// Records all lines of the header. `line_feeds` is [`crate::scan::line_feeds`], or does the same with other instructions.
    #[inline(always)]
    pub(crate) fn scan<const WIRE: bool>(&mut self, line_feeds: impl Fn(&[u8; BLOCK]) -> u64) {
        let window = self.bytes.get(..HEADER_BYTES_MAX).unwrap_or(self.bytes);
        let mut feeds = LineFeeds::new(window, line_feeds);
        let mut open = NONE;
        let mut start = 0;
        while start < window.len() {
            let found = feeds.next();
            if WIRE {
                self.header_counts.line_feeds += usize::from(found.is_some());
            }
            let end = match found {
                Some(lf) if !ends_line(WIRE, window, start, lf) => continue,
                Some(lf) => lf + 1,
                None => window.len(),
            };
            if WIRE {
                self.header_counts.line_ends += usize::from(found.is_some());
            }
            let is_short = end - start <= if WIRE { 3 } else { 1 };
            if is_short && self.ends_header::<WIRE>(window, start, end) {
                return;
            }
            if WIRE && window.get(start..start + 2) == Some(b"..") {
                self.header_counts.doubled_dots += 1;
            }
            self.record_line(window, start, end, &mut open);
            start = end;
        }
        self.header_len = window.len();
        self.body = window.len();
        if window.len() < self.bytes.len() {
            self.error.get_or_insert(HeaderError::HeaderTooLong);
        }
    }

    /// Whether a line ends the header: the blank line, or in wire form the dot that
    /// ends an article without body. If so, records where header and body are.
    fn ends_header<const WIRE: bool>(&mut self, text: &[u8], start: usize, end: usize) -> bool {
        let line = text.get(start..end).unwrap_or_default();
        self.header_len = start;
        self.body = match line {
            b"\r\n" if WIRE => end,
            b".\r\n" if WIRE => {
                self.header_counts.line_feeds -= 1;
                self.header_counts.line_ends -= 1;
                start
            }
            b"\n" if !WIRE => end,
            _ => return false,
        };
        true
    }

    /// Records one line of the header; `open` is the slot that a continuation
    /// line belongs to.
    #[inline(always)]
    fn record_line(&mut self, text: &'a [u8], start: usize, end: usize, open: &mut usize) {
        let rest = text.get(start..).unwrap_or_default();
        let first = first_block::<16>(rest);
        let len = name_len(rest, &first);
        if len == 0 {
            self.record_other(text, start, end, open);
            return;
        }
        let Some(header) = Header::from_key(Key::of(&first, len)) else {
            *open = UNKNOWN;
            return;
        };
        let slot = header as usize;
        let Some(span) = self.spans.get_mut(slot) else {
            return;
        };
        if slot < Header::FIRST_COUNTS && !span.is_absent() {
            if header.is_required() {
                self.error.get_or_insert(HeaderError::Duplicate(header));
            }
            *open = UNKNOWN;
            return;
        }
        // Both fit: the window is at most HEADER_BYTES_MAX long.
        *span = Span {
            start: start as u32,
            end: end as u32,
        };
        if header == Header::Xref {
            self.xrefs += 1;
        }
        *open = slot;
    }

    /// Records a line of the header that is not a field.
    #[cold]
    #[inline(never)]
    fn record_other(&mut self, text: &'a [u8], start: usize, end: usize, open: &mut usize) {
        let line = text.get(start..end).unwrap_or_default();
        if let Some(b' ' | b'\t') = line.first()
            && let Some(span) = self.spans.get_mut(*open)
        {
            span.end = end as u32;
            return;
        }
        *open = NONE;
        self.error
            .get_or_insert(HeaderError::NotAHeader(without_end(line, self.form)));
    }

    /// The first error in the form of the header, if any.
    ///
    /// This does not include required headers that are absent or empty; see
    /// [`Article::required`].
    #[inline]
    pub fn error(&self) -> Option<&HeaderError<'a>> {
        self.error.as_ref()
    }

    /// Checks that every required header is present and not empty, in the order
    /// of C News: Message-ID, Newsgroups, Path, Subject, Date, From.
    ///
    /// # Errors
    /// The first required header that is absent or empty.
    pub fn required(&self) -> Result<(), HeaderError<'a>> {
        for &header in Header::ALL.iter().take(Header::REQUIRED) {
            match self.value(header) {
                None => return Err(HeaderError::Missing(header)),
                Some([]) => return Err(HeaderError::Empty(header)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The value of a header without surrounding blanks and without its line end;
    /// folds inside it stay. `None` if the header is absent, empty if only blanks
    /// follow the colon.
    ///
    /// Of a repeated optional header the last one counts, of a required one and of References the first.
    #[inline(always)]
    pub fn value(&self, header: Header) -> Option<&'a [u8]> {
        let span = self.spans.get(header as usize)?;
        if span.is_absent() {
            return None;
        }
        let from = span.start as usize + header.name().len() + 1;
        let raw = self.bytes.get(from..span.end as usize)?;
        Some(plain_value(raw).unwrap_or_else(|| trim(raw)))
    }

    /// The content of a header as OVER and HDR show it (RFC 3977, 8.3.2): without its name, the colon, one blank and its line end; all
    /// other blanks and the folds stay. `None` if the header is absent.
    #[inline]
    pub fn content(&self, header: Header) -> Option<&'a [u8]> {
        let span = self.spans.get(header as usize)?;
        if span.is_absent() {
            return None;
        }
        let from = span.start as usize + header.name().len() + 1;
        let content = without_end(self.bytes.get(from..span.end as usize)?, self.form);
        Some(match content {
            [b' ' | b'\t', rest @ ..] => rest,
            content => content,
        })
    }

    /// The bytes of [`Article::value`], as offsets into the article.
    pub fn value_range(&self, header: Header) -> Option<Range<usize>> {
        let line = self.line(header)?;
        let from = line.start + header.name().len() + 1;
        let raw = self.bytes.get(from..line.end)?;
        if plain_value(raw).is_some() {
            return Some(from + 1..line.end - 1);
        }
        let leading = raw.len() - trim_start(raw).len();
        let len = trim(raw).len();
        let start = from + if len == 0 { 0 } else { leading };
        Some(start..start + len)
    }

    /// The range of a whole field, from its name to its line end, with continuation lines.
    #[inline]
    pub fn line(&self, header: Header) -> Option<Range<usize>> {
        self.spans.get(header as usize)?.range()
    }

    /// Iterates over the fields of the header in order: the range of the line (with name, continuation lines
    /// and line end), the name, and the value as in [`Article::value`].
    ///
    /// Lines that are not fields are skipped. This parses the header again.
    pub fn fields(&self) -> Fields<'a> {
        Fields {
            header: self.bytes.get(..self.header_len).unwrap_or_default(),
            form: self.form,
            at: 0,
        }
    }

    /// The value of the first field with this name (in any case) that is not
    /// empty; for headers that are not in [`Header`].
    pub fn find(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.fields()
            .find(|(_, found, value)| !value.is_empty() && found.eq_ignore_ascii_case(name))
            .map(|(_, _, value)| value)
    }

    /// Whether there is an Xref field.
    #[inline]
    pub fn has_xref(&self) -> bool {
        self.xrefs > 0
    }

    /// The ranges of all Xref fields; nearly always none or one.
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

    /// The length of the header in native form, bytes.
    pub fn native_header_len(&self) -> usize {
        // Of an article in native form nothing is counted. The counts include the blank line.
        let with_blank_line = self.header_counts.native_length(self.body);
        with_blank_line.saturating_sub(usize::from(self.has_separator()))
    }

    /// The length of the article in native form, bytes: limits of size are meant so, whatever the form in which it arrives.
    pub fn native_len(&self) -> usize {
        match (self.form, self.received_counts) {
            (Form::Native, _) => self.bytes.len(),
            (Form::Wire, Some(counts)) => counts.native_length(self.bytes.len()),
            (Form::Wire, None) => LineCounts::of(self.bytes).native_length(self.bytes.len()),
        }
    }

    /// The offset of the first byte of the body.
    #[inline]
    pub fn body(&self) -> usize {
        self.body
    }

    /// The numbers of the body's lines, of an article in wire form.
    pub fn body_counts(&self) -> LineCounts {
        match self.received_counts {
            Some(counts) => counts.after(self.header_counts),
            None => LineCounts::of(self.bytes.get(self.body..).unwrap_or_default()),
        }
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

    /// The form in which the article was parsed.
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
            let name = Some(name_len(rest, &first_block(rest))).filter(|len| *len > 0);
            let mut len = line_len(rest, 0, self.form);
            while name.is_some()
                && let Some(b' ' | b'\t') = rest.get(len)
            {
                len = line_len(rest, len, self.form);
            }
            let line = self.at..self.at + len;
            self.at = line.end;
            if let Some(name_len) = name {
                let value = trim(rest.get(name_len + 1..len)?);
                return Some((line, rest.get(..name_len)?, value));
            }
        }
    }
}

/// Whether the LF at `lf` ends the line that starts at `start`.
#[inline]
fn ends_line(is_wire: bool, text: &[u8], start: usize, lf: usize) -> bool {
    !is_wire || (lf > start && text.get(lf - 1) == Some(&b'\r'))
}

/// The offset after the line that starts at `start`.
fn line_len(text: &[u8], start: usize, form: Form) -> usize {
    let mut from = start;
    while let Some(lf) = text.get(from..).and_then(|tail| memchr(b'\n', tail)) {
        let lf = from + lf;
        if ends_line(form == Form::Wire, text, start, lf) {
            return lf + 1;
        }
        from = lf + 1;
    }
    text.len()
}

fn without_end(line: &[u8], form: Form) -> &[u8] {
    let end: &[u8] = if form == Form::Wire { b"\r\n" } else { b"\n" };
    line.strip_suffix(end).unwrap_or(line)
}

/// The length of the header name at the start of a line; 0 if the line is not a header. `first` is the first block of the text.
#[inline]
fn name_len(text: &[u8], first: &[u8; 16]) -> usize {
    let len = name_ends(first).trailing_zeros() as usize;
    if first.get(len..len + 2) == Some(b": ") {
        return len;
    }
    unusual_name_len(text)
}

/// Returns the length of the name of any line, as [`name_len`] does for usual ones.
fn unusual_name_len(text: &[u8]) -> usize {
    let len = length_until(text, name_ends);
    let after = text.get(len..).unwrap_or_default();
    let is_header = matches!(after, [b':']) || matches!(after, [b':', byte, ..] if is_space(*byte));
    if is_header { len } else { 0 }
}

/// White space as defined by C's `isspace`.
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

/// The value between one blank and an LF without further blanks, as it nearly always is in native form.
#[inline]
pub(crate) fn plain_value(raw: &[u8]) -> Option<&[u8]> {
    match raw {
        [b' ', value @ .., b'\n'] if is_plain(value) => Some(value),
        _ => None,
    }
}

#[inline]
fn is_plain(value: &[u8]) -> bool {
    matches!(value, [first, .., last] if *first > b' ' && *last > b' ')
}

/// Removes blanks, tabs and line ends from both ends.
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
