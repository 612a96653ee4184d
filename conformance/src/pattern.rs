//! Patterns of lines: what a case says about an answer.
//!
//! | in a pattern | stands for |
//! |---|---|
//! | `*` | any octets; ` *` at the end also for nothing at all, not even the space |
//! | `<number>` | decimal digits |
//! | `<=7>` | that number, leading zeros allowed (RFC 3977, 3.2) |
//! | `<word>` | octets without space and TAB, at least one |
//! | `<label>` | a keyword (RFC 3977, 9.8) |
//! | `<a\|b>` | one of these texts |
//! | `{name}` | a word: the one kept under that name, or any, which is then kept |
//! | `\t` `\\` `\xHH` | an octet |
//! | ` \|\| ` | between two patterns: either of them |

use std::collections::HashMap;

/// What was kept of earlier lines, by name.
pub type Kept = HashMap<String, String>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Any,
    Number,
    Exactly(u64),
    Word,
    Label,
    OneOf(Vec<Vec<u8>>),
    Kept(String),
}

/// Does `line` match one of the patterns in `text`? What it names is then kept.
pub fn matches(text: &str, line: &[u8], kept: &mut Kept) -> bool {
    for one in text.split(" || ") {
        let mut now = kept.clone();
        let pieces = pieces_of(one);
        if matches_pieces(&pieces, line, &mut now) || ends_early(&pieces, line, &mut now) {
            *kept = now;
            return true;
        }
    }
    false
}

/// ` *` at the end of a pattern also stands for nothing: text after an answer is optional (RFC 3977, 3.2).
fn ends_early(pieces: &[Piece], line: &[u8], kept: &mut Kept) -> bool {
    let Some((Piece::Any, [before @ .., Piece::Text(text)])) = pieces.split_last() else {
        return false;
    };
    let Some(text) = text.strip_suffix(b" ") else {
        return false;
    };
    let mut short = before.to_vec();
    if !text.is_empty() {
        short.push(Piece::Text(text.to_vec()));
    }
    matches_pieces(&short, line, kept)
}

fn matches_pieces(pieces: &[Piece], line: &[u8], kept: &mut Kept) -> bool {
    let Some((first, rest)) = pieces.split_first() else {
        return line.is_empty();
    };
    match first {
        Piece::Text(text) => match line.strip_prefix(text.as_slice()) {
            Some(after) => matches_pieces(rest, after, kept),
            None => false,
        },
        Piece::Any => any_length(rest, line, line.len(), kept),
        Piece::Number => {
            let digits = leading(line, |octet| octet.is_ascii_digit());
            digits > 0 && matches_after(rest, line, digits, kept)
        }
        Piece::Exactly(number) => {
            let digits = leading(line, |octet| octet.is_ascii_digit());
            let said = line.get(..digits).and_then(number_of);
            said == Some(*number) && matches_after(rest, line, digits, kept)
        }
        Piece::Word => {
            let octets = leading(line, |octet| octet != b' ' && octet != b'\t');
            octets > 0 && matches_after(rest, line, octets, kept)
        }
        Piece::Label => {
            let is_of = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'-');
            let octets = leading(line, is_of);
            let begins = line.first().is_some_and(u8::is_ascii_alphabetic);
            begins && octets > 2 && matches_after(rest, line, octets, kept)
        }
        Piece::OneOf(texts) => texts.iter().any(|text| {
            let mut now = kept.clone();
            let is = line
                .strip_prefix(text.as_slice())
                .is_some_and(|after| matches_pieces(rest, after, &mut now));
            if is {
                *kept = now;
            }
            is
        }),
        Piece::Kept(name) => match kept.get(name).cloned() {
            Some(text) => match line.strip_prefix(text.as_bytes()) {
                Some(after) => matches_pieces(rest, after, kept),
                None => false,
            },
            None => {
                let octets = leading(line, |octet| octet != b' ' && octet != b'\t');
                let Some(word) = line.get(..octets) else {
                    return false;
                };
                kept.insert(name.clone(), String::from_utf8_lossy(word).into_owned());
                octets > 0 && matches_after(rest, line, octets, kept)
            }
        },
    }
}

fn any_length(rest: &[Piece], line: &[u8], longest: usize, kept: &mut Kept) -> bool {
    (0..=longest).rev().any(|octets| {
        let mut now = kept.clone();
        let is = matches_after(rest, line, octets, &mut now);
        if is {
            *kept = now;
        }
        is
    })
}

fn matches_after(rest: &[Piece], line: &[u8], octets: usize, kept: &mut Kept) -> bool {
    line.get(octets..)
        .is_some_and(|after| matches_pieces(rest, after, kept))
}

fn leading(line: &[u8], is: impl Fn(u8) -> bool) -> usize {
    line.iter().take_while(|&&octet| is(octet)).count()
}

fn number_of(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn pieces_of(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut literal = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let special = match letter {
            '*' => Some((Piece::Any, 1)),
            '<' => enclosed(rest, '>').and_then(|inside| Some((angle(inside)?, inside.len() + 2))),
            '{' => {
                enclosed(rest, '}').map(|inside| (Piece::Kept(inside.to_owned()), inside.len() + 2))
            }
            _ => None,
        };
        let used = match special {
            Some((piece, used)) => {
                if !literal.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(piece);
                used
            }
            None => take_octet(rest, letter, &mut literal),
        };
        rest = rest.get(used..).unwrap_or_default();
    }
    if !literal.is_empty() {
        pieces.push(Piece::Text(literal));
    }
    pieces
}

/// What stands between the first letter and `end`.
fn enclosed(text: &str, end: char) -> Option<&str> {
    let inside = text.get(1..)?;
    inside.get(..inside.find(end)?)
}

/// `<…>` where it is not simply a message-id.
fn angle(inside: &str) -> Option<Piece> {
    if inside == "number" {
        Some(Piece::Number)
    } else if inside == "word" {
        Some(Piece::Word)
    } else if inside == "label" {
        Some(Piece::Label)
    } else if let Some(number) = inside.strip_prefix('=') {
        number.parse().ok().map(Piece::Exactly)
    } else if inside.contains('|') {
        let texts = inside.split('|').map(|text| text.as_bytes().to_vec());
        Some(Piece::OneOf(texts.collect()))
    } else {
        None
    }
}

fn take_octet(rest: &str, letter: char, literal: &mut Vec<u8>) -> usize {
    if let Some((octet, used)) = escape(rest) {
        literal.push(octet);
        return used;
    }
    literal.extend_from_slice(rest.get(..letter.len_utf8()).unwrap_or_default().as_bytes());
    letter.len_utf8()
}

/// `\t`, `\r`, `\n`, `\\`, `\s` (a space) or `\xHH` at the start of a text: the octet, and how long it is written.
pub(crate) fn escape(text: &str) -> Option<(u8, usize)> {
    let after = text.strip_prefix('\\')?;
    let octet = match after.chars().next()? {
        't' => b'\t',
        'r' => b'\r',
        'n' => b'\n',
        's' => b' ',
        '\\' => b'\\',
        'x' => return Some((u8::from_str_radix(after.get(1..3)?, 16).ok()?, 4)),
        _ => return None,
    };
    Some((octet, 2))
}

#[cfg(test)]
mod tests {
    use super::{Kept, matches};

    fn is(pattern: &str, line: &str) -> bool {
        matches(pattern, line.as_bytes(), &mut Kept::new())
    }

    #[test]
    fn text_after_an_answer_is_optional() {
        assert!(is("411 *", "411"));
        assert!(is("411 *", "411 no such group"));
        assert!(!is("411 *", "4110"));
        assert!(!is("411 *", "412 no"));
    }

    #[test]
    fn numbers_words_and_choices() {
        assert!(is(
            "211 <number> <=1> <=3> a.b *",
            "211 3 01 3 a.b selected"
        ));
        assert!(!is("211 <number> <=1> <=3> a.b *", "211 3 1 30 a.b"));
        assert!(is("223 <0|3> <word>", "223 3 <a@b>"));
        assert!(is("500 * || 501 *", "501 syntax"));
        assert!(is("<label> *", "MODE-READER"));
        assert!(!is("<label> *", "X: y"));
        assert!(is("<a@b> *", "<a@b> x"));
        assert!(is("a\\tb\\x2e", "a\tb."));
    }

    #[test]
    fn what_is_kept_must_come_again() {
        let mut kept = Kept::new();
        assert!(matches("223 {n} {id} *", b"223 7 <x@y> yes", &mut kept));
        assert_eq!(kept.get("id").map(String::as_str), Some("<x@y>"));
        assert!(matches("223 {n} *", b"223 7", &mut kept));
        assert!(!matches("223 {n} *", b"223 8", &mut kept));
    }
}
