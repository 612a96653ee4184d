//! One type for both pattern languages.

use crate::pattern::Pattern;
use crate::wildmat::Wildmat;

/// A compiled pattern of either language.
#[derive(Debug, Clone)]
pub enum Matcher {
    /// C News's language: `comp,!comp.sys`.
    CNews(Pattern),
    /// INN's language: `comp.*,!comp.sys.*`.
    Wildmat(Wildmat),
}

impl Matcher {
    /// Whether the pattern matches this group.
    pub fn matches(&self, group: &[u8]) -> bool {
        match self {
            Self::CNews(pattern) => pattern.matches(group),
            Self::Wildmat(wildmat) => wildmat.matches(group),
        }
    }

    /// Whether the pattern matches any group of a Newsgroups value.
    pub fn matches_any(&self, newsgroups: &[u8]) -> bool {
        match self {
            Self::CNews(pattern) => pattern.matches_any(newsgroups),
            Self::Wildmat(wildmat) => wildmat.matches_any(newsgroups),
        }
    }
}
