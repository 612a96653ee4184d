//! Output of a session, in order: text, ranges of files that are sent without a copy, and pending replies, which hold back the output
//! after them until they are completed.
//!
//! *Invariant:* only output before the first pending reply can be sent.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Bytes of a file that are sent without a copy.
pub trait SharedBytes: Debug + Send + Sync {
    /// The bytes, mapped.
    fn bytes(&self) -> &[u8];

    /// The file for `sendfile`, and the offset of `bytes` in it; `None` if the bytes are written from the map.
    fn file(&self) -> Option<(BorrowedFd<'_>, u64)>;

    /// False if the file's bytes were removed meanwhile: the bytes sent may be wrong, and the end must not be sent.
    fn is_valid(&self) -> bool;
}

/// A part of the output.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Text.
    Text(Vec<u8>),
    /// A range of shared bytes; their validity is checked before the last bytes are sent.
    SharedBytes(Arc<dyn SharedBytes>, Range<usize>),
}

impl Piece {
    /// Length, bytes.
    pub fn len(&self) -> usize {
        match self {
            Piece::Text(text) => text.len(),
            Piece::SharedBytes(_, range) => range.len(),
        }
    }

    /// True if it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Piece::Text(text) => text,
            Piece::SharedBytes(shared, range) => {
                shared.bytes().get(range.clone()).unwrap_or_default()
            }
        }
    }
}

#[derive(Debug)]
enum Held {
    PendingReply,
    Piece(Piece),
}

/// The output of a session. See the module's documentation.
#[derive(Debug, Default)]
pub struct OutBuffer {
    /// Complete pieces, before `text`.
    ready: VecDeque<Piece>,
    /// The text under construction.
    text: Vec<u8>,
    /// Sent bytes of the first piece (of `ready`, else of `text`).
    sent: usize,
    /// The output from the first pending reply on.
    held: VecDeque<Held>,
    bytes: usize,
}

/// Capacity of the text buffer that is kept after a long reply, bytes: 256 KiB.
const KEPT_BYTES: usize = 256 << 10;

impl OutBuffer {
    /// Returns a writer that appends text.
    pub fn text(&mut self) -> TextWriter<'_> {
        let before = match self.held.back() {
            None => self.text.len(),
            Some(Held::Piece(Piece::Text(text))) => text.len(),
            Some(_) => {
                self.held.push_back(Held::Piece(Piece::Text(Vec::new())));
                0
            }
        };
        TextWriter { out: self, before }
    }

    /// Appends text.
    pub fn push(&mut self, text: &[u8]) {
        self.text().extend_from_slice(text);
    }

    /// Appends a range of shared bytes.
    pub fn push_shared(&mut self, shared: Arc<dyn SharedBytes>, range: Range<usize>) {
        self.bytes += range.len();
        let piece = Piece::SharedBytes(shared, range);
        if !self.held.is_empty() {
            self.held.push_back(Held::Piece(piece));
            return;
        }
        self.close_text();
        self.ready.push_back(piece);
    }

    fn close_text(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.ready.push_back(Piece::Text(text));
        }
    }

    /// Appends a pending reply: the output after it waits for [`OutBuffer::complete_reply`].
    pub fn defer_reply(&mut self) {
        self.held.push_back(Held::PendingReply);
    }

    /// True while a reply is pending.
    pub fn has_pending_reply(&self) -> bool {
        !self.held.is_empty()
    }

    /// Number of pending replies.
    pub fn pending_replies(&self) -> usize {
        self.held
            .iter()
            .filter(|held| matches!(held, Held::PendingReply))
            .count()
    }

    /// Completes the oldest pending reply with the text that `write` appends.
    pub fn complete_reply(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !matches!(self.held.pop_front(), Some(Held::PendingReply)) {
            return;
        }
        let before = self.text.len();
        write(&mut self.text);
        self.bytes += self.text.len() - before;
        while let Some(Held::Piece(_)) = self.held.front() {
            match self.held.pop_front() {
                Some(Held::Piece(Piece::Text(text))) if self.text.is_empty() => self.text = text,
                Some(Held::Piece(Piece::Text(text))) => self.text.extend_from_slice(&text),
                Some(Held::Piece(shared)) => {
                    self.close_text();
                    self.ready.push_back(shared);
                }
                Some(Held::PendingReply) | None => {}
            }
        }
    }

    /// Unsent bytes, those after pending replies included.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// True if nothing is unsent and no reply is pending.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0 && self.held.is_empty()
    }

    /// True if something can be sent now.
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty() || self.text.len() > self.sent
    }

    /// The parts that can be sent now, in order, without the bytes already sent.
    pub fn ready(&self) -> impl Iterator<Item = &[u8]> {
        let mut skip = self.sent;
        let pieces = self.ready.iter().map(Piece::bytes);
        let all = pieces.chain(std::iter::once(self.text.as_slice()));
        all.filter_map(move |bytes| {
            let rest = bytes.get(std::mem::take(&mut skip)..).unwrap_or_default();
            (!rest.is_empty()).then_some(rest)
        })
    }

    /// As [`OutBuffer::ready`], up to the first piece that `sendfile` sends.
    pub fn ready_text(&self) -> impl Iterator<Item = &[u8]> {
        let is_of_file = |piece: &&Piece| matches!(piece, Piece::SharedBytes(shared, _) if shared.file().is_some());
        let before = self
            .ready
            .iter()
            .take_while(|piece| !is_of_file(piece))
            .count();
        let all = before == self.ready.len();
        self.ready().take(if all { usize::MAX } else { before })
    }

    /// The first piece and its unsent range, if it has shared bytes.
    pub fn first_shared(&self) -> Option<(&Arc<dyn SharedBytes>, Range<usize>)> {
        match self.ready.front() {
            Some(Piece::SharedBytes(shared, range)) => {
                Some((shared, range.start + self.sent..range.end))
            }
            _ => None,
        }
    }

    /// Removes `count` sent bytes.
    pub fn sent(&mut self, mut count: usize) {
        self.bytes = self.bytes.saturating_sub(count);
        while let Some(first) = self.ready.front() {
            let left = first.len().saturating_sub(self.sent);
            if count < left {
                self.sent += count;
                return;
            }
            count -= left;
            self.sent = 0;
            if let Some(Piece::Text(mut text)) = self.ready.pop_front()
                && self.text.capacity() == 0
                && text.capacity() <= KEPT_BYTES
            {
                text.clear();
                self.text = text;
            }
        }
        self.sent += count;
        if self.sent >= self.text.len() {
            self.text.clear();
            self.sent = 0;
            self.text.shrink_to(KEPT_BYTES);
        }
    }

    /// Gives it a text buffer from `spare`, if it has none: busy connections share the buffers, and idle ones hold none.
    pub fn give_buffer(&mut self, spare: &mut Vec<Vec<u8>>) {
        if self.text.capacity() == 0
            && let Some(mut buffer) = spare.pop()
        {
            buffer.clear();
            self.text = buffer;
        }
    }

    /// Takes the text buffer back, if all output is sent.
    pub fn take_buffer(&mut self) -> Option<Vec<u8>> {
        if self.is_empty() && self.text.capacity() > 0 {
            let whole = std::mem::take(self);
            return Some(whole.text);
        }
        None
    }

    /// Discards all output of a closed connection.
    pub fn clear(&mut self) {
        *self = OutBuffer::default();
    }
}

/// Appends text to an [`OutBuffer`], and counts its bytes when dropped.
#[derive(Debug)]
pub struct TextWriter<'o> {
    out: &'o mut OutBuffer,
    before: usize,
}

impl std::ops::Deref for TextWriter<'_> {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        match self.out.held.back() {
            Some(Held::Piece(Piece::Text(text))) => text,
            _ => &self.out.text,
        }
    }
}

impl std::ops::DerefMut for TextWriter<'_> {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        let OutBuffer { text, held, .. } = &mut *self.out;
        match held.back_mut() {
            Some(Held::Piece(Piece::Text(text))) => text,
            _ => text,
        }
    }
}

impl Drop for TextWriter<'_> {
    fn drop(&mut self) {
        let added = self.len().saturating_sub(self.before);
        self.out.bytes += added;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(&'static [u8]);

    impl SharedBytes for Fixed {
        fn bytes(&self) -> &[u8] {
            self.0
        }

        fn file(&self) -> Option<(BorrowedFd<'_>, u64)> {
            None
        }

        fn is_valid(&self) -> bool {
            true
        }
    }

    fn all(out: &OutBuffer) -> Vec<u8> {
        out.ready().flatten().copied().collect()
    }

    #[test]
    fn output_after_a_pending_reply_waits_for_it() {
        let mut out = OutBuffer::default();
        out.push(b"a");
        out.defer_reply();
        out.push(b"b");
        out.defer_reply();
        out.push_shared(Arc::new(Fixed(b"file")), 1..3);
        out.push(b"c");
        assert_eq!(all(&out), b"a");
        out.complete_reply(|text| text.extend_from_slice(b"1"));
        assert_eq!(all(&out), b"a1b");
        assert_eq!(out.pending_replies(), 1);
        out.complete_reply(|text| text.extend_from_slice(b"2"));
        assert_eq!(all(&out), b"a1b2ilc");
        assert_eq!(out.len(), 7);
        assert!(!out.has_pending_reply());
    }

    #[test]
    fn output_is_sent_in_any_portions() {
        for portion in 1..8 {
            let mut out = OutBuffer::default();
            out.push(b"ab");
            out.push_shared(Arc::new(Fixed(b"file")), 0..4);
            out.push(b"c");
            out.push_shared(Arc::new(Fixed(b"more")), 2..4);
            out.push(b"end");
            let mut got = Vec::new();
            while out.is_ready() {
                let next: Vec<u8> = out.ready().flatten().copied().take(portion).collect();
                out.sent(next.len());
                got.extend(next);
            }
            assert_eq!(got, b"abfilecreend", "{portion}");
            assert!(out.is_empty());
        }
    }
}
