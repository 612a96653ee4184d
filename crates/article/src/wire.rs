//! Converts between native and wire form without loss.
//!
//! In wire form every line ends in CRLF, and a line that begins with a dot gets
//! a second dot in front (RFC 3977, 3.1.1). The conversion turns every LF of the native form into a CRLF
//! and changes nothing else, so NUL, 8-bit bytes and bare CR survive, and
//! `push_native` of `push_wire` returns the original bytes. Wire form does not show
//! whether the last line had its LF; callers that store wire text store the
//! result of [`lacks_final_newline`] with it.
//!
//! The opposite conversion loses one thing: a bare LF in wire text (where only CRLF ends a line)
//! looks like any other line end in native form. Articles received in wire
//! form are therefore stored as received and never converted to native form.
//!
//! All functions accept text in chunks, if every chunk but the last ends with a line.

use std::mem::MaybeUninit;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::scan::{BLOCK, LineFeeds};
use crate::simd::push_converted;

/// Estimated growth from CRs and doubled dots, as a divisor of the text's length;
/// the buffer grows further when needed.
const GROWTH_SHARE: usize = 16;

/// Bytes that one block becomes at most when it is copied up to its first line feed: CRLF in its place, and a dot.
const BLOCK_ROOM: usize = BLOCK + 2;

/// Room for the last piece of a text, shorter than a block: every byte may become two, and the last step may begin behind them.
const LAST_ROOM: usize = 2 * BLOCK + BLOCK_ROOM;

/// Appends native text in wire form, without the final line of one dot. A last line
/// without LF gets a CRLF too. Returns the number of lines.
pub fn push_wire(out: &mut Vec<u8>, native: &[u8]) -> u32 {
    if native.first() == Some(&b'.') {
        out.push(b'.');
    }
    let mut rest = native;
    let mut lines = 0;
    while rest.len() >= BLOCK {
        out.reserve(rest.len() + rest.len() / GROWTH_SHARE + LAST_ROOM);
        let done = push_converted(out, rest);
        rest = rest.get(done.read..).unwrap_or_default();
        lines += done.lines;
    }
    let mut padded = [0; 2 * BLOCK];
    if let Some(start) = padded.get_mut(..rest.len()) {
        start.copy_from_slice(rest);
    }
    // A block begins at each byte of the rest, and at none behind it.
    let blocks = padded.get(..rest.len() + BLOCK - 1).unwrap_or_default();
    out.reserve(LAST_ROOM);
    let done = push_converted(out, blocks);
    // A last block without line feed was copied whole.
    out.truncate(out.len() - done.read.saturating_sub(rest.len()));
    lines += done.lines;
    if lacks_final_newline(native) {
        out.extend_from_slice(b"\r\n");
        lines += 1;
    }
    u32::try_from(lines).unwrap_or(u32::MAX)
}

/// How far a conversion came.
#[derive(Clone, Copy)]
pub(crate) struct Done {
    /// Bytes read of the text.
    pub(crate) read: usize,
    /// Bytes written, all of those before the rest of the room.
    pub(crate) written: usize,
    /// Number of ended lines.
    pub(crate) lines: usize,
}

/// Converts as long as a whole block of text and room for it are left. The first dot of the text is already doubled.
/// `line_feeds` is [`crate::scan::line_feeds`], or does the same with other instructions.
///
/// Every byte of the room up to [`Done::written`] is written: `simd` relies on it in unsafe code. The room moves on only behind what
/// was written.
///
/// Copies a block, whatever it contains; if a line ends in it, the next block begins with the next line. A line of
/// ordinary text has fewer bytes than a block, so this is one step a line.
#[inline(always)]
pub(crate) fn convert(
    room: &mut [MaybeUninit<u8>],
    text: &[u8],
    line_feeds: impl Fn(&[u8; BLOCK]) -> u64,
) -> Done {
    let (text_bytes, room_bytes) = (text.len(), room.len());
    let (mut rest, mut room) = (text, room);
    let mut lines = 0;
    while let Some(block) = rest.first_chunk::<BLOCK>()
        && let Some(copy) = room.first_chunk_mut::<BLOCK_ROOM>()
    {
        let feeds = line_feeds(block);
        if let Some(copy) = copy.first_chunk_mut::<BLOCK>() {
            *copy = block.map(MaybeUninit::new);
        }
        if feeds == 0 {
            rest = rest.get(BLOCK..).unwrap_or_default();
            room = room.get_mut(BLOCK..).unwrap_or_default();
            continue;
        }
        let length = feeds.trailing_zeros() as usize;
        if let Some([cr, lf]) = copy.get_mut(length..length + 2) {
            cr.write(b'\r');
            lf.write(b'\n');
        }
        lines += 1;
        rest = rest.get(length + 1..).unwrap_or_default();
        room = room.get_mut(length + 2..).unwrap_or_default();
        if rest.first() == Some(&b'.')
            && let Some((dot, after)) = std::mem::take(&mut room).split_first_mut()
        {
            dot.write(b'.');
            room = after;
        }
    }
    Done {
        read: text_bytes - rest.len(),
        written: room_bytes - room.len(),
        lines,
    }
}

/// Whether native text ends in the middle of a line, which wire form does not show.
pub fn lacks_final_newline(native: &[u8]) -> bool {
    native.last().is_some_and(|&byte| byte != b'\n')
}

/// Appends wire text in native form.
///
/// A line of one dot ends the text. Only a doubled dot loses one dot: a single dot before
/// other text is invalid on the wire and is kept. CRLF becomes LF; bare CR and bare LF
/// stay. A last line without CRLF is copied as it is.
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

/// As [`push_native`], without the final LF if `lacks_final_newline`.
pub fn push_native_flagged(out: &mut Vec<u8>, wire: &[u8], lacks_final_newline: bool) {
    let before = out.len();
    push_native(out, wire);
    if lacks_final_newline && out.len() > before && out.last() == Some(&b'\n') {
        out.pop();
    }
}

/// The number of bytes that [`push_native`] appends, with the final LF.
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

/// The number of lines of wire text that begin with a doubled dot. The article size reported to readers does not count
/// the added dots (RFC 3977, 8.1).
pub fn doubled_dots(wire: &[u8]) -> usize {
    static DOUBLED: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\r\n.."));
    usize::from(wire.starts_with(b"..")) + DOUBLED.find_iter(wire).count()
}

/// Whether other servers, which end lines at a CRLF only, would see other lines than this one: true if a bare LF is in the
/// header (the first `header` bytes), before a dot, or after a dot that begins a line. Elsewhere such an LF could end the
/// article early, or add header fields that nobody has checked. RFC 5536, 2.2 and RFC 3977, 3.6 forbid it.
pub fn has_hidden_lines(wire: &[u8], header: usize) -> bool {
    static DOT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\n."));
    let ends_alone = |lf: usize| wire.get(lf + 2) == Some(&b'\n');
    let mut dots = DOT.find_iter(wire);
    has_bare_line_feed(wire, header) || dots.any(|lf| is_alone(wire, lf) || ends_alone(lf))
}

/// Whether a header of `header` bytes contains an LF without CR before it.
pub fn has_bare_line_feed(wire: &[u8], header: usize) -> bool {
    let header = wire.get(..header).unwrap_or(wire);
    memchr::memchr_iter(b'\n', header).any(|lf| is_alone(header, lf))
}

/// Whether the LF at `lf` has no CR before it.
fn is_alone(text: &[u8], lf: usize) -> bool {
    lf == 0 || text.get(lf - 1) != Some(&b'\r')
}

/// The range of a line of wire text, without a doubled dot and without CRLF.
struct WireLine {
    start: usize,
    end: usize,
    has_end: bool,
}

/// Iterates over the lines of wire text, up to a line of one dot.
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
    /// Always inlined; otherwise half as fast.
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

/// Bytes that one copy moves. Lines of ordinary text have about 70 bytes: with 64 the processor cannot predict whether a
/// line fits, with 96 nearly all fit.
const COPY: usize = 96;

/// Appends `text[start..end]`.
///
/// A short piece is copied together with the text after it, in one move of fixed size, and the
/// excess is cut off: this costs half as much as a move of variable size.
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
