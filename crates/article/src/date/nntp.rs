//! The date and time of NEWNEWS and NEWGROUPS.

use super::civil::Civil;
use super::{LocalZone, since_epoch, two};

/// Seconds since 1970 of `YYYYMMDD` or `YYMMDD` and `HHMMSS` (RFC 3977, 7.3.2), in UTC if `zone` is
/// [`Utc`](super::Utc) (the word GMT was given), else in the server's zone. Never negative.
///
/// A year of two digits is in the century of `now` (seconds since 1970), or the one before if it
/// would be after the year of `now`.
pub fn parse(date: &[u8], time: &[u8], zone: &dyn LocalZone, now: i64) -> Option<i64> {
    let (year, date) = match date {
        [c1, c2, y1, y2, date @ ..] if date.len() == 4 => {
            (two(*c1, *c2)? * 100 + two(*y1, *y2)?, date)
        }
        [y1, y2, date @ ..] if date.len() == 4 => {
            let (now, _) = Civil::at(now);
            let year = now.year / 100 * 100 + two(*y1, *y2)?;
            (if year > now.year { year - 100 } else { year }, date)
        }
        _ => return None,
    };
    let [m1, m2, d1, d2] = date else { return None };
    let [h1, h2, n1, n2, s1, s2] = time else {
        return None;
    };
    let civil = Civil {
        year,
        month: two(*m1, *m2)?,
        day: two(*d1, *d2)?,
        hour: two(*h1, *h2)?,
        minute: two(*n1, *n2)?,
        second: two(*s1, *s2)?,
    };
    let local = civil.seconds()?;
    since_epoch(local, zone.east_seconds(local))
}
