//! Articles in files whose lines end in CRLF: what programs of other systems save, and a program that writes what it read from the network.

/// The article in native form, if each line of its header, the empty line behind it and its last line end in CRLF. Other line ends of its body stay.
///
/// An article whose last line has no CRLF may be cut off: a batch whose lines got CRLF later has counts that are too small.
pub fn to_native(article: &[u8]) -> Option<Vec<u8>> {
    let first = memchr::memchr(b'\n', article).and_then(|end| article.get(..end))?;
    if !first.ends_with(b"\r") || !article.ends_with(b"\r\n") {
        return None;
    }
    let mut header = article.split_inclusive(|&byte| byte == b'\n');
    let has_crlf = header
        .by_ref()
        .take_while(|line| *line != b"\r\n")
        .all(|line| line.ends_with(b"\r\n"));
    if !has_crlf {
        return None;
    }
    let mut native = Vec::with_capacity(article.len());
    let mut rest = article;
    while let Some(at) = memchr::memmem::find(rest, b"\r\n") {
        let (line, after) = rest.split_at_checked(at)?;
        native.extend_from_slice(line);
        native.push(b'\n');
        rest = after.get(2..)?;
    }
    native.extend_from_slice(rest);
    Some(native)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_articles_with_crlf_throughout_their_header_are_converted() {
        for (text, right) in [
            (
                "A: b\r\nC: d\r\n\r\nx\r\n.\r\n",
                Some("A: b\nC: d\n\nx\n.\n"),
            ),
            ("A: b\r\n\r\nx\ny\rz\r\r\n", Some("A: b\n\nx\ny\rz\r\n")),
            ("A: b\r\n", Some("A: b\n")),
            ("A: b\r\nC: d\n\nx\r\n", None),
            ("A: b\r\n\r\nx", None),
            ("A: b\n\nx\r\n", None),
            ("", None),
        ] {
            let native = to_native(text.as_bytes());
            assert_eq!(native.as_deref(), right.map(str::as_bytes), "{text:?}");
        }
    }
}
