//! Text behind the end of compressed data: a `^Z` of CP/M, an empty line, the signature of a mailer.

use std::fmt;

use super::Compression;

/// Most text behind the end of compressed data that is ignored, bytes. More is unknown data.
pub const TRAILER_BYTES_MAX: usize = 4096;
/// Part of the text that messages show, bytes.
const SHOWN_BYTES: usize = 60;

/// Text of other programs behind the end of compressed data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailer {
    /// The compression.
    pub kind: Compression,
    /// Offset of the text in the compressed data.
    pub at: u64,
    /// The text.
    pub bytes: Vec<u8>,
}

impl fmt::Display for Trailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.bytes.get(..SHOWN_BYTES).unwrap_or(&self.bytes);
        write!(
            f,
            "{} data ends at byte {}; {} bytes of text behind its end are ignored: `{}'",
            self.kind,
            self.at,
            self.bytes.len(),
            shown.escape_ascii()
        )
    }
}

/// Whether bytes are text: UTF-8 without other controls than white space, `^Z` and NUL. Compressed data of some length never is.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let is_character =
        |one: char| matches!(one, '\0' | '\t'..='\r' | '\x1a' | ' '..='~' | '\u{a0}'..);
    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_character))
}

/// Whether a byte is one that programs add to the end of any file: a line end or `^Z`.
pub(super) fn is_end_byte(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0x1a)
}
