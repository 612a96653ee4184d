//! Wildmat, INN's pattern language, as NNTP clients use it too (RFC 3977, 4):
//! `comp.*,!comp.sys.*`.
//!
//! In a list the rightmost pattern that fits decides; `!` in front excludes,
//! and where poison is asked for, `@` in front poisons. Within a pattern `*`
//! is any run of characters, `?` one character, `[a-z]` and `[^a-z]` one of a
//! set, and `\` takes the next byte as it is. A character is one of UTF-8,
//! read laxly; a byte that fits nowhere stands for itself. Patterns that make
//! no sense (an open set, a `\` at the end) match nothing.
//!
//! A pattern comes from anybody (XPAT, NEWNEWS, LIST), so the work is bounded:
//! after a later `*` an earlier one is never tried again, and what stands
//! between two of them is found with [`WORK_PER_BYTE_MAX`] steps for each byte
//! of the text at most (see [`search`]), however long it is.

mod search;

use search::Search;

/// Steps or words looked at for each byte of a text, at most, with a pattern
/// that fits a command line (512 bytes); as many again once for each pattern.
pub const WORK_PER_BYTE_MAX: usize = 10;

/// What a list with poison says about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The rightmost pattern that fits includes.
    Match,
    /// It excludes, or none fits.
    Fail,
    /// It poisons: whatever else fits, the whole is refused.
    Poison,
}

/// A compiled wildmat expression.
#[derive(Debug, Clone)]
pub struct Wildmat {
    patterns: Vec<(Outcome, Glob)>,
}

impl Wildmat {
    /// A list with `!`; `@` is an ordinary character.
    pub fn parse(list: &[u8]) -> Self {
        Self::parse_list(list, false)
    }

    /// A list with `!` and `@`.
    pub fn parse_poison(list: &[u8]) -> Self {
        Self::parse_list(list, true)
    }

    /// One pattern, in which `,`, `!` and `@` are ordinary characters (XPAT).
    pub fn parse_simple(pattern: &[u8]) -> Self {
        Self {
            patterns: vec![(Outcome::Match, Glob::parse(pattern))],
        }
    }

    /// Whether the expression takes the text in.
    pub fn matches(&self, text: &[u8]) -> bool {
        self.outcome(text) == Outcome::Match
    }

    /// Whether it takes in any group of a Newsgroups value, which is parted by
    /// commas.
    pub fn matches_any(&self, newsgroups: &[u8]) -> bool {
        newsgroups
            .split(|&byte| byte == b',')
            .any(|group| !group.is_empty() && self.matches(group))
    }

    /// What the rightmost pattern that fits says.
    pub fn outcome(&self, text: &[u8]) -> Outcome {
        self.outcome_counted(text, &mut 0)
    }

    /// As [`Wildmat::matches`]; adds to `work` the steps that it took.
    pub fn matches_counted(&self, text: &[u8], work: &mut usize) -> bool {
        self.outcome_counted(text, work) == Outcome::Match
    }

    fn outcome_counted(&self, text: &[u8], work: &mut usize) -> Outcome {
        self.patterns
            .iter()
            .rev()
            .find(|(_, glob)| glob.matches(text, work))
            .map_or(Outcome::Fail, |&(outcome, _)| outcome)
    }

    fn parse_list(list: &[u8], poison: bool) -> Self {
        let mut patterns = Vec::new();
        let mut rest = list;
        loop {
            let len = pattern_len(rest);
            let (pattern, after) = rest.split_at_checked(len).unwrap_or((rest, b""));
            let (outcome, pattern) = match pattern {
                [b'!', pattern @ ..] => (Outcome::Fail, pattern),
                [b'@', pattern @ ..] if poison => (Outcome::Poison, pattern),
                pattern => (Outcome::Match, pattern),
            };
            patterns.push((outcome, Glob::parse(pattern)));
            match after.split_first() {
                Some((_, after)) => rest = after,
                None => return Self { patterns },
            }
        }
    }
}

/// Bytes up to the comma that ends the first pattern: neither escaped nor
/// within a set.
fn pattern_len(list: &[u8]) -> usize {
    let mut rest = list;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b',' => break,
            b'\\' => after.get(1..).unwrap_or(b""),
            b'[' => Set::parse(after).map_or(b"", |(_, after)| after),
            _ => after,
        };
    }
    list.len() - rest.len()
}

/// One pattern.
#[derive(Debug, Clone)]
struct Glob {
    /// `None` for a pattern that makes no sense.
    parts: Option<Parts>,
}

/// A pattern that makes sense.
#[derive(Debug, Clone)]
struct Parts {
    /// Up to the first `*`.
    first: Vec<Step>,
    /// What stands between two `*`, each to be found in its turn.
    between: Vec<Search>,
    /// Behind the last `*`; `None` where there is no `*`.
    last: Option<Search>,
}

/// One thing that a text must go on with.
#[derive(Debug, Clone)]
enum Step {
    /// These bytes.
    Bytes(Vec<u8>),
    /// One character.
    Any,
    /// One character of a set.
    Set(Set),
}

impl Glob {
    fn parse(pattern: &[u8]) -> Self {
        Self {
            parts: Parts::parse(pattern),
        }
    }

    fn matches(&self, text: &[u8], work: &mut usize) -> bool {
        *work += 1;
        let parts = self.parts.as_ref();
        parts.is_some_and(|parts| parts.matches(text, work))
    }
}

impl Parts {
    fn parse(pattern: &[u8]) -> Option<Self> {
        let mut stretches = Vec::new();
        let mut steps = Vec::new();
        let mut rest = pattern;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'*' => stretches.push(std::mem::take(&mut steps)),
                b'?' => steps.push(Step::Any),
                b'[' => {
                    let (set, after) = Set::parse(after)?;
                    steps.push(Step::Set(set));
                    rest = after;
                }
                b'\\' => {
                    let (&escaped, after) = after.split_first()?;
                    push_byte(&mut steps, escaped);
                    rest = after;
                }
                _ => push_byte(&mut steps, byte),
            }
        }
        let mut stretches = stretches.into_iter();
        let Some(first) = stretches.next() else {
            return Some(Self {
                first: steps,
                between: Vec::new(),
                last: None,
            });
        };
        // Several `*` together are one.
        let between = stretches.filter(|stretch| !stretch.is_empty());
        Some(Self {
            first,
            between: between.map(Search::new).collect(),
            last: Some(Search::new(steps)),
        })
    }

    fn matches(&self, text: &[u8], work: &mut usize) -> bool {
        *work += self.first.len();
        let Some(mut rest) = after_steps(&self.first, text) else {
            return false;
        };
        let Some(last) = &self.last else {
            return rest.is_empty();
        };
        for stretch in &self.between {
            match stretch.find(rest, false, work) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        last.is_empty() || last.find(rest, true, work).is_some()
    }
}

fn push_byte(steps: &mut Vec<Step>, byte: u8) {
    if let Some(Step::Bytes(bytes)) = steps.last_mut() {
        bytes.push(byte);
    } else {
        steps.push(Step::Bytes(vec![byte]));
    }
}

fn after_steps<'t>(steps: &[Step], text: &'t [u8]) -> Option<&'t [u8]> {
    steps.iter().try_fold(text, |rest, step| match step {
        Step::Bytes(bytes) => rest.strip_prefix(bytes.as_slice()),
        Step::Any => after_character(rest),
        Step::Set(set) => {
            let (character, len) = decode(rest)?;
            set.contains(character).then(|| rest.get(len..)).flatten()
        }
    })
}

fn after_character(text: &[u8]) -> Option<&[u8]> {
    let (_, len) = decode(text)?;
    text.get(len..)
}

/// A set of characters, as ranges; a range the wrong way round holds none.
#[derive(Debug, Clone)]
struct Set {
    negated: bool,
    ranges: Vec<(u32, u32)>,
}

impl Set {
    /// Reads a set from after its `[`; also what follows its `]`. A `]` in
    /// front is a member, and so is a `-` at either end.
    fn parse(text: &[u8]) -> Option<(Self, &[u8])> {
        let (negated, mut rest) = match text {
            [b'^', rest @ ..] => (true, rest),
            _ => (false, text),
        };
        let mut ranges = Vec::new();
        loop {
            if let [b']', after @ ..] = rest
                && !ranges.is_empty()
            {
                return Some((Self { negated, ranges }, after));
            }
            let (low, len) = decode(rest)?;
            rest = rest.get(len..)?;
            let mut high = low;
            if let [b'-', after @ ..] = rest
                && after.first() != Some(&b']')
            {
                let (end, len) = decode(after)?;
                high = end;
                rest = after.get(len..)?;
            }
            ranges.push((low, high));
        }
    }

    fn contains(&self, character: u32) -> bool {
        let within = |&(low, high): &(u32, u32)| (low..=high).contains(&character);
        self.ranges.iter().any(within) != self.negated
    }
}

/// Whether bytes are UTF-8 in the lax, old sense: lead bytes for up to six, and
/// as many continuation bytes as they say. Overlong forms pass.
pub fn is_lax_utf8(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some((_, len)) = decode(rest) {
        if len == 1 && rest.first().is_some_and(|byte| !byte.is_ascii()) {
            return false;
        }
        rest = rest.get(len..).unwrap_or(b"");
    }
    true
}

/// The character a text begins with, and its length: one of UTF-8, or a single
/// byte that begins none.
fn decode(text: &[u8]) -> Option<(u32, usize)> {
    let (&lead, rest) = text.split_first()?;
    let alone = (u32::from(lead), 1);
    let (len, bits) = match lead {
        0xc0..=0xdf => (2, lead & 0x1f),
        0xe0..=0xef => (3, lead & 0x0f),
        0xf0..=0xf7 => (4, lead & 0x07),
        0xf8..=0xfb => (5, lead & 0x03),
        0xfc..=0xfd => (6, lead & 0x01),
        _ => return Some(alone),
    };
    let Some(continuation) = rest.get(..len - 1) else {
        return Some(alone);
    };
    let mut character = u32::from(bits);
    for &byte in continuation {
        if byte & 0xc0 != 0x80 {
            return Some(alone);
        }
        character = (character << 6) | u32::from(byte & 0x3f);
    }
    Some((character, len))
}
