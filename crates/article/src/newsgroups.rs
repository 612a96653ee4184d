//! The Newsgroups header: a comma-separated list of names.

/// Returns the names in order. Empty names are skipped, as in C News; blanks within a name stay, and the
/// relay refuses such an article.
pub fn split(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(value);
    let names = std::iter::from_fn(move || {
        let list = rest?;
        let (name, behind) = match memchr::memchr(b',', list) {
            Some(at) => (list.get(..at)?, list.get(at + 1..)),
            None => (list, None),
        };
        rest = behind;
        Some(name)
    });
    names.filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_skipped() {
        let names: Vec<_> = split(b",test.a,,b c,").collect();
        assert_eq!(names, [&b"test.a"[..], b"b c"]);
    }
}
