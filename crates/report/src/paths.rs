//! Statistics of Path headers for Top1000, as INN's sendinpaths mails them: which sites articles have passed, and from which site to
//! which.
//!
//! The form is that of inpaths 2.x and ninpaths: two lists between lines `ZCZC begin` and `ZCZC end`. In the first, `inhosts`, a line is
//! a count and a site. In the second, `inpaths`, `SITE H COUNT Z FROM U COUNT Z FROM U ...` says how many articles SITE got from each FROM.
//!
//! Path diagnostics (`.POSTED`, `.MISMATCH` and the like, RFC 5536, 3.1.5) are left out: they are no sites, and may have the address of a
//! poster.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::ControlFlow;

use article::parse::Form;
use article::{Article, Header};
use store::{HistoryLine, Snapshot};

/// Sites in memory; articles do not count for further ones.
pub const SITES_MAX: usize = 200_000;
/// Pairs of sites in memory; further ones do not count.
pub const LINKS_MAX: usize = 1_000_000;
/// Longest name of a site, bytes; what follows a longer one in a Path does not count, as in ninpaths.
pub const SITE_BYTES_MAX: usize = 127;
/// The version of the form: that of ninpaths.
const VERSION: &str = "3.1.1";
/// Part of all articles that a link must have to be printed: one in 5000, as in ninpaths.
const LINK_PART: u64 = 5_000;
/// Column after which a line goes on in the next one.
const COLUMNS: usize = 70;

/// Sites and links of Path headers.
#[derive(Debug, Clone, Default)]
pub struct PathStatistics {
    sites: HashMap<Box<[u8]>, usize>,
    /// By the number of the site: articles.
    counts: Vec<u64>,
    /// Articles that the first site got from the second.
    links: HashMap<(usize, usize), u64>,
    /// Articles.
    total: u64,
    /// The sum of their arrival times, seconds since 1970.
    arrivals: i128,
}

impl PathStatistics {
    /// The statistics of the articles that arrived at a time, seconds since 1970, or later, and are still in the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn since(snapshot: &Snapshot, seconds: i64) -> Result<PathStatistics, store::Error> {
        let mut paths = PathStatistics::default();
        let mut first = None;
        snapshot.filed_since(seconds, None, usize::MAX, |found| {
            first = Some(found.position);
            ControlFlow::Break(())
        })?;
        let Some(first) = first else {
            return Ok(paths);
        };
        let _: ControlFlow<()> = snapshot.each_article((first, snapshot.end()), |logged| {
            let line = logged.record.line();
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let arrival = HistoryLine::parse(line).and_then(|line| line.arrival);
            if let Some(arrival) = arrival.filter(|arrival| *arrival >= seconds) {
                let article = Article::parse(logged.record.wire_article(), Form::Wire);
                if let Some(path) = article.value(Header::Path) {
                    paths.add(path, arrival);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(paths)
    }

    /// Adds a Path header of an article that arrived then.
    pub fn add(&mut self, path: &[u8], arrival: i64) {
        let end = path.iter().position(u8::is_ascii_whitespace);
        let path = path.get(..end.unwrap_or(path.len())).unwrap_or_default();
        self.total += 1;
        self.arrivals += i128::from(arrival);
        // The last part is no site.
        let Some(end) = memchr::memrchr(b'!', path) else {
            return;
        };
        let sites = path
            .get(..end)
            .unwrap_or_default()
            .split(|byte| *byte == b'!');
        let mut before = None;
        for site in sites.filter(|site| !matches!(site.first(), None | Some(b'.'))) {
            if site.len() > SITE_BYTES_MAX {
                return;
            }
            let Some(site) = self.site(site) else {
                return;
            };
            if let Some(count) = self.counts.get_mut(site) {
                *count += 1;
            }
            if let Some(before) = before.filter(|before| *before != site) {
                let is_room = self.links.len() < LINKS_MAX;
                match self.links.get_mut(&(before, site)) {
                    Some(count) => *count += 1,
                    None if is_room => drop(self.links.insert((before, site), 1)),
                    None => {}
                }
            }
            before = Some(site);
        }
    }

    fn site(&mut self, name: &[u8]) -> Option<usize> {
        if let Some(number) = self.sites.get(name) {
            return Some(*number);
        }
        let number = self.counts.len();
        (number < SITES_MAX).then(|| {
            self.sites.insert(name.into(), number);
            self.counts.push(0);
            number
        })
    }

    /// Number of articles.
    pub fn articles(&self) -> u64 {
        self.total
    }

    /// Writes the two lists as the site `own`, which is not listed itself. `now` in seconds since 1970.
    ///
    /// # Errors
    /// An error of `out`.
    pub fn write(&self, own: &str, now: i64, out: &mut dyn Write) -> io::Result<()> {
        let mean = self.arrivals / i128::from(self.total.max(1));
        let age = (i128::from(now) - mean) as f64 / 86_400.0;
        let mut names: Vec<(&[u8], usize)> = Vec::new();
        let mut by_number: Vec<&[u8]> = vec![b""; self.counts.len()];
        for (name, number) in &self.sites {
            let is_own = **name == *own.as_bytes();
            if let Some(slot) = by_number.get_mut(*number).filter(|_| !is_own) {
                *slot = name;
                names.push((name, *number));
            }
        }
        names.sort_unstable();
        let mut links: Vec<(usize, u64, usize)> = Vec::new();
        for ((site, from), count) in &self.links {
            links.push((*site, *count, *from));
        }
        links.sort_by(|one, other| (one.0, other.1, one.2).cmp(&(other.0, one.1, other.2)));
        let of = |site: usize| {
            let start = links.partition_point(|(other, ..)| *other < site);
            let rest = links.get(start..).unwrap_or_default();
            rest.iter().take_while(move |(other, ..)| *other == site)
        };
        let head = format!("{VERSION} {own} 2 {} {age:.1}", self.total);
        writeln!(out, "ZCZC begin inhosts {head}")?;
        for (name, number) in &names {
            // A site without a link before it is only the start of Paths.
            if of(*number).next().is_some() {
                let count = self.counts.get(*number).copied().unwrap_or_default();
                write!(out, "{count}\t")?;
                out.write_all(name)?;
                writeln!(out)?;
            }
        }
        writeln!(out, "ZCZC end inhosts {own}")?;
        writeln!(out, "ZCZC begin inpaths {head}")?;
        for (name, number) in &names {
            let mut column = 0;
            for (_, count, from) in of(*number) {
                let from = by_number.get(*from).copied().unwrap_or_default();
                if count.saturating_mul(LINK_PART) <= self.total || from.is_empty() {
                    continue;
                }
                if column > COLUMNS {
                    writeln!(out)?;
                    column = 0;
                }
                if column == 0 {
                    out.write_all(name)?;
                    write!(out, " H ")?;
                    column = name.len() + 3;
                }
                write!(out, "{count} Z ")?;
                out.write_all(from)?;
                write!(out, " U ")?;
                column += from.len() + 9;
            }
            if column > 0 {
                writeln!(out)?;
            }
        }
        writeln!(out, "ZCZC end inpaths {own}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(paths: &PathStatistics) -> String {
        let mut out = Vec::new();
        paths.write("us.example", 3 * 86_400, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn sites_and_links_are_counted() {
        let mut paths = PathStatistics::default();
        paths.add(b"us.example!a!b!!c!user", 2 * 86_400);
        paths.add(
            b"us.example!a!.MATCH!b!.POSTED.192.0.2.1!not-for-mail (x)",
            86_400,
        );
        paths.add(b"us.example!not-for-mail", 86_400 + 86_400 / 2);
        assert_eq!(
            written(&paths),
            "ZCZC begin inhosts 3.1.1 us.example 2 3 1.5\n2\ta\n2\tb\nZCZC end inhosts us.example\n\
             ZCZC begin inpaths 3.1.1 us.example 2 3 1.5\na H 2 Z b U \nb H 1 Z c U \nZCZC end inpaths us.example\n"
        );
    }

    proptest! {
        #[test]
        fn no_path_makes_it_panic(all: Vec<Vec<u8>>) {
            let mut paths = PathStatistics::default();
            for path in &all {
                paths.add(path, 0);
            }
            let mut out = Vec::new();
            paths.write("x", 0, &mut out).unwrap();
        }
    }
}
