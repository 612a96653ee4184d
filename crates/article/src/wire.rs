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

use crate::convert::{BEGIN, STEP_ROOM, TO_WIRE_WINDOW, WINDOW};
use crate::scan::BLOCK;
use crate::simd::{push_to_native, push_to_wire};

/// Bytes of text that are converted at once, with room for the most that they can become.
const PART_BYTES: usize = 64 << 10;

/// Appends native text in wire form, without the final line of one dot. A last line
/// without LF gets a CRLF too. Returns the number of lines.
pub fn push_wire(out: &mut Vec<u8>, native: &[u8]) -> u32 {
    if native.first() == Some(&b'.') {
        out.push(b'.');
    }
    let mut rest = native;
    let mut lines = 0;
    while rest.len() >= TO_WIRE_WINDOW {
        let part = rest.get(..PART_BYTES).unwrap_or(rest);
        let done = push_to_wire(out, part);
        rest = rest.get(done.read..).unwrap_or_default();
        lines += done.lines;
    }
    let mut padded = [0; 2 * BLOCK];
    if let Some(start) = padded.get_mut(..rest.len()) {
        start.copy_from_slice(rest);
    }
    // A block begins at each byte of the rest, and at none behind it.
    let blocks = padded
        .get(..rest.len() + TO_WIRE_WINDOW - 1)
        .unwrap_or_default();
    let done = push_to_wire(out, blocks);
    // A last block without line feed was copied whole.
    out.truncate(out.len() - done.read.saturating_sub(rest.len()));
    lines += done.lines;
    if lacks_final_newline(native) {
        out.extend_from_slice(b"\r\n");
        lines += 1;
    }
    u32::try_from(lines).unwrap_or(u32::MAX)
}

/// Appends the first `end` bytes of a text, as [`push_wire`]. If a line ends there, the conversion also reads the bytes behind, and saves a
/// copy of the last ones.
pub fn push_wire_before(out: &mut Vec<u8>, text: &[u8], end: usize) -> u32 {
    let part = text.get(..end).unwrap_or(text);
    // The first byte behind the part must not look like its dot.
    let window = match text.get(end) {
        Some(b'.') | None => None,
        Some(_) if end > PART_BYTES || !part.ends_with(b"\n") => None,
        Some(_) => text.get(..end + TO_WIRE_WINDOW - 1),
    };
    let Some(window) = window else {
        return push_wire(out, part);
    };
    if part.first() == Some(&b'.') {
        out.push(b'.');
    }
    // The last step begins in the last line of the part, and ends with it.
    push_to_wire(out, window).lines as u32
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
    // Enough for all: no text grows.
    out.reserve(wire.len() + BLOCK + STEP_ROOM);
    let done = push_to_native(out, wire, BEGIN);
    if done.is_over {
        return;
    }
    let rest = wire.get(done.read..).unwrap_or_default();
    // Zeros make the last window whole.
    let mut padded = [0; 2 * WINDOW];
    if let Some(start) = padded.get_mut(..rest.len()) {
        start.copy_from_slice(rest);
    }
    let windows = rest.len().next_multiple_of(BLOCK) + WINDOW - BLOCK;
    let windows = padded.get(..windows).unwrap_or_default();
    let done = push_to_native(out, windows, done.starts);
    if !done.is_over {
        // The last block was copied whole.
        out.truncate(out.len() - done.read.saturating_sub(rest.len()));
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

/// Whether a header of `header` bytes contains an LF without CR before it.
pub fn has_bare_line_feed(wire: &[u8], header: usize) -> bool {
    let header = wire.get(..header).unwrap_or(wire);
    memchr::memchr_iter(b'\n', header).any(|lf| is_alone(header, lf))
}

/// Whether the LF at `lf` has no CR before it.
fn is_alone(text: &[u8], lf: usize) -> bool {
    lf == 0 || text.get(lf - 1) != Some(&b'\r')
}
