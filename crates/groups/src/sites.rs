//! The sites: what we take ourselves, which other site gets what, and how. One model behind the lines of `sys`
//! and the `[[site]]` tables of `broadsheet.toml`; both may be used at once, those of `sys` come first.
//!
//! Nothing here runs a command: it is only kept.

mod names;

use std::sync::Arc;

use std::collections::{HashMap, HashSet};

use thiserror::Error;

use crate::pattern::Pattern;
use crate::place::Place;
use crate::sys::{self, SysFault};

pub use names::FeedNames;

pub use crate::site::{Accept, Only, SITES_MAX, Site, Start, Tables};
pub use crate::via::{
    BATCH_BYTES, BATCH_OVERSIZE, BatchVia, Build, Compress, Gives, ListForm, Queue, To, Via,
};

/// All of them. A clone costs next to nothing: every feed that is served has one.
#[derive(Debug, Clone)]
pub struct Sites {
    me: Vec<u8>,
    accepts: Pattern,
    accepts_place: Option<Place>,
    sites: Arc<[Site]>,
    /// The name of each site's feed.
    feeds: Arc<[Vec<u8>]>,
}

/// The two files do not go together, or `sys` has a fault: nothing is filed until it is mended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SitesFault {
    /// A line of `sys`.
    #[error(transparent)]
    Sys(#[from] SysFault),
    /// A `[[site]]` with our own name.
    #[error(
        "{place}: site `{name}' is this system itself; what it takes is said by `accept', at the top of the file"
    )]
    Ourselves {
        /// Where.
        place: Place,
        /// Its name.
        name: String,
    },
    /// A `[[site]]` of a name that is there already.
    #[error("{second}: site `{name}' is already written at {first}; keep one of them")]
    Twice {
        /// Its name.
        name: String,
        /// Where it was first.
        first: Place,
        /// Where it is again.
        second: Place,
    },
    /// `sys` has a line for us, and `broadsheet.toml` says `accept`.
    #[error("{second}: what we take is already said at {first}; keep one of them")]
    AcceptTwice {
        /// The line of `sys`.
        first: Place,
        /// The key.
        second: Place,
    },
    /// There are over [`SITES_MAX`].
    #[error("{0}: more than {SITES_MAX} sites")]
    TooMany(Place),
}

impl Sites {
    /// Puts both files together. `me` is our own name, which a line of `sys` may have in place of `ME`; `sys`
    /// is the text of that file, empty where there is none.
    ///
    /// What we accept is said by the first line of `sys` for us, or by `accept`; without either we accept `all`.
    ///
    /// # Errors
    /// The first line of `sys` that is wrong, or what the files say both.
    pub fn read(sys: &[u8], tables: &Tables, me: &[u8]) -> Result<Self, SitesFault> {
        let mut sites = sys::lines(sys, me)?;
        let own = sites.iter().find(|site| site.is_me);
        let (accepts, accepts_place) = match (own, &tables.accept) {
            (Some(own), Some(accept)) => {
                return Err(SitesFault::AcceptTwice {
                    first: own.place,
                    second: accept.place,
                });
            }
            (Some(own), None) => (own.subs.clone(), Some(own.place)),
            (None, Some(accept)) => (accept.groups.clone(), Some(accept.place)),
            (None, None) => (Pattern::parse(b"all"), None),
        };
        add_tables(&mut sites, &tables.sites, me)?;
        let feeds = FeedNames::default().give(&sites);
        Ok(Self {
            me: me.to_vec(),
            accepts,
            accepts_place,
            sites: sites.into(),
            feeds: feeds.into(),
        })
    }

    /// As [`Sites::read`], where there are no `[[site]]` tables.
    ///
    /// # Errors
    /// The first line that is wrong. Every fault is fatal, as in C News.
    pub fn parse(sys: &[u8], me: &[u8]) -> Result<Self, SitesFault> {
        Self::read(sys, &Tables::default(), me)
    }

    /// Lets feeds keep the names they have had.
    #[must_use]
    pub fn with_names(mut self, names: &FeedNames) -> Self {
        self.feeds = names.give(&self.sites).into();
        self
    }

    /// Our own name.
    pub fn me(&self) -> &[u8] {
        &self.me
    }

    /// The groups we accept.
    pub fn subscription(&self) -> &Pattern {
        &self.accepts
    }

    /// Where it is written which groups we accept; `None` where nothing says so.
    pub fn subscription_place(&self) -> Option<Place> {
        self.accepts_place
    }

    /// Every line of `sys`, our own among them, then every `[[site]]`, in the order of the files. Lines of
    /// `sys` may name the same site several times.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The name of a site's feed, by its index in [`sites`](Self::sites): what records of articles name, and
    /// under what its cursor is kept. It is the site's name; but where lines of `sys` send to one site in
    /// different ways, each further way is a feed of its own, `NAME:2` and so on (no name has a colon). Which way has which name
    /// is kept: [`with_names`](Self::with_names).
    pub fn feed_name(&self, index: usize) -> &[u8] {
        self.feeds.get(index).map_or(b"", Vec::as_slice)
    }

    /// Each feed once, with the first line or table that is written for it.
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

fn add_tables(sites: &mut Vec<Site>, tables: &[Site], me: &[u8]) -> Result<(), SitesFault> {
    let mut places: HashMap<Vec<u8>, Place> = HashMap::new();
    for site in sites.iter().filter(|site| !site.is_me) {
        places.entry(site.name.clone()).or_insert(site.place);
    }
    for site in tables {
        let name = || site.name.escape_ascii().to_string();
        if site.name == me || site.name == sys::ME {
            return Err(SitesFault::Ourselves {
                place: site.place,
                name: name(),
            });
        }
        if let Some(first) = places.insert(site.name.clone(), site.place) {
            return Err(SitesFault::Twice {
                name: name(),
                first,
                second: site.place,
            });
        }
        if sites.len() >= SITES_MAX {
            return Err(SitesFault::TooMany(site.place));
        }
        sites.push(site.clone());
    }
    Ok(())
}
