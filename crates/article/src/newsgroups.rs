//! The Newsgroups header: a comma-separated list of names.

/// Returns the names in order, without blanks and line ends around them (RFC 5536, 3.1.4). Empty names are skipped, as in C News;
/// blanks within a name stay, and the relay refuses such an article.
pub fn split(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(value);
    let names = std::iter::from_fn(move || {
        let list = rest?;
        let (name, behind) = match memchr::memchr(b',', list) {
            Some(at) => (list.get(..at)?, list.get(at + 1..)),
            None => (list, None),
        };
        rest = behind;
        Some(trimmed(name))
    });
    names.filter(|name| !name.is_empty())
}

/// A name without the white space that a fold may have around it: blanks, tabs, and ends of lines.
pub fn trimmed(mut name: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..]
    | [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = name
    {
        name = rest;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_skipped() {
        let names: Vec<_> = split(b",test.a,,b c,").collect();
        assert_eq!(names, [&b"test.a"[..], b"b c"]);
    }

    #[test]
    fn names_may_have_blanks_and_folds_around_them() {
        let names: Vec<_> = split(b"test.a,\r\n\ttest.b , test.c d\n ,\n ,e\x0c").collect();
        assert_eq!(names, [&b"test.a"[..], b"test.b", b"test.c d", b"e\x0c"]);
    }
}
