//! Which sites get an article, once the matrix has said who wants it.
//!
//! What is left depends on Path: a site drops out when it, or a site it excludes, is there already,
//! and when a line with flag L wants articles from nearer by. Every host of Path is looked up once
//! in a table made from the sys file, so the cost grows with the length of Path and not with the
//! number of sites.

use article::Article;
use article::path::Path as ArticlePath;
use groups::matrix::Bits;
use groups::sys::Sys;
use hashbrown::HashMap;

/// The sys file, turned around: which lines a host in Path closes.
#[derive(Debug)]
pub struct Subscribers {
    /// The lines (counted from 0) that drop out when this host is in Path: its own, and those that
    /// exclude it.
    closed_by: HashMap<Vec<u8>, Vec<u32>>,
    /// Names that are not one run of host characters (`a_b`), which the walk along Path cannot meet.
    odd: Vec<Vec<u8>>,
    /// Lines whose site has an earlier line.
    again: Vec<bool>,
    /// The lines that dropped out of the article at hand.
    closed: Vec<u32>,
}

impl Subscribers {
    /// Made once a sys file.
    pub fn new(sys: &Sys) -> Subscribers {
        let mut closed_by: HashMap<Vec<u8>, Vec<u32>> = HashMap::new();
        let mut again = Vec::with_capacity(sys.sites().len());
        for (line, site) in (0..).zip(sys.sites()) {
            let own = closed_by.entry_ref(site.name.as_slice());
            let own = own.or_default();
            own.push(line);
            again.push(own.len() > 1);
        }
        // After all names, so that `again` is about names only.
        for (line, site) in (0..).zip(sys.sites()) {
            for excluded in &site.exclusions {
                let lines = closed_by.entry_ref(excluded.as_slice());
                lines.or_default().push(line);
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
            again,
            closed: Vec::new(),
        }
    }

    /// Appends the names of the sites that get an article, a blank between them, in the order of the
    /// sys file, each once. `selected` are the lines that want it.
    pub fn push_sites(
        &mut self,
        article: &Article<'_>,
        sys: &Sys,
        selected: &Bits,
        out: &mut Vec<u8>,
    ) {
        let mut wanting = selected.sites().peekable();
        if wanting.peek().is_none() {
            return;
        }
        self.closed.clear();
        let path = ArticlePath::of(article);
        if let Some(path) = &path {
            let odd = self.odd.iter().map(Vec::as_slice);
            let odd = odd.filter(|name| path.contains_site(name));
            for host in path.sites().chain(odd) {
                if let Some(lines) = self.closed_by.get(host) {
                    self.closed.extend_from_slice(lines);
                }
            }
        }
        // Counted once, and only when a line asks.
        let mut counted = None;
        let mut hops =
            || *counted.get_or_insert_with(|| path.as_ref().map_or(0, |path| path.hop_count()));
        for line in wanting {
            let Some(site) = sys.sites().get(line) else {
                continue;
            };
            let is_too_far = site
                .flags
                .hops_max
                .is_some_and(|hops_max| hops() > hops_max as usize);
            let is_closed = self.closed.iter().any(|closed| *closed as usize == line);
            let is_again = self.again.get(line).copied().unwrap_or_default()
                && out
                    .split(|byte| *byte == b' ')
                    .any(|name| name == site.name);
            if is_too_far || is_closed || is_again || site.is_me {
                continue;
            }
            if !out.is_empty() {
                out.push(b' ');
            }
            out.extend_from_slice(&site.name);
        }
    }
}
