//! Wildmat, INN's pattern language, which NNTP clients use as well (RFC 3977, 4):
//! `comp.*,!comp.sys.*`.
//!
//! In a list the rightmost matching pattern decides; `!` at the start excludes,
//! and in lists with poison `@` at the start poisons. In a pattern `*`
//! matches any run of characters, `?` one character, `[a-z]` and `[^a-z]` one character of a
//! set, and `\` quotes the next byte. A character is a UTF-8 sequence,
//! decoded leniently; an invalid byte is a character of its own. Malformed patterns
//! (an unclosed set, a `\` at the end) match nothing.
//!
//! Clients choose the patterns (XPAT, NEWNEWS, LIST), so the work is bounded:
//! the matcher never returns to an earlier `*` after a later one, and it finds the text
//! between two of them in at most [`WORK_PER_BYTE_MAX`] steps for each byte
//! of the text (see [`search`]), however long the pattern is.

mod search;

use article::newsgroups;
use search::Search;

/// Most steps (or mask words) for each byte of a text, with a pattern
/// that fits a command line (512 bytes); plus the same number once for each pattern.
pub const WORK_PER_BYTE_MAX: usize = 10;

/// The result of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WildmatResult {
    /// The rightmost matching pattern includes.
    Match,
    /// The rightmost matching pattern excludes, or none matches.
    Fail,
    /// The rightmost matching pattern poisons: the whole article is refused, whatever else matches.
    Poison,
}

impl WildmatResult {
    /// The character before a pattern with this result.
    pub fn sign(self) -> &'static str {
        match self {
            WildmatResult::Match => "",
            WildmatResult::Fail => "!",
            WildmatResult::Poison => "@",
        }
    }
}

/// A compiled wildmat expression.
#[derive(Debug, Clone)]
pub struct Wildmat {
    patterns: Vec<(WildmatResult, Glob)>,
}

impl Wildmat {
    /// Compiles a list with `!`; `@` is an ordinary character.
    pub fn parse(list: &[u8]) -> Self {
        Self::parse_list(list, false)
    }

    /// Compiles a list with `!` and `@`.
    pub fn parse_poison(list: &[u8]) -> Self {
        Self::parse_list(list, true)
    }

    /// Compiles one pattern, in which `,`, `!` and `@` are ordinary characters (XPAT).
    pub fn parse_simple(pattern: &[u8]) -> Self {
        Self {
            patterns: vec![(WildmatResult::Match, Glob::parse(pattern))],
        }
    }

    /// Whether the expression matches the text.
    pub fn matches(&self, text: &[u8]) -> bool {
        self.result(text) == WildmatResult::Match
    }

    /// Whether the expression matches any group of a Newsgroups value.
    pub fn matches_any(&self, newsgroups: &[u8]) -> bool {
        newsgroups::split(newsgroups).any(|group| self.matches(group))
    }

    /// The result of the rightmost matching pattern.
    pub fn result(&self, text: &[u8]) -> WildmatResult {
        self.result_counted(text, &mut 0)
    }

    /// As [`Wildmat::matches`]; adds the number of steps to `work`.
    pub fn matches_counted(&self, text: &[u8], work: &mut usize) -> bool {
        self.result_counted(text, work) == WildmatResult::Match
    }

    fn result_counted(&self, text: &[u8], work: &mut usize) -> WildmatResult {
        self.patterns
            .iter()
            .rev()
            .find(|(_, glob)| glob.matches(text, work))
            .map_or(WildmatResult::Fail, |&(result, _)| result)
    }

    fn parse_list(list: &[u8], poison: bool) -> Self {
        let compiled = |pattern: &[u8]| {
            let (result, pattern) = match pattern {
                [b'!', pattern @ ..] => (WildmatResult::Fail, pattern),
                [b'@', pattern @ ..] if poison => (WildmatResult::Poison, pattern),
                pattern => (WildmatResult::Match, pattern),
            };
            (result, Glob::parse(pattern))
        };
        Self {
            patterns: patterns(list).map(compiled).collect(),
        }
    }
}

/// The patterns of a list, each with its `!` or `@`.
pub fn patterns(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(list);
    std::iter::from_fn(move || {
        let list = rest?;
        let (pattern, after) = list
            .split_at_checked(pattern_len(list))
            .unwrap_or((list, b""));
        rest = after.split_first().map(|(_, after)| after);
        Some(pattern)
    })
}

/// The length of the first pattern of a list, up to the comma that ends it: a comma neither escaped nor
/// in a set.
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
    /// `None` for a malformed pattern, which matches nothing.
    parts: Option<Parts>,
}

/// A well-formed pattern, split at its `*`.
#[derive(Debug, Clone)]
struct Parts {
    /// The part before the first `*`.
    first: Vec<Step>,
    /// The parts between two `*`, to be found one after the other.
    between: Vec<Search>,
    /// The part after the last `*`; `None` if there is no `*`.
    last: Option<Search>,
}

/// One element of a pattern.
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
        let mut parts = Vec::new();
        let mut steps = Vec::new();
        let mut rest = pattern;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'*' => parts.push(std::mem::take(&mut steps)),
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
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else {
            return Some(Self {
                first: steps,
                between: Vec::new(),
                last: None,
            });
        };
        // Several adjacent `*` are one.
        let between = parts.filter(|part| !part.is_empty());
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
        for part in &self.between {
            match part.find(rest, false, work) {
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

/// A set of characters, as ranges; a reversed range is empty.
#[derive(Debug, Clone)]
struct Set {
    negated: bool,
    ranges: Vec<(u32, u32)>,
}

impl Set {
    /// Parses a set after its `[`; also returns the text after its `]`. A `]` at the
    /// start is a member, and so is a `-` at either end.
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

/// Decodes the first character of a text, and its length: a UTF-8 sequence, or a single
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
