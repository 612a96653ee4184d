//! The Gregorian calendar, 1970 to 9999.

/// Supported years.
const YEARS: std::ops::RangeInclusive<u32> = 1970..=9999;
const DAY_SECONDS: i64 = 86_400;
/// The last second of the last year, seconds since 1970.
pub(super) const LAST_SECOND: i64 = days_before_year(*YEARS.end() + 1) as i64 * DAY_SECONDS - 1;
/// Days before each month of a common year, and before the year's end.
const DAYS_BEFORE: [u32; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

/// A date and time, not yet validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: u32,
    /// 1 to 12.
    pub(super) month: u32,
    /// 1 to 31.
    pub(super) day: u32,
    /// 0 to 23.
    pub(super) hour: u32,
    /// 0 to 59.
    pub(super) minute: u32,
    /// 0 to 60: a leap second counts as the second after it.
    pub(super) second: u32,
}

impl Civil {
    /// Returns seconds since 1970 as if the clock showed UTC, or `None` if a field is out of range.
    pub(super) fn seconds(&self) -> Option<i64> {
        let Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = *self;
        if !YEARS.contains(&year) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let index = usize::try_from(month.checked_sub(1)?).ok()?;
        let before = days_before(year, index)?;
        let length = days_before(year, index.checked_add(1)?)? - before;
        if day == 0 || day > length {
            return None;
        }
        let days = i64::from(days_before_year(year) + before + day - 1);
        Some(days * DAY_SECONDS + i64::from(hour * 3600 + minute * 60 + second))
    }

    /// Returns the date and time `seconds` after 1970, clamped to 1970..=9999, and the weekday (0 is Sunday).
    pub(super) fn at(seconds: i64) -> (Civil, usize) {
        let seconds = seconds.clamp(0, LAST_SECOND);
        let days = u32::try_from(seconds / DAY_SECONDS).unwrap_or(0);
        let of_day = u32::try_from(seconds % DAY_SECONDS).unwrap_or(0);
        // Dividing by 366 gives a year that is at most a few years too early.
        let mut year = YEARS.start() + days / 366;
        while days_before_year(year + 1) <= days {
            year += 1;
        }
        let of_year = days - days_before_year(year);
        let starts = (0..12)
            .map_while(|index| days_before(year, index))
            .take_while(|&start| start <= of_year);
        let (month, start) = starts.enumerate().last().unwrap_or((0, 0));
        let civil = Civil {
            year,
            month: u32::try_from(month).unwrap_or(0) + 1,
            day: of_year - start + 1,
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
        };
        (civil, (days as usize + 4) % 7) // 1 January 1970 was a Thursday
    }
}

/// Completes a year written with `digits` digits (RFC 5322, 4.3): 00 to 49 are 2000 to 2049, other years
/// of two and three digits count from 1900.
pub(super) fn full_year(year: u32, digits: usize) -> Option<u32> {
    match digits {
        2 if year < 50 => Some(year + 2000),
        2 | 3 => Some(year + 1900),
        4 => Some(year),
        _ => None,
    }
}

/// Days from 1970 to the start of `year`, which is 1970 to 10000.
const fn days_before_year(year: u32) -> u32 {
    (year - 1970) * 365 + leap_years(year - 1) - leap_years(1969)
}

/// Leap years up to `year`.
const fn leap_years(year: u32) -> u32 {
    year / 4 - year / 100 + year / 400
}

/// Days of `year` before its month `index` (0 to 12).
fn days_before(year: u32, index: usize) -> Option<u32> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    Some(DAYS_BEFORE.get(index)? + u32::from(is_leap && index > 1))
}
