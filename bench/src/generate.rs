//! Generates batches of articles from a seed, with their `active`, `newsgroups`
//! and `sys` files.
//!
//! No article is a real one: names, hosts (all under `.example`, RFC
//! 2606) and prose are invented, in the style of the news of 1992 to 2022. The same
//! kind and seed give the same bytes on every machine.

mod article;
mod articles;
mod date;
mod demo;
mod groups;
mod random;
mod words;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub use articles::Articles;
pub use random::{Random, Zipf, mix};

/// The default seed.
pub const SEED: u64 = 1987;

/// The kind of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The size of the batch that the C News paper measured: 171 articles,
    /// 297,054 bytes with their `#! rnews` lines, 104 cross-postings.
    Paper,
    /// 10,000 articles, 30,000,000 bytes, 6,000 cross-postings, 500 groups.
    TenThousand,
    /// A batch of [`GIGABYTE`] bytes: 333,333 articles, 200,000 cross-postings, 2,000 groups.
    Gigabyte,
    /// As [`Kind::TenThousand`] with another number of articles: about 3,000
    /// bytes per article and 60 cross-postings per 100 articles.
    Like {
        /// Number of articles.
        articles: u64,
        /// Number of groups.
        groups: usize,
    },
    /// Articles of six headers and one line (about 300 bytes), without
    /// cross-postings, spread evenly: for benches that count articles, not bytes.
    Tiny {
        /// Number of articles.
        articles: u64,
        /// Number of groups.
        groups: usize,
    },
    /// About 60 readable articles in 12 groups, for demonstrations.
    Demo,
}

/// Size of the batch of [`Kind::Gigabyte`], bytes.
pub const GIGABYTE: u64 = 1_000_000_000;

/// The totals of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of articles.
    pub articles: u64,
    /// Bytes of the batch, including `#! rnews` lines.
    pub bytes: u64,
    /// Groups beyond the first, over all articles.
    pub cross_postings: u64,
}

impl Kind {
    /// The kind with this name on the command line; `articles` and `groups` apply to
    /// `like` and `tiny` only. `None` if the name is unknown.
    pub fn named(name: &str, articles: u64, groups: usize) -> Option<Kind> {
        Some(match name {
            "paper" => Kind::Paper,
            "ten-thousand" => Kind::TenThousand,
            "gigabyte" => Kind::Gigabyte,
            "like" => Kind::Like { articles, groups },
            "tiny" => Kind::Tiny { articles, groups },
            "demo" => Kind::Demo,
            _ => return None,
        })
    }

    /// Number of groups in the batch's `active` file, without `control` and `junk`.
    pub fn groups(self) -> usize {
        match self {
            Kind::Paper => 120,
            Kind::TenThousand => 500,
            Kind::Gigabyte => 2_000,
            Kind::Like { groups, .. } | Kind::Tiny { groups, .. } => groups.max(1),
            Kind::Demo => demo::GROUPS.len(),
        }
    }
}

/// Writes the whole batch, each article after its `#! rnews` line, in constant
/// memory.
///
/// # Errors
/// `out` fails.
pub fn batch(kind: Kind, seed: u64, out: &mut dyn Write) -> io::Result<Totals> {
    let mut totals = Totals::default();
    for article in Articles::new(kind, seed) {
        let line = format!("#! rnews {}\n", article.bytes.len());
        out.write_all(line.as_bytes())?;
        out.write_all(&article.bytes)?;
        totals.articles += 1;
        totals.bytes += (line.len() + article.bytes.len()) as u64;
        totals.cross_postings += article.groups.saturating_sub(1) as u64;
    }
    out.flush()?;
    Ok(totals)
}

/// The `active` file for this kind of batch.
pub fn active(kind: Kind) -> Vec<u8> {
    match kind {
        Kind::Demo => groups::active(demo::GROUPS.iter().map(|group| group.0)),
        _ => groups::active(groups::names(kind.groups()).iter().map(String::as_str)),
    }
}

/// The `newsgroups` file for this kind of batch.
pub fn newsgroups(kind: Kind) -> Vec<u8> {
    let mut text = Vec::new();
    match kind {
        Kind::Demo => demo::GROUPS
            .iter()
            .for_each(|(name, purpose)| groups::described(&mut text, name, purpose)),
        _ => {
            let names = groups::names(kind.groups());
            let prose = words::Prose::default();
            text = groups::newsgroups(
                names.iter().map(String::as_str),
                &mut Random::new(SEED),
                &prose,
            );
        }
    }
    text
}

/// The `sys` file, the same for every kind: `ME` accepts all, and each of five sites
/// subscribes to seven hierarchies.
pub fn sys() -> Vec<u8> {
    groups::sys()
}

/// As [`sys`], with `more` sites that want no article of the batches.
pub fn sys_with_idle(more: usize) -> Vec<u8> {
    groups::sys_with_idle(more)
}

/// Writes `batch`, `active`, `newsgroups` and `sys` into `dir`, and creates it
/// if it is missing.
///
/// # Errors
/// Those of the file system.
pub fn files(kind: Kind, seed: u64, dir: &Path) -> io::Result<Totals> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join("active"), active(kind))?;
    fs::write(dir.join("newsgroups"), newsgroups(kind))?;
    fs::write(dir.join("sys"), sys())?;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(dir.join("batch"))?);
    batch(kind, seed, &mut out)
}
