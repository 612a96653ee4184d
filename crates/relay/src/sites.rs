//! Which sites get an article.
//!
//! The matrix says who wants it. What is left depends on Path and size: a site drops out when it, or a site it
//! excludes, is in Path already, when it wants articles from nearer by, and when the article is too large for
//! it. Every host of Path is looked up once in a table made from the names and exclusions, so the cost grows
//! with the length of Path, and with the sites that want the article, but not with the number of sites.

use article::path::Path as ArticlePath;
use article::{Article, Form, Header, newsgroups};
use groups::active::{Active, Flag, GroupId};
use groups::matrix::{Matrix, SiteSet};
use groups::{Site, Sites};
use hashbrown::HashMap;
use store::{HistoryLine, Record};

/// The sites, and what was worked out of them: says for each article which of them get it.
#[derive(Debug)]
pub struct Selector {
    sites: Sites,
    /// Who subscribes to what.
    pub(crate) matrix: Matrix,
    subscribers: Subscribers,
    selected: SiteSet,
    /// The history line of the record last asked about, and the feeds that get it.
    last: (Vec<u8>, Vec<u8>),
}

impl Selector {
    /// Made once, for all articles.
    pub fn new(active: &Active, sites: Sites) -> Selector {
        Selector {
            matrix: Matrix::new(active, &sites),
            subscribers: Subscribers::new(&sites),
            sites,
            selected: SiteSet::new(),
            last: (Vec::new(), Vec::new()),
        }
    }

    /// The sites.
    pub fn sites(&self) -> &Sites {
        &self.sites
    }

    /// Appends the names of the feeds that get an article that is being filed; a blank between them.
    pub(crate) fn push_feeds(
        &mut self,
        article: &Article<'_>,
        selected: &SiteSet,
        bytes: impl FnOnce() -> u64,
        out: &mut Vec<u8>,
    ) {
        let path = ArticlePath::of(article);
        self.subscribers
            .push_feeds(path.as_ref(), &self.sites, selected, bytes, out);
    }

    /// Whether a feed gets an article that is filed already: for sites that were not known then. It is what
    /// filing it now would say, with `active` as it is now. Asking about several feeds of one record in turn
    /// costs little more than asking about one.
    pub fn wants(&mut self, record: &Record<'_>, feed: &[u8], active: &Active) -> bool {
        if self.last.0 != record.line() {
            let mut feeds = std::mem::take(&mut self.last.1);
            feeds.clear();
            let bytes = HistoryLine::parse(record.line()).and_then(|line| line.size);
            let article = Article::parse(record.wire_article(), Form::Wire);
            self.push_feeds_of_filed(&article, bytes.unwrap_or(0), active, &mut feeds);
            self.last = (record.line().to_vec(), feeds);
        }
        let mut feeds = self.last.1.split(|&byte| byte == b' ');
        feeds.any(|name| name == feed)
    }

    /// Appends the names of the feeds that get an article which lies here, `bytes` large; a blank between them.
    pub fn push_feeds_of_filed(
        &mut self,
        article: &Article<'_>,
        bytes: u64,
        active: &Active,
        out: &mut Vec<u8>,
    ) {
        let mut known: Vec<GroupId> = Vec::new();
        let mut unknown: Vec<&[u8]> = Vec::new();
        for name in newsgroups::split(article.value(Header::Newsgroups).unwrap_or_default()) {
            match active.find(name) {
                Some(id) => known.push(id),
                None => unknown.push(name),
            }
        }
        let moderated = is_any_moderated(active, &known);
        let distribution = article.value(Header::Distribution);
        self.matrix.select(
            active,
            &known,
            &unknown,
            distribution,
            moderated,
            &mut self.selected,
        );
        // Our own name was put in front of Path when the article was filed, and was not there to be looked at.
        let approval = article
            .value(Header::Approved)
            .or_else(|| article.value(Header::Sender));
        let path = article.value(Header::Path).map(|value| {
            let came = value.strip_prefix(self.sites.me());
            let came = came.and_then(|rest| rest.strip_prefix(b"!"));
            ArticlePath::new(came.unwrap_or(value), approval)
        });
        self.subscribers
            .push_feeds(path.as_ref(), &self.sites, &self.selected, || bytes, out);
    }
}

/// Whether any of the groups is moderated, aliases followed.
pub(crate) fn is_any_moderated(active: &Active, groups: &[GroupId]) -> bool {
    groups
        .iter()
        .filter_map(|id| active.resolve(*id))
        .any(|id| active.flag(id) == Flag::Moderated)
}

/// The sites, turned around: which of them a host in Path closes.
///
/// Path may repeat a host ten thousand times, and thousands of sites may exclude it, so each host counts once an
/// article, and closes sixty-four sites at a time.
#[derive(Debug)]
pub(crate) struct Subscribers {
    /// What drops out when this host is in Path.
    closed_by: HashMap<Vec<u8>, Closes>,
    lines: Vec<Line>,
    /// The sites that are still open for this article.
    open: SiteSet,
    /// Counts the articles; 0 is before the first.
    generation: u64,
}

#[derive(Debug, Default)]
struct Closes {
    /// The sites of that name, and those that exclude it: words of [`SiteSet`] by their number.
    words: Vec<(usize, u64)>,
    /// The last article whose Path has the host.
    met: u64,
}

#[derive(Debug)]
struct Line {
    /// The first line of the same feed, which may be this one.
    first: usize,
    /// The last article that the feed gets; only kept in its first line.
    given: u64,
    /// Its own name and those it excludes, where they are not one run of host characters (`a_b`): the walk along
    /// Path does not meet these.
    odd: Vec<Vec<u8>>,
}

impl Subscribers {
    pub(crate) fn new(sites: &Sites) -> Subscribers {
        let mut closed_by: HashMap<Vec<u8>, Closes> = HashMap::new();
        let mut first_of = HashMap::new();
        let mut lines = Vec::with_capacity(sites.sites().len());
        for (number, site) in sites.sites().iter().enumerate() {
            let names = || std::iter::once(&site.name).chain(&site.exclusions);
            for name in names().filter(|name| is_host(name)) {
                closed_by
                    .entry_ref(name.as_slice())
                    .or_default()
                    .add(SiteSet::position_of_site(number));
            }
            let feed = sites.feed_name(number).to_vec();
            lines.push(Line {
                first: *first_of.entry(feed).or_insert(number),
                given: 0,
                odd: names().filter(|name| !is_host(name)).cloned().collect(),
            });
        }
        Subscribers {
            closed_by,
            lines,
            open: SiteSet::new(),
            generation: 0,
        }
    }

    /// Appends the names of the feeds that get an article, a blank between them, in the order of the files, each
    /// once. `selected` are the sites that want it; `bytes` is asked for when a site takes only small articles.
    pub(crate) fn push_feeds(
        &mut self,
        path: Option<&ArticlePath<'_>>,
        sites: &Sites,
        selected: &SiteSet,
        bytes: impl FnOnce() -> u64,
        out: &mut Vec<u8>,
    ) {
        if selected.sites().next().is_none() {
            return;
        }
        self.generation += 1;
        self.open.clone_from(selected);
        if let Some(path) = path {
            self.close(path);
        }
        let mut facts = Facts {
            path,
            hops: None,
            bytes: None,
            weigh: Some(bytes),
        };
        for number in self.open.sites() {
            let (Some(site), Some(line)) = (sites.sites().get(number), self.lines.get(number))
            else {
                continue;
            };
            let is_there =
                path.is_some_and(|path| line.odd.iter().any(|name| path.contains_site(name)));
            if site.is_me || is_there || !facts.suit(site) {
                continue;
            }
            let first = line.first;
            if let Some(first) = self.lines.get_mut(first)
                && std::mem::replace(&mut first.given, self.generation) == self.generation
            {
                continue;
            }
            if !out.is_empty() {
                out.push(b' ');
            }
            out.extend_from_slice(sites.feed_name(number));
        }
    }

    fn close(&mut self, path: &ArticlePath<'_>) {
        for host in path.sites() {
            let Some(closes) = self.closed_by.get_mut(host) else {
                continue;
            };
            if std::mem::replace(&mut closes.met, self.generation) == self.generation {
                continue;
            }
            for (word, mask) in &closes.words {
                self.open.remove(*word, *mask);
            }
        }
    }
}

impl Closes {
    fn add(&mut self, (word, mask): (usize, u64)) {
        match self.words.last_mut() {
            Some((last, mask_of_last)) if *last == word => *mask_of_last |= mask,
            _ => self.words.push((word, mask)),
        }
    }
}

/// What sites may ask of an article, worked out once, and only when one asks.
struct Facts<'a, W> {
    path: Option<&'a ArticlePath<'a>>,
    hops: Option<usize>,
    bytes: Option<u64>,
    weigh: Option<W>,
}

impl<W: FnOnce() -> u64> Facts<'_, W> {
    fn suit(&mut self, site: &Site) -> bool {
        if let Some(most) = site.hops_max {
            let path = self.path;
            let hops = *self
                .hops
                .get_or_insert_with(|| path.map_or(0, ArticlePath::hop_count));
            if hops > most as usize {
                return false;
            }
        }
        let Some(most) = site.size_max else {
            return true;
        };
        if let Some(weigh) = self.weigh.take() {
            self.bytes = Some(weigh());
        }
        self.bytes.is_none_or(|bytes| bytes <= most)
    }
}

fn is_host(name: &[u8]) -> bool {
    name.iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}
