//! Group names: which may be created, and which are safe to use at all.
//!
//! These are two separate tests. [`is_safe`] tests whether a name can be used in a
//! table or a path without harm; every group that exists passes it.
//! [`check_new`] tests whether a `newgroup` message may create the group, by the much
//! stricter rules of C News.

use thiserror::Error;

/// Longest group name, bytes. RFC 3977, 3.1 allows 497 bytes for the
/// arguments of a command, so no client could name a longer group.
pub const NAME_BYTES_MAX: usize = 497;

/// Longest part between dots of a [safe](is_safe) name, bytes: the limit of
/// file systems for a directory name.
pub const SAFE_PART_BYTES_MAX: usize = 255;

/// Longest part between dots of a new group, bytes (RFC 5536, 3.1.4). C News allowed 14, the limit of directory names on the
/// systems of its time.
pub const NEW_PART_BYTES_MAX: usize = 30;

/// Whether a name can be used in a table or as a path: 1 to
/// [`NAME_BYTES_MAX`] bytes, no empty part (so no leading, trailing or doubled
/// dot, and never `.` or `..`), no part over [`SAFE_PART_BYTES_MAX`], no byte
/// that separates fields in some file, and no `-` (an option) or `#` (a comment)
/// at the start.
pub fn is_safe(name: &[u8]) -> bool {
    if name.len() > NAME_BYTES_MAX || matches!(name.first(), None | Some(b'-' | b'#')) {
        return false;
    }
    if name.first() == Some(&b'.') || name.last() == Some(&b'.') || !has_safe_bytes(name) {
        return false;
    }
    name.len() <= SAFE_PART_BYTES_MAX
        || name
            .split(|&byte| byte == b'.')
            .all(|part| part.len() <= SAFE_PART_BYTES_MAX)
}

/// Whether no byte is unsafe and no two dots are adjacent. Unsafe are
/// blanks and controls (they separate fields), `/` and `\` (paths), `,`
/// (Newsgroups lists), `:` (Xref, sys), and `!` and `*` (patterns).
/// 8-bit bytes are safe.
///
/// Tests eight bytes at a time, because every line of `active` is tested.
#[inline]
fn has_safe_bytes(name: &[u8]) -> bool {
    let (words, _) = name.as_chunks::<8>();
    let Some(tail) = name.last_chunk::<8>() else {
        let mut before = 0u8;
        return name.iter().all(|&byte| {
            let doubled = byte == b'.' && before == b'.';
            before = byte;
            !doubled && is_safe_byte(byte)
        });
    };
    let mut found = 0u64;
    let mut dot_before = 0u64;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let dots = bytes_equal(word, b'.') & TOPS;
        found |= unsafe_in(word) | (dots & ((dots << 8) | dot_before));
        dot_before = dots >> 56;
    }
    // The last eight bytes overlap the words, so no pair of dots is missed.
    let word = u64::from_le_bytes(*tail);
    let dots = bytes_equal(word, b'.') & TOPS;
    found |= unsafe_in(word) | (dots & (dots << 8));
    found & TOPS == 0
}

fn is_safe_byte(byte: u8) -> bool {
    byte > b'!' && byte != 0x7f && !matches!(byte, b'/' | b'\\' | b',' | b':' | b'*')
}

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// Sets the top bit of each of the eight bytes that is not
/// [safe](is_safe_byte); the other bits are undefined.
#[inline]
fn unsafe_in(word: u64) -> u64 {
    // Less than `"`: controls, blank and `!`.
    let below = word.wrapping_sub(ONES * 0x22) & !word;
    below
        | bytes_equal(word, 0x7f)
        | bytes_equal(word, b'/')
        | bytes_equal(word, b'\\')
        | bytes_equal(word, b',')
        // `:` and `*` differ in one bit only.
        | bytes_equal(word | (ONES * 0x10), b':')
}

/// Sets the top bit of each byte equal to `byte`; the other bits are undefined. A
/// borrow may also mark the byte after an equal one, if that one differs in the
/// lowest bit only; for `.` that is `/`, which is unsafe anyway.
#[inline]
fn bytes_equal(word: u64, byte: u8) -> u64 {
    let difference = word ^ (ONES * u64::from(byte));
    difference.wrapping_sub(ONES) & !difference
}

/// The rule of C News that a new name violates.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name is empty.
    #[error("group name is empty")]
    Empty,
    /// Longer than [`NAME_BYTES_MAX`].
    #[error("group name is longer than {NAME_BYTES_MAX} bytes")]
    TooLong,
    /// A leading, trailing or doubled dot.
    #[error("group name begins or ends with a dot, or has two in a row")]
    BadDots,
    /// A byte other than `a-z 0-9 + - _ .`.
    #[error("group name contains the illegal character `{}'", .0.escape_ascii())]
    IllegalCharacter(u8),
    /// An upper-case letter.
    #[error("group name contains the upper-case letter `{}'", char::from(*.0))]
    UpperCase(u8),
    /// The first character is not a letter.
    #[error("group name does not begin with a letter")]
    FirstNotLetter,
    /// Below `control.` or `junk.`, which are reserved for the news system.
    #[error("group names beginning with `{0}.' are reserved")]
    ReservedPrefix(&'static str),
    /// A part named `all` or `ctl`, which have a meaning in patterns and control messages.
    #[error("part `{0}' is reserved: it has a meaning in patterns or control messages")]
    ReservedPart(&'static str),
    /// A part of digits only, which could be confused with an article number.
    #[error("part `{0}' is all digits, like an article number")]
    AllDigits(String),
    /// A part beginning with `+`, `-` or `_`.
    #[error("part `{0}' begins with punctuation")]
    PunctuationFirst(String),
    /// A part without any letter.
    #[error("part `{0}' contains no letter")]
    NoLetter(String),
    /// A part longer than the limit.
    #[error("part `{part}' is longer than {max} characters")]
    PartTooLong {
        /// The part.
        part: String,
        /// The limit, bytes.
        max: usize,
    },
    /// `--`, `__`, or `++` anywhere but at the end of a part (`c++`).
    #[error("part `{0}' repeats a punctuation character")]
    RepeatedPunctuation(String),
    /// The same part twice in succession.
    #[error("part `{0}' is repeated in succession")]
    RepeatedPart(String),
    /// Begins like an encoded word, but is not `=?charset?encoding?text?=`.
    #[error("part `{0}' is not a complete encoded word (`=?charset?encoding?text?=')")]
    EncodedShape(String),
    /// An encoded word whose encoding is neither `b` nor `q`.
    #[error("encoded word `{0}' has an encoding other than `b' and `q'")]
    EncodedEncoding(String),
    /// An encoded word with characters that its charset or encoding does not allow.
    #[error("encoded word `{0}' has characters that its encoding does not allow")]
    EncodedText(String),
}

/// Checks a name that a `newgroup` message or `addgroup` is to create,
/// by the rules of C News's name checker.
///
/// # Errors
/// The first rule that the name violates. A name without errors is always [safe](is_safe).
pub fn check_new(name: &[u8]) -> Result<(), NameError> {
    check_new_within(name, NEW_PART_BYTES_MAX)
}

/// As [`check_new`], with another limit on the length of a part, bytes, for
/// sites that carry hierarchies with long names.
///
/// # Errors
/// As [`check_new`].
pub fn check_new_within(name: &[u8], part_bytes_max: usize) -> Result<(), NameError> {
    let Some(&first) = name.first() else {
        return Err(NameError::Empty);
    };
    if name.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong);
    }
    let parts = || name.split(|&byte| byte == b'.');
    if parts().any(<[u8]>::is_empty) {
        return Err(NameError::BadDots);
    }
    for part in parts().filter(|part| !is_encoded_word(part)) {
        check_characters(part)?;
    }
    if !first.is_ascii_lowercase() {
        return Err(NameError::FirstNotLetter);
    }
    for reserved in ["control", "junk"] {
        if name
            .strip_prefix(reserved.as_bytes())
            .is_some_and(|rest| rest.first() == Some(&b'.'))
        {
            return Err(NameError::ReservedPrefix(reserved));
        }
    }
    let mut before: &[u8] = b"";
    for part in parts() {
        if is_encoded_word(part) {
            check_encoded_word(part)?;
        } else {
            check_part(part, part_bytes_max)?;
        }
        if part == before {
            return Err(NameError::RepeatedPart(text(part)));
        }
        before = part;
    }
    Ok(())
}

fn check_characters(part: &[u8]) -> Result<(), NameError> {
    for &byte in part {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'_' => {}
            b'A'..=b'Z' => return Err(NameError::UpperCase(byte)),
            _ => return Err(NameError::IllegalCharacter(byte)),
        }
    }
    Ok(())
}

fn check_part(part: &[u8], part_bytes_max: usize) -> Result<(), NameError> {
    for reserved in ["all", "ctl"] {
        if part == reserved.as_bytes() {
            return Err(NameError::ReservedPart(reserved));
        }
    }
    if part.iter().all(u8::is_ascii_digit) {
        return Err(NameError::AllDigits(text(part)));
    }
    if !part.first().is_some_and(u8::is_ascii_alphanumeric) {
        return Err(NameError::PunctuationFirst(text(part)));
    }
    if !part.iter().any(u8::is_ascii_alphabetic) {
        return Err(NameError::NoLetter(text(part)));
    }
    if part.len() > part_bytes_max {
        return Err(NameError::PartTooLong {
            part: text(part),
            max: part_bytes_max,
        });
    }
    // One `++` may end a part: `c++`, but neither `++x` nor `c+++`.
    let inner =
        part.strip_suffix(b"++").map_or(
            part,
            |inner| {
                if inner.ends_with(b"+") { part } else { inner }
            },
        );
    let repeats = inner
        .iter()
        .zip(inner.iter().skip(1))
        .any(|(a, b)| a == b && !a.is_ascii_alphanumeric());
    if repeats {
        return Err(NameError::RepeatedPunctuation(text(part)));
    }
    Ok(())
}

fn is_encoded_word(part: &[u8]) -> bool {
    part.starts_with(b"=?")
}

/// Checks an encoded word (RFC 2047) within one part: `=?charset?encoding?text?=`. The text cannot contain
/// dots, because the name is split at dots first.
fn check_encoded_word(part: &[u8]) -> Result<(), NameError> {
    let bad_shape = || NameError::EncodedShape(text(part));
    let inner = part
        .strip_prefix(b"=?")
        .and_then(|rest| rest.strip_suffix(b"?="))
        .ok_or_else(bad_shape)?;
    let mut fields = inner.split(|&byte| byte == b'?');
    let (charset, encoding, encoded) = match (fields.next(), fields.next(), fields.next()) {
        (Some(charset), Some(encoding), Some(encoded)) if fields.next().is_none() => {
            (charset, encoding, encoded)
        }
        _ => return Err(bad_shape()),
    };
    if charset.is_empty() || encoding.is_empty() || encoded.is_empty() {
        return Err(bad_shape());
    }
    let base64 = match encoding {
        b"b" | b"B" => true,
        b"q" | b"Q" => false,
        _ => return Err(NameError::EncodedEncoding(text(part))),
    };
    let in_charset = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+');
    // `/` belongs to base 64 but separates paths, so it is rejected.
    let in_text = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'+' | b'=')
            || (!base64 && matches!(byte, b'-' | b'_'))
    };
    if charset.iter().all(in_charset) && encoded.iter().all(in_text) {
        Ok(())
    } else {
        Err(NameError::EncodedText(text(part)))
    }
}

fn text(part: &[u8]) -> String {
    part.escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str) -> String {
        check_new(name.as_bytes()).map_or_else(|error| error.to_string(), |()| "ok".into())
    }

    #[test]
    fn ordinary_names_pass() {
        for name in [
            "comp.lang.c",
            "comp.lang.c++",
            "comp.sys.mc6809",
            "c.lang.c",
            "alt.x-y_z",
            "control",
            "junk",
            "controlled.x",
            "eunet.=?a?b?x?=",
            "eunet.=?iso-8859-1?q?caf=E9?=",
        ] {
            assert_eq!(error(name), "ok", "{name}");
            assert!(is_safe(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn each_rule_has_its_message() {
        for (name, expected) in [
            ("", "empty"),
            (".a", "dot"),
            ("a.", "dot"),
            ("a..b", "dot"),
            ("1a.b", "begin with a letter"),
            ("Comp.x", "upper-case letter `C'"),
            ("comp.X", "upper-case letter `X'"),
            ("control.cancel", "`control.'"),
            ("junk.x", "`junk.'"),
            ("comp.sys.6809", "all digits"),
            ("comp.-x", "punctuation"),
            ("comp.+x", "punctuation"),
            ("comp.1-2", "no letter"),
            ("comp.all", "`all' is reserved"),
            ("comp.all.x", "`all' is reserved"),
            ("comp.ctl", "`ctl' is reserved"),
            ("comp.abcdefghijklmnopqrstuvwxyzabcde", "longer than 30"),
            ("comp.a b", "illegal character ` '"),
            ("comp/x", "illegal character `/'"),
            ("comp.\u{e9}", "illegal character `\\xc3'"),
            ("comp.a--b", "repeats"),
            ("comp.a__b", "repeats"),
            ("comp.a++x", "repeats"),
            ("comp.c+++", "repeats"),
            ("comp.comp", "repeated in succession"),
            ("x.=?a?b?x", "complete encoded word"),
            ("x.=?a?b?=", "complete encoded word"),
            ("x.=?a?z?x?=", "other than `b' and `q'"),
            ("x.=?a?b?x/y?=", "does not allow"),
            ("=?a?b?x?=.y", "begin with a letter"),
        ] {
            assert!(error(name).contains(expected), "{name}: {}", error(name));
        }
    }

    #[test]
    fn a_site_can_permit_longer_parts() {
        assert!(check_new(b"alt.documentaries-x").is_ok());
        assert!(check_new_within(b"alt.documentaries-x", 14).is_err());
        let long = [b"alt.", &[b'x'; 31][..]].concat();
        assert!(check_new(&long).is_err());
        assert!(check_new(&long[..34]).is_ok());
    }

    #[test]
    fn every_byte_and_pair_of_dots_is_found_at_every_offset() {
        for len in 1..40 {
            for place in 0..len {
                for byte in 0..=255u8 {
                    let mut name = vec![b'a'; len];
                    name[place] = byte;
                    let at_end = place == 0 || place == len - 1;
                    let expected = is_safe_byte(byte)
                        && !(byte == b'.' && at_end)
                        && !(place == 0 && matches!(byte, b'-' | b'#'));
                    assert_eq!(is_safe(&name), expected, "{}", name.escape_ascii());
                }
                if place > 1 {
                    let mut name = vec![b'a'; len + 2];
                    name[place - 1..=place].fill(b'.');
                    assert!(!is_safe(&name), "{}", name.escape_ascii());
                    name[place - 1] = b'/';
                    assert!(!is_safe(&name), "{}", name.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn unsafe_names_are_rejected() {
        for name in [
            "", ".", "..", "a.", ".a", "a..b", "../../x", "a/b", "a b", "a\tb", "a\nb", "a\\b",
            "a,b", "a:b", "-a", "#a", "!a", "a*", "a\0b", "a\x7f",
        ] {
            assert!(!is_safe(name.as_bytes()), "{name:?}");
        }
        assert!(!is_safe(&[b'a'; NAME_BYTES_MAX + 1]));
        assert!(!is_safe(&[b'a'; SAFE_PART_BYTES_MAX + 1]));
        let mut two = vec![b'a'; SAFE_PART_BYTES_MAX];
        two.extend_from_slice(b".b");
        assert!(is_safe(&two));
        for name in [
            "a",
            "alt.2600",
            "fr.=?x?q?y?=",
            "comp.\u{e9}t\u{e9}",
            "a.-b",
        ] {
            assert!(is_safe(name.as_bytes()), "{name:?}");
        }
    }
}
