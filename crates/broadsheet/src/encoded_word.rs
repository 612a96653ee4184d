//! Encoded words of headers (RFC 2047), decoded for searches.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The value with its encoded words in UTF-8. Words in other character sets than UTF-8, US-ASCII and those like Latin-1, and malformed ones, stay
/// as they are.
pub fn decode(value: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let mut rest = value;
    let mut is_after_word = false;
    while let Some(at) = memchr::memmem::find(rest, b"=?") {
        let (before, word) = rest.split_at_checked(at).unwrap_or_default();
        // Blanks between two words belong to neither (RFC 2047, 6.2).
        let is_gap = is_after_word && before.iter().all(|byte| b" \t".contains(byte));
        match decoded(word) {
            Some((text, after)) => {
                if !is_gap {
                    out.extend_from_slice(before);
                }
                out.extend_from_slice(&text);
                (rest, is_after_word) = (after, true);
            }
            None => {
                out.extend_from_slice(before);
                out.extend_from_slice(b"=?");
                (rest, is_after_word) = (word.get(2..).unwrap_or_default(), false);
            }
        }
    }
    if out.is_empty() {
        return Cow::Borrowed(value);
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// The text of the encoded word at the start, and the bytes behind it.
fn decoded(word: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut parts = word.strip_prefix(b"=?")?.splitn(3, |&byte| byte == b'?');
    let (charset, encoding, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let end = memchr::memmem::find(rest, b"?=")?;
    let (text, after) = (rest.get(..end)?, rest.get(end + 2..)?);
    let bytes = match encoding {
        b"B" | b"b" => BASE64_STANDARD.decode(text).ok()?,
        b"Q" | b"q" => quoted(text)?,
        _ => return None,
    };
    // A language may follow the name (RFC 2231, 5).
    let charset = charset.split(|&byte| byte == b'*').next()?;
    let is_one_of = |names: &[&str]| {
        let mut names = names.iter();
        names.any(|name| charset.eq_ignore_ascii_case(name.as_bytes()))
    };
    if is_one_of(&["utf-8", "utf8", "us-ascii"]) {
        return Some((bytes, after));
    }
    let latin: String = bytes.into_iter().map(char::from).collect();
    let is_latin = is_one_of(&["iso-8859-1", "iso-8859-15", "windows-1252", "latin1"]);
    is_latin.then(|| (latin.into_bytes(), after))
}

/// RFC 2047, 4.2.
fn quoted(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    while let Some((&byte, after)) = text.split_first() {
        text = after;
        match byte {
            b'_' => out.push(b' '),
            b'=' => {
                let (digits, after) = text.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok()?;
                out.push(u8::from_str_radix(digits, 16).ok()?);
                text = after;
            }
            byte => out.push(byte),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_decoded_and_others_stay() {
        for (value, expected) in [
            ("plain", "plain"),
            ("=?UTF-8?Q?J=C3=BCrgen_M?= <j@a>", "Jürgen M <j@a>"),
            ("=?iso-8859-1?q?J=FCrgen?=", "Jürgen"),
            ("a =?utf-8?B?w7w=?= =?utf-8*de?b?w7w=?= b", "a üü b"),
            ("=?koi8-r?Q?abc?= =?utf-8?Q?d?=", "=?koi8-r?Q?abc?= d"),
            ("=?utf-8?Q?=C?= =?x", "=?utf-8?Q?=C?= =?x"),
        ] {
            let found = decode(value.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), expected);
        }
    }
}
