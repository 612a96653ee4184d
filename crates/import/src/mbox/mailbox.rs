//! Takes a mailbox apart (RFC 4155, and what archives of Usenet contain).
//!
//! [`beginning`](super::beginning) decides where a message begins: archives exist whose writer quoted no lines of the text that begin with `From `, or put no
//! empty line before a message. The empty line before a `From ` line belongs to the mailbox, not to the message, and so do the lines that newsreaders and
//! UUCP put after it. Text that looks like a beginning is counted.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use memchr::memmem;

use super::beginning::{
    Beginning, Context, FROM_LINE_BYTES_MAX, beginning, is_dated, lines_between,
};

/// First size of the buffer, bytes; it grows for a larger message.
pub const BUFFER_BYTES: usize = 256 << 10;
/// Part of a too large message that is returned, bytes: enough for nearly every header.
pub const HEAD_SHOWN_BYTES_MAX: usize = 64 << 10;
/// Empty lines that are skipped before the first message, bytes.
const LEADING_BLANK_BYTES_MAX: usize = 64;
/// Bytes that are read before the input is judged.
const LOOK_AHEAD_BYTES: usize = 2 * FROM_LINE_BYTES_MAX;
/// Places of text that looks like the beginning of a message that are returned for one mailbox; more are counted.
pub const APPARENT_NAMED_MAX: usize = 20;

/// The convention by which a line of the text that begins with `From ` was quoted. A mailbox does not say which one its writer had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quoting {
    /// Unknown: lines stay as they are.
    #[default]
    Unknown,
    /// mboxo: `From ` became `>From `. An original `>From ` looks the same.
    Mboxo,
    /// mboxrd: `From `, `>From `, `>>From ` and so on each got one more `>`. Undoing it gives the original.
    Mboxrd,
}

/// One item of a mailbox. Offsets count bytes from the start of the mailbox, as it is after decompression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A message.
    Message {
        /// Its `From ` line, without its end.
        from_line: &'a [u8],
        /// The message as it lies there.
        bytes: &'a [u8],
        /// Offset of its `From ` line.
        offset: u64,
    },
    /// A message larger than the limit; it is skipped.
    TooLarge {
        /// Its first bytes.
        head: &'a [u8],
        /// Its size, bytes.
        size: u64,
        /// Offset of its `From ` line.
        offset: u64,
    },
    /// The input does not begin with a message, and nothing is read of it. The only item.
    NoMailbox {
        /// Its first bytes.
        head: &'a [u8],
    },
}

/// A message that is skipped.
#[derive(Debug, Default)]
struct Skipped {
    head: Vec<u8>,
    dropped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Messages,
    Done,
}

enum Found {
    Message(Range<usize>),
    TooLarge(u64),
    NoMailbox(Range<usize>),
}

/// Reads a mailbox, message by message. Holds one message in memory.
#[derive(Debug)]
pub struct Mailbox<R> {
    reader: R,
    message_bytes_max: usize,
    buffer: Vec<u8>,
    /// `buffer[start..end]` is read and not returned yet.
    start: usize,
    end: usize,
    /// Offset in the mailbox of `buffer[0]`.
    base: u64,
    /// Bytes after `start` in which no message begins.
    scanned: usize,
    at_end: bool,
    state: State,
    skipped: Option<Skipped>,
    /// The first `From ` line has a sender and a date.
    has_dates: bool,
    apparent: Apparent,
}

/// The places of text that looks like the beginning of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Apparent {
    /// Their number.
    pub count: u64,
    /// Offsets of the first [`APPARENT_NAMED_MAX`].
    pub offsets: Vec<u64>,
}

impl<R: Read> Mailbox<R> {
    /// Reads the mailbox of `reader`; messages larger than `message_bytes_max` are skipped.
    pub fn new(reader: R, message_bytes_max: usize) -> Mailbox<R> {
        Mailbox {
            reader,
            message_bytes_max,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            base: 0,
            scanned: 0,
            at_end: false,
            state: State::Start,
            skipped: None,
            has_dates: true,
            apparent: Apparent::default(),
        }
    }

    /// The text so far that looks like the beginning of a message, and stays a part of the message before it.
    pub fn apparent(&self) -> &Apparent {
        &self.apparent
    }

    /// The next item; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read further. The message before the error is incomplete, and not returned.
    pub fn next_item(&mut self) -> io::Result<Option<Item<'_>>> {
        let found = match self.state {
            State::Done => return Ok(None),
            State::Start => match self.begin()? {
                None => return Ok(None),
                Some(true) => self.message()?,
                Some(false) => {
                    let shown = (self.end - self.start).min(80);
                    Found::NoMailbox(self.start..self.start + shown)
                }
            },
            State::Messages => self.message()?,
        };
        Ok(Some(self.item(found)))
    }

    fn item(&mut self, found: Found) -> Item<'_> {
        let part = |buffer: &'_ [u8], range: Range<usize>| -> Range<usize> {
            range.start.min(buffer.len())..range.end.min(buffer.len())
        };
        match found {
            Found::NoMailbox(range) => {
                self.state = State::Done;
                let range = part(&self.buffer, range);
                Item::NoMailbox {
                    head: self.buffer.get(range).unwrap_or_default(),
                }
            }
            Found::TooLarge(offset) => {
                let size = self.skipped.as_ref().map_or(0, |skipped| skipped.dropped);
                let skipped = self.skipped.get_or_insert_default();
                Item::TooLarge {
                    head: &skipped.head,
                    size,
                    offset,
                }
            }
            Found::Message(range) => {
                let offset = self.base + range.start as u64;
                let range = part(&self.buffer, range);
                let whole = self.buffer.get(range).unwrap_or_default();
                let line = memchr::memchr(b'\n', whole).unwrap_or(whole.len());
                let (from_line, rest) = whole.split_at_checked(line).unwrap_or((whole, b""));
                Item::Message {
                    from_line: from_line.strip_suffix(b"\r").unwrap_or(from_line),
                    bytes: without_blank_line(without_lines_between(rest)),
                    offset,
                }
            }
        }
    }

    /// Whether the input begins with a message; `None`: it is empty.
    fn begin(&mut self) -> io::Result<Option<bool>> {
        while !self.at_end && self.end < LOOK_AHEAD_BYTES + LEADING_BLANK_BYTES_MAX {
            self.fill()?;
        }
        let head = self.unread();
        let blank = head
            .iter()
            .take(LEADING_BLANK_BYTES_MAX)
            .take_while(|byte| matches!(byte, b'\n' | b'\r'));
        self.start += blank.count();
        if self.start == self.end {
            self.state = State::Done;
            return Ok(None);
        }
        self.state = State::Messages;
        let found = loop {
            let context = Context {
                is_after_blank: true,
                has_dates: None,
                is_end: self.at_end,
            };
            match beginning(self.unread(), context) {
                Some(found) => break found,
                None => self.fill()?,
            }
        };
        let line = memchr::memchr(b'\n', self.unread()).unwrap_or(0);
        self.has_dates = is_dated(self.unread().get(..line).unwrap_or_default());
        Ok(Some(found == Beginning::Message))
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Finds the end of the message at `start`.
    fn message(&mut self) -> io::Result<Found> {
        // The one before was returned.
        self.skipped = None;
        let offset = self.base + self.start as u64;
        loop {
            if let Some(length) = self.next_message() {
                let range = self.start..self.start + length;
                self.start += length;
                self.scanned = 0;
                if self.at_end && self.start == self.end {
                    self.state = State::Done;
                }
                return Ok(match &mut self.skipped {
                    None => Found::Message(range),
                    Some(skipped) => {
                        skipped.dropped += length as u64;
                        Found::TooLarge(offset)
                    }
                });
            }
            self.skip_if_large();
            self.fill()?;
        }
    }

    /// The bytes up to the next message, or up to the end of the input. `None`: more has to be read.
    fn next_message(&mut self) -> Option<usize> {
        let bytes = self.buffer.get(self.start..self.end).unwrap_or_default();
        let mut from = self.scanned;
        while let Some(at) = memmem::find(bytes.get(from..).unwrap_or_default(), b"\nFrom ") {
            let (before, rest) = bytes.split_at_checked(from + at + 1)?;
            let context = Context {
                is_after_blank: before.ends_with(b"\n\n") || before.ends_with(b"\n\r\n"),
                has_dates: Some(self.has_dates),
                is_end: self.at_end,
            };
            match beginning(rest, context) {
                Some(Beginning::Message) => return Some(before.len()),
                Some(Beginning::Apparent) => {
                    let offset = self.base + (self.start + before.len()) as u64;
                    self.apparent.add(offset);
                }
                Some(Beginning::Text) => {}
                None => {
                    self.scanned = from + at;
                    return None;
                }
            }
            from += at + 1;
        }
        if self.at_end {
            Some(bytes.len())
        } else {
            self.scanned = from.max(bytes.len().saturating_sub(6));
            None
        }
    }

    /// Drops what was scanned of a message that is too large.
    fn skip_if_large(&mut self) {
        if self.skipped.is_none() && self.end - self.start <= self.message_bytes_max {
            return;
        }
        let bytes = self.buffer.get(self.start..self.end).unwrap_or_default();
        let skipped = self.skipped.get_or_insert_with(|| {
            let line = memchr::memchr(b'\n', bytes).map_or(0, |end| end + 1);
            let head = bytes.get(line..).unwrap_or_default();
            let shown = head.len().min(HEAD_SHOWN_BYTES_MAX);
            Skipped {
                head: head.get(..shown).unwrap_or_default().to_vec(),
                dropped: 0,
            }
        });
        // What tells whether the line before is empty stays.
        let drop = self.scanned.saturating_sub(3);
        skipped.dropped += drop as u64;
        self.start += drop;
        self.scanned -= drop;
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.end == self.buffer.len() {
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.base += self.start as u64;
                self.end -= self.start;
                self.start = 0;
            }
            // Never above the limit for long: `skip_if_large` drops what is.
            if self.end * 2 > self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        loop {
            match self.reader.read(room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(read) => {
                    self.end += read.min(room.len());
                    self.at_end = read == 0;
                    return Ok(());
                }
                Err(error) => {
                    self.state = State::Done;
                    return Err(error);
                }
            }
        }
    }
}

impl Apparent {
    fn add(&mut self, offset: u64) {
        self.count += 1;
        if self.offsets.len() < APPARENT_NAMED_MAX {
            self.offsets.push(offset);
        }
    }
}

/// The message behind its `From ` line, of which `rest` has the line end, without the lines between them.
fn without_lines_between(rest: &[u8]) -> &[u8] {
    let message = rest.get(1..).unwrap_or_default();
    let between = lines_between(message, true).unwrap_or(0);
    message.get(between..).unwrap_or_default()
}

/// A message without the empty line that the mailbox puts after it.
fn without_blank_line(bytes: &[u8]) -> &[u8] {
    if bytes.ends_with(b"\n\n") {
        return bytes.strip_suffix(b"\n").unwrap_or(bytes);
    }
    if bytes.ends_with(b"\n\r\n") {
        bytes.strip_suffix(b"\r\n").unwrap_or(bytes)
    } else {
        bytes
    }
}

/// Counts of the quoted lines of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quoted {
    /// Lines that were unquoted.
    pub undone: u64,
    /// Lines with `>From ` that stay.
    pub left: u64,
}

/// Makes the article of a message: line ends as in Unix, lines of its text unquoted by the convention. Without anything to do, `out` stays empty and
/// the message is the article.
pub fn plain(message: &[u8], quoting: Quoting, out: &mut Vec<u8>) -> Quoted {
    out.clear();
    let mut quoted = Quoted::default();
    let is_quoted = |line: &[u8]| {
        let depth = line.iter().take_while(|&&byte| byte == b'>').count();
        let is_from = line
            .get(depth..)
            .is_some_and(|rest| rest.starts_with(b"From "));
        if is_from { depth } else { 0 }
    };
    // A message of a mailbox with CRLF has it in its first line.
    let first = memchr::memchr(b'\n', message).and_then(|end| message.get(..end));
    let has_crlf = first.is_some_and(|line| line.ends_with(b"\r"));
    let has_quotes = memmem::find(message, b"\n>").is_some();
    if !has_crlf && !has_quotes {
        return quoted;
    }
    let mut is_body = false;
    for line in message.split_inclusive(|&byte| byte == b'\n') {
        let (text, end) = match line.strip_suffix(b"\r\n") {
            Some(text) if has_crlf => (text, &b"\n"[..]),
            _ => match line.strip_suffix(b"\n") {
                Some(text) => (text, &b"\n"[..]),
                None => (line, &b""[..]),
            },
        };
        let undo = match (is_body.then(|| is_quoted(text)), quoting) {
            (Some(1), Quoting::Mboxo) | (Some(1..), Quoting::Mboxrd) => true,
            (Some(1..), _) => {
                quoted.left += 1;
                false
            }
            _ => false,
        };
        quoted.undone += u64::from(undo);
        out.extend_from_slice(text.get(usize::from(undo)..).unwrap_or_default());
        out.extend_from_slice(end);
        is_body |= text.is_empty();
    }
    if !has_crlf && quoted.undone == 0 {
        out.clear();
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives at most so many bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(out.len()).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            out[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn items(text: &[u8], limit: usize, step: usize) -> Vec<String> {
        let mut mailbox = Mailbox::new(Slow(text, step), limit);
        let mut items = Vec::new();
        while let Some(item) = mailbox.next_item().unwrap() {
            items.push(match item {
                Item::Message {
                    from_line,
                    bytes,
                    offset,
                } => format!(
                    "{offset} {} | {}",
                    from_line.escape_ascii(),
                    bytes.escape_ascii()
                ),
                Item::TooLarge { head, size, offset } => {
                    format!("{offset} {size} {}", head[..4].escape_ascii())
                }
                Item::NoMailbox { head } => format!("none: {}", head.escape_ascii()),
            });
        }
        items
    }

    #[test]
    fn messages_are_told_from_text() {
        let text = b"\nFrom -123\nPath: a\n\nFrom here on\nall is text.\n\nFrom the book\nit is\n\nFrom -124\r\nPath: b\r\n\r\nx\r\n\r\nFrom -125\nDate: y\n\nlast";
        for step in [1, 3, 1000] {
            assert_eq!(
                items(text, 1000, step),
                [
                    "1 From -123 | Path: a\\n\\nFrom here on\\nall is text.\\n\\nFrom the book\\nit is\\n",
                    "68 From -124 | Path: b\\r\\n\\r\\nx\\r\\n",
                    "95 From -125 | Date: y\\n\\nlast",
                ]
            );
        }
        assert!(items(b"", 10, 1).is_empty());
        assert!(items(b"\n\n", 10, 1).is_empty());
        for none in [
            &b"#! rnews 5\nx"[..],
            b"From",
            b"From x\n",
            b"From x\nno field\n",
            b"Path: a\n\nx\n",
        ] {
            assert!(items(none, 10, 7)[0].starts_with("none: "));
        }
    }

    const DATED: &str = "From a@b Mon Dec 20 04:39:21 1993\n";

    #[test]
    fn lines_of_newsreaders_and_of_uucp_are_no_part_of_a_message() {
        let article = |id: u32| {
            format!(
                "{DATED}Article 415 of comp.x:\n>From c Mon Dec 20 04:39:21 1993 remote from d\nMessage-ID: <{id}@a>\n\nx\n"
            )
        };
        let found = items(article(1).repeat(2).as_bytes(), 1000, 7);
        assert_eq!(found.len(), 2);
        assert!(found[1].ends_with("1993 | Message-ID: <1@a>\\n\\nx\\n"));
    }

    #[test]
    fn messages_without_an_empty_line_before_them_are_taken_apart() {
        let text =
            (0..50).map(|id| format!("{DATED}Path: a\nNewsgroups: b\nMessage-ID: <{id}@a>\n\nx\n"));
        let text: String = text.collect();
        for step in [5, 10_000] {
            assert_eq!(items(text.as_bytes(), 1000, step).len(), 50);
        }
    }

    #[test]
    fn text_that_looks_like_a_beginning_is_counted() {
        let paragraph = "\nFrom the manual of the day:\nNote: this is text\n\n";
        let text =
            format!("{DATED}Message-ID: <1@a>\n\nx\n{paragraph}{DATED}Message-ID: <2@a>\n\ny\n");
        for step in [1, 10_000] {
            let mut mailbox = Mailbox::new(Slow(text.as_bytes(), step), 1000);
            let mut messages = 0;
            while mailbox.next_item().unwrap().is_some() {
                messages += 1;
            }
            let at = text.find("From the").unwrap() as u64;
            let right = Apparent {
                count: 1,
                offsets: vec![at],
            };
            assert_eq!((messages, mailbox.apparent()), (2, &right));
        }
    }

    #[test]
    fn large_messages_are_skipped() {
        let mut text = b"From a\nA: b\n\n".to_vec();
        text.extend_from_slice(&b"From x\n\n".repeat(100_000));
        let size = text.len();
        text.extend_from_slice(b"From b\nNewsgroups: c\n\nx\n\n");
        let found = items(&text, 10_000, 100_000);
        assert_eq!(found.len(), 2, "{:?}", found[0].len());
        assert_eq!(found[0], format!("0 {size} A: b"));
        assert!(found[1].starts_with(&format!("{size} From b | Newsgroups: c")));
    }

    #[test]
    fn quotes_are_undone_by_the_convention() {
        let text = b"A: b\n>From x: y\n\n>From a\n>>From b\n>>Frog\nFrom c\n";
        let unquoted = |quoting| {
            let mut out = Vec::new();
            let quoted = plain(text, quoting, &mut out);
            (out.escape_ascii().to_string(), quoted.undone, quoted.left)
        };
        assert_eq!(unquoted(Quoting::Unknown), (String::new(), 0, 2));
        let expected = "A: b\\n>From x: y\\n\\nFrom a\\n>>From b\\n>>Frog\\nFrom c\\n";
        assert_eq!(unquoted(Quoting::Mboxo), (expected.to_owned(), 1, 1));
        let expected = "A: b\\n>From x: y\\n\\nFrom a\\n>From b\\n>>Frog\\nFrom c\\n";
        assert_eq!(unquoted(Quoting::Mboxrd), (expected.to_owned(), 2, 0));
        let mut out = Vec::new();
        plain(b"A: b\r\n\r\nx\ry\r\n\n", Quoting::Unknown, &mut out);
        assert_eq!(out, b"A: b\n\nx\ry\n\n");
    }

    proptest! {
        #[test]
        fn however_it_is_read_the_same_comes_out(
            parts in prop::collection::vec(prop::sample::select(vec!["From x\n", "From -123\n", "Newsgroups: c\n", "\n", "A: b\n", ">From y\n", "\r\n", "text", "From"]), 0..40),
            step in 1usize..50,
            limit in 1usize..200,
        ) {
            let text = parts.concat().into_bytes();
            let whole = items(&text, usize::MAX, 10_000);
            prop_assert_eq!(&items(&text, usize::MAX, step), &whole);
            let _ = items(&text, limit, step);
        }
    }
}
