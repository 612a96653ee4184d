//! Selects the sites that get an article.
//!
//! The matrix gives the sites that subscribe to its groups. Path and size then exclude sites: if the site, or one that it excludes, is in
//! Path, if Path is too long for it, or if the article is too large. Each host of Path is looked up once in a table of names and
//! exclusions, so the cost grows with the length of Path and with the subscribing sites, but not with the number of all sites.

use article::path::Path as ArticlePath;
use article::{Article, Form, Header, newsgroups};
use groups::active::{Active, Flag, GroupId};
use groups::matrix::{Matrix, SiteSet};
use groups::{Site, Sites};
use hashbrown::HashMap;
use store::{HistoryLine, Record};

/// The sites, with precomputed tables: selects the sites of each article.
#[derive(Debug)]
pub struct Selector {
    sites: Sites,
    /// The subscriptions of all sites.
    pub(crate) matrix: Matrix,
    subscribers: Subscribers,
    selected: SiteSet,
    /// The history line of the last queried record, and its feeds.
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

    /// Appends the names of the feeds that get an article during filing, separated by blanks. One that a peer announced was not posted here,
    /// whatever its Path says.
    pub(crate) fn push_feeds(
        &mut self,
        path: Option<&ArticlePath<'_>>,
        is_announced: bool,
        selected: &SiteSet,
        bytes: impl FnOnce() -> u64,
        out: &mut Vec<u8>,
    ) {
        self.subscribers
            .push_feeds(path, is_announced, &self.sites, selected, bytes, out);
    }

    /// Whether a feed gets an article that was filed before the site was known: the result of filing it now, with the current `active`.
    /// Successive queries for one record cost little more than one.
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

    /// Appends the names of the feeds that get a stored article of `bytes` bytes, separated by blanks.
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
        // Filing prepended our name to Path; it was not part of the received one.
        let approval = article
            .value(Header::Approved)
            .or_else(|| article.value(Header::Sender));
        let path = article.value(Header::Path).map(|value| {
            let received = value.strip_prefix(self.sites.me());
            let received = received.and_then(|rest| rest.strip_prefix(b"!"));
            ArticlePath::new(received.unwrap_or(value), approval)
        });
        self.subscribers.push_feeds(
            path.as_ref(),
            false,
            &self.sites,
            &self.selected,
            || bytes,
            out,
        );
    }
}

/// Whether any of the groups is moderated, aliases followed.
pub(crate) fn is_any_moderated(active: &Active, groups: &[GroupId]) -> bool {
    groups
        .iter()
        .filter_map(|id| active.resolve(*id))
        .any(|id| active.flag(id) == Flag::Moderated)
}

/// An index from hosts in Path to the sites that they exclude.
///
/// Path may repeat a host ten thousand times, and thousands of sites may exclude it, so each host counts once for an article, and
/// excludes 64 sites at a time.
#[derive(Debug)]
pub(crate) struct Subscribers {
    /// The sites excluded by each host.
    excluded_by: HashMap<Vec<u8>, ExcludedSites>,
    /// By the first byte of a host, the lengths (up to 63) of those in `excluded_by`: most hosts in Path are not among them, and are
    /// passed over without a hash.
    lengths: [u64; 256],
    lines: Vec<Line>,
    /// The remaining sites of this article.
    remaining: SiteSet,
    /// The number of the current article; 0 before the first.
    generation: u64,
}

#[derive(Debug, Default)]
struct ExcludedSites {
    /// The sites of that name and those that exclude it: words of [`SiteSet`] with their index.
    words: Vec<(usize, u64)>,
    /// The number of the last article with the host in Path.
    last_article: u64,
}

#[derive(Debug)]
struct Line {
    /// The first line of the same feed, which may be this one.
    first: usize,
    /// The number of the last article for the feed; used only in its first line.
    last_article: u64,
    /// It is the only line of its feed, and nothing but its name and exclusions in Path keeps an article from it.
    is_plain: bool,
    /// Its name and exclusions with characters outside of host names (`a_b`), which the scan of Path does not find.
    unusual_names: Vec<Vec<u8>>,
}

impl Subscribers {
    pub(crate) fn new(sites: &Sites) -> Subscribers {
        let mut excluded_by: HashMap<Vec<u8>, ExcludedSites> = HashMap::new();
        let mut lengths = [0; 256];
        let mut first_of = HashMap::new();
        let mut lines = Vec::with_capacity(sites.sites().len());
        for (number, site) in sites.sites().iter().enumerate() {
            let names = || std::iter::once(&site.name).chain(&site.exclusions);
            for name in names().filter(|name| is_host(name)) {
                excluded_by
                    .entry_ref(name.as_slice())
                    .or_default()
                    .add(SiteSet::position_of_site(number));
                if let Some(lengths) = lengths.get_mut(first_byte(name)) {
                    *lengths |= length_bit(name);
                }
            }
            let feed = sites.feed_name(number).to_vec();
            let unusual_names: Vec<_> = names().filter(|name| !is_host(name)).cloned().collect();
            lines.push(Line {
                is_plain: unusual_names.is_empty()
                    && !site.is_me
                    && site.hops_max.or(site.size_max.map(|_| 0)).is_none(),
                first: *first_of.entry(feed).or_insert(number),
                last_article: 0,
                unusual_names,
            });
        }
        let mut lines_of_feed = vec![0; lines.len()];
        for line in &lines {
            if let Some(count) = lines_of_feed.get_mut(line.first) {
                *count += 1;
            }
        }
        for line in &mut lines {
            line.is_plain &= lines_of_feed.get(line.first) == Some(&1);
        }
        Subscribers {
            excluded_by,
            lengths,
            lines,
            remaining: SiteSet::new(),
            generation: 0,
        }
    }

    /// Appends the names of the feeds that get an article, separated by blanks, in the order of the files, each once. `selected` are the
    /// subscribing sites; `bytes` is called only if a site has a size limit.
    pub(crate) fn push_feeds(
        &mut self,
        path: Option<&ArticlePath<'_>>,
        is_announced: bool,
        sites: &Sites,
        selected: &SiteSet,
        bytes: impl FnOnce() -> u64,
        out: &mut Vec<u8>,
    ) {
        if selected.sites().next().is_none() {
            return;
        }
        self.generation += 1;
        self.remaining.clone_from(selected);
        if let Some(path) = path {
            self.exclude(path);
        }
        let mut facts = ArticleFacts {
            path,
            is_announced,
            hops: None,
            bytes: None,
            compute_bytes: Some(bytes),
        };
        for number in self.remaining.sites() {
            let Some(line) = self.lines.get(number) else {
                continue;
            };
            if !line.is_plain {
                let is_in_path = path.is_some_and(|path| {
                    let mut names = line.unusual_names.iter();
                    names.any(|name| path.contains_site(name))
                });
                let site = sites.sites().get(number);
                let is_possible = site.is_some_and(|site| !site.is_me && facts.meets_limits(site));
                if is_in_path || !is_possible {
                    continue;
                }
                let first = line.first;
                if let Some(first) = self.lines.get_mut(first)
                    && std::mem::replace(&mut first.last_article, self.generation)
                        == self.generation
                {
                    continue;
                }
            }
            if !out.is_empty() {
                out.push(b' ');
            }
            out.extend_from_slice(sites.feed_name(number));
        }
    }

    fn exclude(&mut self, path: &ArticlePath<'_>) {
        for host in path.sites() {
            let lengths = self.lengths.get(first_byte(host)).copied();
            if lengths.unwrap_or_default() & length_bit(host) == 0 {
                continue;
            }
            let Some(excluded) = self.excluded_by.get_mut(host) else {
                continue;
            };
            if std::mem::replace(&mut excluded.last_article, self.generation) == self.generation {
                continue;
            }
            for (word, mask) in &excluded.words {
                self.remaining.remove(*word, *mask);
            }
        }
    }
}

fn first_byte(host: &[u8]) -> usize {
    host.first().copied().unwrap_or_default().into()
}

fn length_bit(host: &[u8]) -> u64 {
    1 << host.len().min(63)
}

impl ExcludedSites {
    fn add(&mut self, (word, mask): (usize, u64)) {
        match self.words.last_mut() {
            Some((last, mask_of_last)) if *last == word => *mask_of_last |= mask,
            _ => self.words.push((word, mask)),
        }
    }
}

/// Properties of an article, computed once on demand.
struct ArticleFacts<'a, W> {
    path: Option<&'a ArticlePath<'a>>,
    is_announced: bool,
    hops: Option<usize>,
    bytes: Option<u64>,
    compute_bytes: Option<W>,
}

impl<W: FnOnce() -> u64> ArticleFacts<'_, W> {
    fn meets_limits(&mut self, site: &Site) -> bool {
        if let Some(most) = site.hops_max {
            let (path, is_announced) = (self.path, self.is_announced);
            let hops = *self.hops.get_or_insert_with(|| {
                let hops = path.map_or(0, ArticlePath::hop_count);
                hops.max(usize::from(is_announced))
            });
            if hops > most as usize {
                return false;
            }
        }
        let Some(most) = site.size_max else {
            return true;
        };
        if let Some(compute_bytes) = self.compute_bytes.take() {
            self.bytes = Some(compute_bytes());
        }
        self.bytes.is_none_or(|bytes| bytes <= most)
    }
}

fn is_host(name: &[u8]) -> bool {
    name.iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}
