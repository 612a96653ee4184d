//! Selects the sites of an article: a bit matrix of group × site.
//!
//! Bit 0 of every row is our own subscription, bit `i` (from 1) the `i`-th site of
//! [`Sites::sites`]. The row of a group is computed at the first article for
//! it, and kept; rows of groups outside `active` and rows of
//! distributions are kept in caches of bounded size. Selecting the sites for an article
//! is then an OR of its groups' rows, without the sites for which one of the groups is poison, an AND with its distribution's row, and an
//! AND with the sites that accept moderated (or unmoderated) articles. Tests that
//! depend on Path follow, for the selected sites only.

use hashbrown::HashTable;
use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::active::{Active, GroupId};
use crate::pattern::Pattern;
use crate::patterns::Patterns;
use crate::sites::Sites;
use crate::wildmat::WildmatResult;

/// Distribution of an article without one (C News).
pub const DEFAULT_DISTRIBUTION: &[u8] = b"world";

/// Most rows in each cache; a full cache is emptied.
pub const CACHED_ROWS_MAX: usize = 4096;

/// Longest name in a cache, bytes; the row of a longer one is computed each time.
pub const CACHED_NAME_BYTES_MAX: usize = 512;

/// Bit of our own subscription.
pub const ME_BIT: usize = 0;

/// A set of sites: bit 0 is this site, bit `i` (from 1) the `i`-th of [`Sites::sites`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SiteSet {
    words: Vec<u64>,
}

impl Clone for SiteSet {
    fn clone(&self) -> Self {
        Self {
            words: self.words.clone(),
        }
    }

    /// Keeps the allocation; runs for each article.
    fn clone_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
    }
}

impl SiteSet {
    /// An empty set, to be passed to [`Matrix::select`] repeatedly.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the set contains this bit.
    #[inline]
    pub fn contains(&self, bit: usize) -> bool {
        self.words
            .get(bit / 64)
            .is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// The bits in the set, lowest first.
    pub fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest.checked_sub(1)?;
                Some(index * 64 + bit)
            })
        })
    }

    /// The sites in the set, as indexes into [`Sites::sites`].
    pub fn sites(&self) -> impl Iterator<Item = usize> + '_ {
        self.ones().filter_map(|bit| bit.checked_sub(1))
    }

    /// The word and the mask of a site's bit, for [`remove`](Self::remove); `site` is an index into
    /// [`Sites::sites`].
    pub fn position_of_site(site: usize) -> (usize, u64) {
        let bit = site + 1;
        (bit / 64, 1 << (bit % 64))
    }

    /// Clears the bits of `mask` in a word.
    #[inline]
    pub fn remove(&mut self, word: usize, mask: u64) {
        if let Some(word) = self.words.get_mut(word) {
            *word &= !mask;
        }
    }

    fn clear(&mut self, words: usize) {
        self.words.clear();
        self.words.resize(words, 0);
    }
}

/// The numbers of words in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowWords {
    /// In a set of sites and in the row of a distribution; the top bit of the last word is [`KNOWN`].
    set: usize,
    /// In the row of a group: the sites that want it; and if any list has poison, then the sites for which it is poison.
    group: usize,
}

/// The matrix for one set of sites and one table of groups.
#[derive(Debug)]
pub struct Matrix {
    /// The subscription of each bit.
    subs: Patterns,
    /// The list that each site's distributions are matched with, from bit 1: its subscription if it has no list of distributions.
    /// Distributions do not apply to bit 0.
    dists: Patterns,
    words: RowWords,
    /// The sites that accept unmoderated articles, and those that accept moderated ones.
    unmoderated: Vec<u64>,
    moderated: Vec<u64>,
    /// Distribution row of articles without a Distribution.
    world: Vec<u64>,
    /// Rows by group id; zero until computed.
    rows: Vec<u64>,
    generation: u64,
    unknown: RowCache,
    distributions: RowCache,
}

/// Marks a computed row, in its last word.
const KNOWN: u64 = 1 << 63;

impl Matrix {
    /// Makes a matrix without computed rows.
    pub fn new(active: &Active, sites: &Sites) -> Self {
        let others = sites.sites();
        let own = std::iter::once(sites.subscription());
        let subs = Patterns::new(own.chain(others.iter().map(|site| &site.subs)));
        let all_dists = others.iter().map(|site| match &site.dists {
            Some(dists) => Cow::Borrowed(dists),
            None => Cow::Owned(site.subs.in_lower_case()),
        });
        let all_dists: Vec<Cow<'_, Pattern>> = all_dists.collect();
        let mut dists = Patterns::new(all_dists.iter().map(Cow::as_ref));
        // One more bit for KNOWN.
        let words = (1 + others.len()) / 64 + 1;
        let words = RowWords {
            set: words,
            group: words * if subs.has_poison() { 2 } else { 1 },
        };
        let accepting = |moderated: bool| {
            let accepting = others
                .iter()
                .map(|site| !site.is_me && site.only.accepts(moderated));
            row_of(words.set, std::iter::once(true).chain(accepting))
        };
        let (unmoderated, moderated) = (accepting(false), accepting(true));
        Self {
            unmoderated,
            moderated,
            world: distribution_row(&mut dists, words.set, DEFAULT_DISTRIBUTION),
            rows: Vec::new(),
            generation: active.generation(),
            unknown: RowCache::new(words.group),
            distributions: RowCache::new(words.set),
            subs,
            dists,
            words,
        }
    }

    /// Writes to `out` whether this site accepts the article (bit 0) and which lines of
    /// `sys` and `[[site]]` tables want it, before Path and hops are tested: the subscription must match one of
    /// its groups *and* the distributions one of its distributions, and no group may be poison for it. Lines of `sys` for
    /// this site are never set.
    ///
    /// `groups` are the article's groups in `active`, before alias resolution;
    /// `unknown` are the names of its other groups. A missing or empty
    /// Distribution is `world`. `moderated` is true if
    /// any of the groups is moderated.
    pub fn select(
        &mut self,
        active: &Active,
        groups: &[GroupId],
        unknown: &[&[u8]],
        distribution: Option<&[u8]>,
        moderated: bool,
        out: &mut SiteSet,
    ) {
        out.clear(self.words.group);
        for &id in groups {
            or_into(&mut out.words, self.group_row(active, id));
        }
        for name in unknown {
            or_into(&mut out.words, self.unknown_row(name));
        }
        if self.words.group > self.words.set {
            let (wanting, poisoned) = out.words.split_at_mut(self.words.set);
            for (word, poisoned) in wanting.iter_mut().zip(poisoned) {
                *word &= !*poisoned;
            }
            out.words.truncate(self.words.set);
        }
        let row = match distribution {
            Some(value) => {
                let Self {
                    distributions,
                    dists,
                    words,
                    ..
                } = self;
                distributions.row(value, || distribution_row(dists, words.set, value))
            }
            None => &self.world,
        };
        let accepting = if moderated {
            &self.moderated
        } else {
            &self.unmoderated
        };
        for ((word, row), accepting) in out.words.iter_mut().zip(row).zip(accepting) {
            *word &= row & accepting;
        }
    }

    /// Whether our own subscription matches this group.
    pub fn accepts(&mut self, active: &Active, id: GroupId) -> bool {
        has_own_bit(self.group_row(active, id))
    }

    /// Whether our own subscription matches a group that is not in `active`.
    pub fn accepts_unknown(&mut self, name: &[u8]) -> bool {
        has_own_bit(self.unknown_row(name))
    }

    #[inline]
    fn group_row(&mut self, active: &Active, id: GroupId) -> &[u64] {
        if self.generation != active.generation() {
            self.rows.clear();
            self.generation = active.generation();
        }
        let start = (id.0 as usize).saturating_mul(self.words.group);
        let end = start.saturating_add(self.words.group);
        let known = end
            .checked_sub(1)
            .and_then(|last| self.rows.get(last))
            .is_some_and(|word| word & KNOWN != 0);
        if !known {
            self.compute_row(active, id, start);
        }
        self.rows.get(start..end).unwrap_or(&[])
    }

    #[cold]
    fn compute_row(&mut self, active: &Active, id: GroupId, start: usize) {
        // Zeroed memory costs nothing until it is used, so all rows are allocated at once.
        let size = active.id_end().saturating_mul(self.words.group);
        if self.rows.is_empty() {
            self.rows = vec![0; size];
        } else if self.rows.len() < size {
            self.rows.resize(size, 0);
        }
        let row = group_row(&mut self.subs, self.words, active.name(id));
        let end = start.saturating_add(self.words.group);
        if let Some(place) = self.rows.get_mut(start..end) {
            place.copy_from_slice(&row);
        }
    }

    #[inline]
    fn unknown_row(&mut self, name: &[u8]) -> &[u64] {
        let Self {
            unknown,
            subs,
            words,
            ..
        } = self;
        unknown.row(name, || group_row(subs, *words, name))
    }
}

fn group_row(subs: &mut Patterns, words: RowWords, name: &[u8]) -> Vec<u64> {
    let mut row = vec![0; words.group];
    let of_poison = words.set * 64;
    subs.each_verdict(name, |bit, verdict| {
        set_bit(&mut row, bit, verdict == WildmatResult::Match);
        // Beyond the row if no list has poison.
        set_bit(&mut row, of_poison + bit, verdict == WildmatResult::Poison);
    });
    if let Some(last) = row.last_mut() {
        *last |= KNOWN;
    }
    row
}

/// Blanks around the names of a Distribution are not part of them, and they have no case (RFC 5536, 3.2.4).
fn distribution_row(dists: &mut Patterns, words: usize, value: &[u8]) -> Vec<u64> {
    let value = match value.trim_ascii() {
        b"" => DEFAULT_DISTRIBUTION,
        value => value,
    };
    let mut row = vec![0; words];
    set_bit(&mut row, ME_BIT, true);
    let mut wanting = vec![0; words];
    for name in value.split(|&byte| byte == b',') {
        wanting.fill(0);
        dists.each_verdict(&name.trim_ascii().to_ascii_lowercase(), |site, verdict| {
            set_bit(&mut wanting, site + 1, verdict == WildmatResult::Match);
        });
        or_into(&mut row, &wanting);
    }
    row
}

fn set_bit(row: &mut [u64], bit: usize, value: bool) {
    if let Some(word) = row.get_mut(bit / 64) {
        let mask = 1 << (bit % 64);
        *word = *word & !mask | u64::from(value) << (bit % 64);
    }
}

fn row_of(words: usize, bits: impl Iterator<Item = bool>) -> Vec<u64> {
    let mut row = vec![0u64; words];
    for (index, bit) in bits.enumerate() {
        set_bit(&mut row, index, bit);
    }
    row
}

#[inline]
fn or_into(out: &mut [u64], row: &[u64]) {
    for (word, row) in out.iter_mut().zip(row) {
        *word |= row;
    }
}

fn has_own_bit(row: &[u64]) -> bool {
    row.first().is_some_and(|word| word & (1 << ME_BIT) != 0)
}

/// Rows by name, at most [`CACHED_ROWS_MAX`] of them.
#[derive(Debug)]
struct RowCache {
    words: usize,
    /// Remote users choose the names, so the hash is keyed.
    hasher: RandomState,
    /// Indexes into `names`, and by `words` into `rows`.
    table: HashTable<u32>,
    names: Vec<Box<[u8]>>,
    rows: Vec<u64>,
    /// The row of a name that is too long to be cached.
    uncached: Vec<u64>,
}

impl RowCache {
    fn new(words: usize) -> Self {
        Self {
            words,
            hasher: RandomState::new(),
            table: HashTable::new(),
            names: Vec::new(),
            rows: Vec::new(),
            uncached: Vec::new(),
        }
    }

    fn row(&mut self, name: &[u8], compute_row: impl FnOnce() -> Vec<u64>) -> &[u64] {
        if name.len() > CACHED_NAME_BYTES_MAX {
            self.uncached = compute_row();
            return &self.uncached;
        }
        let hash = hash(&self.hasher, name);
        let kept = |&index: &u32| {
            self.names
                .get(index as usize)
                .is_some_and(|kept| **kept == *name)
        };
        let found = self.table.find(hash, kept).copied();
        let index = match found {
            Some(index) => index as usize,
            None => self.keep(hash, name, &compute_row()),
        };
        let start = index * self.words;
        self.rows.get(start..start + self.words).unwrap_or(&[])
    }

    #[cold]
    fn keep(&mut self, name_hash: u64, name: &[u8], row: &[u64]) -> usize {
        if self.names.len() >= CACHED_ROWS_MAX {
            self.table.clear();
            self.names.clear();
            self.rows.clear();
        }
        let index = self.names.len();
        self.names.push(name.into());
        self.rows.extend_from_slice(row);
        let Self {
            table,
            names,
            hasher,
            ..
        } = self;
        // Far below 2^32: the cache is bounded.
        table.insert_unique(name_hash, index as u32, |&index| {
            names
                .get(index as usize)
                .map_or(0, |name| hash(hasher, name))
        });
        index
    }
}

#[inline]
fn hash(hasher: &RandomState, name: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(name);
    state.finish()
}
