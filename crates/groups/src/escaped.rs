//! Bytes of names and headers as text.

use std::fmt::Write as _;

/// The bytes as text for programs, such as JSON: UTF-8 stays as it is, and each other byte becomes `\xNN`. Only a name that spells out such
/// an escape itself has the text of another name.
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

/// The bytes as text for people: as [`escaped`], with control characters (each byte as `\xNN`) and invisible ones escaped, too, so that no
/// stranger writes to a terminal or a second line into a log.
pub fn shown(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for character in escaped(bytes).chars() {
        match character {
            '\'' | '"' | '\\' => text.push(character),
            _ if character.is_control() => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(text, "\\x{byte:02x}");
                }
            }
            _ => text.extend(character.escape_debug()),
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
            assert_eq!(shown(bytes), text);
        }
    }

    #[test]
    fn people_see_no_control_characters() {
        for (bytes, text) in [
            (&b"a\x1b[2Jb"[..], "a\\x1b[2Jb"),
            (b"no groups in `a.b'\"", "no groups in `a.b'\""),
            ("\u{fc}\u{202e}".as_bytes(), "\u{fc}\\u{202e}"),
            (b"two\nlines\x7f", "two\\x0alines\\x7f"),
            ("\u{9b}1m\u{fc}".as_bytes(), "\\xc2\\x9b1m\u{fc}"),
        ] {
            assert_eq!(shown(bytes), text);
        }
    }
}
