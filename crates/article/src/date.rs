//! Parses and writes dates, as seconds since 1970.
//!
//! [`parse`] accepts what C News's `getdate` accepted and what archives contain: RFC 822 and RFC 5322, RFC 850
//! (`Thursday, 25-Apr-85 14:23:11 EST`), ctime (`Sun Jun 11 18:50:20 1989`, a zone inside or after),
//! `dec 31,1991`, `4/30/93`, `1993-04-30`; years of two to four digits; old and new zone names. A wrong weekday is
//! ignored. Relative dates (`tomorrow`, `+60days`) are rejected.

mod civil;
mod lenient;
mod nntp;
mod strict;
mod write;
mod zone;

pub use nntp::parse as parse_nntp;
pub use strict::parse as parse_strict;
pub use write::{write_nntp, write_numeric, write_utc};

use std::fmt;

use civil::Civil;

use crate::shape::Shape;

/// The time zone of dates that contain none.
pub trait LocalZone: fmt::Debug + Send + Sync {
    /// Returns the seconds that local time is ahead of UTC (east is positive) when the local clock shows
    /// `local`, in seconds as if the clock showed UTC. When a clock set back shows the same time
    /// twice, either offset is correct.
    fn east_seconds(&self, local: i64) -> i64;
}

/// UTC as the local zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc;

impl LocalZone for Utc {
    fn east_seconds(&self, _local: i64) -> i64 {
        0
    }
}

/// A local zone with a constant offset, seconds east of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedOffset(pub i32);

impl LocalZone for FixedOffset {
    fn east_seconds(&self, _local: i64) -> i64 {
        i64::from(self.0)
    }
}

/// Parses the value of a date header. Returns seconds since 1970, never negative, or `None` if the value is
/// not an absolute date from 1970 to 9999, or a field is out of range (30 February, hour 25).
///
/// A date without a zone is in the `local` zone, a date without a time at midnight. An unknown word in the
/// place of a zone, and everything after it, counts as UTC (RFC 5322, 4.3), and so do the military letters, which
/// RFC 822 defined with the wrong sign.
#[inline]
pub fn parse(text: &[u8], local: &dyn LocalZone) -> Option<i64> {
    match parse_common(text) {
        Some(seconds) => Some(seconds),
        None => lenient::parse(text, local),
    }
}

/// Parses the form of nearly every article: `[Www, ]D Mon YYYY HH:MM:SS GMT` or a numeric zone; also with
/// two-digit years. Returns `None` for all other forms, whether dates or not.
fn parse_common(text: &[u8]) -> Option<i64> {
    let date = match text {
        [a, b, c, b',', b' ', rest @ ..] if is_weekday([*a, *b, *c]) => rest,
        _ => text,
    };
    if let Some((date, zone)) = fixed(date) {
        return since_epoch(date.seconds()?, common_zone(zone)?);
    }
    let (day, rest) = match date {
        [tens, units, b' ', rest @ ..] => (two_digits(*tens, *units)?, rest),
        [units, b' ', rest @ ..] => (two_digits(b'0', *units)?, rest),
        _ => return None,
    };
    let [a, b, c, b' ', rest @ ..] = rest else {
        return None;
    };
    let month = month([*a, *b, *c])?;
    let (year, rest) = match rest {
        [c1, c2, y1, y2, b' ', rest @ ..] => {
            (two_digits(*c1, *c2)? * 100 + two_digits(*y1, *y2)?, rest)
        }
        [y1, y2, b' ', rest @ ..] => (civil::full_year(two_digits(*y1, *y2)?, 2)?, rest),
        _ => return None,
    };
    let [h1, h2, b':', m1, m2, b':', s1, s2, b' ', zone @ ..] = rest else {
        return None;
    };
    let date = Civil {
        year,
        month,
        day,
        hour: two_digits(*h1, *h2)?,
        minute: two_digits(*m1, *m2)?,
        second: two_digits(*s1, *s2)?,
    };
    since_epoch(date.seconds()?, common_zone(zone)?)
}

fn common_zone(zone: &[u8]) -> Option<i64> {
    match zone {
        b"GMT" | b"UTC" | b"UT" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, m1, m2] => {
            zone::offset(*sign, two_digits(*h1, *h2)?, two_digits(*m1, *m2)?)
        }
        [a, b, c] => zone::of_rfc5322(&[*a, *b, *c].map(|letter| letter | 0x20)),
        _ => None,
    }
}

/// Parses `[D]D Mon YYYY HH:MM:SS ` eight bytes at a time, and returns what follows.
#[inline]
fn fixed(text: &[u8]) -> Option<(Civil, &[u8])> {
    const LEN: usize = 21;
    static SHAPE: Shape<LEN> = Shape::new(b"00 \0\0\0 0000 00:00:00 ");
    let (values, zone) = match text {
        [_, b' ', ..] => {
            let (date, zone) = text.split_first_chunk::<{ LEN - 1 }>()?;
            let mut padded = [b'0'; LEN];
            *padded.last_chunk_mut()? = *date;
            (SHAPE.values(&padded)?, zone)
        }
        _ => {
            let (date, zone) = text.split_first_chunk()?;
            (SHAPE.values(date)?, zone)
        }
    };
    let [
        d1,
        d2,
        _,
        a,
        b,
        c,
        _,
        y1,
        y2,
        y3,
        y4,
        _,
        h1,
        h2,
        _,
        m1,
        m2,
        _,
        s1,
        s2,
        _,
    ] = values;
    let pair = |tens: u8, units: u8| u32::from(tens) * 10 + u32::from(units);
    let date = Civil {
        year: pair(y1, y2) * 100 + pair(y3, y4),
        month: month([a, b, c])?,
        day: pair(d1, d2),
        hour: pair(h1, h2),
        minute: pair(m1, m2),
        second: pair(s1, s2),
    };
    Some((date, zone))
}

/// Subtracts the zone's offset from local seconds; `None` before 1970. Times after 9999 (UTC) become its last second.
fn since_epoch(local: i64, east: i64) -> Option<i64> {
    let seconds = local.checked_sub(east)?.min(civil::LAST_SECOND);
    Some(seconds).filter(|&seconds| seconds >= 0)
}

/// A number of two digits.
#[inline]
fn two_digits(tens: u8, units: u8) -> Option<u32> {
    let (tens, units) = (tens.wrapping_sub(b'0'), units.wrapping_sub(b'0'));
    (tens < 10 && units < 10).then(|| u32::from(tens) * 10 + u32::from(units))
}

/// Month 1 to 12 from the first three letters of its English name.
#[inline]
fn month(name: [u8; 3]) -> Option<u32> {
    Some(match &name.map(|byte| byte | 0x20) {
        b"jan" => 1,
        b"feb" => 2,
        b"mar" => 3,
        b"apr" => 4,
        b"may" => 5,
        b"jun" => 6,
        b"jul" => 7,
        b"aug" => 8,
        b"sep" => 9,
        b"oct" => 10,
        b"nov" => 11,
        b"dec" => 12,
        _ => return None,
    })
}

#[inline]
fn is_weekday(name: [u8; 3]) -> bool {
    matches!(
        &name.map(|byte| byte | 0x20),
        b"mon" | b"tue" | b"wed" | b"thu" | b"fri" | b"sat" | b"sun"
    )
}
