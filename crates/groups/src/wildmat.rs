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
//! Matching takes time in proportion to text × pattern at worst: after a later
//! `*` an earlier one is never tried again.

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
        self.patterns
            .iter()
            .rev()
            .find(|(_, glob)| glob.matches(text))
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
    /// Stretches between `*`, each to be found in its turn; the first one at
    /// the front, the last one at the end. `None` for a pattern that makes no
    /// sense.
    stretches: Option<Vec<Vec<Step>>>,
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
            stretches: Self::parse_stretches(pattern),
        }
    }

    fn parse_stretches(pattern: &[u8]) -> Option<Vec<Vec<Step>>> {
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
        stretches.push(steps);
        Some(stretches)
    }

    fn matches(&self, text: &[u8]) -> bool {
        let Some(stretches) = &self.stretches else {
            return false;
        };
        let Some((first, later)) = stretches.split_first() else {
            return false;
        };
        let Some(mut rest) = after_steps(first, text) else {
            return false;
        };
        let Some((last, between)) = later.split_last() else {
            return rest.is_empty();
        };
        for stretch in between {
            match find_steps(stretch, rest, |_| true) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        last.is_empty() || find_steps(last, rest, <[u8]>::is_empty).is_some()
    }
}

fn push_byte(steps: &mut Vec<Step>, byte: u8) {
    if let Some(Step::Bytes(bytes)) = steps.last_mut() {
        bytes.push(byte);
    } else {
        steps.push(Step::Bytes(vec![byte]));
    }
}

/// Tries the steps here, then a character further on, and so on; what follows
/// them where they first fit and `fits` likes what follows.
fn find_steps<'t>(steps: &[Step], text: &'t [u8], fits: fn(&[u8]) -> bool) -> Option<&'t [u8]> {
    let mut start = text;
    loop {
        if let Some(after) = after_steps(steps, start)
            && fits(after)
        {
            return Some(after);
        }
        start = after_character(start)?;
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
