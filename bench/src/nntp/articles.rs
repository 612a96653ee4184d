//! All data to be sent, prepared before the measurement.

use std::collections::HashMap;

use bench::generate::{Articles, Kind, SEED};

/// Average number of articles per group; the largest group has far more.
const ARTICLES_A_GROUP: u64 = 200;

/// A part has this many seeds: one for itself, one for [`Prepared::further`].
const SEEDS_A_PART: u64 = 2;

/// A sequence of whole commands, with the start of each.
#[derive(Default)]
pub struct Commands {
    bytes: Vec<u8>,
    /// One more than there are commands: the last is the end.
    starts: Vec<usize>,
}

impl Commands {
    fn push(&mut self, command: impl FnOnce(&mut Vec<u8>)) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        command(&mut self.bytes);
        self.starts.push(self.bytes.len());
    }

    /// The bytes of commands `from..to`.
    pub fn part(&self, from: usize, to: usize) -> &[u8] {
        let at = |number: usize| self.starts.get(number).copied().unwrap_or(self.bytes.len());
        self.bytes.get(at(from)..at(to)).unwrap_or_default()
    }
}

/// The articles of a run in all forms in which they are sent.
pub struct Prepared {
    /// The kind of the batch.
    pub kind: Kind,
    /// The message-ids with angle brackets, in order.
    pub ids: Vec<String>,
    /// `TAKETHIS` with its article.
    pub takethis: Commands,
    /// `CHECK`.
    pub check: Commands,
    /// The group with the most articles, and their number.
    pub largest: (String, u64),
    /// Number of links of the articles, including cross-postings.
    pub placings: u64,
}

impl Prepared {
    /// Makes `articles` articles, about 3,000 bytes each, in enough groups
    /// that the largest has more than 1,000.
    pub fn new(articles: u64) -> Prepared {
        Prepared::part(articles, 0)
    }

    /// Makes other articles than [`Prepared::new`], and others for each `part`, in the same groups.
    pub fn part(articles: u64, part: u64) -> Prepared {
        let kind = Kind::Like {
            articles,
            groups: (articles / ARTICLES_A_GROUP) as usize,
        };
        let (mut ids, mut takethis, mut check) =
            (Vec::new(), Commands::default(), Commands::default());
        let mut groups: HashMap<String, u64> = HashMap::new();
        for article in Articles::new(kind, SEED + SEEDS_A_PART * part) {
            takethis.push(|out| {
                out.extend_from_slice(format!("TAKETHIS {}\r\n", article.id).as_bytes());
                wire(&article.bytes, out);
            });
            check.push(|out| out.extend_from_slice(format!("CHECK {}\r\n", article.id).as_bytes()));
            for group in groups_of(&article.bytes) {
                *groups.entry(group).or_default() += 1;
            }
            ids.push(article.id);
        }
        let placings = groups.values().sum();
        // The name decides between equals, so that every run uses the same group.
        let largest = groups
            .into_iter()
            .max_by(|one, other| (one.1, &other.0).cmp(&(other.1, &one.0)));
        Prepared {
            kind,
            ids,
            takethis,
            check,
            largest: largest.unwrap_or_default(),
            placings,
        }
    }

    /// Articles that no server has yet, for IHAVE: id and wire form.
    pub fn further(&self, articles: u64) -> Vec<(String, Vec<u8>)> {
        let kind = Kind::Like {
            articles,
            groups: self.kind.groups(),
        };
        Articles::new(kind, SEED + 1)
            .map(|article| {
                let mut bytes = Vec::new();
                wire(&article.bytes, &mut bytes);
                (article.id, bytes)
            })
            .collect()
    }

    /// The body of the article of this id, in wire form with its terminator.
    pub fn body_of(&self, id: &str) -> Option<&[u8]> {
        let number = self.ids.iter().position(|known| known == id)?;
        body(self.takethis.part(number, number + 1))
    }
}

/// The body of an article.
pub fn body(article: &[u8]) -> Option<&[u8]> {
    let at = memchr::memmem::find(article, b"\r\n\r\n")?;
    article.get(at + 4..)
}

/// Appends the wire form: CRLF, dots doubled, and the terminator (RFC 3977, 3.1.1).
fn wire(native: &[u8], out: &mut Vec<u8>) {
    for line in native.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(b".") {
            out.push(b'.');
        }
        out.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b".\r\n");
}

fn groups_of(article: &[u8]) -> Vec<String> {
    let line = article
        .split(|&byte| byte == b'\n')
        .find_map(|line| line.strip_prefix(b"Newsgroups: "))
        .unwrap_or_default();
    let names = line.split(|&byte| byte == b',');
    names
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{body, groups_of, wire};

    #[test]
    fn wire_form_has_crlf_doubled_dots_and_an_end() {
        let mut out = Vec::new();
        wire(b"A: b\n\n.\n..x\ny.\n", &mut out);
        assert_eq!(out, b"A: b\r\n\r\n..\r\n...x\r\ny.\r\n.\r\n");
        assert_eq!(body(&out), Some(&b"..\r\n...x\r\ny.\r\n.\r\n"[..]));
    }

    #[test]
    fn groups_are_those_of_the_header() {
        let article = b"Path: x\nNewsgroups: a.b,c.d\n\nNewsgroups: e.f\n";
        assert_eq!(groups_of(article), ["a.b", "c.d"]);
    }
}
