//! Parses control messages.

use article::{Article, Header, date, syntax};

/// Maximum number of words of Control that are parsed.
pub const WORDS_MAX: usize = 256;
/// Longest sender address, bytes; a longer one counts as empty.
pub const ADDRESS_BYTES_MAX: usize = 512;

/// A control message other than a cancel.
#[derive(Debug)]
pub struct Request<'a> {
    /// Its message-id.
    pub id: &'a [u8],
    /// The value of Control.
    pub control: &'a [u8],
    /// The first word of Control, in lower case if it is a known command.
    pub kind: &'a [u8],
    /// The other words.
    pub words: Vec<&'a [u8]>,
    /// The address of Sender, or else of From, in lower case.
    pub sender: Vec<u8>,
    /// The value of From.
    pub from: &'a [u8],
    /// The value of Approved, unless it is empty.
    pub approved: Option<&'a [u8]>,
    /// Its Date, seconds since 1970.
    pub seconds: Option<i64>,
}

impl<'a> Request<'a> {
    /// Parses the Control header of an article; `None` without one.
    pub fn of(article: &Article<'a>, zone: &dyn date::LocalZone) -> Option<Request<'a>> {
        let value = |header| article.value(header).filter(|value| !value.is_empty());
        let control = value(Header::Control)?;
        let mut words = control
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let from = value(Header::From).unwrap_or_default();
        Some(Request {
            id: value(Header::MessageId).unwrap_or_default(),
            control,
            kind: super::kind_of(words.next().unwrap_or_default()),
            words: words.take(WORDS_MAX).collect(),
            sender: address(value(Header::Sender).unwrap_or(from)),
            from,
            approved: value(Header::Approved),
            seconds: value(Header::Date).and_then(|text| date::parse(text, zone)),
        })
    }

    /// The group to create or remove; empty for other messages.
    pub fn group(&self) -> &'a [u8] {
        match self.kind {
            b"newgroup" | b"rmgroup" => self.words.first().copied().unwrap_or_default(),
            _ => b"",
        }
    }
}

/// The address in a From header, in lower case, without name and comments.
pub fn address(value: &[u8]) -> Vec<u8> {
    match value.len() {
        ..=ADDRESS_BYTES_MAX => long_address(value),
        _ => Vec::new(),
    }
}

/// As [`address`], of a header of any length.
pub fn long_address(value: &[u8]) -> Vec<u8> {
    let mut plain = syntax::strip_cfws(value);
    if let Some(open) = memchr::memrchr(b'<', &plain) {
        plain.drain(..=open);
        if let Some(close) = memchr::memchr(b'>', &plain) {
            plain.truncate(close);
        }
    }
    plain.trim_ascii().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (value, wanted) in [
            (
                "group-admin@ISC.org (David C Lawrence)",
                "group-admin@isc.org",
            ),
            ("David <Tale@uu.net>", "tale@uu.net"),
            ("a!b!c", "a!b!c"),
            ("", ""),
            ("<", ""),
        ] {
            let told = String::from_utf8(address(value.as_bytes())).unwrap();
            assert_eq!(told, wanted, "{value}");
        }
        assert_eq!(address(&[b'a'; ADDRESS_BYTES_MAX + 1]), b"");
    }
}
