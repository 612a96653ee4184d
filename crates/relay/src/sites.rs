//! Which sites get an article, once the matrix has said who wants it.
//!
//! What is left depends on Path: a site drops out when it, or a site it excludes, is there already,
//! and when a line with flag L wants articles from nearer by. Every host of Path is looked up once
//! in a table made from the exclusions, so the cost grows with the length of Path and not with the
//! number of sites.

use article::Article;
use article::path::Path as ArticlePath;
use groups::Sites;
use groups::matrix::Bits;
use hashbrown::HashMap;

/// The sites, turned around: which lines a host in Path closes.
///
/// Path may repeat a host ten thousand times, and thousands of lines may exclude it, so each host
/// counts once an article, and a closed line is a mark and not an entry in a list.
#[derive(Debug)]
pub struct Subscribers {
    /// What drops out when this host is in Path.
    closed_by: HashMap<Vec<u8>, Closes>,
    /// Names that are not one run of host characters (`a_b`), which the walk along Path cannot meet.
    odd: Vec<Vec<u8>>,
    lines: Vec<Line>,
    /// Counts the articles; 0 is before the first.
    turn: u64,
}

#[derive(Debug, Default)]
struct Closes {
    /// The lines (counted from 0) that are the host's own, and those that exclude it.
    lines: Vec<u32>,
    /// The last article whose Path has the host.
    met: u64,
}

#[derive(Debug)]
struct Line {
    /// The first line of the same feed, which may be this one.
    first: u32,
    /// The last article that the line dropped out of.
    closed: u64,
    /// The last article that the feed gets; only kept in its first line.
    given: u64,
}

impl Subscribers {
    /// Made once, for all articles.
    pub fn new(sites: &Sites) -> Subscribers {
        let mut closed_by: HashMap<Vec<u8>, Closes> = HashMap::new();
        let mut first_of = HashMap::new();
        let mut marks = Vec::with_capacity(sites.sites().len());
        for (line, site) in (0..).zip(sites.sites()) {
            let own = closed_by.entry_ref(site.name.as_slice()).or_default();
            own.lines.push(line);
            let feed = sites.feed_name(line as usize).to_vec();
            marks.push(Line {
                first: *first_of.entry(feed).or_insert(line),
                closed: 0,
                given: 0,
            });
        }
        // After all names, so that `first` is about names only.
        for (line, site) in (0..).zip(sites.sites()) {
            for excluded in &site.exclusions {
                let closes = closed_by.entry_ref(excluded.as_slice()).or_default();
                closes.lines.push(line);
            }
        }
        let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        let odd = closed_by
            .keys()
            .filter(|name| !name.iter().all(is_host))
            .cloned()
            .collect();
        Subscribers {
            closed_by,
            odd,
            lines: marks,
            turn: 0,
        }
    }

    /// Appends the names of the sites that get an article, a blank between them, in the order of the
    /// files, each once. `selected` are the lines that want it.
    pub fn push_sites(
        &mut self,
        article: &Article<'_>,
        sites: &Sites,
        selected: &Bits,
        out: &mut Vec<u8>,
    ) {
        let mut wanting = selected.sites().peekable();
        if wanting.peek().is_none() {
            return;
        }
        self.turn += 1;
        let path = ArticlePath::of(article);
        if let Some(path) = &path {
            let odd = self.odd.iter().map(Vec::as_slice);
            let odd = odd.filter(|name| path.contains_site(name));
            for host in path.sites().chain(odd) {
                let Some(closes) = self.closed_by.get_mut(host) else {
                    continue;
                };
                if std::mem::replace(&mut closes.met, self.turn) == self.turn {
                    continue;
                }
                for line in &closes.lines {
                    if let Some(line) = self.lines.get_mut(*line as usize) {
                        line.closed = self.turn;
                    }
                }
            }
        }
        // Counted once, and only when a line asks.
        let mut counted = None;
        let mut hops =
            || *counted.get_or_insert_with(|| path.as_ref().map_or(0, |path| path.hop_count()));
        for line in wanting {
            let Some(site) = sites.sites().get(line) else {
                continue;
            };
            let is_too_far = site
                .hops_max
                .is_some_and(|hops_max| hops() > hops_max as usize);
            let Some(&Line { first, closed, .. }) = self.lines.get(line) else {
                continue;
            };
            if is_too_far || closed == self.turn || site.is_me {
                continue;
            }
            if let Some(first) = self.lines.get_mut(first as usize)
                && std::mem::replace(&mut first.given, self.turn) == self.turn
            {
                continue;
            }
            if !out.is_empty() {
                out.push(b' ');
            }
            out.extend_from_slice(sites.feed_name(line));
        }
    }
}
