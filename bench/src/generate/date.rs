//! Dates in the forms of real articles.

use super::random::Random;

const DAYS: &[&str] = &["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: &[&str] = &[
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Zone names; programs and decades differ in which they use.
const ZONES: &[(&str, i64)] = &[
    ("GMT", 0),
    ("GMT", 0),
    ("-0500", -5),
    ("-0800", -8),
    ("+0100", 1),
    ("+0000", 0),
    ("+1000", 10),
    ("EST", -5),
];

/// Year, month (1 to 12) and day of a day number, 0 being 1 January 1970
/// (proleptic Gregorian calendar, computed in eras of 400 years from March).
pub fn civil(day: i64) -> (i64, u64, u64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month as u64, date as u64)
}

/// Writes a Date value: mostly in the form of RFC 822 with a four-digit year, sometimes
/// with two digits (as until about 1995) or without the weekday.
pub fn written(seconds: i64, random: &mut Random) -> String {
    let (zone, hours) = ZONES
        .get(random.position(ZONES.len()))
        .copied()
        .unwrap_or(("GMT", 0));
    let local = seconds + hours * 3600;
    let day = local.div_euclid(86_400);
    let clock = local.rem_euclid(86_400);
    let (year, month, date) = civil(day);
    let name = DAYS
        .get(day.rem_euclid(7) as usize)
        .copied()
        .unwrap_or("Mon");
    let month = MONTHS
        .get(month.saturating_sub(1) as usize)
        .copied()
        .unwrap_or("Jan");
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let old = year < 1996;
    match random.below(10) {
        0..=2 if old => format!(
            "{date} {month} {:02} {hour:02}:{minute:02}:{second:02} {zone}",
            year % 100
        ),
        3 => format!("{date} {month} {year} {hour:02}:{minute:02}:{second:02} {zone}"),
        4..=6 => {
            format!("{name}, {date:02} {month} {year} {hour:02}:{minute:02}:{second:02} {zone}")
        }
        _ => format!("{name}, {date} {month} {year} {hour:02}:{minute:02}:{second:02} {zone}"),
    }
}

/// Writes a Date value in the form that RFC 5536 recommends, in GMT.
pub fn plain(seconds: i64) -> String {
    let day = seconds.div_euclid(86_400);
    let clock = seconds.rem_euclid(86_400);
    let (year, month, date) = civil(day);
    let name = DAYS
        .get(day.rem_euclid(7) as usize)
        .copied()
        .unwrap_or("Mon");
    let month = MONTHS
        .get(month.saturating_sub(1) as usize)
        .copied()
        .unwrap_or("Jan");
    format!(
        "{name}, {date} {month} {year} {:02}:{:02}:{:02} GMT",
        clock / 3600,
        clock / 60 % 60,
        clock % 60
    )
}

/// The timestamp that some programs use in message-ids: `1992Mar12.104233`.
pub fn stamp(seconds: i64) -> String {
    let (year, month, date) = civil(seconds.div_euclid(86_400));
    let clock = seconds.rem_euclid(86_400);
    let month = MONTHS
        .get(month.saturating_sub(1) as usize)
        .copied()
        .unwrap_or("Jan");
    format!(
        "{year}{month}{date}.{:02}{:02}{:02}",
        clock / 3600,
        clock / 60 % 60,
        clock % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(stamp(699_446_553), "1992Mar1.104233");
    }
}
