//! Which sites an article goes to: a bit matrix of group × site.
//!
//! Bit 0 of every row is our own subscription, bit `i` the `i`-th of
//! [`Sites::sites`], from 1. The row of a group is worked out when the first article for
//! it comes, and kept; so are those of groups not in `active` and of
//! distributions, in memos of bounded size. Selecting the sites for an article
//! is then an OR of its groups' rows, an AND with its distribution's, and an
//! AND with the sites that take moderated (or unmoderated) articles. What
//! depends on Path comes after that, for the sites selected only.

use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::active::{Active, GroupId};
use crate::patterns::Patterns;
use crate::sites::Sites;

/// Distribution of an article without one (C News).
pub const DEFAULT_DISTRIBUTION: &[u8] = b"world";

/// Names kept in each memo; a full memo is emptied and starts anew.
pub const MEMO_NAMES_MAX: usize = 4096;

/// Longest name kept in a memo, in bytes; longer ones are worked out each time.
pub const MEMO_NAME_BYTES_MAX: usize = 512;

/// Bit of our own subscription.
pub const ME_BIT: usize = 0;

/// A set of sites: bit 0 ourselves, bit `i` the `i`-th of [`Sites::sites`], from 1.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
}

impl Clone for Bits {
    fn clone(&self) -> Self {
        Self {
            words: self.words.clone(),
        }
    }

    /// Keeps the room there is: done for each article.
    fn clone_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
    }
}

impl Bits {
    /// An empty set, to be given to [`Matrix::select`] again and again.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the set has this bit.
    #[inline]
    pub fn contains(&self, bit: usize) -> bool {
        self.words
            .get(bit / 64)
            .is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Every bit set, lowest first.
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

    /// Every site set, counted from 0: indexes into [`Sites::sites`].
    pub fn sites(&self) -> impl Iterator<Item = usize> + '_ {
        self.ones().filter_map(|bit| bit.checked_sub(1))
    }

    /// The word that holds a site's bit, and the bit in it, for [`remove`](Self::remove); `site` is an index into
    /// [`Sites::sites`].
    pub fn place_of_site(site: usize) -> (usize, u64) {
        let bit = site + 1;
        (bit / 64, 1 << (bit % 64))
    }

    /// Takes the bits of `mask` out of a word.
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

/// The matrix for one set of sites and one table of groups.
#[derive(Debug)]
pub struct Matrix {
    /// What each bit subscribes to.
    subs: Patterns,
    /// What each site's distributions are held against, from bit 1: its subscription where it has no list of them.
    /// Distribution does not count for bit 0.
    dists: Patterns,
    /// Words in a row; the top bit of the last is [`KNOWN`].
    words: usize,
    /// Sites that may get an unmoderated article, and those for a moderated one.
    unmoderated: Vec<u64>,
    moderated: Vec<u64>,
    /// Distribution row of articles without one.
    world: Vec<u64>,
    /// Rows by group id; all zero until worked out.
    rows: Vec<u64>,
    generation: u64,
    unknown: Memo,
    distributions: Memo,
}

/// Marks a row that has been worked out, in its last word.
const KNOWN: u64 = 1 << 63;

impl Matrix {
    /// A matrix without any row worked out yet.
    pub fn new(active: &Active, sites: &Sites) -> Self {
        let others = sites.sites();
        let own = std::iter::once(sites.subscription());
        let subs = Patterns::new(own.chain(others.iter().map(|site| &site.subs)));
        let all_dists = others
            .iter()
            .map(|site| site.dists.as_ref().unwrap_or(&site.subs));
        let mut dists = Patterns::new(all_dists);
        // One bit more for KNOWN.
        let words = (1 + others.len()) / 64 + 1;
        let takers = |moderated: bool| {
            let takers = others
                .iter()
                .map(|site| !site.is_me && site.only.takes(moderated));
            row_of(words, std::iter::once(true).chain(takers))
        };
        let (unmoderated, moderated) = (takers(false), takers(true));
        Self {
            unmoderated,
            moderated,
            world: distribution_row(&mut dists, words, DEFAULT_DISTRIBUTION),
            rows: Vec::new(),
            generation: active.generation(),
            unknown: Memo::new(words),
            distributions: Memo::new(words),
            subs,
            dists,
            words,
        }
    }

    /// Puts into `out` whether we take the article (bit 0) and which lines of
    /// `sys` and tables of sites want it, Path and hops aside: the subscription must take in one of
    /// its groups *and* the distributions one of its distributions. Our own
    /// lines are never set.
    ///
    /// `groups` are the article's groups that `active` has, as named by it (not
    /// where an alias leads), `unknown` the names of the others. Without a
    /// Distribution, or with an empty one, it is `world`. `moderated` says
    /// whether any group is.
    pub fn select(
        &mut self,
        active: &Active,
        groups: &[GroupId],
        unknown: &[&[u8]],
        distribution: Option<&[u8]>,
        moderated: bool,
        out: &mut Bits,
    ) {
        out.clear(self.words);
        for &id in groups {
            or_into(&mut out.words, self.group_row(active, id));
        }
        for name in unknown {
            or_into(&mut out.words, self.unknown_row(name));
        }
        let row = match distribution {
            Some(value) => {
                let Self {
                    distributions,
                    dists,
                    words,
                    ..
                } = self;
                distributions.row(value, || distribution_row(dists, *words, value))
            }
            None => &self.world,
        };
        let takers = if moderated {
            &self.moderated
        } else {
            &self.unmoderated
        };
        for ((word, row), takers) in out.words.iter_mut().zip(row).zip(takers) {
            *word &= row & takers;
        }
    }

    /// Whether our own subscription takes in this group.
    pub fn accepts(&mut self, active: &Active, id: GroupId) -> bool {
        has_me(self.group_row(active, id))
    }

    /// Whether our own subscription takes in a group that `active` has not.
    pub fn accepts_unknown(&mut self, name: &[u8]) -> bool {
        has_me(self.unknown_row(name))
    }

    #[inline]
    fn group_row(&mut self, active: &Active, id: GroupId) -> &[u64] {
        if self.generation != active.generation() {
            self.rows.clear();
            self.generation = active.generation();
        }
        let start = (id.0 as usize).saturating_mul(self.words);
        let end = start.saturating_add(self.words);
        let known = end
            .checked_sub(1)
            .and_then(|last| self.rows.get(last))
            .is_some_and(|word| word & KNOWN != 0);
        if !known {
            self.work_out(active, id, start);
        }
        self.rows.get(start..end).unwrap_or(&[])
    }

    #[cold]
    fn work_out(&mut self, active: &Active, id: GroupId, start: usize) {
        // Zeroed memory costs nothing until it is touched, so all at once.
        let size = active.id_end().saturating_mul(self.words);
        if self.rows.is_empty() {
            self.rows = vec![0; size];
        } else if self.rows.len() < size {
            self.rows.resize(size, 0);
        }
        let row = group_row(&mut self.subs, self.words, active.name(id));
        if let Some(place) = self.rows.get_mut(start..start.saturating_add(self.words)) {
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

fn group_row(subs: &mut Patterns, words: usize, name: &[u8]) -> Vec<u64> {
    let mut row = vec![0; words];
    subs.each_verdict(name, |bit, includes| put(&mut row, bit, includes));
    if let Some(last) = row.last_mut() {
        *last |= KNOWN;
    }
    row
}

/// Blanks around the names of a Distribution are not part of them (RFC 5536,
/// 3.2.4).
fn distribution_row(dists: &mut Patterns, words: usize, value: &[u8]) -> Vec<u64> {
    let value = match value.trim_ascii() {
        b"" => DEFAULT_DISTRIBUTION,
        value => value,
    };
    let mut row = vec![0; words];
    put(&mut row, ME_BIT, true);
    let mut wanting = vec![0; words];
    for name in value.split(|&byte| byte == b',') {
        wanting.fill(0);
        dists.each_verdict(name.trim_ascii(), |site, wants| {
            put(&mut wanting, site + 1, wants);
        });
        or_into(&mut row, &wanting);
    }
    row
}

fn put(row: &mut [u64], bit: usize, value: bool) {
    if let Some(word) = row.get_mut(bit / 64) {
        let mask = 1 << (bit % 64);
        *word = *word & !mask | u64::from(value) << (bit % 64);
    }
}

fn row_of(words: usize, bits: impl Iterator<Item = bool>) -> Vec<u64> {
    let mut row = vec![0u64; words];
    for (index, bit) in bits.enumerate() {
        put(&mut row, index, bit);
    }
    row
}

#[inline]
fn or_into(out: &mut [u64], row: &[u64]) {
    for (word, row) in out.iter_mut().zip(row) {
        *word |= row;
    }
}

fn has_me(row: &[u64]) -> bool {
    row.first().is_some_and(|word| word & (1 << ME_BIT) != 0)
}

/// Rows by name, at most [`MEMO_NAMES_MAX`] of them.
#[derive(Debug)]
struct Memo {
    words: usize,
    /// Strangers choose the names, so the hash has a key.
    hasher: RandomState,
    /// Indexes into `names`, and by `words` into `rows`.
    table: HashTable<u32>,
    names: Vec<Box<[u8]>>,
    rows: Vec<u64>,
    /// The row of a name too long to keep.
    passing: Vec<u64>,
}

impl Memo {
    fn new(words: usize) -> Self {
        Self {
            words,
            hasher: RandomState::new(),
            table: HashTable::new(),
            names: Vec::new(),
            rows: Vec::new(),
            passing: Vec::new(),
        }
    }

    fn row(&mut self, name: &[u8], work_out: impl FnOnce() -> Vec<u64>) -> &[u64] {
        if name.len() > MEMO_NAME_BYTES_MAX {
            self.passing = work_out();
            return &self.passing;
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
            None => self.keep(hash, name, &work_out()),
        };
        let start = index * self.words;
        self.rows.get(start..start + self.words).unwrap_or(&[])
    }

    #[cold]
    fn keep(&mut self, name_hash: u64, name: &[u8], row: &[u64]) -> usize {
        if self.names.len() >= MEMO_NAMES_MAX {
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
        // Far under 2^32: the memo is bounded.
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
