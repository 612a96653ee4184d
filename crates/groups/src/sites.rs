//! The sites: what this site accepts, which other site gets which articles, and how. One model for the lines of `sys`
//! and the `[[site]]` tables of `broadsheet.toml`; both may be used at once, and those of `sys` come first.
//!
//! This crate stores commands and does not run them.

mod names;

use std::sync::Arc;

use std::collections::{HashMap, HashSet};

use thiserror::Error;

use crate::pattern::Pattern;
use crate::sys::{self, SysError};
use crate::text_position::TextPosition;

pub use names::FeedNames;

pub use crate::site::{Accept, Only, SITES_MAX, Site, Start, Tables};
pub use crate::via::{
    BATCH_BYTES, BATCH_OVERSIZE, BatchVia, Build, Compress, Gives, ListForm, NntpVia, Queue, To,
    Via,
};

/// All sites. A clone is cheap: every feed that is served has one.
#[derive(Debug, Clone)]
pub struct Sites {
    me: Vec<u8>,
    accepts: Pattern,
    accepts_place: Option<TextPosition>,
    sites: Arc<[Site]>,
    /// The feed name of each site.
    feeds: Arc<[Vec<u8>]>,
}

/// The error of reading the sites. Nothing is filed until the administrator corrects it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SitesError {
    /// An error in `sys`.
    #[error(transparent)]
    Sys(#[from] SysError),
    /// A `[[site]]` table with our own name.
    #[error(
        "{position}: site `{name}' is this system itself; set what it accepts with `accept' at the top of the file"
    )]
    Ourselves {
        /// Its position.
        position: TextPosition,
        /// Its name.
        name: String,
    },
    /// A `[[site]]` table with the name of another one.
    #[error("{second}: site `{name}' is already defined at {first}; remove one of them")]
    Twice {
        /// Its name.
        name: String,
        /// The first definition.
        first: TextPosition,
        /// The second definition.
        second: TextPosition,
    },
    /// `sys` has a line for this site, and `broadsheet.toml` has `accept`.
    #[error(
        "{second}: the groups that this site accepts are already set at {first}; remove one of them"
    )]
    AcceptTwice {
        /// The line of `sys`.
        first: TextPosition,
        /// The key.
        second: TextPosition,
    },
    /// More than [`SITES_MAX`] sites.
    #[error("{0}: more than {SITES_MAX} sites")]
    TooMany(TextPosition),
}

impl Sites {
    /// Reads both files. `me` is our own name, which a line of `sys` may contain in place of `ME`; `sys`
    /// is the text of that file, empty if there is none.
    ///
    /// The first line of `sys` for this site, or `accept`, sets the groups that this site accepts; without either it accepts `all`.
    ///
    /// # Errors
    /// The first error in `sys`, or a contradiction between the files.
    pub fn read(sys: &[u8], tables: &Tables, me: &[u8]) -> Result<Self, SitesError> {
        let mut sites = sys::lines(sys, me)?;
        let own = sites.iter().find(|site| site.is_me);
        let (accepts, accepts_place) = match (own, &tables.accept) {
            (Some(own), Some(accept)) => {
                return Err(SitesError::AcceptTwice {
                    first: own.place,
                    second: accept.place,
                });
            }
            (Some(own), None) => (own.subs.clone(), Some(own.place)),
            (None, Some(accept)) => (accept.groups.clone(), Some(accept.place)),
            (None, None) => (Pattern::parse(b"all"), None),
        };
        add_tables(&mut sites, &tables.sites, me)?;
        let feeds = FeedNames::default().assign(&sites);
        Ok(Self {
            me: me.to_vec(),
            accepts,
            accepts_place,
            sites: sites.into(),
            feeds: feeds.into(),
        })
    }

    /// As [`Sites::read`], without `[[site]]` tables.
    ///
    /// # Errors
    /// The first error in a line. Every error is fatal, as in C News.
    pub fn parse(sys: &[u8], me: &[u8]) -> Result<Self, SitesError> {
        Self::read(sys, &Tables::default(), me)
    }

    /// Assigns the feed names that `names` has recorded.
    #[must_use]
    pub fn with_names(mut self, names: &FeedNames) -> Self {
        self.feeds = names.assign(&self.sites).into();
        self
    }

    /// Our own name.
    pub fn me(&self) -> &[u8] {
        &self.me
    }

    /// The groups that this site accepts.
    pub fn subscription(&self) -> &Pattern {
        &self.accepts
    }

    /// The position of the setting of the groups that this site accepts; `None` if there is none.
    pub fn subscription_place(&self) -> Option<TextPosition> {
        self.accepts_place
    }

    /// Every line of `sys`, our own among them, then every `[[site]]` table, in the order of the files. Several lines of
    /// `sys` may name the same site.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The feed name of a site, by its index in [`sites`](Self::sites). Article records and cursors use it. It is the
    /// site's name; but where lines of `sys` send to one site in different ways, each further way is a feed of its own,
    /// `NAME:2` and so on (no site name contains a colon). [`with_names`](Self::with_names) keeps the assignment of names
    /// to ways.
    pub fn feed_name(&self, index: usize) -> &[u8] {
        self.feeds.get(index).map_or(b"", Vec::as_slice)
    }

    /// Each feed once, with its first line or table.
    pub fn feeds(&self) -> impl Iterator<Item = (&[u8], &Site)> {
        let mut met = HashSet::new();
        let all = self.feeds.iter().map(Vec::as_slice).zip(&*self.sites);
        all.filter(move |(feed, site)| !site.is_me && met.insert(*feed))
    }

    /// The first line or table of a feed.
    pub fn feed(&self, name: &[u8]) -> Option<&Site> {
        let mut all = self.feeds.iter().zip(&*self.sites);
        all.find(|(feed, site)| feed.as_slice() == name && !site.is_me)
            .map(|(_, site)| site)
    }
}

fn add_tables(sites: &mut Vec<Site>, tables: &[Site], me: &[u8]) -> Result<(), SitesError> {
    let mut places: HashMap<Vec<u8>, TextPosition> = HashMap::new();
    for site in sites.iter().filter(|site| !site.is_me) {
        places.entry(site.name.clone()).or_insert(site.place);
    }
    for site in tables {
        let name = || site.name.escape_ascii().to_string();
        if site.name == me || site.name == sys::ME {
            return Err(SitesError::Ourselves {
                position: site.place,
                name: name(),
            });
        }
        if let Some(first) = places.insert(site.name.clone(), site.place) {
            return Err(SitesError::Twice {
                name: name(),
                first,
                second: site.place,
            });
        }
        if sites.len() >= SITES_MAX {
            return Err(SitesError::TooMany(site.place));
        }
        sites.push(site.clone());
    }
    Ok(())
}
