//! Batch framing: `#! rnews N`, then N bytes, again and again.
//!
//! [`Batch`] slides one buffer over the input and lends out each article as a slice of it. The only
//! bytes that are ever moved are those of the one article that straddles the end of the buffer.
//!
//! What it does better than C News: after a bad line C News filed the next article and gave up the
//! rest of the batch; here everything after the next `#! rnews` line is still delivered. The caller
//! keeps the batch in `bad/` all the same.

use std::io::{self, Read};
use std::ops::Range;

/// Default of [`BatchLimits::buffer_bytes`]: 256 KiB, some 80 articles a read. Measured: larger ones
/// leave the processor's cache and cost 70 ns an article more.
pub const BUFFER_BYTES: usize = 256 << 10;
/// Default of [`BatchLimits::article_bytes_max`]: 64 MiB.
pub const ARTICLE_BYTES_MAX: usize = 64 << 20;
/// A `#! rnews N` line longer than this, line end included, is a bad line.
pub const BATCH_LINE_BYTES_MAX: usize = 256;
/// How much of a bad line [`Item::OutOfStep`] shows at most.
pub const BAD_LINE_SHOWN_BYTES: usize = 80;
/// Empty lines before the first `#! rnews` line are forgiven up to this many bytes.
pub const LEADING_BLANK_BYTES_MAX: usize = 64;

/// Bounds on what a [`Batch`] may hold in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Size of the buffer in bytes. It grows for a larger article only, and shrinks again after it.
    pub buffer_bytes: usize,
    /// Largest article in bytes; a larger one is skipped and reported as [`Item::TooLarge`].
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

/// What [`Batch::next`] found. Offsets count bytes from the start of the (unwrapped) batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A whole article, in native form.
    Article {
        /// The article's bytes, exactly as framed.
        bytes: &'a [u8],
        /// Where they start, after the `#! rnews` line.
        offset_in_batch: u64,
    },
    /// A line that should have been `#! rnews N` is not. Reported once; lines are then skipped up to
    /// the next `#! rnews` line and the rest of the batch follows.
    OutOfStep {
        /// Where the bad line starts.
        offset: u64,
        /// The bad line without its end, cut to [`BAD_LINE_SHOWN_BYTES`].
        line: &'a [u8],
    },
    /// The batch ended inside an article. Always the last item.
    Short {
        /// How many bytes the batch is short of.
        missing: u64,
        /// What there is of the article; empty if the article was skipped as too large.
        bytes: &'a [u8],
        /// Where the article starts.
        offset: u64,
    },
    /// An article larger than the limit; its bytes are skipped, the rest goes on.
    TooLarge {
        /// Its size in bytes as framed. Of a bare article: what was read of it so far.
        size: u64,
        /// Where the article starts.
        offset: u64,
    },
}

/// Reads a batch, or one bare article, article by article.
///
/// Input whose first byte is not `#` is one article, all of it (so C News decides). Input that only
/// lost its first `#! rnews` line is recognised and treated as a batch out of step.
#[derive(Debug)]
pub struct Batch<'m, R> {
    reader: R,
    buffer: Vec<u8>,
    /// The whole batch, where it lies in memory already; then `buffer` is empty and nothing is read.
    lent: Option<&'m [u8]>,
    /// `buffer[start..end]` (or of `lent`) is read but not yet delivered; `start <= end <= buffer.len()`.
    start: usize,
    end: usize,
    /// Offset in the batch of `buffer[0]`.
    base: u64,
    /// Nothing more to read: the input ended, or failed with `error`.
    at_end: bool,
    /// Kept until everything read whole before it has been delivered.
    error: Option<io::Error>,
    state: State,
    limits: BatchLimits,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Nothing read yet.
    Fresh,
    /// At the start of what should be a `#! rnews` line.
    Line,
    /// After a bad line: skip to the next good one.
    Lost,
    /// So many bytes of a too large article are still to be skipped.
    Skip { left: u64, offset: u64 },
    /// All delivered.
    Done,
}

/// A step found, as ranges, so that the buffer can be borrowed once at the very end.
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
        offset: u64,
    },
}

impl<'m> Batch<'m, io::Empty> {
    /// A batch that lies in memory, such as a mapped file: nothing is copied.
    pub fn of_bytes(bytes: &'m [u8], limits: BatchLimits) -> Batch<'m, io::Empty> {
        Batch {
            buffer: Vec::new(),
            lent: Some(bytes),
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
    /// A batch read from `reader`. Nothing is read before the first [`Batch::next`].
    pub fn new(reader: R, limits: BatchLimits) -> Batch<'static, R> {
        let buffer_bytes = limits.buffer_bytes.max(2 * BATCH_LINE_BYTES_MAX);
        Batch {
            reader,
            buffer: vec![0; buffer_bytes],
            lent: None,
            start: 0,
            end: 0,
            base: 0,
            at_end: false,
            error: None,
            state: State::Fresh,
            limits: BatchLimits {
                buffer_bytes,
                ..limits
            },
        }
    }

    /// The next item; `None` at the end of the batch.
    ///
    /// # Errors
    /// Whatever the reader fails with, after every article that was read whole before. The batch is
    /// then at its end: what was read of the last article is not delivered.
    #[allow(clippy::should_implement_trait)] // the items borrow from the batch
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<Item<'_>>> {
        if matches!(self.state, State::Line)
            && let Some(article) = self.article_at_hand()
        {
            self.start = article.end;
            return Ok(Some(self.lend(Found::Article(article))));
        }
        match self.step() {
            // What looks like the end, or a short article, is the failed read's doing.
            None | Some(Found::Short { .. }) if self.error.is_some() => match self.error.take() {
                Some(error) => Err(error),
                None => Ok(None),
            },
            Some(found) => Ok(Some(self.lend(found))),
            None => Ok(None),
        }
    }

    /// Bytes of the batch consumed so far: the offset of what comes next.
    pub fn offset(&self) -> u64 {
        self.offset_of(self.start)
    }

    /// Gives the reader back, for instance to ask it what it met.
    pub fn into_inner(self) -> R {
        self.reader
    }

    /// The next article, if all of it is in the buffer already.
    #[inline]
    fn article_at_hand(&self) -> Option<Range<usize>> {
        let (line_bytes, size) = rnews_line(self.unread())?;
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
                State::Fresh => self.begin(),
                State::Line => self.framed(),
                State::Lost => self.resynchronise(),
                State::Skip { left, offset } => self.skip(left, offset),
                State::Done => return None,
            };
            if found.is_some() {
                return found;
            }
        }
    }

    /// Decides between a batch and a bare article.
    fn begin(&mut self) -> Option<Found> {
        self.fill_to(LEADING_BLANK_BYTES_MAX);
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
                // Not as much as the buffer holds: what the input is taken for must not depend on its size.
                self.fill_to(BUFFER_BYTES);
                let head = self.unread();
                if !lost_its_first_line(head.get(..BUFFER_BYTES).unwrap_or(head)) {
                    return self.bare();
                }
                State::Line
            }
        };
        None
    }

    /// The whole input is one article.
    fn bare(&mut self) -> Option<Found> {
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
            });
        }
        // Without a size a failed read leaves no telling whether the article is whole.
        self.error.is_none().then_some(Found::Article(article))
    }

    /// One `#! rnews` line and its article.
    fn framed(&mut self) -> Option<Found> {
        self.fill_to(BATCH_LINE_BYTES_MAX);
        if self.start == self.end {
            self.state = State::Done;
            return None;
        }
        let Some((line_bytes, size)) = rnews_line(self.unread()) else {
            let shown = line_shown(self.unread());
            let line = self.start..self.start.saturating_add(shown);
            // `start` stays: the line is skipped by resynchronise, while its bytes are lent out.
            self.state = State::Lost;
            return Some(Found::OutOfStep(line));
        };
        self.start = self.start.saturating_add(line_bytes);
        let offset = self.offset();
        let wanted = usize::try_from(size)
            .ok()
            .filter(|&size| size <= self.limits.article_bytes_max);
        let Some(wanted) = wanted else {
            self.state = State::Skip { left: size, offset };
            return Some(Found::TooLarge { size, offset });
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
        // The line at hand is the bad one. Of a later line only its start matters.
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
            } else if rnews_line(self.unread()).is_some() {
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

    /// Makes at least one byte free after `end`, moving the tail to the front and growing as needed.
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
            // The large article is gone: give its memory back.
            self.buffer.truncate(usual);
            self.buffer.shrink_to_fit();
        } else if self.end == self.buffer.len() {
            // Doubling, not jumping to `wanted`: a lying size in a short batch costs no memory.
            let size = self.buffer.len().saturating_mul(2).min(wanted.max(usual));
            self.buffer.resize(size, 0);
        }
    }

    #[inline]
    fn held(&self) -> &[u8] {
        self.lent.unwrap_or(&self.buffer)
    }

    #[inline]
    fn unread(&self) -> &[u8] {
        self.held().get(self.start..self.end).unwrap_or_default()
    }

    fn offset_of(&self, index: usize) -> u64 {
        self.base.saturating_add(index as u64)
    }

    #[inline]
    fn lend(&self, found: Found) -> Item<'_> {
        let slice = |range: Range<usize>| self.held().get(range).unwrap_or_default();
        match found {
            Found::Article(range) => Item::Article {
                offset_in_batch: self.offset_of(range.start),
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
            Found::TooLarge { size, offset } => Item::TooLarge { size, offset },
        }
    }
}

/// Parses `#!`, blanks, `rnews`, blanks, digits, then blanks or anything set off by one, and the line
/// end. Gives the line's length with its end, and the size it announces.
#[inline]
fn rnews_line(bytes: &[u8]) -> Option<(usize, u64)> {
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

/// Whether this start of an input is rather a batch with a damaged first line than an article: the
/// first line is neither a header field nor the `A` line of an A News article, and a `#! rnews` line
/// follows somewhere.
fn lost_its_first_line(bytes: &[u8]) -> bool {
    let (first, mut rest) = bytes.split_at(memchr::memchr(b'\n', bytes).unwrap_or(bytes.len()));
    if first.contains(&b':') || first.starts_with(b"A") || first.starts_with(b"From ") {
        return false;
    }
    while let Some(at) = memchr::memmem::find(rest, b"\n#!") {
        rest = rest.get(at.saturating_add(1)..).unwrap_or_default();
        if rnews_line(rest).is_some() {
            return true;
        }
    }
    false
}

/// How much of the line at the start of `bytes` to show.
fn line_shown(bytes: &[u8]) -> usize {
    let shown = bytes
        .get(..bytes.len().min(BAD_LINE_SHOWN_BYTES))
        .unwrap_or_default();
    memchr::memchr(b'\n', shown).unwrap_or(shown.len())
}
