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

#[cfg(test)]
mod tests {
    use super::*;

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
