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

/// True for a character that acts on a terminal instead of being shown: control characters (C0, DEL and C1), the ends of lines of Unicode, and the
/// controls of writing direction (UAX 9), which make a text look like another one.
pub fn is_terminal_control(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Appends lines of text for a terminal: tabs and ends of lines stay, other characters that act on it
/// ([`is_terminal_control`]) and bytes that are not UTF-8 become `\xNN`.
pub fn push_for_terminal(out: &mut Vec<u8>, lines: &[u8]) {
    for chunk in lines.utf8_chunks() {
        let mut rest = chunk.valid();
        let acts = |c: char| !matches!(c, '\n' | '\t') && is_terminal_control(c);
        while let Some((at, found)) = rest.char_indices().find(|(_, c)| acts(*c)) {
            let (shown, from) = rest.split_at(at);
            let (control, next) = from.split_at(found.len_utf8());
            out.extend_from_slice(shown.as_bytes());
            push_hexadecimal(out, control.as_bytes());
            rest = next;
        }
        out.extend_from_slice(rest.as_bytes());
        push_hexadecimal(out, chunk.invalid());
    }
}

/// Appends each byte as `\xNN`.
pub fn push_hexadecimal(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_a_terminal() {
        for (lines, text) in [
            (&b"a\tb\nc"[..], "a\tb\nc"),
            (b"\x1b]0;x\x07\r\x7f", "\\x1b]0;x\\x07\\x0d\\x7f"),
            ("\u{9b}1m\u{fc}".as_bytes(), "\\xc2\\x9b1m\u{fc}"),
            (b"\x9b1m\xfc", "\\x9b1m\\xfc"),
            (
                "a\u{202e}b\u{2066}\u{61c}".as_bytes(),
                "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6\\xd8\\x9c",
            ),
            // Marks that belong to a letter, and a joiner within a picture, are shown.
            (
                "e\u{301} \u{915}\u{94d} \u{1f469}\u{200d}\u{1f52c}".as_bytes(),
                "e\u{301} \u{915}\u{94d} \u{1f469}\u{200d}\u{1f52c}",
            ),
        ] {
            let mut out = Vec::new();
            push_for_terminal(&mut out, lines);
            assert_eq!(String::from_utf8(out).unwrap(), text);
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
