//! The Path header: which sites an article has come through.
//!
//! As in C News, what counts is the Path as it came, without its last component (the user). In an article that
//! a moderator approved it ends with the site of the approval, because what is behind that says how the
//! submission reached the moderator, and a site there may well want the article.

use crate::{Article, Header};

/// The part of a Path that counts for loops and hops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path<'a> {
    sites: &'a [u8],
}

impl<'a> Path<'a> {
    /// The Path of an article; `None` if it has none.
    pub fn of(article: &Article<'a>) -> Option<Path<'a>> {
        let approval = article
            .value(Header::Approved)
            .or_else(|| article.value(Header::Sender));
        Some(Path::new(article.value(Header::Path)?, approval))
    }

    /// The Path of that value. `approval` is the value of Approved, or else of Sender.
    pub fn new(value: &'a [u8], approval: Option<&[u8]>) -> Path<'a> {
        // The delimiter before the user stays: it is the hop from the site to us.
        let user = memchr::memrchr(b'!', value).map_or(0, |at| at + 1);
        let sites = value.get(..user).unwrap_or_default();
        let cut = approval
            .and_then(approving_site)
            .and_then(|site| end_of_host(sites, site));
        Path {
            sites: cut.and_then(|end| sites.get(..end)).unwrap_or(sites),
        }
    }

    /// The sites, the nearest first. A site is a run of letters, digits, dots and hyphens.
    pub fn sites(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.sites
            .split(|&b| !is_host(b))
            .filter(|site| !site.is_empty())
    }

    /// The site that sent the article to us; `None` for one that was posted here.
    pub fn first_site(&self) -> Option<&'a [u8]> {
        self.sites().next()
    }

    /// Whether the article has been at a site. The whole name is compared, as it is.
    pub fn contains_site(&self, name: &[u8]) -> bool {
        self.sites().any(|site| site == name)
    }

    /// How many hops the article has made: delimiters that a site or the end follows. 0 for one posted here.
    pub fn hop_count(&self) -> usize {
        let next = self
            .sites
            .iter()
            .skip(1)
            .map(Some)
            .chain(std::iter::once(None));
        self.sites
            .iter()
            .zip(next)
            .filter(|(b, next)| !is_host(**b) && next.is_none_or(|next| is_host(*next)))
            .count()
    }
}

fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-'
}

/// The site of `user@site`, a comment or bracket behind it left out.
fn approving_site(value: &[u8]) -> Option<&[u8]> {
    let at = memchr::memrchr(b'@', value)?;
    let site = value.get(at + 1..)?.split(|&b| !is_host(b)).next()?;
    (!site.is_empty()).then_some(site)
}

/// Where the first site of that name ends in a Path.
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

    fn sites(value: &str) -> Vec<String> {
        let path = Path::new(value.as_bytes(), None);
        path.sites()
            .map(|site| String::from_utf8_lossy(site).into_owned())
            .collect()
    }

    #[test]
    fn the_user_is_no_site() {
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
    fn an_approval_ends_the_path() {
        let path = Path::new(
            b"us!hub!mod.site!author!user",
            Some(b"Mod <mod@mod.site> (x)"),
        );
        assert_eq!(path.hop_count(), 2);
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
    }
}
