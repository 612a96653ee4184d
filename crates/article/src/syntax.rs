//! The strict syntax of header fields (RFC 5536, 2.2), for checking posts.
//!
//! Relayed articles are not checked by these rules.

/// Whether this is a header name: visible ASCII without a colon.
pub fn valid_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name
            .iter()
            .all(|&byte| byte.is_ascii_graphic() && byte != b':')
}

/// Whether this is a valid body of a header field: UTF-8 without control characters,
/// folded only before a blank or tab (with LF or CRLF), and with a character
/// other than white space on every line.
pub fn valid_body(body: &[u8]) -> bool {
    if body.is_empty() || body.ends_with(b"\n") || !is_utf8_like(body) {
        return false;
    }
    body.split_inclusive(|&byte| byte == b'\n')
        .enumerate()
        .all(|(index, line)| {
            let text = line
                .strip_suffix(b"\n")
                .map(|text| text.strip_suffix(b"\r").unwrap_or(text));
            let text = text.unwrap_or(line);
            let is_continued = index == 0 || matches!(text.first(), Some(b' ' | b'\t'));
            let is_clean = text
                .iter()
                .all(|&byte| byte == b'\t' || !byte.is_ascii_control());
            is_continued && is_clean && text.iter().any(|&byte| byte != b' ' && byte != b'\t')
        })
}

/// Whether bytes have the form of UTF-8 (RFC 2279, including five and six byte
/// sequences): each lead byte is followed by the right number of continuation bytes.
pub fn is_utf8_like(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let [lead, tail @ ..] = rest {
        let follow = match lead {
            0x00..=0x7f => 0,
            0xc0..=0xdf => 1,
            0xe0..=0xef => 2,
            0xf0..=0xf7 => 3,
            0xf8..=0xfb => 4,
            0xfc..=0xfd => 5,
            _ => return false,
        };
        match tail.split_at_checked(follow) {
            Some((more, after)) if more.iter().all(|byte| byte & 0xc0 == 0x80) => rest = after,
            _ => return false,
        }
    }
    true
}

/// Returns the words of a structured header separated by single blanks, without comments and folding
/// (RFC 5322, 3.2.2).
///
/// Comments nest; a backslash in a comment quotes the next byte; an unclosed
/// comment extends to the end ([`has_unclosed_comment`] finds it).
pub fn strip_cfws(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut depth = 0usize;
    let mut is_apart = false;
    let mut bytes = value.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'(' => depth += 1,
            b')' if depth > 0 => {
                depth -= 1;
                is_apart = true;
            }
            b'\\' if depth > 0 => {
                bytes.next();
            }
            _ if depth > 0 => {}
            b' ' | b'\t' | b'\r' | b'\n' => is_apart = true,
            _ => {
                if is_apart && !out.is_empty() {
                    out.push(b' ');
                }
                is_apart = false;
                out.push(byte);
            }
        }
    }
    out
}

/// Whether a structured header has a comment without its `)' (RFC 5322, 3.2.2). A parenthesis in a quoted string is text.
pub fn has_unclosed_comment(value: &[u8]) -> bool {
    let mut depth = 0usize;
    let mut is_quoted = false;
    let mut bytes = value.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' if is_quoted || depth > 0 => {
                bytes.next();
            }
            b'"' if depth == 0 => is_quoted = !is_quoted,
            b'(' if !is_quoted => depth += 1,
            b')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth > 0
}
