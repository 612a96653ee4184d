//! Batch framing: each article is a `#! rnews N` line followed by N bytes.
//!
//! [`Batch`] slides one buffer over the input and returns each article as a slice of that buffer. It
//! moves only the bytes of an article that straddles the end of the buffer.
//!
//! Difference from C News: after a bad line C News filed one more article and dropped the rest of the
//! batch; [`Batch`] resumes at the next `#! rnews` line. The caller saves such a batch in `bad/` as well.

use std::io::{self, Read};
use std::ops::Range;

/// Default of [`BatchLimits::buffer_bytes`]: 256 KiB, about 80 articles a read. Larger buffers exceed the
/// processor's cache and cost 70 ns an article more (measured).
pub const BUFFER_BYTES: usize = 256 << 10;
/// Default of [`BatchLimits::article_bytes_max`]: 64 MiB.
pub const ARTICLE_BYTES_MAX: usize = 64 << 20;
/// Maximum length of a `#! rnews N` line, bytes, newline included; a longer line is a bad line.
pub const BATCH_LINE_BYTES_MAX: usize = 256;
/// Maximum part of a bad line that [`Item::OutOfStep`] contains, bytes.
pub const BAD_LINE_SHOWN_BYTES: usize = 80;
/// Maximum length of the empty lines that are skipped before the first `#! rnews` line, bytes.
pub const LEADING_BLANK_BYTES_MAX: usize = 64;

/// Maximum part of a too large article that [`Item::TooLarge`] contains, bytes.
pub const HEAD_SHOWN_BYTES_MAX: usize = 64 << 10;

/// Limits on the memory of a [`Batch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Size of the buffer, bytes. The buffer grows for a larger article and shrinks again after it.
    pub buffer_bytes: usize,
    /// Largest article, bytes; a larger one is skipped and returned as [`Item::TooLarge`].
    pub article_bytes_max: usize,
}

impl Default for BatchLimits {
    fn default() -> BatchLimits {
        BatchLimits {
            buffer_bytes: BUFFER_BYTES,
            article_bytes_max: ARTICLE_BYTES_MAX,
        }
    }
}

/// One item of a batch. Offsets count bytes from the start of the unwrapped batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A whole article, in native form.
    Article {
        /// The bytes of the article, exactly as framed.
        bytes: &'a [u8],
        /// Offset of its first byte, which follows the `#! rnews` line.
        offset: u64,
    },
    /// A bad line in place of `#! rnews N`. Returned once; the reader then skips lines up to the next
    /// `#! rnews` line and continues there.
    OutOfStep {
        /// Offset of the bad line.
        offset: u64,
        /// The bad line without its newline, cut to [`BAD_LINE_SHOWN_BYTES`].
        line: &'a [u8],
    },
    /// The batch ended inside an article. Always the last item.
    Short {
        /// Number of bytes that are missing.
        missing: u64,
        /// The bytes that are present; empty if the article was skipped as too large.
        bytes: &'a [u8],
        /// Offset of the article.
        offset: u64,
    },
    /// An article larger than the limit. Its bytes are skipped; the next item follows.
    TooLarge {
        /// Its size in bytes as framed; of a bare article, the bytes read so far.
        size: u64,
        /// Its first bytes, [`HEAD_SHOWN_BYTES_MAX`] at most: enough for nearly every header.
        head: &'a [u8],
        /// Offset of the article.
        offset: u64,
    },
}

/// Reads a batch, or one bare article, article by article.
///
/// Input whose first byte is not `#` is one article (C News), unless only its first line is damaged and a
/// `#! rnews` line follows: then it is a batch with a bad first line.
#[derive(Debug)]
pub struct Batch<'m, R> {
    reader: R,
    buffer: Vec<u8>,
    /// The whole batch, if it is in memory already; `buffer` is then empty and nothing is read.
    in_memory: Option<&'m [u8]>,
    /// `buffer[start..end]` (or `in_memory[start..end]`) is read but not yet returned; `start <= end <= buffer.len()`.
    start: usize,
    end: usize,
    /// Offset in the batch of `buffer[0]`.
    base: u64,
    /// True when there is nothing more to read: the input ended, or failed with `error`.
    at_end: bool,
    /// The read error, held until every article read whole before it has been returned.
    error: Option<io::Error>,
    state: State,
    limits: BatchLimits,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Nothing read yet.
    Start,
    /// At the start of what should be a `#! rnews` line.
    Line,
    /// After a bad line: skipping to the next good one.
    Resync,
    /// Skipping a too large article, of which `left` bytes remain.
    Skip { left: u64, offset: u64 },
    /// Everything has been returned.
    Done,
}

/// An item as ranges, so that the buffer is borrowed only once, when the item is returned.
enum Found {
    Article(Range<usize>),
    OutOfStep(Range<usize>),
    Short {
        missing: u64,
        bytes: Range<usize>,
        offset: u64,
    },
    TooLarge {
        size: u64,
        head: Range<usize>,
        offset: u64,
    },
}

impl<'m> Batch<'m, io::Empty> {
    /// Reads a batch that is in memory, such as a mapped file, without copying.
    pub fn from_bytes(bytes: &'m [u8], limits: BatchLimits) -> Batch<'m, io::Empty> {
        Batch {
            buffer: Vec::new(),
            in_memory: Some(bytes),
            end: bytes.len(),
            at_end: true,
            ..Batch::new(
                io::empty(),
                BatchLimits {
                    buffer_bytes: 0,
                    ..limits
                },
            )
        }
    }
}

impl<R: Read> Batch<'_, R> {
    /// Reads a batch from `reader`. The first read happens in [`Batch::next`].
    pub fn new(reader: R, limits: BatchLimits) -> Batch<'static, R> {
        let buffer_bytes = limits.buffer_bytes.max(2 * BATCH_LINE_BYTES_MAX);
        Batch {
            reader,
            buffer: vec![0; buffer_bytes],
            in_memory: None,
            start: 0,
            end: 0,
            base: 0,
            at_end: false,
            error: None,
            state: State::Start,
            limits: BatchLimits {
                buffer_bytes,
                ..limits
            },
        }
    }

    /// Returns the next item, or `None` at the end of the batch.
    ///
    /// # Errors
    /// The error of the reader, after every article that was read whole before it. The batch then ends:
    /// the part of the last article that was read is dropped.
    #[allow(clippy::should_implement_trait)] // the items borrow from the batch
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<Item<'_>>> {
        if matches!(self.state, State::Line)
            && let Some(article) = self.buffered_article()
        {
            self.start = article.end;
            return Ok(Some(self.item(Found::Article(article))));
        }
        match self.step() {
            // After a failed read, an apparent end or a short article is caused by that failure.
            None | Some(Found::Short { .. }) if self.error.is_some() => match self.error.take() {
                Some(error) => Err(error),
                None => Ok(None),
            },
            Some(found) => Ok(Some(self.item(found))),
            None => Ok(None),
        }
    }

    /// Number of bytes consumed so far: the offset of the next item.
    pub fn offset(&self) -> u64 {
        self.offset_of(self.start)
    }

    /// Returns the reader.
    pub fn into_inner(self) -> R {
        self.reader
    }

    /// The range of the next article, if all of it is in the buffer.
    #[inline]
    fn buffered_article(&self) -> Option<Range<usize>> {
        let (line_bytes, size) = parse_rnews_line(self.unread())?;
        let size = usize::try_from(size).ok()?;
        let from = self.start.checked_add(line_bytes)?;
        let to = from.checked_add(size)?;
        (to <= self.end && size <= self.limits.article_bytes_max).then_some(from..to)
    }

    /// The slow path: anything but a whole article already in the buffer.
    #[cold]
    #[inline(never)]
    fn step(&mut self) -> Option<Found> {
        loop {
            let found = match self.state {
                State::Start => self.detect(),
                State::Line => self.read_framed(),
                State::Resync => self.resynchronise(),
                State::Skip { left, offset } => self.skip(left, offset),
                State::Done => return None,
            };
            if found.is_some() {
                return found;
            }
        }
    }

    /// Decides between a batch and a bare article.
    fn detect(&mut self) -> Option<Found> {
        // The byte behind them as well: it decides, wherever the portions of a pipe end.
        self.fill_to(LEADING_BLANK_BYTES_MAX + 1);
        let blank = leading_blank_lines(self.unread());
        self.state = match self.unread().get(blank) {
            None => {
                // Nothing, or nothing but empty lines: no article.
                self.start = self.end;
                if self.at_end {
                    State::Done
                } else {
                    State::Line
                }
            }
            Some(b'#') => {
                self.start = self.start.saturating_add(blank);
                State::Line
            }
            Some(_) => {
                // A fixed length: the size of the buffer must not decide what the input is taken for.
                self.fill_to(BUFFER_BYTES);
                let head = self.unread();
                if !has_damaged_first_line(head.get(..BUFFER_BYTES).unwrap_or(head)) {
                    return self.read_bare();
                }
                State::Line
            }
        };
        None
    }

    /// The whole input is one article.
    fn read_bare(&mut self) -> Option<Found> {
        let limit = self.limits.article_bytes_max;
        self.fill_to(limit.saturating_add(1));
        self.state = State::Done;
        let article = self.start..self.end;
        self.start = self.end;
        if article.len() > limit {
            let size = article.len() as u64;
            return Some(Found::TooLarge {
                size,
                offset: self.offset_of(article.start),
                head: article.start..article.end.min(article.start + HEAD_SHOWN_BYTES_MAX),
            });
        }
        // A bare article has no size, so after a failed read nobody knows whether it is whole.
        self.error.is_none().then_some(Found::Article(article))
    }

    /// One `#! rnews` line and its article.
    fn read_framed(&mut self) -> Option<Found> {
        self.fill_to(BATCH_LINE_BYTES_MAX);
        if self.start == self.end {
            self.state = State::Done;
            return None;
        }
        let Some((line_bytes, size)) = parse_rnews_line(self.unread()) else {
            let shown = shown_len(self.unread());
            let line = self.start..self.start.saturating_add(shown);
            // `start` stays: resynchronise skips the line, while the item still borrows its bytes.
            self.state = State::Resync;
            return Some(Found::OutOfStep(line));
        };
        self.start = self.start.saturating_add(line_bytes);
        let offset = self.offset();
        let wanted = usize::try_from(size)
            .ok()
            .filter(|&size| size <= self.limits.article_bytes_max);
        let Some(wanted) = wanted else {
            let shown = usize::try_from(size)
                .map_or(HEAD_SHOWN_BYTES_MAX, |size| size.min(HEAD_SHOWN_BYTES_MAX));
            self.fill_to(shown);
            let head = self.start..self.end.min(self.start.saturating_add(shown));
            self.state = State::Skip { left: size, offset };
            return Some(Found::TooLarge { size, head, offset });
        };
        self.fill_to(wanted);
        let held = (self.end - self.start).min(wanted);
        let article = self.start..self.start.saturating_add(held);
        self.start = article.end;
        if held < wanted {
            self.state = State::Done;
            return Some(Found::Short {
                missing: (wanted - held) as u64,
                bytes: article,
                offset,
            });
        }
        Some(Found::Article(article))
    }

    /// Skips lines, of any length, to the next `#! rnews` line or the end.
    fn resynchronise(&mut self) -> Option<Found> {
        // The current line is the bad one. Of later lines only the start matters.
        let mut skipping_line = true;
        loop {
            self.fill_to(BATCH_LINE_BYTES_MAX);
            if self.start == self.end {
                self.state = State::Done;
                return None;
            }
            if skipping_line {
                match memchr::memchr(b'\n', self.unread()) {
                    Some(at) => {
                        self.start = self.start.saturating_add(at).saturating_add(1);
                        skipping_line = false;
                    }
                    None => self.start = self.end,
                }
            } else if parse_rnews_line(self.unread()).is_some() {
                self.state = State::Line;
                return None;
            } else {
                skipping_line = true;
            }
        }
    }

    /// Skips the rest of a too large article.
    fn skip(&mut self, left: u64, offset: u64) -> Option<Found> {
        let held = self.end - self.start;
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(held);
        self.start = self.start.saturating_add(step);
        let left = left.saturating_sub(step as u64);
        if left == 0 {
            self.state = State::Line;
            return None;
        }
        self.fill_to(1);
        if self.start == self.end {
            self.state = State::Done;
            return Some(Found::Short {
                missing: left,
                bytes: 0..0,
                offset,
            });
        }
        self.state = State::Skip { left, offset };
        None
    }

    /// Reads until `wanted` bytes are unread in the buffer, or the input ends or fails.
    fn fill_to(&mut self, wanted: usize) {
        while self.end - self.start < wanted && !self.at_end {
            self.make_room(wanted);
            let free = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.reader.read(free) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.end = self.end.saturating_add(read).min(self.buffer.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.error = Some(error);
                    self.at_end = true;
                }
            }
        }
    }

    /// Frees at least one byte after `end`: moves the tail to the front, grows the buffer as needed.
    fn make_room(&mut self, wanted: usize) {
        if self.start.saturating_add(wanted) <= self.buffer.len() && self.end < self.buffer.len() {
            return;
        }
        if self.start > 0 {
            self.base = self.offset();
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let usual = self.limits.buffer_bytes;
        if self.buffer.len() > usual && wanted <= usual && self.end < usual {
            // The large article has been returned: free its memory.
            self.buffer.truncate(usual);
            self.buffer.shrink_to_fit();
        } else if self.end == self.buffer.len() {
            // Doubles instead of growing to `wanted`: a false size in a short batch allocates nothing.
            let size = self.buffer.len().saturating_mul(2).min(wanted.max(usual));
            self.buffer.resize(size, 0);
        }
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.in_memory.unwrap_or(&self.buffer)
    }

    #[inline]
    fn unread(&self) -> &[u8] {
        self.bytes().get(self.start..self.end).unwrap_or_default()
    }

    fn offset_of(&self, index: usize) -> u64 {
        self.base.saturating_add(index as u64)
    }

    #[inline]
    fn item(&self, found: Found) -> Item<'_> {
        let slice = |range: Range<usize>| self.bytes().get(range).unwrap_or_default();
        match found {
            Found::Article(range) => Item::Article {
                offset: self.offset_of(range.start),
                bytes: slice(range),
            },
            Found::OutOfStep(range) => Item::OutOfStep {
                offset: self.offset_of(range.start),
                line: slice(range),
            },
            Found::Short {
                missing,
                bytes,
                offset,
            } => Item::Short {
                missing,
                bytes: slice(bytes),
                offset,
            },
            Found::TooLarge { size, head, offset } => Item::TooLarge {
                size,
                head: slice(head),
                offset,
            },
        }
    }
}

/// Parses `#!`, blanks, `rnews`, blanks, digits, optional further words, and the newline. Returns the
/// length of the line with its newline, and the announced size.
#[inline]
fn parse_rnews_line(bytes: &[u8]) -> Option<(usize, u64)> {
    let after_name = match bytes.strip_prefix(b"#! rnews ") {
        Some(rest) => rest,
        None => skip_blanks(bytes.strip_prefix(b"#!")?).strip_prefix(b"rnews")?,
    };
    let mut digits = skip_blanks(after_name);
    let mut size: u64 = 0;
    let mut any = false;
    while let Some((&digit @ b'0'..=b'9', rest)) = digits.split_first() {
        size = size.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        any = true;
        digits = rest;
    }
    let mut end = bytes.len() - digits.len();
    if !any {
        return None;
    }
    match digits.first() {
        Some(b'\n') => {}
        Some(b' ' | b'\t' | b'\r') => {
            let shown = digits.get(..digits.len().min(BATCH_LINE_BYTES_MAX))?;
            end = end.checked_add(memchr::memchr(b'\n', shown)?)?;
        }
        _ => return None,
    }
    let line_bytes = end.checked_add(1)?;
    (line_bytes <= BATCH_LINE_BYTES_MAX).then_some((line_bytes, size))
}

fn skip_blanks(bytes: &[u8]) -> &[u8] {
    let blanks = bytes
        .iter()
        .take_while(|&&byte| byte == b' ' || byte == b'\t')
        .count();
    bytes.get(blanks..).unwrap_or_default()
}

/// Length of the empty lines at the start of `bytes`.
fn leading_blank_lines(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(LEADING_BLANK_BYTES_MAX)
        .take_while(|&&byte| byte == b'\n' || byte == b'\r')
        .count()
}

/// Whether the input is a batch with a damaged first line rather than a bare article: its first line is
/// neither a header field, nor the `A` line of an A News article, nor a mailbox's `From ` line, and a
/// `#! rnews` line follows.
fn has_damaged_first_line(bytes: &[u8]) -> bool {
    let (first, mut rest) = bytes.split_at(memchr::memchr(b'\n', bytes).unwrap_or(bytes.len()));
    if first.contains(&b':') || first.starts_with(b"A") || first.starts_with(b"From ") {
        return false;
    }
    while let Some(at) = memchr::memmem::find(rest, b"\n#!") {
        rest = rest.get(at.saturating_add(1)..).unwrap_or_default();
        if parse_rnews_line(rest).is_some() {
            return true;
        }
    }
    false
}

/// Length of the part of the first line that [`Item::OutOfStep`] contains.
fn shown_len(bytes: &[u8]) -> usize {
    let shown = bytes
        .get(..bytes.len().min(BAD_LINE_SHOWN_BYTES))
        .unwrap_or_default();
    memchr::memchr(b'\n', shown).unwrap_or(shown.len())
}
