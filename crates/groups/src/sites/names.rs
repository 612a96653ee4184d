//! Feed names. A site has one feed with its own name; where lines of `sys` send to it in different ways, each further way is
//! a feed of its own, `NAME:2` and so on. Cursors are stored under these names, so a way keeps its name when lines are added, removed or moved.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

use crate::site::Site;
use crate::via::Via;

/// The recorded feed names, each with the digest of its way.
#[derive(Debug, Clone, Default)]
pub struct FeedNames {
    of_site: HashMap<Vec<u8>, Vec<(u64, u64)>>,
}

impl FeedNames {
    /// The file in the news directory with the names and ways of the feeds, as they were when something was filed last.
    pub const FILE: &str = "feeds.names";

    /// Parses a text of [`FeedNames::text`]. Invalid lines are skipped; those feeds are named by their order.
    pub fn parse(text: &[u8]) -> FeedNames {
        let mut names = FeedNames::default();
        for line in text.split(|&byte| byte == b'\n') {
            if let Some((site, number, digest)) = parts(line) {
                let known = names.of_site.entry(site.to_vec()).or_default();
                known.push((number, digest));
            }
        }
        names
    }

    /// The text that records the names of these feeds: a line `NAME DIGEST` for each.
    pub fn text<'s>(feeds: impl Iterator<Item = (&'s [u8], &'s Site)>) -> Vec<u8> {
        let mut text = Vec::new();
        for (name, site) in feeds {
            text.extend_from_slice(name);
            text.extend_from_slice(format!(" {:016x}\n", digest(&site.via)).as_bytes());
        }
        text
    }

    /// The names in such a text, in its order.
    pub fn names(text: &[u8]) -> impl Iterator<Item = &[u8]> {
        let lines = text.split(|&byte| byte == b'\n');
        lines.filter_map(|line| Some(line.split_at_checked(blank(line)?)?.0))
    }

    /// Assigns a feed name to each site, in the order of the sites. A recorded way keeps its name; any other gets the first free
    /// number.
    pub(super) fn assign(&self, sites: &[Site]) -> Vec<Vec<u8>> {
        let mut numbers: HashMap<(&[u8], &Via), u64> = HashMap::new();
        let mut taken: HashSet<(&[u8], u64)> = HashSet::new();
        for site in sites {
            let Some(known) = self.of_site.get(&site.name) else {
                continue;
            };
            let digest = digest(&site.via);
            let had = known.iter().find(|(_, known)| *known == digest);
            if let Some((number, _)) = had
                && !numbers.contains_key(&(site.name.as_slice(), &site.via))
                && taken.insert((&site.name, *number))
            {
                numbers.insert((&site.name, &site.via), *number);
            }
        }
        let mut lasts: HashMap<&[u8], u64> = HashMap::new();
        let names = sites.iter().map(|site| {
            let number = *numbers.entry((&site.name, &site.via)).or_insert_with(|| {
                let last = lasts.entry(&site.name).or_default();
                loop {
                    *last += 1;
                    if taken.insert((&site.name, *last)) {
                        break *last;
                    }
                }
            });
            match number {
                1 => site.name.clone(),
                number => [&site.name, format!(":{number}").as_bytes()].concat(),
            }
        });
        names.collect()
    }
}

fn blank(line: &[u8]) -> Option<usize> {
    line.iter().rposition(|&byte| byte == b' ')
}

/// The site, the number of its feed and the digest in a line.
fn parts(line: &[u8]) -> Option<(&[u8], u64, u64)> {
    let (name, digest) = line.split_at_checked(blank(line)?)?;
    let digest = u64::from_str_radix(std::str::from_utf8(digest.get(1..)?).ok()?, 16).ok()?;
    let colon = name.iter().rposition(|&byte| byte == b':');
    let (site, number) = match colon {
        None => (name, 1),
        Some(at) => {
            let (site, number) = name.split_at_checked(at)?;
            (site, article::decimal::parse(number.get(1..)?)?)
        }
    };
    (number > 0).then_some((site, number, digest))
}

/// FNV-1a of the `Debug` form of a way, which must not change between releases: renaming a type or field of [`Via`] changes all digests.
fn digest(via: &Via) -> u64 {
    struct Digest(u64);
    impl fmt::Write for Digest {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for byte in text.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
            Ok(())
        }
    }
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    // It cannot fail: nothing above returns an error.
    let _ = write!(digest, "{via:?}");
    digest.0
}
