//! Splits command lines from a byte stream (RFC 3977, 3.1).

/// The line at the start of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// A complete line without its end, and its length with the end.
    Whole(&'a [u8], usize),
    /// Longer than allowed; its length with the end, to be skipped.
    TooLong(usize),
    /// Longer than allowed, and its end has not arrived: the caller skips the input up to the line's end.
    TooLongSoFar,
    /// Its end has not arrived.
    Partial,
}

/// Returns the first line, of `bytes_max` bytes at most with its end. It ends with CRLF; LF alone is accepted too, as by other servers.
pub fn first_line(input: &[u8], bytes_max: usize) -> Line<'_> {
    match memchr::memchr(b'\n', input) {
        Some(end) if end < bytes_max => {
            let line = input.get(..end).unwrap_or_default();
            Line::Whole(line.strip_suffix(b"\r").unwrap_or(line), end + 1)
        }
        Some(end) => Line::TooLong(end + 1),
        None if input.len() >= bytes_max => Line::TooLongSoFar,
        None => Line::Partial,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_maximum_length() {
        assert_eq!(first_line(b"QUIT\r\nx", 512), Line::Whole(b"QUIT", 6));
        assert_eq!(first_line(b"QUIT\n", 512), Line::Whole(b"QUIT", 5));
        assert_eq!(first_line(b"QUIT\r", 512), Line::Partial);
        assert_eq!(first_line(b"12345\r\n", 7), Line::Whole(b"12345", 7));
        assert_eq!(first_line(b"123456\r\n", 7), Line::TooLong(8));
        assert_eq!(first_line(b"1234567", 7), Line::TooLongSoFar);
    }
}
