//! Parses dates whose parts come in any order.

use super::civil::{self, Civil};
use super::{LocalZone, is_weekday, month, since_epoch, zone};

/// Longest word of a date, bytes.
const WORD_BYTES_MAX: usize = 12;
/// Words of relative dates, which are rejected: their value depends on the time of reading.
const RELATIVE: [&[u8]; 24] = [
    b"ago",
    b"day",
    b"days",
    b"fortnight",
    b"fortnights",
    b"hour",
    b"hours",
    b"last",
    b"midnight",
    b"minute",
    b"minutes",
    b"month",
    b"months",
    b"never",
    b"next",
    b"noon",
    b"now",
    b"today",
    b"tomorrow",
    b"week",
    b"weeks",
    b"year",
    b"years",
    b"yesterday",
];

pub(super) fn parse(text: &[u8], local: &dyn LocalZone) -> Option<i64> {
    let mut date = DateParts {
        rest: text,
        ..DateParts::default()
    };
    while let Some((&byte, after)) = date.rest.split_first() {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b',' => date.rest = after,
            b'(' => date.rest = after_comment(after),
            b'0'..=b'9' => date.parse_number()?,
            b'a'..=b'z' | b'A'..=b'Z' => date.parse_word()?,
            b'+' | b'-' if date.time.is_some() && after.first().is_some_and(u8::is_ascii_digit) => {
                date.rest = after;
                date.parse_numeric_zone(byte)?;
            }
            // `12:04:47-PST': C News's getdate skipped the hyphen.
            b'-' if date.time.is_some() && after.first().is_some_and(u8::is_ascii_alphabetic) => {
                date.rest = after
            }
            b'-' if date.time.is_none() && date.day.or(date.year).or(date.month).is_some() => {
                date.rest = after
            }
            _ => return None,
        }
    }
    date.finish(local)
}

/// The parts of a date found so far.
#[derive(Default)]
struct DateParts<'a> {
    rest: &'a [u8],
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    /// Hour, minute, second.
    time: Option<(u32, u32, u32)>,
    /// Seconds east.
    zone: Option<i64>,
    zone_is_numeric: bool,
}

impl DateParts<'_> {
    /// Parses the digits at the start of `rest`: value and count.
    fn parse_digits(&mut self) -> Option<(u32, usize)> {
        let count = self
            .rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if !(1..=8).contains(&count) {
            return None;
        }
        let (digits, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        let value = digits
            .iter()
            .fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
        Some((value, count))
    }

    /// Parses one or two digits that follow the byte `before`.
    fn parse_short_after(&mut self, before: u8) -> Option<u32> {
        self.rest = self.rest.strip_prefix(&[before])?;
        let (value, count) = self.parse_digits()?;
        (count <= 2).then_some(value)
    }

    fn parse_number(&mut self) -> Option<()> {
        let (value, count) = self.parse_digits()?;
        match (self.rest, count) {
            ([b':', ..], 1 | 2) => self.parse_clock(value),
            ([b'/', ..], _) => self.parse_slashes(value, count),
            ([b'-', b'0'..=b'9', ..], 4)
                if self.year.is_none() && self.day.is_none() && self.month.is_none() =>
            {
                self.year = Some(value);
                self.month = Some(self.parse_short_after(b'-')?);
                self.day = Some(self.parse_short_after(b'-')?);
                Some(())
            }
            (_, 1 | 2) if self.day.is_none() && (1..=31).contains(&value) => {
                self.day = Some(value);
                Some(())
            }
            _ if (2..=4).contains(&count) && self.year.is_none() => {
                self.year = Some(civil::full_year(value, count)?);
                Some(())
            }
            // `1430` is 14:30, once the date is complete.
            (_, 4) if self.time.is_none() && self.day.is_some() => {
                self.time = Some((value / 100, value % 100, 0));
                Some(())
            }
            _ => None,
        }
    }

    /// Parses the rest of `HH:MM[:SS[.fraction]]`.
    fn parse_clock(&mut self, hour: u32) -> Option<()> {
        let minute = self.parse_short_after(b':')?;
        let second = if self.rest.starts_with(b":") {
            self.parse_short_after(b':')?
        } else {
            0
        };
        if let [b'.', b'0'..=b'9', ..] = self.rest {
            self.rest = self.rest.strip_prefix(b".")?;
            self.parse_digits()?;
        }
        self.time
            .replace((hour, minute, second))
            .is_none()
            .then_some(())
    }

    /// Parses the rest of `M/D/Y` (United States) or `YYYY/M/D`.
    fn parse_slashes(&mut self, first: u32, count: usize) -> Option<()> {
        if self.day.or(self.month).or(self.year).is_some() {
            return None;
        }
        let second = self.parse_short_after(b'/')?;
        self.rest = self.rest.strip_prefix(b"/")?;
        let (third, third_count) = self.parse_digits()?;
        let (year, month, day) = match (count, third_count) {
            (4, 1..=2) => (first, second, third),
            (1..=2, 2 | 4) => (civil::full_year(third, third_count)?, first, second),
            _ => return None,
        };
        (self.year, self.month, self.day) = (Some(year), Some(month), Some(day));
        Some(())
    }

    /// Parses the digits of `+HHMM`, `+H`, `+HH` or `+HH:MM`. Of more digits the last two are minutes.
    fn parse_numeric_zone(&mut self, sign: u8) -> Option<()> {
        if self.zone_is_numeric {
            return None;
        }
        let (value, count) = self.parse_digits()?;
        let (hours, minutes) = match count {
            1..=2 if self.rest.starts_with(b":") => (value, self.parse_short_after(b':')?),
            1..=2 => (value, 0),
            _ => (value / 100, value % 100),
        };
        self.zone = Some(zone::offset(sign, hours, minutes)?);
        self.zone_is_numeric = true;
        Some(())
    }

    fn parse_word(&mut self) -> Option<()> {
        let count = self
            .rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let (word, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest.strip_prefix(b".").unwrap_or(rest);
        let mut lower = [0; WORD_BYTES_MAX];
        // A longer word is unknown in any case.
        let lower = lower.get_mut(..count.min(WORD_BYTES_MAX))?;
        lower
            .iter_mut()
            .zip(word)
            .for_each(|(to, from)| *to = from.to_ascii_lowercase());
        let lower = &*lower;

        if let Some(number) = month_name(lower) {
            return self.month.replace(number).is_none().then_some(());
        }
        if is_weekday_name(lower) {
            return Some(());
        }
        if RELATIVE.contains(&lower) {
            return None;
        }
        match (self.time, lower) {
            // 1993-04-30T12:00:00Z
            (None, b"t")
                if self.day.is_some() && self.rest.first().is_some_and(u8::is_ascii_digit) =>
            {
                return Some(());
            }
            (Some((hour, minute, second)), b"am" | b"pm") => {
                if !(1..=12).contains(&hour) {
                    return None;
                }
                let hour = hour % 12 + if lower == b"pm" { 12 } else { 0 };
                self.time = Some((hour, minute, second));
                return Some(());
            }
            _ => {}
        }
        if lower == b"dst" {
            self.zone = Some(self.zone?.checked_add(3600)?);
            return Some(());
        }
        match zone::of_name(lower) {
            Some(east) if self.day.is_some() => self.zone = self.zone.or(Some(east)),
            None if self.time.is_some() => self.zone = self.zone.or(Some(0)),
            _ => return None,
        }
        Some(())
    }

    fn finish(self, local: &dyn LocalZone) -> Option<i64> {
        let (hour, minute, second) = self.time.unwrap_or((0, 0, 0));
        let date = Civil {
            year: self.year?,
            month: self.month?,
            day: self.day?,
            hour,
            minute,
            second,
        };
        let seconds = date.seconds()?;
        since_epoch(
            seconds,
            self.zone.unwrap_or_else(|| local.east_seconds(seconds)),
        )
    }
}

/// Returns the text after a comment whose opening parenthesis precedes `text` (RFC 5322, 3.2.2).
pub(super) fn after_comment(text: &[u8]) -> &[u8] {
    let mut depth: usize = 1;
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'\\' => rest = rest.get(1..).unwrap_or_default(),
            b'(' => depth = depth.saturating_add(1),
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    rest
}

/// Parses an English month name, or at least its first three letters, in lower case.
fn month_name(word: &[u8]) -> Option<u32> {
    const NAMES: [&[u8]; 12] = [
        b"january",
        b"february",
        b"march",
        b"april",
        b"may",
        b"june",
        b"july",
        b"august",
        b"september",
        b"october",
        b"november",
        b"december",
    ];
    let [a, b, c, ..] = word else { return None };
    let number = month([*a, *b, *c])?;
    let name = NAMES.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
    name.starts_with(word).then_some(number)
}

fn is_weekday_name(word: &[u8]) -> bool {
    const NAMES: [&[u8]; 7] = [
        b"monday",
        b"tuesday",
        b"wednesday",
        b"thursday",
        b"friday",
        b"saturday",
        b"sunday",
    ];
    match word {
        [a, b, c] => is_weekday([*a, *b, *c]),
        [_, _, _, ..] => NAMES.iter().any(|name| name.starts_with(word)),
        _ => false,
    }
}
