//! Command lines out of a stream of bytes (RFC 3977, 3.1).

/// What stands at the start of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line without its end, and how many bytes it takes up with it.
    Whole(&'a [u8], usize),
    /// Longer than allowed; this many bytes, to its end, are to be skipped.
    TooLong(usize),
    /// Longer than allowed, and its end is not there yet: everything is to be skipped, and what comes until its end.
    TooLongSoFar,
    /// Its end is not there yet.
    Partial,
}

/// The first line. It ends with CRLF; LF alone is taken, too, as other servers do.
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
    fn lines_have_a_longest_length() {
        assert_eq!(first_line(b"QUIT\r\nx", 512), Line::Whole(b"QUIT", 6));
        assert_eq!(first_line(b"QUIT\n", 512), Line::Whole(b"QUIT", 5));
        assert_eq!(first_line(b"QUIT\r", 512), Line::Partial);
        assert_eq!(first_line(b"12345\r\n", 7), Line::Whole(b"12345", 7));
        assert_eq!(first_line(b"123456\r\n", 7), Line::TooLong(8));
        assert_eq!(first_line(b"1234567", 7), Line::TooLongSoFar);
    }
}
