//! When a scheduled task is due: at a time of the day, or at an interval.

use std::fmt;

const DAY: i64 = 86_400;
/// Longest interval between two runs, seconds.
pub const EVERY_SECONDS_MAX: u64 = 366 * 86_400;
/// The names of units; of several, `Display` writes the first.
const UNITS: &[(&str, u64)] = &[
    ("day", 86_400),
    ("days", 86_400),
    ("d", 86_400),
    ("h", 3_600),
    ("hour", 3_600),
    ("hours", 3_600),
    ("min", 60),
    ("minutes", 60),
    ("m", 60),
    ("s", 1),
    ("seconds", 1),
];

/// The schedule of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum When {
    /// Never.
    #[default]
    Off,
    /// Daily, at this number of seconds after midnight UTC.
    Daily(u32),
    /// This number of seconds after the last start.
    Every(u64),
}

impl When {
    /// Parses `off`, `04:30` or `every 15 min`.
    ///
    /// # Errors
    /// A message with the permitted forms.
    pub fn parse(text: &str) -> Result<When, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let parsed = match words.as_slice() {
            ["off"] => Some(When::Off),
            ["every", count, unit] => parse_interval(count, unit),
            [time] => parse_time_of_day(time),
            _ => None,
        };
        parsed.ok_or_else(|| {
            format!(
                "is a time of the day such as \"04:30\" (UTC), or \"every 15 min\", \"every 6 h\", or \"off\", not \"{text}\""
            )
        })
    }

    /// The next due time after the last start (`None` if there was none), seconds since 1970. A time in the past is a missed run, which is
    /// due now.
    pub fn next(self, last: Option<i64>, now: i64) -> Option<i64> {
        // A start in the future means that the clock was set back since.
        let last = last.map(|last| last.min(now));
        match self {
            When::Off => None,
            When::Every(seconds) => Some(match last {
                Some(last) => last.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX)),
                None => now,
            }),
            When::Daily(second) => {
                let after = last.unwrap_or(now);
                let midnight = after.saturating_sub(after.rem_euclid(DAY));
                let today = midnight.saturating_add(i64::from(second));
                Some(if today > after {
                    today
                } else {
                    today.saturating_add(DAY)
                })
            }
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Off => f.write_str("off"),
            When::Daily(second) => write!(f, "{:02}:{:02}", second / 3_600, second / 60 % 60),
            When::Every(seconds) => {
                let fits = |unit: &&(&str, u64)| seconds.is_multiple_of(unit.1);
                let (unit, size) = UNITS.iter().find(fits).unwrap_or(&("s", 1));
                write!(f, "every {} {unit}", seconds / size)
            }
        }
    }
}

fn parse_interval(count: &str, unit: &str) -> Option<When> {
    let count: u64 = count.parse().ok()?;
    let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let seconds = count.checked_mul(*size)?;
    (1..=EVERY_SECONDS_MAX)
        .contains(&seconds)
        .then_some(When::Every(seconds))
}

fn parse_time_of_day(time: &str) -> Option<When> {
    let (hour, minute) = time.split_once(':')?;
    let number = |text: &str, below: u32| {
        let is_number = matches!(text.len(), 1..=2) && text.bytes().all(|b| b.is_ascii_digit());
        let number = text.parse().ok().filter(|number: &u32| *number < below);
        number.filter(|_| is_number)
    };
    Some(When::Daily(
        number(hour, 24)? * 3_600 + number(minute, 60)? * 60,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn written_schedules_are_parsed_again() {
        for text in [
            "off",
            "04:30",
            "00:00",
            "every 15 min",
            "every 6 h",
            "every 1 day",
            "every 90 s",
        ] {
            assert_eq!(When::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(When::parse("every 60 min"), When::parse("every 1 hour"));
        for bad in [
            "",
            "24:00",
            "4:60",
            "4:+3",
            "every 0 s",
            "every 15",
            "every -1 h",
            "every 9999 days",
            "daily",
            "4:30 5:30",
        ] {
            assert!(When::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_time_of_the_day_comes_once_a_day() {
        let half_past_four = When::parse("04:30").unwrap();
        let at = 4 * 3_600 + 30 * 60;
        assert_eq!(half_past_four.next(None, 1_000), Some(at));
        assert_eq!(half_past_four.next(None, at), Some(at + DAY));
        assert_eq!(half_past_four.next(Some(at), at), Some(at + DAY));
        assert_eq!(half_past_four.next(Some(at), at + 5), Some(at + DAY));
        // Missed, since the machine was off: due at once, and once only.
        let late = at + 3 * DAY + 7;
        assert!(half_past_four.next(Some(at), late).unwrap() <= late);
        assert_eq!(half_past_four.next(Some(late), late), Some(at + 4 * DAY));
        // Before 1970 there is a half past four too.
        assert_eq!(half_past_four.next(None, -DAY), Some(at - DAY));
    }

    #[test]
    fn every_so_often_counts_from_the_last_start() {
        let often = When::Every(900);
        assert_eq!(often.next(None, 5_000), Some(5_000));
        assert_eq!(often.next(Some(5_000), 5_001), Some(5_900));
        // The clock was set back by a year: not a year without expire.
        assert_eq!(often.next(Some(40_000_000), 5_000), Some(5_900));
        assert_eq!(When::Off.next(None, 0), None);
    }

    proptest! {
        #[test]
        fn after_a_start_it_is_due_later_and_not_too_late(now in -1_000_000i64..5_000_000_000, last in -1_000_000i64..5_000_000_000, when in 0u32..1_440) {
            let daily = When::Daily(when * 60);
            let due = daily.next(Some(now), now).unwrap();
            prop_assert!(due > now && due <= now + DAY);
            prop_assert!(daily.next(Some(last), now).unwrap() <= now.max(last) + DAY);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,20}") {
            let _ = When::parse(&text);
        }
    }
}
