//! A site: what it gets, and how. Nothing here runs a command: it is only kept.

use crate::pattern::Pattern;
use crate::place::Place;
use crate::via::Via;

/// Most lines of `sys` and `[[site]]` tables together.
pub const SITES_MAX: usize = 100_000;

/// Articles of which groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Only {
    /// All.
    #[default]
    Any,
    /// Those with a moderated group.
    Moderated,
    /// Those without a moderated group.
    Unmoderated,
}

impl Only {
    /// Whether an article that is moderated, or is not, may go.
    pub fn takes(self, moderated: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Moderated => moderated,
            Self::Unmoderated => !moderated,
        }
    }
}

/// From where on a new site gets articles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// From the oldest there is.
    Oldest,
    /// From when it is first met.
    #[default]
    Now,
    /// Those that arrived from this second since 1970 on.
    Date(i64),
}

/// A site: a line of `sys`, or a `[[site]]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Where it was written.
    pub place: Place,
    /// Its name; our own where `sys` has `ME`.
    pub name: Vec<u8>,
    /// Whether it is a line of `sys` for this system itself: its articles go nowhere.
    pub is_me: bool,
    /// Sites which, found in a Path, keep the article from this one.
    pub exclusions: Vec<Vec<u8>>,
    /// The subscription, against Newsgroups.
    pub subs: Pattern,
    /// The distributions; where absent, Distribution is held against [`subs`](Self::subs).
    pub dists: Option<Pattern>,
    /// Moderated articles only, or unmoderated ones.
    pub only: Only,
    /// Only articles whose Path has at most so many hops.
    pub hops_max: Option<u32>,
    /// Only articles of at most so many bytes, as filed: Path with our name, and Xref, are counted.
    pub size_max: Option<u64>,
    /// From where on it gets articles, when it is new.
    pub start: Start,
    /// How they travel.
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
    pub place: Place,
    /// The groups.
    pub groups: Pattern,
}
