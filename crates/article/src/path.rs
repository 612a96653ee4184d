//! The Path header: the sites that an article has passed through.
//!
//! As in C News, the Path counts as received, without its last component (the user). In an article approved by
//! a moderator it ends at the site of the approval: the part after that shows how the submission reached the
//! moderator, and a site in that part may still want the article.

use memchr::memmem;

use crate::scan::{host_ends, last_place, length_until};
use crate::{Article, Header};

/// The part of a Path that is used for loop detection and the hop count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path<'a> {
    sites: &'a [u8],
}

impl<'a> Path<'a> {
    /// The Path of an article, or `None` if it has none.
    pub fn of(article: &Article<'a>) -> Option<Path<'a>> {
        let approval = article
            .value(Header::Approved)
            .or_else(|| article.value(Header::Sender));
        Some(Path::new(article.value(Header::Path)?, approval))
    }

    /// Whether the value of a Path header begins with the mark of an injecting agent, `.POSTED` (RFC 5537, 3.2.1): no site has relayed the
    /// article yet.
    pub fn is_of_injection(value: &[u8]) -> bool {
        strip_injection_mark(value).len() < value.len()
    }

    /// Parses the value of a Path header. `approval` is the value of Approved, or else of Sender.
    pub fn new(value: &'a [u8], approval: Option<&[u8]>) -> Path<'a> {
        let value = strip_injection_mark(value);
        // The delimiter before the user stays: it is the hop from that site to this one.
        let user = last_place(value, b'!').map_or(0, |at| at + 1);
        let sites = value.get(..user).unwrap_or_default();
        let cut = approval
            .and_then(approving_site)
            .and_then(|site| end_of_host(sites, site));
        Path {
            // With the delimiter after it, which is the hop from there.
            sites: cut.and_then(|end| sites.get(..=end)).unwrap_or(sites),
        }
    }

    /// The sites, nearest first. A site is a run of letters, digits, dots and hyphens.
    #[inline]
    pub fn sites(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.sites;
        std::iter::from_fn(move || {
            while !rest.is_empty() {
                let len = length_until(rest, host_ends);
                let (site, after) = rest.split_at_checked(len)?;
                rest = after.get(1..).unwrap_or_default();
                if len > 0 {
                    return Some(site);
                }
            }
            None
        })
    }

    /// The site that sent the article to this one, or `None` for an article posted here.
    pub fn first_site(&self) -> Option<&'a [u8]> {
        self.sites().next()
    }

    /// Whether the article has passed through a site. The comparison is exact and covers whole names: no character of a
    /// site name may be adjacent to the match. Names with other characters (`a_b`) can be found too.
    pub fn contains_site(&self, name: &[u8]) -> bool {
        let is_edge = |at: Option<usize>| {
            at.and_then(|at| self.sites.get(at))
                .is_none_or(|&b| !is_host(b))
        };
        !name.is_empty()
            && memmem::find_iter(self.sites, name)
                .any(|at| is_edge(at.checked_sub(1)) && is_edge(Some(at + name.len())))
    }

    /// The hop count: delimiters followed by a site or by the end. 0 for an article posted here.
    pub fn hop_count(&self) -> usize {
        let mut hops = 0;
        let mut is_open = false;
        for &byte in self.sites {
            let is_host = is_host(byte);
            hops += usize::from(is_open && is_host);
            is_open = !is_host;
        }
        hops + usize::from(is_open)
    }
}

/// Strips the injection mark at the start, `.POSTED!` or `.POSTED.client!` (RFC 5537, 3.2.1). The mark is not a site: an
/// article that begins with it has not been relayed yet.
fn strip_injection_mark(value: &[u8]) -> &[u8] {
    const MARK: &[u8] = b".POSTED";
    match value.split_at_checked(MARK.len()) {
        Some((mark, rest))
            if matches!(rest.first(), Some(b'!' | b'.')) && mark.eq_ignore_ascii_case(MARK) =>
        {
            let end = memchr::memchr(b'!', rest).map_or(rest.len(), |at| at + 1);
            rest.get(end..).unwrap_or_default()
        }
        _ => value,
    }
}

#[inline]
fn is_host(byte: u8) -> bool {
    HOST.get(usize::from(byte)).is_some_and(|&is_host| is_host)
}

/// The bytes of a site name. Path is read byte by byte, and a table look-up is fastest here.
static HOST: [bool; 256] = {
    let mut table = [false; 256];
    let mut rest: &mut [bool] = &mut table;
    let mut byte = 0u8;
    while let [entry, tail @ ..] = rest {
        *entry = byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
        byte = byte.wrapping_add(1);
        rest = tail;
    }
    table
};

/// The site in `user@site`, without a comment or bracket after it.
fn approving_site(value: &[u8]) -> Option<&[u8]> {
    let at = memchr::memrchr(b'@', value)?;
    let site = value.get(at + 1..)?.split(|&b| !is_host(b)).next()?;
    (!site.is_empty()).then_some(site)
}

/// The offset in a Path where the first site with this name ends.
fn end_of_host(path: &[u8], name: &[u8]) -> Option<usize> {
    let mut start = 0;
    for site in path.split(|&b| !is_host(b)) {
        let end = start + site.len();
        if site == name {
            return Some(end);
        }
        start = end + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sites(value: &str) -> Vec<String> {
        let path = Path::new(value.as_bytes(), None);
        path.sites()
            .map(|site| String::from_utf8_lossy(site).into_owned())
            .collect()
    }

    #[test]
    fn the_user_is_not_a_site() {
        assert_eq!(sites("a.b!c-d!user"), ["a.b", "c-d"]);
        assert_eq!(sites("user"), Vec::<String>::new());
        assert_eq!(sites("a!b%c!not-for-mail"), ["a", "b", "c"]);
        assert_eq!(sites(""), Vec::<String>::new());
    }

    #[test]
    fn hops_are_counted_as_delimiters() {
        let hops = |value: &str| Path::new(value.as_bytes(), None).hop_count();
        assert_eq!(hops("user"), 0);
        assert_eq!(hops("a!user"), 1);
        assert_eq!(hops("a!b!user"), 2);
        assert_eq!(hops("a!!b!user"), 2);
        assert_eq!(hops("!a!user"), 2);
    }

    #[test]
    fn the_injection_mark_is_not_a_site() {
        let path = |value: &'static str| Path::new(value.as_bytes(), None);
        for local in [
            ".POSTED!not-for-mail",
            ".posted!u",
            ".POSTED.client.example!u",
        ] {
            assert_eq!(path(local).hop_count(), 0, "{local}");
            assert_eq!(path(local).first_site(), None, "{local}");
        }
        assert_eq!(path(".POSTED!gate!u").hop_count(), 1);
        assert!(path(".POSTED!gate!u").contains_site(b"gate"));
        assert_eq!(path(".POSTEDX!u").hop_count(), 1);
    }

    #[test]
    fn an_approval_ends_the_path() {
        let path = Path::new(
            b"us!hub!mod.site!author!user",
            Some(b"Mod <mod@mod.site> (x)"),
        );
        assert_eq!(path.hop_count(), 3);
        assert!(path.contains_site(b"hub"));
        assert!(!path.contains_site(b"author"));
        let elsewhere = Path::new(b"us!hub!user", Some(b"mod@else"));
        assert_eq!(elsewhere.hop_count(), 2);
        // A whole name: `site' does not end it at `mod.site'.
        assert_eq!(Path::new(b"mod.site!a!u", Some(b"x@site")).hop_count(), 2);
    }

    #[test]
    fn whole_names_are_compared() {
        let path = Path::new(b"news.site!u", None);
        assert!(!path.contains_site(b"site"));
        assert!(path.contains_site(b"news.site"));
        assert!(!path.contains_site(b"news"));
        assert!(!path.contains_site(b"u"));
        assert!(!path.contains_site(b""));
        assert!(Path::new(b"ab!b!u", None).contains_site(b"b"));
    }

    #[test]
    fn a_name_with_unusual_characters_is_found() {
        let path = Path::new(b"x!a_b!u", None);
        assert!(path.contains_site(b"a_b") && path.contains_site(b"b"));
        assert!(!path.contains_site(b"a_"));
    }

    proptest! {
        #[test]
        fn sites_and_hops_are_those_of_one_byte_at_a_time(value in "[ab.!%_-]{0,30}", name in "[ab.-]{1,3}") {
            let path = Path::new(value.as_bytes(), None);
            prop_assert_eq!(path.contains_site(name.as_bytes()), path.sites().any(|site| site == name.as_bytes()));
            let text = path.sites;
            let next_is_host = |at: usize| text.get(at + 1).is_none_or(|&b| is_host(b));
            let hops = (0..text.len()).filter(|&at| !is_host(text[at]) && next_is_host(at)).count();
            prop_assert_eq!(path.hop_count(), hops);
        }
    }
}
