//! From native form to wire form and back, without loss.
//!
//! In wire form every line ends in CRLF, and a line that begins with a dot gets
//! another one in front (RFC 3977, 3.1.1). Every LF of the native form becomes a CRLF
//! and nothing else is touched, so NUL, 8-bit bytes and bare CR survive, and
//! `push_native` of `push_wire` gives back any bytes. One thing does not show in
//! wire form: whether the last line had its LF. Whoever keeps wire text keeps the
//! answer of [`lacks_final_newline`] with it.
//!
//! The other way round one thing is lost: a bare LF in wire text (only CRLF ends a line
//! there) looks like any other line end once it is native. Articles that came in wire
//! form are therefore kept as they came and never taken through the native form.
//!
//! All functions take text in chunks, if every chunk but the last ends with a line.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::scan::LineFeeds;

/// The most that a line's end and a doubled dot add, as a share of ordinary text;
/// room beyond it is made when needed.
const GROWTH_SHARE: usize = 16;

/// Appends native text in wire form, without the final line of one dot. A last line
/// without LF gets its CRLF all the same. Returns the number of lines.
pub fn push_wire(out: &mut Vec<u8>, native: &[u8]) -> u32 {
    out.reserve(native.len() + native.len() / GROWTH_SHARE + COPY);
    let mut lines = 0u32;
    let mut start = 0;
    for lf in LineFeeds::new(native) {
        push_line(out, native, start, lf);
        out.extend_from_slice(b"\r\n");
        lines = lines.saturating_add(1);
        start = lf + 1;
    }
    if start < native.len() {
        push_line(out, native, start, native.len());
        out.extend_from_slice(b"\r\n");
        lines = lines.saturating_add(1);
    }
    lines
}

/// Whether native text ends in the middle of a line, which its wire form hides.
pub fn lacks_final_newline(native: &[u8]) -> bool {
    native.last().is_some_and(|&byte| byte != b'\n')
}

/// Appends wire text in native form.
///
/// A line of one dot ends the text. Only doubled dots lose one: a single dot in front
/// of something is wrong on the wire and is kept. CRLF becomes LF; bare CR and bare LF
/// stay. A last line without CRLF is taken as it is.
pub fn push_native(out: &mut Vec<u8>, wire: &[u8]) {
    out.reserve(wire.len() + COPY);
    let mut lines = WireLines::new(wire);
    while let Some(line) = lines.next_line() {
        if line.has_end {
            // With its CR, which becomes the LF.
            push_piece(out, wire, line.start, line.end + 1);
            if let Some(last) = out.last_mut() {
                *last = b'\n';
            }
        } else {
            push_piece(out, wire, line.start, line.end);
        }
    }
}

/// [`push_native`] of text whose native form had no final LF if `lacks_final_newline`.
pub fn push_native_flagged(out: &mut Vec<u8>, wire: &[u8], lacks_final_newline: bool) {
    let before = out.len();
    push_native(out, wire);
    if lacks_final_newline && out.len() > before && out.last() == Some(&b'\n') {
        out.pop();
    }
}

/// How many bytes [`push_native`] appends, with the final LF.
pub fn native_len(wire: &[u8]) -> usize {
    WireLines::new(wire)
        .map(|line| line.end - line.start + usize::from(line.has_end))
        .sum()
}

/// How many bytes [`push_wire`] appends.
pub fn wire_len(native: &[u8]) -> usize {
    let mut len = native.len();
    let mut start = 0;
    let is_dot = |at: usize| native.get(at) == Some(&b'.');
    for lf in LineFeeds::new(native) {
        len += 1 + usize::from(is_dot(start));
        start = lf + 1;
    }
    let unended = if start < native.len() {
        2 + usize::from(is_dot(start))
    } else {
        0
    };
    len + unended
}

/// How many lines of wire text begin with a doubled dot. The size of an article that readers are told leaves the
/// added ones out (RFC 3977, 8.1).
pub fn doubled_dots(wire: &[u8]) -> usize {
    static DOUBLED: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\r\n.."));
    usize::from(wire.starts_with(b"..")) + DOUBLED.find_iter(wire).count()
}

/// True when others would see other lines than we do, for whom only CRLF ends one: there is an LF alone in the header, which is `header`
/// bytes long, in front of a dot, or behind one that begins a line. Elsewhere it would end the article in its middle, or give it header
/// fields that nobody has looked at; RFC 5536, 2.2 and RFC 3977, 3.6 forbid it.
pub fn has_hidden_lines(wire: &[u8], header: usize) -> bool {
    static DOT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\n."));
    let ends_alone = |lf: usize| wire.get(lf + 2) == Some(&b'\n');
    let mut dots = DOT.find_iter(wire);
    has_bare_line_feed(wire, header) || dots.any(|lf| is_alone(wire, lf) || ends_alone(lf))
}

/// True when a header, which is `header` bytes long, holds an LF without CR before it.
pub fn has_bare_line_feed(wire: &[u8], header: usize) -> bool {
    let header = wire.get(..header).unwrap_or(wire);
    memchr::memchr_iter(b'\n', header).any(|lf| is_alone(header, lf))
}

/// Whether no CR stands before the LF at `lf`.
fn is_alone(text: &[u8], lf: usize) -> bool {
    lf == 0 || text.get(lf - 1) != Some(&b'\r')
}

/// The text of a line of wire text, without a doubled dot and without CRLF.
struct WireLine {
    start: usize,
    end: usize,
    has_end: bool,
}

/// The lines of wire text, up to a line of one dot.
struct WireLines<'a> {
    wire: &'a [u8],
    feeds: LineFeeds<'a>,
    start: usize,
}

impl<'a> WireLines<'a> {
    #[inline]
    fn new(wire: &'a [u8]) -> Self {
        WireLines {
            wire,
            feeds: LineFeeds::new(wire),
            start: 0,
        }
    }
}

impl Iterator for WireLines<'_> {
    type Item = WireLine;

    #[inline]
    fn next(&mut self) -> Option<WireLine> {
        self.next_line()
    }
}

impl WireLines<'_> {
    /// Always inlined: half the speed otherwise.
    #[inline(always)]
    fn next_line(&mut self) -> Option<WireLine> {
        let from = self.start;
        let wire = self.wire;
        let is_end = |lf: &usize| *lf > from && wire.get(*lf - 1) == Some(&b'\r');
        let found = self.feeds.by_ref().find(is_end);
        let (end, has_end) = match found {
            Some(lf) => (lf - 1, true),
            None if from < wire.len() => (wire.len(), false),
            None => return None,
        };
        self.start = end + if has_end { 2 } else { 0 };
        let mut start = from;
        if wire.get(from) == Some(&b'.') {
            if has_end && end == from + 1 {
                self.start = wire.len();
                self.feeds = LineFeeds::new(&[]);
                return None;
            }
            start += usize::from(end > from + 1 && wire.get(from + 1) == Some(&b'.'));
        }
        Some(WireLine {
            start,
            end,
            has_end,
        })
    }
}

/// How many bytes a copy moves at once. Lines of ordinary text have about 70 bytes: with 64 the question whether one fits
/// could not be foreseen, with 96 nearly all do.
const COPY: usize = 96;

#[inline]
fn push_line(out: &mut Vec<u8>, text: &[u8], start: usize, end: usize) {
    if text.get(start) == Some(&b'.') && start < end {
        out.push(b'.');
    }
    push_piece(out, text, start, end);
}

/// Appends `text[start..end]`.
///
/// A short piece is copied with what follows it, in one move of fixed size, and the
/// excess is cut off: half the price of a move of any size.
#[inline]
fn push_piece(out: &mut Vec<u8>, text: &[u8], start: usize, end: usize) {
    let rest = text.get(start..).unwrap_or_default();
    let len = end - start;
    match rest.first_chunk::<COPY>() {
        Some(chunk) if len <= COPY => {
            let whole = out.len() + len;
            out.extend_from_slice(chunk);
            out.truncate(whole);
        }
        _ => out.extend_from_slice(rest.get(..len).unwrap_or_default()),
    }
}
