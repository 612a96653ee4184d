//! Dates by the letter of RFC 5322 (3.3 and the obsolete forms of 4.3).

use super::civil::{self, Civil};
use super::lenient::after_comment;
use super::{is_weekday, month, since_epoch, two, zone};

/// Seconds since 1970 of a date by RFC 5322, obsolete forms included, never negative. A wrong weekday is ignored;
/// unlike there, zone names nobody defined are refused.
pub fn parse(text: &[u8]) -> Option<i64> {
    let mut rest = blank(text);
    if let [a @ b'A'..=b'z', b, c, after @ ..] = rest {
        if !is_weekday([*a, *b, *c]) {
            return None;
        }
        rest = blank(blank(after).strip_prefix(b",")?);
    }
    let (day, _) = number(&mut rest, 1..=2)?;
    let [a, b, c, after @ ..] = blank(rest) else {
        return None;
    };
    let month = month([*a, *b, *c])?;
    rest = blank(after);
    let (year, digits) = number(&mut rest, 2..=4)?;
    rest = separated(rest)?;
    let (hour, after) = pair(rest)?;
    let (minute, after) = pair(blank(blank(after).strip_prefix(b":")?))?;
    let (second, after) = match blank(after).strip_prefix(b":") {
        Some(after) => pair(blank(after))?,
        None => (0, after),
    };
    let (east, after) = zone(separated(after)?)?;
    if !blank(after).is_empty() {
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

fn zone(text: &[u8]) -> Option<(i64, &[u8])> {
    if let [sign @ (b'+' | b'-'), h1, h2, m1, m2, after @ ..] = text {
        return Some((zone::offset(*sign, two(*h1, *h2)?, two(*m1, *m2)?)?, after));
    }
    let letters = text
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let (name, after) = text.split_at_checked(letters)?;
    let mut small = [0; 3];
    let small = small.get_mut(..letters)?;
    small
        .iter_mut()
        .zip(name)
        .for_each(|(to, from)| *to = from.to_ascii_lowercase());
    Some((zone::of_rfc5322(small)?, after))
}

/// Two digits and no more.
fn pair(text: &[u8]) -> Option<(u32, &[u8])> {
    match text {
        [_, _, b'0'..=b'9', ..] => None,
        [tens, units, after @ ..] => Some((two(*tens, *units)?, after)),
        _ => None,
    }
}

/// A number of so many digits, passed over in `text`.
fn number(text: &mut &[u8], wanted: std::ops::RangeInclusive<usize>) -> Option<(u32, usize)> {
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

/// Passes over blanks, folds and comments, of which there must be some.
fn separated(text: &[u8]) -> Option<&[u8]> {
    let after = blank(text);
    (after.len() < text.len()).then_some(after)
}

/// Passes over blanks, folds and comments.
fn blank(text: &[u8]) -> &[u8] {
    let mut rest = text;
    loop {
        rest = match rest {
            [b' ' | b'\t' | b'\r' | b'\n', after @ ..] => after,
            [b'(', after @ ..] => after_comment(after),
            _ => return rest,
        };
    }
}
