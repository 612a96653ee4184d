//! Replies shared by several commands, and the bounds on a piece of a long reply.

use article::decimal;

use crate::backend::{Backend, BackendError, LOOKUP_FAILED};
use crate::out::OutBuffer;

/// Approximate size of a piece of a long reply, bytes: 128 KiB.
pub(super) const PIECE_BYTES: usize = 128 << 10;
/// Groups, lines or history lines examined for a piece of a long reply.
pub(super) const PIECE_LOOKUPS_MAX: usize = 4096;
/// Work between two checks of the clock, in pattern steps (a few nanoseconds each).
const UNTIMED_WORK_MAX: usize = 4096;
/// Work of a line besides its pattern, in pattern steps.
const LINE_WORK: usize = 64;

/// Checks the clock while a piece of a long reply is written.
#[derive(Debug, Default)]
pub(super) struct TimeSlice {
    /// Work since the last check of the clock, in pattern steps.
    pub(super) work: usize,
}

impl TimeSlice {
    /// Counts a line, and returns true if the time slice is used up. It is called after a line, so a time slice has one line at least.
    pub(super) fn is_over<W: Backend>(&mut self, backend: &mut W) -> bool {
        self.work += LINE_WORK;
        if self.work < UNTIMED_WORK_MAX {
            return false;
        }
        self.work = 0;
        backend.is_time_slice_over()
    }

    /// Makes the next call of [`TimeSlice::is_over`] check the clock.
    pub(super) fn check_next(&mut self) {
        self.work = UNTIMED_WORK_MAX;
    }
}

/// RFC 3977: the current article number is invalid.
pub(super) const NO_CURRENT: &[u8] = b"420 No current article\r\n";
/// RFC 3977: no such number, or nothing in the range.
pub(super) const NO_NUMBER: &[u8] = b"423 No such article in this group\r\n";
/// RFC 3977: no such message-id.
pub(super) const NO_ID: &[u8] = b"430 No such article\r\n";

/// Replies that the lookup failed (403: RFC 3977, 3.2.1).
pub(super) fn refuse(error: BackendError, out: &mut OutBuffer) {
    if error == BackendError::Pending {
        return;
    }
    let mut text = out.text();
    text.extend_from_slice(b"403 ");
    push_line(&mut text, LOOKUP_FAILED);
}

/// Writes the first reply line of ARTICLE, HEAD, BODY, STAT, NEXT and LAST.
pub(super) fn push_found(code: &[u8], number: u64, id: &[u8], text: &mut Vec<u8>) {
    text.extend_from_slice(code);
    decimal::push(text, number);
    text.push(b' ');
    text.extend_from_slice(id);
    text.extend_from_slice(b"\r\n");
}

/// Appends text as the rest of the last line in `out`, with blanks for control characters. Truncates it: an initial line of a reply has at most 512
/// bytes with its CRLF (RFC 3977, 3.1).
pub(super) fn push_line(out: &mut Vec<u8>, text: &[u8]) {
    const LINE_BYTES: usize = 512 - 2;
    let begun = out
        .iter()
        .rev()
        .take_while(|byte| **byte != b'\n')
        .take(LINE_BYTES);
    let left = LINE_BYTES - begun.count();
    let clean = |&byte: &u8| if byte < b' ' { b' ' } else { byte };
    out.extend(text.iter().take(left).map(clean));
    out.extend_from_slice(b"\r\n");
}
