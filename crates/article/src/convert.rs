//! The inner loops of the conversions between native and wire form. [`simd`](crate::simd) chooses the instructions.

use std::mem::MaybeUninit;

use crate::scan::{BLOCK, Marks};

/// Bytes that one block becomes at most when it is copied up to its first line feed: CRLF in its place, and a dot.
pub(crate) const BLOCK_ROOM: usize = BLOCK + 2;

/// Room for the most that native text of so many bytes becomes: each byte two, and the last step a block.
#[inline]
pub(crate) fn wire_room(bytes: usize) -> usize {
    2 * bytes + BLOCK_ROOM
}

/// Bytes of native text that a step reads: a block, and the byte behind it, which may be a dot.
pub(crate) const TO_WIRE_WINDOW: usize = BLOCK + 1;

/// Bytes of wire text that a step reads: a block, and what may move with it.
pub(crate) const WINDOW: usize = 2 * BLOCK + 1;

/// Room for a step: the last copy may begin behind the block.
pub(crate) const STEP_ROOM: usize = 2 * BLOCK;

/// How far a conversion came.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    /// Bytes read of the text.
    pub(crate) read: usize,
    /// Bytes written, all of those before the rest of the room.
    pub(crate) written: usize,
    /// Number of ended lines, to wire form.
    pub(crate) lines: usize,
    /// Which of the next bytes begin a line, to native form.
    pub(crate) starts: u64,
    /// A line of one dot ended the text, to native form.
    pub(crate) is_over: bool,
}

/// The bits of `starts` for the begin of a text: its first byte begins a line.
pub(crate) const BEGIN: u64 = 1;

/// Converts as long as a whole block of text with a byte behind it, and room for it, are left. The first dot of the text is already doubled.
/// `line_feeds` is [`crate::scan::line_feeds`], or does the same with other instructions.
///
/// Every byte of the room up to [`Done::written`] is written: `simd` relies on it in unsafe code. The room moves on only behind what
/// was written.
///
/// Copies a block, whatever it contains; if a line ends in it, the next block begins with the next line. A line of
/// ordinary text has fewer bytes than a block, so this is one step a line.
#[inline(always)]
pub(crate) fn to_wire(
    room: &mut [MaybeUninit<u8>],
    text: &[u8],
    line_feeds: impl Fn(&[u8; BLOCK]) -> u64,
) -> Done {
    let (text_bytes, room_bytes) = (text.len(), room.len());
    let (mut rest, mut room) = (text, room);
    let mut lines = 0;
    while let Some(window) = rest.first_chunk::<TO_WIRE_WINDOW>()
        && let Some(copy) = room.first_chunk_mut::<BLOCK_ROOM>()
    {
        let block = first_block(window);
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
        ..Done::default()
    }
}

/// Converts wire text to native form, as long as a whole window of text and room for a step are left, or up to a line of one dot. `marks`
/// is [`scan::marks`](crate::scan::marks), or does the same with other instructions.
///
/// Every byte of the room up to [`Done::written`] is written, as in [`to_wire`].
///
/// A step copies a block; and for each byte that goes, the text behind it to its new place. Where a step begins does not depend on the
/// ends of lines, so the processor works on several at the same time. That takes more instructions than a step a line, but less time,
/// most of all where the text comes from memory. Filing does not wait for it, so [`to_wire`] saves the instructions.
#[inline(always)]
pub(crate) fn to_native(
    room: &mut [MaybeUninit<u8>],
    (text, mut starts): (&[u8], u64),
    marks: impl Fn(&[u8; BLOCK]) -> Marks,
) -> Done {
    let (text_bytes, room_bytes) = (text.len(), room.len());
    let (mut rest, mut room) = (text, room);
    let mut is_over = false;
    while let (Some(window), Some(out)) = (
        rest.first_chunk::<WINDOW>(),
        room.first_chunk_mut::<STEP_ROOM>(),
    ) {
        let marks = marks(first_block(window));
        let next_feed = u64::from(window.get(BLOCK) == Some(&b'\n'));
        // The CRs of line ends.
        let ends = marks.returns & (marks.feeds >> 1 | next_feed << (BLOCK - 1));
        let dots = marks.dots & (ends << 2 | starts);
        starts = ends >> (BLOCK - 2);
        let mut dropped = ends;
        let mut length = BLOCK;
        if dots != 0 {
            let (doubled, end) = judge(window, dots);
            dropped |= doubled;
            if let Some(end) = end {
                is_over = true;
                length = end;
                dropped &= !(u64::MAX << end);
            }
        }
        length -= dropped.count_ones() as usize;
        copy(out, 0, window, 0);
        // At most two lines end in nearly all blocks. Behind the last one a copy does no harm, and costs less than a branch.
        let mut count = 0;
        let mut close_up = || {
            let place = dropped.trailing_zeros() as usize;
            copy(out, place - count, window, place + 1);
            count += usize::from(dropped != 0);
            dropped &= dropped.wrapping_sub(1);
            dropped != 0
        };
        close_up();
        while close_up() {}
        room = room.get_mut(length..).unwrap_or_default();
        if is_over {
            break;
        }
        rest = rest.get(BLOCK..).unwrap_or_default();
    }
    Done {
        read: text_bytes - rest.len(),
        written: room_bytes - room.len(),
        starts,
        is_over,
        ..Done::default()
    }
}

/// Judges the dots of a block that begin lines of wire text: returns those that are doubled, and the place of a line of one dot.
#[cold]
fn judge(window: &[u8; WINDOW], mut dots: u64) -> (u64, Option<usize>) {
    let mut doubled = 0;
    while dots != 0 {
        let place = dots.trailing_zeros() as usize;
        dots &= dots - 1;
        match window.get(place + 1..) {
            Some([b'.', ..]) => doubled |= 1 << place,
            Some([b'\r', b'\n', ..]) => return (doubled, Some(place)),
            _ => {}
        }
    }
    (doubled, None)
}

#[inline(always)]
fn first_block<const BYTES: usize>(window: &[u8; BYTES]) -> &[u8; BLOCK] {
    window.first_chunk().unwrap_or(&[0; BLOCK])
}

/// Copies the bytes of a block.
#[inline(always)]
fn copy(out: &mut [MaybeUninit<u8>; STEP_ROOM], to: usize, window: &[u8; WINDOW], from: usize) {
    let out = out.get_mut(to..).and_then(<[_]>::first_chunk_mut::<BLOCK>);
    let bytes = window.get(from..).and_then(<[u8]>::first_chunk::<BLOCK>);
    if let (Some(out), Some(bytes)) = (out, bytes) {
        *out = bytes.map(MaybeUninit::new);
    }
}
