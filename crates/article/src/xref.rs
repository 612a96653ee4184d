//! The Xref header: the numbers of an article, `host group:number group:number`.

/// A parsed Xref value, borrowed from its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xref<'a> {
    host: &'a [u8],
    links: &'a [u8],
}

impl<'a> Xref<'a> {
    /// Parses a value; invalid elements are skipped.
    pub fn parse(value: &'a [u8]) -> Xref<'a> {
        let end = value
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(value.len());
        let (host, links) = value.split_at_checked(end).unwrap_or((value, b""));
        Xref { host, links }
    }

    /// The host that wrote the header.
    pub fn host(&self) -> &'a [u8] {
        self.host
    }

    /// The groups and numbers. Elements other than `group:number` are skipped.
    pub fn links(&self) -> impl Iterator<Item = (&'a [u8], u64)> + Clone + use<'a> {
        self.elements().filter_map(link)
    }

    /// The elements other than `group:number`, each with the name before its first colon.
    pub fn malformed(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let malformed = self.elements().filter(|element| link(element).is_none());
        malformed.map(|element| {
            let end = element.iter().position(|&byte| byte == b':');
            let name = element.get(..end.unwrap_or(element.len()));
            (element, name.unwrap_or(element))
        })
    }

    fn elements(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let elements = self.links.split(u8::is_ascii_whitespace);
        elements.filter(|element| !element.is_empty())
    }
}

fn link(element: &[u8]) -> Option<(&[u8], u64)> {
    let mut parts = element.split(|&b| b == b':');
    let (group, number) = (parts.next()?, parts.next()?);
    let plain = !group.is_empty() && parts.next().is_none() && !number.is_empty();
    (plain && number.iter().all(u8::is_ascii_digit)).then_some(())?;
    Some((group, std::str::from_utf8(number).ok()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(value: &[u8]) -> Vec<(&[u8], u64)> {
        Xref::parse(value).links().collect()
    }

    #[test]
    fn host_and_links_are_read() {
        let value = b"news.example.org comp.lang.c:12 \t comp.std.c:3";
        assert_eq!(Xref::parse(value).host(), b"news.example.org");
        assert_eq!(
            links(value),
            [(&b"comp.lang.c"[..], 12), (b"comp.std.c", 3)]
        );
        assert!(links(b"").is_empty());
        assert!(links(b"host").is_empty());
    }

    #[test]
    fn malformed_elements_are_skipped() {
        let value = b"h blah a:b:2 ok:4  ok:-1 x:2 x x:1roger x: :3 big:99999999999999999999999";
        assert_eq!(links(value), [(&b"ok"[..], 4), (b"x", 2)]);
        let malformed: Vec<_> = Xref::parse(b"h a:1  b:18x c d:1:2").malformed().collect();
        let right: [(&[u8], &[u8]); 3] = [(b"b:18x", b"b"), (b"c", b"c"), (b"d:1:2", b"d")];
        assert_eq!(malformed, right);
    }
}
