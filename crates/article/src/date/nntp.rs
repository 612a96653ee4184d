//! Parses the date and time of NEWNEWS and NEWGROUPS.

use super::civil::Civil;
use super::{LocalZone, two_digits};

/// Parses `YYYYMMDD` or `YYMMDD` and `HHMMSS` (RFC 3977, 7.3.2) to seconds since 1970; an earlier time is 0, because
/// no article is older. `zone` is [`Utc`](super::Utc) if the word GMT was given, else the server's zone.
///
/// A year of two digits is in the century of `now` (seconds since 1970), or in the one before if it
/// would be after the year of `now`.
pub fn parse(date: &[u8], time: &[u8], zone: &dyn LocalZone, now: i64) -> Option<i64> {
    let (year, date) = match date {
        [c1, c2, y1, y2, date @ ..] if date.len() == 4 => {
            (two_digits(*c1, *c2)? * 100 + two_digits(*y1, *y2)?, date)
        }
        [y1, y2, date @ ..] if date.len() == 4 => {
            let (now, _) = Civil::at(now);
            let year = now.year / 100 * 100 + two_digits(*y1, *y2)?;
            (if year > now.year { year - 100 } else { year }, date)
        }
        _ => return None,
    };
    let [m1, m2, d1, d2] = date else { return None };
    let [h1, h2, n1, n2, s1, s2] = time else {
        return None;
    };
    let is_early = year < 1970;
    let civil = Civil {
        // 2000 years later it has the same calendar.
        year: if is_early { year + 2000 } else { year },
        month: two_digits(*m1, *m2)?,
        day: two_digits(*d1, *d2)?,
        hour: two_digits(*h1, *h2)?,
        minute: two_digits(*n1, *n2)?,
        second: two_digits(*s1, *s2)?,
    };
    let local = civil.seconds()?;
    if is_early {
        return Some(0);
    }
    Some(local.saturating_sub(zone.east_seconds(local)).max(0))
}
