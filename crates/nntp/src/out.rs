//! What is to be sent, in order: text, stretches of files that are sent without a copy, and promises, which hold back what comes
//! behind them until they are kept.
//!
//! *Invariant:* only what lies before the first promise can be taken out.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// A file, or a part of one, that bytes are lent from.
pub trait SharedBytes: Debug + Send + Sync {
    /// What is lent, mapped.
    fn bytes(&self) -> &[u8];

    /// The file it lies in, for `sendfile`, and where in it `bytes` begins.
    fn file(&self) -> Option<(BorrowedFd<'_>, u64)>;

    /// False when what was lent has been taken away meanwhile: what was sent may be wrong, and its end must not be sent.
    fn is_still_there(&self) -> bool;
}

/// A part of what is to be sent.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Text of ours.
    Text(Vec<u8>),
    /// A stretch of something lent, and whether it has to be looked at before its last bytes are sent.
    SharedBytes(Arc<dyn SharedBytes>, Range<usize>),
}

impl Piece {
    /// How many bytes.
    pub fn len(&self) -> usize {
        match self {
            Piece::Text(text) => text.len(),
            Piece::SharedBytes(_, range) => range.len(),
        }
    }

    /// True when nothing is left of it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Piece::Text(text) => text,
            Piece::SharedBytes(lent, range) => lent.bytes().get(range.clone()).unwrap_or_default(),
        }
    }
}

#[derive(Debug)]
enum Held {
    Promise,
    Piece(Piece),
}

/// What is to be sent. See the head of the file.
#[derive(Debug, Default)]
pub struct Out {
    /// Whole pieces, before `text`.
    ready: VecDeque<Piece>,
    /// The text that grows; `sent` bytes of it are out already.
    text: Vec<u8>,
    /// Bytes of the first part (of `ready`, else of `text`) that are sent already.
    sent: usize,
    /// From the first promise on.
    held: VecDeque<Held>,
    bytes: usize,
}

/// Memory that a long reply left behind is given back above this.
const KEPT_BYTES: usize = 256 << 10;

impl Out {
    /// Where text is appended to.
    pub fn text(&mut self) -> Writing<'_> {
        let before = match self.held.back() {
            None => self.text.len(),
            Some(Held::Piece(Piece::Text(text))) => text.len(),
            Some(_) => {
                self.held.push_back(Held::Piece(Piece::Text(Vec::new())));
                0
            }
        };
        Writing { out: self, before }
    }

    /// Appends text.
    pub fn push(&mut self, text: &[u8]) {
        self.text().extend_from_slice(text);
    }

    /// Appends a stretch of something lent.
    pub fn lend(&mut self, lent: Arc<dyn SharedBytes>, range: Range<usize>) {
        self.bytes += range.len();
        let piece = Piece::SharedBytes(lent, range);
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

    /// What is appended from now on waits until [`Out::keep`] says what comes first.
    pub fn promise(&mut self) {
        self.held.push_back(Held::Promise);
    }

    /// True while a promise is not kept.
    pub fn is_promised(&self) -> bool {
        !self.held.is_empty()
    }

    /// How many promises are not kept.
    pub fn promises(&self) -> usize {
        self.held
            .iter()
            .filter(|held| matches!(held, Held::Promise))
            .count()
    }

    /// Keeps the oldest promise with this text.
    pub fn keep(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !matches!(self.held.pop_front(), Some(Held::Promise)) {
            return;
        }
        let before = self.text.len();
        write(&mut self.text);
        self.bytes += self.text.len() - before;
        while let Some(Held::Piece(_)) = self.held.front() {
            match self.held.pop_front() {
                Some(Held::Piece(Piece::Text(text))) if self.text.is_empty() => self.text = text,
                Some(Held::Piece(Piece::Text(text))) => self.text.extend_from_slice(&text),
                Some(Held::Piece(lent)) => {
                    self.close_text();
                    self.ready.push_back(lent);
                }
                Some(Held::Promise) | None => {}
            }
        }
    }

    /// Bytes that wait, those behind promises too.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// True when nothing waits to be sent, and nothing is promised.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0 && self.held.is_empty()
    }

    /// True when something can be sent now.
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty() || self.text.len() > self.sent
    }

    /// What can be sent now, in order; the first one without what is sent of it already.
    pub fn ready(&self) -> impl Iterator<Item = &[u8]> {
        let mut skip = self.sent;
        let pieces = self.ready.iter().map(Piece::bytes);
        let all = pieces.chain(std::iter::once(self.text.as_slice()));
        all.filter_map(move |bytes| {
            let rest = bytes.get(std::mem::take(&mut skip)..).unwrap_or_default();
            (!rest.is_empty()).then_some(rest)
        })
    }

    /// As [`Out::ready`], as far as the first stretch that had better be sent from its file.
    pub fn ready_text(&self) -> impl Iterator<Item = &[u8]> {
        let is_of_file =
            |piece: &&Piece| matches!(piece, Piece::SharedBytes(lent, _) if lent.file().is_some());
        let before = self
            .ready
            .iter()
            .take_while(|piece| !is_of_file(piece))
            .count();
        let all = before == self.ready.len();
        self.ready().take(if all { usize::MAX } else { before })
    }

    /// The first part, when it is lent: what is left of it.
    pub fn first_lent(&self) -> Option<(&Arc<dyn SharedBytes>, Range<usize>)> {
        match self.ready.front() {
            Some(Piece::SharedBytes(lent, range)) => {
                Some((lent, range.start + self.sent..range.end))
            }
            _ => None,
        }
    }

    /// So many bytes were sent.
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

    /// A buffer to write text into, where there is none, from `spare`: connections that are busy share them, and those that are idle
    /// have none.
    pub fn give_buffer(&mut self, spare: &mut Vec<Vec<u8>>) {
        if self.text.capacity() == 0
            && let Some(mut buffer) = spare.pop()
        {
            buffer.clear();
            self.text = buffer;
        }
    }

    /// The buffer, where nothing waits in it.
    pub fn take_buffer(&mut self) -> Option<Vec<u8>> {
        if self.is_empty() && self.text.capacity() > 0 {
            let whole = std::mem::take(self);
            return Some(whole.text);
        }
        None
    }

    /// Forgets everything: for one who is gone.
    pub fn clear(&mut self) {
        *self = Out::default();
    }
}

/// Text being appended.
#[derive(Debug)]
pub struct Writing<'o> {
    out: &'o mut Out,
    before: usize,
}

impl std::ops::Deref for Writing<'_> {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        match self.out.held.back() {
            Some(Held::Piece(Piece::Text(text))) => text,
            _ => &self.out.text,
        }
    }
}

impl std::ops::DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        let Out { text, held, .. } = &mut *self.out;
        match held.back_mut() {
            Some(Held::Piece(Piece::Text(text))) => text,
            _ => text,
        }
    }
}

impl Drop for Writing<'_> {
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

        fn is_still_there(&self) -> bool {
            true
        }
    }

    fn all(out: &Out) -> Vec<u8> {
        out.ready().flatten().copied().collect()
    }

    #[test]
    fn what_is_behind_a_promise_waits_for_it() {
        let mut out = Out::default();
        out.push(b"a");
        out.promise();
        out.push(b"b");
        out.promise();
        out.lend(Arc::new(Fixed(b"lent")), 1..3);
        out.push(b"c");
        assert_eq!(all(&out), b"a");
        out.keep(|text| text.extend_from_slice(b"1"));
        assert_eq!(all(&out), b"a1b");
        assert_eq!(out.promises(), 1);
        out.keep(|text| text.extend_from_slice(b"2"));
        assert_eq!(all(&out), b"a1b2enc");
        assert_eq!(out.len(), 7);
        assert!(!out.is_promised());
    }

    #[test]
    fn it_is_sent_in_any_portions() {
        for portion in 1..8 {
            let mut out = Out::default();
            out.push(b"ab");
            out.lend(Arc::new(Fixed(b"lent")), 0..4);
            out.push(b"c");
            out.lend(Arc::new(Fixed(b"more")), 2..4);
            out.push(b"end");
            let mut got = Vec::new();
            while out.is_ready() {
                let next: Vec<u8> = out.ready().flatten().copied().take(portion).collect();
                out.sent(next.len());
                got.extend(next);
            }
            assert_eq!(got, b"ablentcreend", "{portion}");
            assert!(out.is_empty());
        }
    }
}
