//! Site names as parts of arguments and paths.

use crate::site_directory::SITE_NAME_BYTES_MAX;

/// Whether a name may be part of an argument or path: letters, digits, `.`, `-` and `_`, without a leading dot or dash.
pub fn is_site_name(name: &[u8]) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=SITE_NAME_BYTES_MAX).contains(&name.len())
        && name.iter().copied().all(allowed)
        && !name.starts_with(b".")
        && !name.starts_with(b"-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_reach_elsewhere_are_refused() {
        for good in ["ihnp4", "news.example.org", "a_b", "a-b", "4a"] {
            assert!(is_site_name(good.as_bytes()), "{good}");
        }
        for bad in ["", "..", ".x", "-r", "a/b", "a b", "a!b", "a\n", "a$b", "ä"] {
            assert!(!is_site_name(bad.as_bytes()), "{bad}");
        }
        assert!(!is_site_name(&[b'a'; 256]));
    }
}
