//! Bytes of names and headers as text.

use std::fmt::Write as _;

/// The bytes as text that tells any two names apart: UTF-8 stays as it is, and each other byte becomes `\xNN`.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// A text of a stranger for a message: as [`escaped`], with control characters and invisible ones escaped, too. Quotes
/// stay as they are.
pub fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for c in escaped(bytes).chars() {
        match c {
            '\'' | '"' | '\\' => text.push(c),
            _ => text.extend(c.escape_debug()),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_strangers_are_printable() {
        for (bytes, text) in [
            (&b"no known groups in `a.b'"[..], "no known groups in `a.b'"),
            (b"a\x1b[2J\t\"\xff", "a\\u{1b}[2J\\t\"\\xff"),
            ("\u{fc}\u{202e}".as_bytes(), "\u{fc}\\u{202e}"),
        ] {
            assert_eq!(printable(bytes), text);
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_differ() {
        for (bytes, text) in [
            (&b"comp.lang.c"[..], "comp.lang.c"),
            ("de.\u{fc}ber".as_bytes(), "de.\u{fc}ber"),
            (b"de.\xfcber", "de.\\xfcber"),
            (b"de.\xf6\xffber\xc3", "de.\\xf6\\xffber\\xc3"),
            (b"", ""),
        ] {
            assert_eq!(escaped(bytes), text);
        }
    }
}
