//! A site: which articles it gets, and how. This crate stores commands and does not run them.

use crate::pattern::Pattern;
use crate::text_position::TextPosition;
use crate::via::Via;

/// Most lines of `sys` and `[[site]]` tables together.
pub const SITES_MAX: usize = 100_000;

/// Which articles a site gets, by moderation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Only {
    /// All articles.
    #[default]
    Any,
    /// Articles in at least one moderated group.
    Moderated,
    /// Articles in no moderated group.
    Unmoderated,
}

impl Only {
    /// Whether the site gets an article that is (or is not) moderated.
    pub fn accepts(self, moderated: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Moderated => moderated,
            Self::Unmoderated => !moderated,
        }
    }
}

/// The first articles that a new site gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// From the oldest stored article on.
    Oldest,
    /// From the time at which the site is first seen.
    #[default]
    Now,
    /// From this arrival time on, seconds since 1970.
    Date(i64),
}

/// A site: a line of `sys`, or a `[[site]]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Its position in the file.
    pub place: TextPosition,
    /// Its name; our own where `sys` has `ME`.
    pub name: Vec<u8>,
    /// Whether it is a line of `sys` for this system itself, which gets no articles.
    pub is_me: bool,
    /// Sites that, if in the Path, keep the article from this one.
    pub exclusions: Vec<Vec<u8>>,
    /// The subscription ([`Pattern::parse_poison`]), matched with Newsgroups.
    pub subs: Pattern,
    /// The distributions ([`Pattern::of_distributions`]); if absent, Distribution is matched with [`subs`](Self::subs).
    pub dists: Option<Pattern>,
    /// Limits the site to moderated or to unmoderated articles.
    pub only: Only,
    /// Most hops in the Path.
    pub hops_max: Option<u32>,
    /// Largest article, bytes as filed, including Xref and our name in Path.
    pub size_max: Option<u64>,
    /// The first articles it gets when it is new.
    pub start: Start,
    /// How its articles travel.
    pub via: Via,
}

/// The sites in `broadsheet.toml`, which crate `settings` reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tables {
    /// `accept`.
    pub accept: Option<Accept>,
    /// The `[[site]]` tables, in order.
    pub sites: Vec<Site>,
}

/// The groups that we accept ourselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// Where it is written.
    pub place: TextPosition,
    /// The groups.
    pub groups: Pattern,
}
