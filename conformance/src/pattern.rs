//! Patterns that reply lines are matched with.
//!
//! | pattern | matches |
//! |---|---|
//! | `*` | any octets; ` *` at the end also an empty text, without the space |
//! | `<number>` | decimal digits |
//! | `<=7>` | that number, leading zeros allowed (RFC 3977, 3.2) |
//! | `<word>` | octets without space and TAB, at least one |
//! | `<label>` | a keyword (RFC 3977, 9.8) |
//! | `<a\|b>` | one of these texts |
//! | `{name}` | a word: the value of this variable, or, if it has none, any word, which becomes its value |
//! | `\t` `\\` `\xHH` | an octet |
//! | ` \|\| ` | between two patterns: either of them |

use std::collections::HashMap;

/// The values of variables, by name.
pub type Variables = HashMap<String, String>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Any,
    Number,
    Exactly(u64),
    Word,
    Label,
    OneOf(Vec<Vec<u8>>),
    Variables(String),
}

/// Whether `line` matches one of the patterns in `text`. Sets the variables of the pattern that matches.
pub fn matches(text: &str, line: &[u8], variables: &mut Variables) -> bool {
    for one in text.split(" || ") {
        let mut now = variables.clone();
        let pieces = pieces_of(one);
        if matches_pieces(&pieces, line, &mut now) || ends_early(&pieces, line, &mut now) {
            *variables = now;
            return true;
        }
    }
    false
}

/// Whether a pattern that ends in ` *` matches without it: the text after a reply is optional (RFC 3977, 3.2).
fn ends_early(pieces: &[Piece], line: &[u8], variables: &mut Variables) -> bool {
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
    matches_pieces(&short, line, variables)
}

fn matches_pieces(pieces: &[Piece], line: &[u8], variables: &mut Variables) -> bool {
    let Some((first, rest)) = pieces.split_first() else {
        return line.is_empty();
    };
    match first {
        Piece::Text(text) => match line.strip_prefix(text.as_slice()) {
            Some(after) => matches_pieces(rest, after, variables),
            None => false,
        },
        Piece::Any => any_length(rest, line, line.len(), variables),
        Piece::Number => {
            let digits = leading(line, |octet| octet.is_ascii_digit());
            digits > 0 && matches_after(rest, line, digits, variables)
        }
        Piece::Exactly(number) => {
            let digits = leading(line, |octet| octet.is_ascii_digit());
            let value = line.get(..digits).and_then(number_of);
            value == Some(*number) && matches_after(rest, line, digits, variables)
        }
        Piece::Word => {
            let octets = leading(line, |octet| octet != b' ' && octet != b'\t');
            octets > 0 && matches_after(rest, line, octets, variables)
        }
        Piece::Label => {
            let is_of = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'-');
            let octets = leading(line, is_of);
            let begins = line.first().is_some_and(u8::is_ascii_alphabetic);
            begins && octets > 2 && matches_after(rest, line, octets, variables)
        }
        Piece::OneOf(texts) => texts.iter().any(|text| {
            let mut now = variables.clone();
            let is = line
                .strip_prefix(text.as_slice())
                .is_some_and(|after| matches_pieces(rest, after, &mut now));
            if is {
                *variables = now;
            }
            is
        }),
        Piece::Variables(name) => match variables.get(name).cloned() {
            Some(text) => match line.strip_prefix(text.as_bytes()) {
                Some(after) => matches_pieces(rest, after, variables),
                None => false,
            },
            None => {
                let octets = leading(line, |octet| octet != b' ' && octet != b'\t');
                let Some(word) = line.get(..octets) else {
                    return false;
                };
                variables.insert(name.clone(), String::from_utf8_lossy(word).into_owned());
                octets > 0 && matches_after(rest, line, octets, variables)
            }
        },
    }
}

fn any_length(rest: &[Piece], line: &[u8], longest: usize, variables: &mut Variables) -> bool {
    (0..=longest).rev().any(|octets| {
        let mut now = variables.clone();
        let is = matches_after(rest, line, octets, &mut now);
        if is {
            *variables = now;
        }
        is
    })
}

fn matches_after(rest: &[Piece], line: &[u8], octets: usize, variables: &mut Variables) -> bool {
    line.get(octets..)
        .is_some_and(|after| matches_pieces(rest, after, variables))
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
            '{' => enclosed(rest, '}')
                .map(|inside| (Piece::Variables(inside.to_owned()), inside.len() + 2)),
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

/// The text between the first letter and `end`.
fn enclosed(text: &str, end: char) -> Option<&str> {
    let inside = text.get(1..)?;
    inside.get(..inside.find(end)?)
}

/// Parses `<…>`, unless it is a message-id.
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

/// Parses `\t`, `\r`, `\n`, `\\`, `\s` (a space) or `\xHH` at the start of a text: the octet, and the length of the escape.
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
    use super::{Variables, matches};

    fn is(pattern: &str, line: &str) -> bool {
        matches(pattern, line.as_bytes(), &mut Variables::new())
    }

    #[test]
    fn text_after_a_reply_is_optional() {
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
    fn a_variable_keeps_its_value() {
        let mut variables = Variables::new();
        assert!(matches(
            "223 {n} {id} *",
            b"223 7 <x@y> yes",
            &mut variables
        ));
        assert_eq!(variables.get("id").map(String::as_str), Some("<x@y>"));
        assert!(matches("223 {n} *", b"223 7", &mut variables));
        assert!(!matches("223 {n} *", b"223 8", &mut variables));
    }
}
