//! Generates the articles of a batch, with the totals of its [`Kind`].

use std::collections::VecDeque;

use super::article::Article;
use super::demo;
use super::groups;
use super::random::{Random, Zipf, mix};
use super::words::{FILL_BYTES_MIN, Letters, Prose, ProseOptions};
use super::{GIGABYTE, Kind, date};

/// Most groups of an article beyond the first.
const CROSS_POSTINGS_MAX: u64 = 5;

/// Bytes that every later article needs at least; so the last article of a batch
/// of fixed size is not required to be smaller than its own header.
const ARTICLE_BYTES_RESERVED: u64 = 1_300;

/// Number of recent articles that a follow-up may answer.
const RECENT: usize = 64;

/// Sizes as thousandths of the mean: most articles are short, a few are long.
const SIZES: &[u64] = &[
    220, 260, 300, 340, 380, 430, 480, 540, 600, 670, 750, 840, 950, 1_080, 1_250, 1_450, 1_750,
    2_300, 2_600, 3_600,
];

const FIRST_NAMES: &[&str] = &[
    "Ada", "Anselm", "Birgit", "Clement", "Dagny", "Edmund", "Farida", "Gwen", "Henrik", "Ines",
    "Jorun", "Katya", "Lionel", "Maud", "Nils", "Oona", "Piers", "Rosalind", "Sunniva", "Tamsin",
    "Ulrik", "Vera", "Wystan", "Yusuf", "Zelda",
];
const SURNAMES: &[&str] = &[
    "Ashdown",
    "Brightwater",
    "Copperfield",
    "Dunmore",
    "Elderfield",
    "Fenwright",
    "Greenaway",
    "Holloway",
    "Inkpen",
    "Jessop",
    "Kettlewell",
    "Larkspur",
    "Merriweather",
    "Northcote",
    "Oakshott",
    "Pennyfeather",
    "Quillon",
    "Ravensworth",
    "Silverlock",
    "Thistledown",
    "Umberleigh",
    "Vantongeren",
    "Wetherby",
    "Yarrow",
];
const PLACES: &[&str] = &[
    "cs.northmoor",
    "ee.seaview",
    "math.oldbridge",
    "gw.copperhill",
    "astro.highfell",
    "lib.stonecross",
    "phys.fairhaven",
    "news.westport",
    "unix.greenwharf",
    "dept.longacre",
    "mail.redcliff",
    "host.silverton",
    "eng.lakeside",
    "ics.marlow",
];
const ORGANIZATIONS: &[&str] = &[
    "Northmoor University, Department of Computing",
    "Seaview Polytechnic",
    "Oldbridge Institute of Mathematics",
    "Copperhill Gateway Cooperative",
    "Highfell Observatory",
    "Stonecross Public Library",
    "Fairhaven Laboratory",
    "Westport Community Network",
    "Greenwharf Software Ltd",
    "None to speak of",
    "Redcliff Post",
    "The Silverton Home for Old Machines",
];
const READERS: &[&str] = &[
    "plume 1.3 (patch 7)",
    "tern [version 2.0 PL4]",
    "Heron News 4.12 (X11)",
    "gannet/0.91",
    "Pigeonhole/2.7 (Linux 2.0.36)",
];
const HOPS: &[&str] = &[
    "northmoor",
    "seaview",
    "oldbridge.example",
    "copperhill",
    "highfell.example",
    "stonecross",
    "fairhaven",
    "westport.example",
    "greenwharf",
    "longacre",
    "redcliff.example",
    "silverton",
    "lakeside",
    "marlow.example",
    "bigrelay",
    "hub1.transit.example",
    "news-peer.example",
    "backbone",
];
const WISDOM: &[&str] = &[
    "Opinions are mine; the typing errors belong to the keyboard.",
    "\"Measure twice, post once.\"",
    "This space is intentionally left thoughtful.",
    "Ask me about tide tables.",
    "Bicycles do not need rebooting.",
];

/// The data that a follow-up needs of the article that it answers.
#[derive(Clone, Debug)]
struct Earlier {
    id: String,
    references: String,
    subject: String,
    group: usize,
}

/// The remaining totals of a batch.
#[derive(Clone, Debug)]
struct Amounts {
    articles: u64,
    /// 0: the size is not fixed.
    bytes: u64,
    cross_postings: u64,
}

/// Iterates over the articles of a batch.
#[derive(Debug)]
pub struct Articles {
    kind: Kind,
    seed: u64,
    random: Random,
    prose: Prose,
    /// Draws groups, frequent ones first.
    popular: Zipf,
    names: Vec<String>,
    left: Amounts,
    made: u64,
    clock: i64,
    recent: VecDeque<Earlier>,
    demo: std::vec::IntoIter<Article>,
}

/// The bytes of an article of `size` bytes with its `#! rnews` line.
fn framed(size: u64) -> u64 {
    size + 10 + u64::from(size.checked_ilog10().unwrap_or(0)) + 1
}

/// The article size that makes `bytes` with its `#! rnews` line, if there is one.
fn unframed(bytes: u64) -> Option<u64> {
    (11..=20)
        .filter_map(|line| bytes.checked_sub(line))
        .find(|&size| framed(size) == bytes)
}

impl Articles {
    /// The articles of this kind and seed.
    pub fn new(kind: Kind, seed: u64) -> Self {
        let (articles, bytes, cross_postings, clock) = match kind {
            // 2 March 1992; March 1996; January 2004; June 2012.
            Kind::Paper => (171, 297_054, 104, 699_494_400),
            Kind::TenThousand => (10_000, 30_000_000, 6_000, 825_638_400),
            Kind::Gigabyte => (333_333, GIGABYTE, 200_000, 1_072_915_200),
            Kind::Like { articles, .. } => (
                articles,
                articles.saturating_mul(3_000),
                articles / 10 * 6,
                1_072_915_200,
            ),
            Kind::Tiny { articles, .. } => (articles, 0, 0, 1_338_508_800),
            Kind::Demo => (0, 0, 0, 0),
        };
        let names = match kind {
            Kind::Demo => Vec::new(),
            _ => groups::names(kind.groups()),
        };
        let demo = match kind {
            Kind::Demo => demo::articles(),
            _ => Vec::new(),
        };
        Articles {
            kind,
            seed,
            random: Random::new(mix(seed) ^ articles),
            prose: Prose::default(),
            popular: Zipf::new(names.len().max(1), 8.0),
            names,
            left: Amounts {
                articles,
                bytes,
                cross_postings,
            },
            made: 0,
            clock,
            recent: VecDeque::with_capacity(RECENT),
            demo: demo.into_iter(),
        }
    }

    /// Draws the number of groups of the next article beyond its first: about the
    /// mean of the remaining total, and never fewer than the later articles require.
    fn extra_groups(&mut self) -> u64 {
        let others = self.left.articles - 1;
        let room = CROSS_POSTINGS_MAX.min(self.names.len() as u64 - 1);
        let forced = self
            .left
            .cross_postings
            .saturating_sub(others.saturating_mul(room));
        // One more group: 50 %, two: 25 %, ... has a mean of 1.94.
        let chance = self.left.cross_postings * 1_000 / self.left.articles * 100 / 194;
        let mut extra = 0;
        if self.random.below(1_000) < chance {
            extra = 1;
            while extra < room && self.random.chance(50) {
                extra += 1;
            }
        }
        extra.max(forced).min(self.left.cross_postings).min(room)
    }

    /// Draws the size of the next article; the last of a batch gets the rest.
    fn size(&mut self) -> u64 {
        let others = self.left.articles - 1;
        if others == 0 {
            return unframed(self.left.bytes).unwrap_or(0);
        }
        let mean = self.left.bytes / self.left.articles;
        let most = self
            .left
            .bytes
            .saturating_sub(others * ARTICLE_BYTES_RESERVED);
        let thousandths = SIZES
            .get(self.random.position(SIZES.len()))
            .copied()
            .unwrap_or(1_000);
        let size = mean * (thousandths + self.random.below(60)) / 1_000;
        let size = size.min(most);
        // A size such as 999 with its line has a neighbour that no article has.
        if others == 1 && unframed(self.left.bytes.saturating_sub(framed(size))).is_none() {
            return size + 1;
        }
        size
    }

    fn id(&mut self, place: &str) -> String {
        // `mix` is a bijection, so no two articles of a seed have the same number.
        let number = base36(mix(self.seed.rotate_left(32) ^ self.made));
        match self.random.below(3) {
            0 => format!("<{}.{number}@{place}.example>", date::stamp(self.clock)),
            1 => format!("<{number}@{place}.example>"),
            _ => format!("<{}${number}$1@{place}.EXAMPLE>", self.random.below(9_999)),
        }
    }

    /// The Newsgroups value: a first group and `extra` others.
    fn newsgroups(&mut self, first: usize, extra: u64) -> String {
        let mut places = vec![first];
        while (places.len() as u64) <= extra {
            let place = match self.random.chance(60) {
                true => self.popular.draw(&mut self.random),
                false => self.random.position(self.names.len()),
            };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let names: Vec<&str> = places
            .iter()
            .filter_map(|&place| self.names.get(place))
            .map(String::as_str)
            .collect();
        names.join(",")
    }

    fn path(&mut self, user: &str) -> String {
        let mut path = String::new();
        let mut last = "";
        for _ in 0..2 + self.random.below(6) {
            let hop = self.random.pick(HOPS);
            if hop != last {
                path.push_str(hop);
                path.push('!');
            }
            last = hop;
        }
        if self.random.chance(8) {
            path.push_str(groups::site(&mut self.random));
            path.push('!');
        }
        let end = if self.random.chance(40) {
            "not-for-mail"
        } else {
            user
        };
        path + end
    }

    fn tiny(&mut self) -> Article {
        let group = self
            .names
            .get((self.made % self.names.len().max(1) as u64) as usize)
            .map_or("misc.books", String::as_str);
        let group = group.to_owned();
        let place = self.random.pick(PLACES);
        let id = self.id(place);
        let bytes = format!(
            "Path: {}!{}!tiny\nFrom: tiny@{place}.example\nNewsgroups: {group}\nSubject: Number {}\nMessage-ID: {id}\nDate: {}\n\nThe whole of it.\n",
            self.random.pick(HOPS),
            self.random.pick(HOPS),
            self.made,
            date::written(self.clock, &mut self.random),
        );
        Article {
            bytes: bytes.into_bytes(),
            id,
            groups: 1,
        }
    }

    fn full(&mut self) -> Article {
        let extra = self.extra_groups();
        self.left.cross_postings -= extra;
        let size = self.size();
        let parent = match self.random.chance(45) {
            true => self
                .recent
                .get(self.random.position(self.recent.len()))
                .cloned(),
            false => None,
        };
        let first = match &parent {
            Some(parent) => parent.group,
            None => self.popular.draw(&mut self.random),
        };
        let place = self.random.pick(PLACES);
        let name = format!(
            "{} {}",
            self.random.pick(FIRST_NAMES),
            self.random.pick(SURNAMES)
        );
        let user: String = name
            .to_ascii_lowercase()
            .chars()
            .filter(char::is_ascii_lowercase)
            .take(8)
            .collect();
        let id = self.id(place);
        let groups = self.newsgroups(first, extra);
        let words = 2 + self.random.position(5);
        let subject = match &parent {
            Some(parent) if parent.subject.starts_with("Re: ") => parent.subject.clone(),
            Some(parent) => format!("Re: {}", parent.subject),
            None => self.prose.phrase(&mut self.random, words),
        };
        let references = parent
            .as_ref()
            .map(|parent| last_ids(&format!("{} {}", parent.references, parent.id)));
        let mut bytes = Vec::with_capacity(size as usize + 256);
        self.header(
            &mut bytes,
            Fields {
                place,
                name: &name,
                user: &user,
                id: &id,
                groups: &groups,
                subject: &subject,
                references: references.as_deref(),
            },
        );
        self.body(&mut bytes, size as usize, &name, parent.is_some());
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Earlier {
            id: id.clone(),
            references: references.unwrap_or_default(),
            subject,
            group: first,
        });
        Article {
            bytes,
            id,
            groups: 1 + extra as usize,
        }
    }

    /// Writes all headers except Lines, without the blank line.
    fn header(&mut self, out: &mut Vec<u8>, fields: Fields<'_>) {
        let Fields {
            place, name, user, ..
        } = fields;
        let random = &mut self.random;
        let from = match random.below(3) {
            0 => format!("{user}@{place}.example ({name})"),
            1 => format!("{name} <{user}@{place}.example>"),
            _ => format!("\"{name}\" <{user}@{place}.example>"),
        };
        let written = date::written(self.clock, random);
        let path = self.path(user);
        let random = &mut self.random;
        let mut line = |name: &str, value: &str| {
            for part in [name, ": ", value, "\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        };
        line("Path", &path);
        line("From", &from);
        line("Newsgroups", fields.groups);
        line("Subject", fields.subject);
        if random.chance(12) {
            line("Keywords", &self.prose.phrase(random, 3));
        }
        line("Message-ID", fields.id);
        line("Date", &written);
        if let Some(references) = fields.references {
            line("References", references.trim());
        }
        if random.chance(10) {
            line("Reply-To", &format!("{user}@{place}.example"));
        }
        if random.chance(8) {
            line(
                "Distribution",
                random.pick(&["world", "world", "na", "eunet"]),
            );
        }
        if random.chance(5) {
            line(
                "Followup-To",
                fields.groups.split(',').next().unwrap_or(fields.groups),
            );
        }
        if random.chance(1) {
            line("Expires", &date::written(self.clock + 30 * 86_400, random));
        }
        if random.chance(80) {
            line("Organization", random.pick(ORGANIZATIONS));
        }
        if random.chance(50) {
            line("NNTP-Posting-Host", &format!("{place}.example"));
        }
        if random.chance(35) {
            line("X-Newsreader", random.pick(READERS));
        }
        if self.clock > 820_000_000 && random.chance(50) {
            line("Mime-Version", "1.0");
            line("Content-Type", "text/plain; charset=UTF-8");
            line("Content-Transfer-Encoding", "8bit");
        }
        // The Xref of another relay, which rnews has to remove.
        if random.chance(3) {
            line(
                "Xref",
                &format!(
                    "{} misc.books:{}",
                    random.pick(HOPS),
                    random.below(90_000) + 1
                ),
            );
        }
    }

    /// Writes Lines, the blank line, text and signature: `size` bytes in all, or the
    /// minimum if the header alone is larger.
    fn body(&mut self, out: &mut Vec<u8>, size: usize, name: &str, answer: bool) {
        /// The length of `Lines: 123` and the blank line; corrected below for other numbers.
        const LINES_BYTES: usize = 12;
        let mut signature = Vec::new();
        if self.random.chance(55) {
            signature = format!("-- \n{name}\n{}\n", self.random.pick(WISDOM)).into_bytes();
        }
        let room = size.saturating_sub(out.len() + LINES_BYTES);
        if room < signature.len() + 2 * FILL_BYTES_MIN {
            signature.clear();
        }
        let letters = match self.random.below(100) {
            0..3 => Letters::Latin,
            3..6 if self.clock > 820_000_000 => Letters::Unicode,
            _ => Letters::Ascii,
        };
        let options = ProseOptions {
            letters,
            quotes: answer,
            dots: self.random.chance(4),
        };
        let mut text = Vec::with_capacity(room + 16);
        self.prose.fill(
            &mut text,
            &mut self.random,
            room - signature.len().min(room),
            options,
        );
        let end = text.len();
        text.extend_from_slice(&signature);
        let lines = text
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
            .to_string();
        match lines.len() {
            1 => drop(text.splice(end - 1..end - 1, *b"..")),
            2 => text.insert(end - 1, b'.'),
            digits => drop(text.drain(end - 1 - digits.saturating_sub(3)..end - 1)),
        }
        out.extend_from_slice(format!("Lines: {lines}\n\n").as_bytes());
        out.extend_from_slice(&text);
    }
}

struct Fields<'a> {
    place: &'a str,
    name: &'a str,
    user: &'a str,
    id: &'a str,
    groups: &'a str,
    subject: &'a str,
    references: Option<&'a str>,
}

impl Iterator for Articles {
    type Item = Article;

    fn next(&mut self) -> Option<Article> {
        if self.kind == Kind::Demo {
            return self.demo.next();
        }
        if self.left.articles == 0 {
            return None;
        }
        let article = match self.kind {
            Kind::Tiny { .. } => self.tiny(),
            _ => self.full(),
        };
        self.left.bytes = self
            .left
            .bytes
            .saturating_sub(framed(article.bytes.len() as u64));
        self.left.articles -= 1;
        self.made += 1;
        self.clock += self.random.below(120) as i64;
        Some(article)
    }
}

/// The last four ids of a References value, oldest first.
fn last_ids(references: &str) -> String {
    let ids: Vec<&str> = references.split_ascii_whitespace().collect();
    let skip = ids.len().saturating_sub(4);
    ids.into_iter().skip(skip).collect::<Vec<&str>>().join(" ")
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
    }
    digits.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_is_undone() {
        for size in (0..2_000).chain([9_999, 10_000, 99_999, 100_000]) {
            assert_eq!(
                framed(size),
                (format!("#! rnews {size}\n").len() as u64) + size
            );
            assert_eq!(unframed(framed(size)), Some(size));
        }
        assert_eq!(unframed(framed(999) + 1), None);
    }
}
