//! One article from the relay, and how it becomes a record.

use article::LeftOut;
use article::wire_facts::LineCounts;

use crate::history::expires_header::TEXT_BYTES_MAX;
use crate::history::push_filed;
use crate::log::record::{self, Commit, HEADER_BYTES, Kind, Lengths, TERMINATOR};
use crate::overview::row::OverviewFields;
use crate::{Expires, Position};

/// A piece of an article: whole lines, but for the last line of the last piece.
#[derive(Debug, Clone, Copy)]
pub enum Piece<'a> {
    /// Lines that end in LF.
    Native(&'a [u8]),
    /// The first bytes of a text of such lines, and their number.
    NativeBefore(&'a [u8], usize),
    /// Lines that end in CRLF, dot-stuffed, and their numbers.
    Wire(&'a [u8], LineCounts),
}

impl<'a> Piece<'a> {
    /// A piece in wire form whose lines were not counted before.
    pub fn wire(bytes: &'a [u8]) -> Piece<'a> {
        Piece::Wire(bytes, LineCounts::of(bytes))
    }

    /// Bytes as given.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Piece::Native(bytes) | Piece::Wire(bytes, _) => bytes,
            Piece::NativeBefore(text, end) => text.get(..end).unwrap_or(text),
        }
    }

    /// Bytes in native form.
    pub fn native_length(self) -> usize {
        match self {
            Piece::Native(_) | Piece::NativeBefore(..) => self.bytes().len(),
            Piece::Wire(bytes, counts) => counts.native_length(bytes.len()),
        }
    }

    /// True when its last line has no end, which the wire form hides.
    fn lacks_line_end(self) -> bool {
        match self {
            Piece::Native(_) | Piece::NativeBefore(..) => {
                article::wire::lacks_final_newline(self.bytes())
            }
            Piece::Wire(bytes, _) => !bytes.is_empty() && !bytes.ends_with(b"\r\n"),
        }
    }

    /// Appends it in wire form, its last line ended; returns its lines, and how many of them begin with a doubled dot.
    fn push_wire(self, out: &mut Vec<u8>) -> (u32, usize) {
        let before = out.len();
        let unended = usize::from(self.lacks_line_end());
        // A line grows by its CR, the last one perhaps by its LF too; the rest are dots.
        let counted = |out: &Vec<u8>, lines: u32| {
            let plain = self.bytes().len() + lines as usize + unended;
            (lines, (out.len() - before).saturating_sub(plain))
        };
        match self {
            Piece::Native(bytes) => {
                let lines = article::wire::push_wire(out, bytes);
                counted(out, lines)
            }
            Piece::NativeBefore(text, end) => {
                let lines = article::wire::push_wire_before(out, text, end);
                counted(out, lines)
            }
            Piece::Wire(bytes, counts) => {
                out.extend_from_slice(bytes);
                if unended > 0 {
                    out.extend_from_slice(b"\r\n");
                }
                ((counts.line_feeds + unended) as u32, counts.doubled_dots)
            }
        }
    }
}

/// One article to be filed.
#[derive(Debug, Clone, Copy)]
pub struct Filing<'a> {
    /// Its message-id.
    pub id: &'a [u8],
    /// When it came, epoch seconds.
    pub arrival: i64,
    /// The time of its Expires.
    pub expires: Expires<'a>,
    /// One of the numbers is not above the group's high mark before this article.
    pub is_late: bool,
    /// The groups it is filed in and its numbers there.
    pub links: &'a [(&'a [u8], u64)],
    /// The sites that get it, a blank between them.
    pub sites: &'a [u8],
    /// The header in pieces of whole lines, the blank line included.
    pub header: &'a [Piece<'a>],
    /// The body.
    pub body: Piece<'a>,
    /// The stated size of an article that came without its body; `None` of a whole one.
    pub left_out: Option<LeftOut>,
    /// The fields of its overview row.
    pub overview: OverviewFields<'a>,
}

/// Where the parts of a record came to lie in the buffer, and what was counted.
#[derive(Debug, Clone, Copy)]
pub struct RecordLayout {
    /// Start of the history line.
    pub line_start: usize,
    /// Bytes of the history line.
    pub line_length: usize,
    /// Bytes as readers count them, of the whole article: lines end in CRLF, without doubled dots and terminator (RFC 3977, 8.1).
    pub bytes: u64,
    /// Lines of the body.
    pub lines: u32,
}

impl Filing<'_> {
    /// More bytes than its record can have.
    pub fn record_bytes_max(&self) -> u64 {
        let article: usize = self
            .header
            .iter()
            .map(|piece| piece.bytes().len())
            .sum::<usize>()
            + self.body.bytes().len();
        let links: usize = self.links.iter().map(|(name, _)| name.len() + 22).sum();
        // Native to wire at most doubles (a body of bare newlines).
        let line = self.id.len() + 100 + TEXT_BYTES_MAX + links;
        (HEADER_BYTES + line + self.sites.len() + 2 * article + 16) as u64
    }

    /// Appends the record of this article, which will lie at `position`.
    pub fn push_record(
        &self,
        out: &mut Vec<u8>,
        position: Position,
        commit: Commit,
    ) -> RecordLayout {
        let start = record::begin(out);
        let line_start = out.len();
        let header = self.header.iter().map(|piece| piece.native_length());
        let size = header.sum::<usize>() + self.body.native_length();
        push_filed(
            out,
            self.id,
            (self.arrival, self.expires),
            size as u64,
            (position, self.is_late),
            self.links,
        );
        let line_length = out.len() - line_start;
        out.extend_from_slice(self.sites);
        let wire_start = out.len();
        let mut dots = 0;
        for piece in self.header {
            dots += piece.push_wire(out).1;
        }
        let wire_header = out.len() - wire_start;
        let (lines, dots_of_body) = self.body.push_wire(out);
        dots += dots_of_body;
        let last = match self.header.last() {
            Some(last) if self.body.bytes().is_empty() => *last,
            _ => self.body,
        };
        let no_final_newline = last.lacks_line_end();
        let (bytes, lines) = match self.left_out {
            Some(left_out) => (left_out.bytes, left_out.lines),
            None => ((out.len() - wire_start - dots) as u64, lines),
        };
        out.extend_from_slice(TERMINATOR);
        let lengths = Lengths {
            line: line_length,
            sites: self.sites.len(),
            wire: out.len() - wire_start,
            wire_header,
            lines,
            no_final_newline,
            header_only: self.left_out.is_some(),
        };
        record::finish(out, start, Kind::Article, commit, lengths);
        RecordLayout {
            line_start,
            line_length,
            bytes,
            lines,
        }
    }
}
