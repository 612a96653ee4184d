//! One record of the log: a fixed header, a text part, an article in wire form, padding.
//! The byte picture is in docs/formats/segment.md.

use article::{Article, LeftOut};

use crate::io::bytes::{put_u32, put_u64, u32_at, u64_at};

/// Bytes of the fixed header.
pub const HEADER_BYTES: usize = 48;
/// Records begin at multiples of this.
pub const ALIGN: usize = 8;
/// The end of an article in wire form (RFC 3977, 3.1.1); kept on disk so that it can be sent as it lies.
pub const TERMINATOR: &[u8] = b".\r\n";

/// The first bytes of a record.
pub const MAGIC_BYTES: &[u8; 4] = b"BSr1";

const MAGIC: u32 = u32::from_le_bytes(*MAGIC_BYTES);
const FLAG_NO_FINAL_NEWLINE: u8 = 1;
const FLAG_HEADER_ONLY: u8 = 2;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// An article filed; the text is its history line and the sites that get it.
    Article = 1,
    /// An id seen but not filed; the text is its history line.
    Seen = 2,
    /// A cancel, removal or restoration; the text is a line of `cancels` (docs/formats/history.md).
    Cancel = 3,
    /// A change to one group; the text is `+ ` and its line in active, or `- ` and its name.
    Group = 4,
    /// What expire removed; the text is lines of `expired` (docs/formats/expired.md).
    LowMarks = 5,
    /// The whole active file; the first record of a segment, if it is small enough.
    Active = 6,
    /// Nothing: fills up to a block of the disk.
    #[default]
    Pad = 7,
    /// The table of a repacked segment: which stretch of positions lies where in the file.
    Relocation = 8,
    /// Articles that are gone and whose space was given back: what follows the header is not looked at.
    Hole = 9,
    /// Cancels whose articles are not here yet; the text is [lines of them](crate::PendingCancels).
    PendingCancel = 10,
    /// Serial numbers of checkgroups; the text is [lines of them](crate::Serials).
    Serials = 11,
    /// Changes to `newsgroups`; the text is `+ ` and a line of it, or `- ` and a group, on each line.
    Descriptions = 12,
    /// Changes to `active.times`, in the same form.
    Creations = 13,
    /// An entry of the log of a cluster is applied; the text is the [line of its place](crate::AppliedEntry).
    Applied = 14,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        Some(match byte {
            1 => Kind::Article,
            2 => Kind::Seen,
            3 => Kind::Cancel,
            4 => Kind::Group,
            5 => Kind::LowMarks,
            6 => Kind::Active,
            7 => Kind::Pad,
            8 => Kind::Relocation,
            9 => Kind::Hole,
            10 => Kind::PendingCancel,
            11 => Kind::Serials,
            12 => Kind::Descriptions,
            13 => Kind::Creations,
            14 => Kind::Applied,
            _ => return None,
        })
    }

    /// True when the record's text is a line of `.his`.
    pub fn has_history_line(self) -> bool {
        matches!(self, Kind::Article | Kind::Seen)
    }

    /// True of the kinds of which a segment begins with whole copies.
    pub fn is_state(self) -> bool {
        matches!(
            self,
            Kind::Active
                | Kind::LowMarks
                | Kind::PendingCancel
                | Kind::Serials
                | Kind::Descriptions
                | Kind::Creations
                | Kind::Applied
        )
    }
}

/// The fixed header, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    /// CRC-32C of everything after the checksum itself.
    pub checksum: u32,
    /// The whole record, padding included, bytes.
    pub length: u32,
    /// Its kind.
    pub kind: Kind,
    /// The article had no newline at its end when it came in native form.
    pub no_final_newline: bool,
    /// The article came without its body; its header states the size ([`article::LeftOut`]).
    pub header_only: bool,
    /// The commit it belongs to: never falls along the log.
    pub commit_sequence: u64,
    /// Bytes of the first text (history line, newline included).
    pub line_length: u32,
    /// Bytes of the second text (sites).
    pub sites_length: u32,
    /// Bytes of the article in wire form, terminator included.
    pub wire_length: u32,
    /// Bytes of the article's header in wire form, blank line included.
    pub wire_header_length: u32,
    /// Lines of the body; of one that was left out as well.
    pub lines: u32,
    /// Bytes from the start of its commit to this record: tells a torn commit from damage done later.
    pub commit_back: u32,
}

impl Head {
    /// Bytes that the checksum covers, the checksum's own eight in front included: of a hole, its header only.
    pub fn covered(&self) -> usize {
        match self.kind {
            Kind::Hole => HEADER_BYTES,
            _ => self.length as usize,
        }
    }

    /// Reads a header and checks that its lengths agree; not the checksum.
    pub fn parse(bytes: &[u8]) -> Option<Head> {
        if u32_at(bytes, 0)? != MAGIC {
            return None;
        }
        let head = Head {
            checksum: u32_at(bytes, 4)?,
            length: u32_at(bytes, 8)?,
            kind: Kind::from_byte(*bytes.get(12)?)?,
            no_final_newline: bytes.get(13)? & FLAG_NO_FINAL_NEWLINE != 0,
            header_only: bytes.get(13)? & FLAG_HEADER_ONLY != 0,
            commit_sequence: u64_at(bytes, 16)?,
            line_length: u32_at(bytes, 24)?,
            sites_length: u32_at(bytes, 28)?,
            wire_length: u32_at(bytes, 32)?,
            wire_header_length: u32_at(bytes, 36)?,
            lines: u32_at(bytes, 40)?,
            commit_back: u32_at(bytes, 44)?,
        };
        let used = [head.line_length, head.sites_length, head.wire_length]
            .iter()
            .fold(HEADER_BYTES as u64, |sum, &n| sum + u64::from(n));
        let padded = used.next_multiple_of(ALIGN as u64);
        let fits = padded == u64::from(head.length)
            || (matches!(head.kind, Kind::Pad | Kind::Hole) && padded <= u64::from(head.length));
        (fits
            && head.length.is_multiple_of(ALIGN as u32)
            && head.wire_header_length <= head.wire_length)
            .then_some(head)
    }
}

/// A whole record whose checksum was found right.
#[derive(Debug, Clone, Copy, Default)]
pub struct Record<'a> {
    /// Its header.
    pub head: Head,
    /// All of it but what follows the header of a hole.
    bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// The record at the start of `bytes`. `None`: torn, damaged or not a record.
    pub fn parse(bytes: &'a [u8]) -> Option<Record<'a>> {
        Record::check(Head::parse(bytes)?, bytes)
    }

    /// The record at the start of `bytes` whose header was read already. `None`: torn or damaged.
    pub fn check(head: Head, bytes: &'a [u8]) -> Option<Record<'a>> {
        let bytes = bytes.get(..head.covered())?;
        (article::crc32c(bytes.get(8..)?) == head.checksum).then_some(Record { head, bytes })
    }

    /// As [`Record::parse`] for bytes whose checksum was found right a moment ago.
    pub fn trust(bytes: &'a [u8]) -> Option<Record<'a>> {
        Record::with_head(Head::parse(bytes)?, bytes)
    }

    /// The same where the header was read, too.
    pub fn with_head(head: Head, bytes: &'a [u8]) -> Option<Record<'a>> {
        let bytes = bytes.get(..head.covered())?;
        Some(Record { head, bytes })
    }

    /// The record as it lies on the disk, header and padding included; of a hole, its header.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    fn text(&self, start: usize, length: u32) -> &'a [u8] {
        let start = HEADER_BYTES + start;
        let text = self.bytes.get(start..start + length as usize);
        text.unwrap_or_default()
    }

    /// The history line with its newline, or what the kind says.
    pub fn line(&self) -> &'a [u8] {
        self.text(0, self.head.line_length)
    }

    /// The sites that get the article, a blank between them.
    pub fn sites(&self) -> &'a [u8] {
        self.text(self.head.line_length as usize, self.head.sites_length)
    }

    /// The article in wire form, terminator included.
    pub fn wire(&self) -> &'a [u8] {
        let start = self.head.line_length as usize + self.head.sites_length as usize;
        self.text(start, self.head.wire_length)
    }

    /// The article in wire form without its terminator.
    pub fn wire_article(&self) -> &'a [u8] {
        let wire = self.wire();
        wire.strip_suffix(TERMINATOR).unwrap_or(wire)
    }

    /// The stated size of its article, if it came without its body. `article`: the parsed [`Record::wire_article`].
    pub fn left_out(&self, article: &Article<'_>) -> Option<LeftOut> {
        match self.head.header_only {
            true => LeftOut::stated_in(article),
            false => None,
        }
    }

    /// Appends the article in native form, exactly as it was filed.
    pub fn push_native(&self, out: &mut Vec<u8>) {
        article::wire::push_native_flagged(out, self.wire_article(), self.head.no_final_newline);
    }
}

/// The input of [`finish`] besides the bytes already laid down.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lengths {
    /// As in [`Head`].
    pub line: usize,
    /// As in [`Head`].
    pub sites: usize,
    /// As in [`Head`].
    pub wire: usize,
    /// As in [`Head`].
    pub wire_header: usize,
    /// As in [`Head`].
    pub lines: u32,
    /// As in [`Head`].
    pub no_final_newline: bool,
    /// As in [`Head`].
    pub header_only: bool,
}

/// The commit a record belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// As in [`Head`].
    pub commit_sequence: u64,
    /// Where the commit begins in the buffer that the record is appended to; before its beginning (wrapping) when
    /// the commit's first part was written out already.
    pub start: usize,
}

/// Leaves room for a header; the texts and the article are then appended, and [`finish`] closes the record.
/// Returns the offset to give to `finish`.
pub fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    start
}

/// Pads the record that began at `start`, writes its header and its checksum. The caller has made sure that
/// the record is shorter than 4 GiB.
pub fn finish(out: &mut Vec<u8>, start: usize, kind: Kind, commit: Commit, lengths: Lengths) {
    let end = start + (out.len() - start).next_multiple_of(ALIGN);
    out.extend_from_slice(&[0; ALIGN]);
    out.truncate(end);
    let Some(record) = out.get_mut(start..) else {
        return;
    };
    let length = record.len() as u32;
    let Some(head) = record.first_chunk_mut::<HEADER_BYTES>() else {
        return;
    };
    put_u32(head, 0, MAGIC);
    put_u32(head, 8, length);
    let mut flags = 0;
    if lengths.no_final_newline {
        flags |= FLAG_NO_FINAL_NEWLINE;
    }
    if lengths.header_only {
        flags |= FLAG_HEADER_ONLY;
    }
    put_u32(head, 12, u32::from_le_bytes([kind as u8, flags, 0, 0]));
    put_u64(head, 16, commit.commit_sequence);
    put_u32(head, 24, lengths.line as u32);
    put_u32(head, 28, lengths.sites as u32);
    put_u32(head, 32, lengths.wire as u32);
    put_u32(head, 36, lengths.wire_header as u32);
    put_u32(head, 40, lengths.lines);
    put_u32(head, 44, start.wrapping_sub(commit.start) as u32);
    let sum = article::crc32c(record.get(8..).unwrap_or_default());
    put_u32(record, 4, sum);
}

/// The header of a hole of `length` bytes, a multiple of [`ALIGN`]. It belongs to no commit.
pub fn hole(length: u32) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    put_u32(&mut bytes, 0, MAGIC);
    put_u32(&mut bytes, 8, length);
    if let Some(kind) = bytes.get_mut(12) {
        *kind = Kind::Hole as u8;
    }
    let sum = article::crc32c(bytes.get(8..).unwrap_or_default());
    put_u32(&mut bytes, 4, sum);
    bytes
}

/// Appends a record that is only text.
pub fn push_text(out: &mut Vec<u8>, kind: Kind, commit: Commit, text: &[u8]) {
    let start = begin(out);
    out.extend_from_slice(text);
    finish(
        out,
        start,
        kind,
        commit,
        Lengths {
            line: text.len(),
            ..Lengths::default()
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut out = Vec::new();
        let start = begin(&mut out);
        out.extend_from_slice(b"<1@a>\t1~-~5~64\ta/1\n");
        out.extend_from_slice(b"x y");
        out.extend_from_slice(b"A: b\r\n\r\n..c\r\n.\r\n");
        let lengths = Lengths {
            line: 19,
            sites: 3,
            wire: 16,
            wire_header: 8,
            lines: 1,
            no_final_newline: true,
            header_only: true,
        };
        finish(
            &mut out,
            start,
            Kind::Article,
            Commit {
                commit_sequence: 9,
                start: 0,
            },
            lengths,
        );
        out
    }

    #[test]
    fn a_record_goes_there_and_back() {
        let bytes = sample();
        let record = Record::parse(&bytes).unwrap();
        assert_eq!(record.line(), b"<1@a>\t1~-~5~64\ta/1\n");
        assert_eq!(record.sites(), b"x y");
        assert!(record.head.header_only && record.head.no_final_newline);
        let mut native = Vec::new();
        record.push_native(&mut native);
        assert_eq!(native, b"A: b\n\n.c");
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let good = sample();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::parse(&bad).is_none(), "bit {bit}");
        }
    }

    #[test]
    fn any_shorter_piece_is_torn() {
        let good = sample();
        for length in 0..good.len() {
            assert!(Record::parse(&good[..length]).is_none());
        }
    }
}
