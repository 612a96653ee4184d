//! Writes dates for headers and NNTP replies.

use super::civil::Civil;

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Appends a date in the form of news headers: `Mon, 20 Dec 1993 04:39:21 GMT`. `seconds` count from 1970.
///
/// Times outside 1970..=9999 are written as the nearest second inside.
pub fn write_utc(out: &mut Vec<u8>, seconds: i64) {
    write_clock(out, seconds);
    out.extend_from_slice(b" GMT");
}

/// Appends a date by a clock `east_seconds` ahead of UTC, with a numeric zone and the zone's
/// name as a comment: `Sat, 3 Mar 1973 01:46:40 -0800 (PST)`. An empty `name` is omitted. UTC is written -0000, as INN
/// does and RFC 5322 (3.3) requires of a system that does not reveal its zone.
pub fn write_numeric(out: &mut Vec<u8>, seconds: i64, east_seconds: i32, name: &str) {
    write_clock(out, seconds.saturating_add(i64::from(east_seconds)));
    let sign = if east_seconds > 0 { '+' } else { '-' };
    let minutes = east_seconds.unsigned_abs() / 60;
    out.extend_from_slice(format!(" {sign}{:02}{:02}", minutes / 60, minutes % 60).as_bytes());
    if !name.is_empty() {
        out.extend_from_slice(format!(" ({name})").as_bytes());
    }
}

/// Appends a date as the reply to DATE contains it (RFC 3977, 7.1): `yyyymmddhhmmss`, in UTC.
pub fn write_nntp(out: &mut Vec<u8>, seconds: i64) {
    let (
        Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
        },
        _,
    ) = Civil::at(seconds);
    let text = format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}");
    out.extend_from_slice(text.as_bytes());
}

fn write_clock(out: &mut Vec<u8>, seconds: i64) {
    let (date, weekday) = Civil::at(seconds);
    let weekday = WEEKDAYS.get(weekday).unwrap_or(&"Sun");
    let month = (date.month as usize)
        .checked_sub(1)
        .and_then(|index| MONTHS.get(index))
        .unwrap_or(&"Jan");
    let Civil {
        year,
        day,
        hour,
        minute,
        second,
        ..
    } = date;
    let text = format!("{weekday}, {day} {month} {year:04} {hour:02}:{minute:02}:{second:02}");
    out.extend_from_slice(text.as_bytes());
}
