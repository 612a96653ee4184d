//! Days of UTC, as the file `log` counts them.

use std::fmt;

/// Seconds of a day.
pub const DAY_SECONDS: i64 = 86_400;

/// A day, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(i64);

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

impl Day {
    /// The day of a time, seconds since 1970.
    pub fn of(seconds: i64) -> Day {
        Day(seconds.div_euclid(DAY_SECONDS))
    }

    /// Parses `2026-11-22`.
    pub fn parse(text: &str) -> Option<Day> {
        let mut parts = text.split('-');
        let mut number = |digits: usize| {
            let part = parts.next()?;
            let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse::<i64>().ok()).flatten()
        };
        let (year, month, day) = (number(4)?, number(2)?, number(2)?);
        if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        // Years begin in March here, so that the leap day is their last.
        let year = if month <= 2 { year - 1 } else { year };
        let month_from_march = (month + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
        let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
        // The 31st of a short month is a day of the next one.
        (Day(days).to_string() == text).then_some(Day(days))
    }

    /// Its first second, since 1970.
    pub fn start(self) -> i64 {
        self.0.saturating_mul(DAY_SECONDS)
    }

    /// The first second after it, since 1970.
    pub fn end(self) -> i64 {
        self.start().saturating_add(DAY_SECONDS)
    }

    /// The day some days later, or earlier.
    pub fn plus(self, days: i64) -> Day {
        Day(self.0.saturating_add(days))
    }

    /// The start of its lines in the file `log`: `Nov 22 `, `Nov  2 `.
    pub fn stamp(self) -> String {
        let (_, month, day) = self.civil();
        let month = usize::try_from(month - 1)
            .ok()
            .and_then(|at| MONTHS.get(at));
        format!("{} {day:>2} ", month.unwrap_or(&"???"))
    }

    fn civil(self) -> (i64, i64, i64) {
        // RFC 3977, 7.1: yyyymmddhhmmss.
        let mut text = Vec::new();
        article::date::write_nntp(&mut text, self.start());
        let number = |range: std::ops::Range<usize>| {
            let digits = text.get(range).unwrap_or_default();
            digits
                .iter()
                .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'))
        };
        (number(0..4), number(4..6), number(6..8))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(out, "{year:04}-{month:02}-{day:02}")
    }
}

/// The time of the day: `04:30`.
pub fn clock(seconds: i64) -> String {
    let second = seconds.rem_euclid(DAY_SECONDS);
    format!("{:02}:{:02}", second / 3600, second / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_and_read() {
        for (text, start, stamp) in [
            ("1970-01-01", 0, "Jan  1 "),
            ("2000-02-29", 951_782_400, "Feb 29 "),
            ("2026-11-22", 1_795_305_600, "Nov 22 "),
        ] {
            let day = Day::parse(text).unwrap();
            assert_eq!((day.start(), day.to_string()), (start, text.to_owned()));
            assert_eq!(day.stamp(), stamp);
            assert_eq!(Day::of(start + 86_399), day);
        }
        for number in 0..40_000 {
            let day = Day(number);
            assert_eq!(Day::parse(&day.to_string()), Some(day));
        }
        for bad in [
            "",
            "2026-13-01",
            "2026-02-30",
            "2026-1-1",
            "20261122",
            "2026-11-22-1",
            "+026-11-22",
        ] {
            assert_eq!(Day::parse(bad), None, "{bad}");
        }
        assert_eq!(clock(951_782_400 + 4 * 3600 + 1800), "04:30");
    }
}
