//! Lines that several commands answer with, and how much of a long answer is written at a time.

use article::decimal;

use crate::backend::{Backend, BackendError, LOOKUP_FAILED};
use crate::out::Out;

/// About so many bytes of a long answer are written at a time: 128 KiB.
pub(super) const PIECE_BYTES: usize = 128 << 10;
/// So many things are looked at for a piece of a long answer.
pub(super) const PIECE_LOOKS_MAX: usize = 4096;
/// Work between two looks at the clock, in steps of a pattern (a few nanoseconds each).
const UNTIMED_WORK_MAX: usize = 4096;
/// The work of a line, besides that of its pattern.
const LINE_WORK: usize = 64;

/// The part of a long answer that is written in one turn.
#[derive(Debug, Default)]
pub(super) struct Slice {
    /// Work since the last look at the clock.
    pub(super) work: usize,
}

impl Slice {
    /// True when no further line should be looked at in this turn. A slice has one line at least: this is asked behind it.
    pub(super) fn is_over<W: Backend>(&mut self, backend: &mut W) -> bool {
        self.work += LINE_WORK;
        if self.work < UNTIMED_WORK_MAX {
            return false;
        }
        self.work = 0;
        backend.is_turn_over()
    }

    /// The next question looks at the clock.
    pub(super) fn look(&mut self) {
        self.work = UNTIMED_WORK_MAX;
    }
}

/// RFC 3977: the current article number is invalid.
pub(super) const NO_CURRENT: &[u8] = b"420 There is no current article\r\n";
/// RFC 3977: no such number, or nothing in the range.
pub(super) const NO_NUMBER: &[u8] = b"423 No such article in this group\r\n";
/// RFC 3977: no such message-id.
pub(super) const NO_ID: &[u8] = b"430 No such article\r\n";

/// Says that something failed (403: RFC 3977, 3.2.1).
pub(super) fn refuse(_: BackendError, out: &mut Out) {
    let mut text = out.text();
    text.extend_from_slice(b"403 ");
    push_line(&mut text, LOOKUP_FAILED);
}

/// Writes the line that an article is announced with.
pub(super) fn push_found(code: &[u8], number: u64, id: &[u8], text: &mut Vec<u8>) {
    text.extend_from_slice(code);
    decimal::push(text, number);
    text.push(b' ');
    text.extend_from_slice(id);
    text.extend_from_slice(b"\r\n");
}

/// Appends text as the rest of a line, whatever it holds.
pub(super) fn push_line(out: &mut Vec<u8>, text: &[u8]) {
    const MOST: usize = 380;
    let clean = |&byte: &u8| if byte < b' ' { b' ' } else { byte };
    out.extend(text.iter().take(MOST).map(clean));
    out.extend_from_slice(b"\r\n");
}
