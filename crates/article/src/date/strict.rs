//! Parses dates strictly by RFC 5322 (3.3, and the obsolete forms of 4.3).

use super::civil::{self, Civil};
use super::lenient::after_comment;
use super::{is_weekday, month, since_epoch, two_digits, zone};

/// Parses a date by RFC 5322, obsolete forms included, to seconds since 1970, never negative. A wrong weekday is
/// ignored. Unlike RFC 5322, unknown zone names are rejected.
pub fn parse(text: &[u8]) -> Option<i64> {
    let mut rest = skip_cfws(text);
    if let [a @ b'A'..=b'z', b, c, after @ ..] = rest {
        if !is_weekday([*a, *b, *c]) {
            return None;
        }
        rest = skip_cfws(skip_cfws(after).strip_prefix(b",")?);
    }
    let (day, _) = parse_number(&mut rest, 1..=2)?;
    let [a, b, c, after @ ..] = skip_cfws(rest) else {
        return None;
    };
    let month = month([*a, *b, *c])?;
    rest = skip_cfws(after);
    let (year, digits) = parse_number(&mut rest, 2..=4)?;
    rest = skip_required_cfws(rest)?;
    let (hour, after) = parse_pair(rest)?;
    let (minute, after) = parse_pair(skip_cfws(skip_cfws(after).strip_prefix(b":")?))?;
    let (second, after) = match skip_cfws(after).strip_prefix(b":") {
        Some(after) => parse_pair(skip_cfws(after))?,
        None => (0, after),
    };
    let (east, after) = parse_zone(skip_required_cfws(after)?)?;
    if !skip_cfws(after).is_empty() {
        return None;
    }
    let date = Civil {
        year: civil::full_year(year, digits)?,
        month,
        day,
        hour,
        minute,
        second,
    };
    since_epoch(date.seconds()?, east)
}

fn parse_zone(text: &[u8]) -> Option<(i64, &[u8])> {
    if let [sign @ (b'+' | b'-'), h1, h2, m1, m2, after @ ..] = text {
        return Some((
            zone::offset(*sign, two_digits(*h1, *h2)?, two_digits(*m1, *m2)?)?,
            after,
        ));
    }
    let letters = text
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let (name, after) = text.split_at_checked(letters)?;
    let mut lower = [0; 3];
    let lower = lower.get_mut(..letters)?;
    lower
        .iter_mut()
        .zip(name)
        .for_each(|(to, from)| *to = from.to_ascii_lowercase());
    Some((zone::of_rfc5322(lower)?, after))
}

/// Parses exactly two digits.
fn parse_pair(text: &[u8]) -> Option<(u32, &[u8])> {
    match text {
        [_, _, b'0'..=b'9', ..] => None,
        [tens, units, after @ ..] => Some((two_digits(*tens, *units)?, after)),
        _ => None,
    }
}

/// Parses a number with a permitted count of digits and advances `text` past it: value and count.
fn parse_number(text: &mut &[u8], wanted: std::ops::RangeInclusive<usize>) -> Option<(u32, usize)> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !wanted.contains(&count) {
        return None;
    }
    let (digits, after) = text.split_at_checked(count)?;
    *text = after;
    Some((
        digits
            .iter()
            .fold(0, |value, digit| value * 10 + u32::from(digit - b'0')),
        count,
    ))
}

/// Skips blanks, folds and comments; `None` if there are none.
fn skip_required_cfws(text: &[u8]) -> Option<&[u8]> {
    let after = skip_cfws(text);
    (after.len() < text.len()).then_some(after)
}

/// Skips blanks, folds and comments, if any.
fn skip_cfws(text: &[u8]) -> &[u8] {
    let mut rest = text;
    loop {
        rest = match rest {
            [b' ' | b'\t' | b'\r' | b'\n', after @ ..] => after,
            [b'(', after @ ..] => after_comment(after),
            _ => return rest,
        };
    }
}
