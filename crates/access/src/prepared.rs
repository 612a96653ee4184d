//! The form in which names and passwords are stored and compared: SASLprep (RFC 4013). Many characters have several encodings, which
//! look the same.

use std::borrow::Cow;

/// The prepared form of a name or password. ASCII stays the same.
///
/// # Errors
/// The prohibited character, as the rest of a sentence.
pub fn prepared(text: &str) -> Result<Cow<'_, str>, String> {
    stringprep::saslprep(text).map_err(|error| {
        let why = error.to_string();
        let shown = why.chars().map(|c| match c.is_ascii_graphic() || c == ' ' {
            true => c.to_string(),
            false => c.escape_unicode().to_string(),
        });
        let shown: String = shown.collect();
        format!("cannot be used (SASLprep, RFC 4013): {shown}")
    })
}

/// Whether both have the same prepared form.
pub(crate) fn is_same_name(one: &[u8], other: &[u8]) -> bool {
    if one == other {
        return true;
    }
    let form = |name| prepared(str::from_utf8(name).ok()?).ok();
    match (form(one), form(other)) {
        (Some(one), Some(other)) => !one.is_empty() && one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_encodings_have_one_form() {
        // RFC 4013, 3: the examples.
        let of = |text| prepared(text).map(Cow::into_owned);
        assert_eq!(of("I\u{ad}X").as_deref(), Ok("IX"));
        assert_eq!(of("user").as_deref(), Ok("user"));
        assert_eq!(of("USER").as_deref(), Ok("USER"));
        assert_eq!(of("\u{aa}").as_deref(), Ok("a"));
        assert_eq!(of("\u{2168}").as_deref(), Ok("IX"));
        assert!(of("\u{627}\u{31}").is_err());
        let error = of("\u{7}").unwrap_err();
        assert!(error.ends_with("prohibited character `\\u{7}`"), "{error}");
        assert_eq!(of("gru\u{308}\u{df}e").as_deref(), Ok("gr\u{fc}\u{df}e"));
    }

    #[test]
    fn names_are_compared_prepared() {
        assert!(is_same_name("zo\u{eb}".as_bytes(), "zoe\u{308}".as_bytes()));
        assert!(is_same_name(b"\xff", b"\xff"));
        assert!(!is_same_name(b"anna", b"Anna"));
        assert!(!is_same_name(b"", "\u{ad}".as_bytes()));
    }
}
