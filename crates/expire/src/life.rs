//! A length of time in a policy: decimal days, or `never`.

use std::fmt;

use thiserror::Error;

/// Seconds of a day.
pub const DAY_SECONDS: u64 = 86_400;

/// Largest number of days; for more, write `never`.
pub const DAYS_MAX: u64 = 1_000_000;

/// Significant digits after the point; further ones only round up.
const FRACTION_DIGITS_MAX: usize = 12;

/// How long an article or its history line is kept.
///
/// Ordered: every number of seconds is shorter than `Never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lifetime {
    /// This number of seconds after arrival.
    Seconds(u64),
    /// For ever.
    Never,
}

/// The error of parsing a length of time.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LifetimeError {
    /// Neither decimal days nor `never`.
    #[error("`{0}' is neither a number of days (like 14 or 0.5) nor `never'")]
    NotDays(String),
    /// More than [`DAYS_MAX`].
    #[error("`{0}' is more than {DAYS_MAX} days; write `never'")]
    TooLong(String),
}

/// A fraction of every life, from 0 to 1, in steps of 1/[`Share::STEPS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    /// Steps of the whole: fine enough to shorten a life of twelve days by one second.
    pub const STEPS: u32 = 1 << 20;

    /// The whole.
    pub const WHOLE: Self = Self(Self::STEPS);

    /// This number of steps, at most the whole.
    pub fn steps(steps: u32) -> Self {
        Self(steps.min(Self::STEPS))
    }

    /// Applies the fraction to a number of seconds; fractions of a second are cut.
    pub fn of(self, seconds: u64) -> u64 {
        let part = u128::from(seconds) * u128::from(self.0) / u128::from(Self::STEPS);
        // At most the whole, so it fits.
        u64::try_from(part).unwrap_or(seconds)
    }

    /// The fraction in percent.
    pub fn percent(self) -> f64 {
        f64::from(self.0) * 100.0 / f64::from(Self::STEPS)
    }
}

impl Lifetime {
    /// No time.
    pub const ZERO: Self = Self::Seconds(0);

    /// Whole days.
    pub fn days(days: u32) -> Self {
        Self::Seconds(u64::from(days).saturating_mul(DAY_SECONDS))
    }

    /// Parses decimal days (`14`, `0.5`, `.25`) or `never`.
    ///
    /// Fractions of a second round up, so that no article is removed earlier than the policy
    /// says. The arithmetic is exact: 0.07 days are 6048 seconds.
    ///
    /// # Errors
    /// [`LifetimeError`] for any other text, including signs and exponents.
    pub fn parse(text: &[u8]) -> Result<Self, LifetimeError> {
        if text == b"never" {
            return Ok(Self::Never);
        }
        let shown = || groups::shown(text);
        let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
            None => (text, [].as_slice()),
            Some(at) => {
                let (whole, rest) = text.split_at(at);
                (whole, rest.strip_prefix(b".").unwrap_or(rest))
            }
        };
        let digits = whole.iter().chain(fraction);
        if digits.clone().count() == 0 || !digits.clone().all(u8::is_ascii_digit) {
            return Err(LifetimeError::NotDays(shown()));
        }
        let days = whole.iter().fold(0u64, |days, digit| {
            days.saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        });
        if days > DAYS_MAX {
            return Err(LifetimeError::TooLong(shown()));
        }
        Ok(Self::Seconds(
            days * DAY_SECONDS + fraction_seconds(fraction),
        ))
    }

    /// Applies a fraction. `never` does not change.
    pub fn shortened(self, share: Share) -> Self {
        match self {
            Self::Never => Self::Never,
            Self::Seconds(seconds) => Self::Seconds(share.of(seconds)),
        }
    }

    /// The time this long before `now`, seconds since 1970; times before 1970 become 0,
    /// and so does `never` (the rule of C News: even `never` removes articles that arrived
    /// at 0, which is how unreadable articles are removed).
    #[inline]
    pub fn before(self, now: i64) -> i64 {
        match self {
            Self::Never => 0,
            Self::Seconds(seconds) => now.saturating_sub_unsigned(seconds).max(0),
        }
    }
}

/// The seconds of the digits after the point of a number of days, rounded up.
fn fraction_seconds(digits: &[u8]) -> u64 {
    let (counted, rest) = digits
        .split_at_checked(FRACTION_DIGITS_MAX)
        .unwrap_or((digits, &[]));
    let (mut parts, mut scale) = (0u64, 1u64);
    for digit in counted {
        parts = parts * 10 + u64::from(digit - b'0');
        scale *= 10;
    }
    if rest.iter().any(|digit| *digit != b'0') {
        parts += 1;
    }
    // At most 10^12 * 86400, well below 2^64.
    (parts * DAY_SECONDS).div_ceil(scale)
}

/// Days, exact to the second, or `never`, as in `explist`.
impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Seconds(seconds) = *self else {
            return f.write_str("never");
        };
        let (days, rest) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
        if rest == 0 {
            return write!(f, "{days}");
        }
        // The fewest digits that parse to the same second.
        let (mut places, mut scale) = (1, 10u64);
        while places < 6 && fraction_floor(rest, scale) != rest {
            places += 1;
            scale *= 10;
        }
        let parts = rest * scale / DAY_SECONDS;
        write!(f, "{days}.{parts:0places$}")
    }
}

/// The seconds after `rest` is cut to a decimal fraction of a day and parsed again.
fn fraction_floor(rest: u64, scale: u64) -> u64 {
    ((rest * scale / DAY_SECONDS) * DAY_SECONDS).div_ceil(scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn days_are_exact() {
        for (text, seconds) in [
            ("0", 0),
            ("14", 1_209_600),
            ("0.01", 864),
            ("0.05", 4_320),
            ("0.07", 6_048),
            ("0.08", 6_912),
            ("0.1", 8_640),
            ("0.11", 9_504),
            (".5", 43_200),
            ("5.", 432_000),
            ("0.00001", 1),
            ("0.000000000000000001", 1),
            ("1000000", 86_400_000_000),
        ] {
            assert_eq!(
                Lifetime::parse(text.as_bytes()),
                Ok(Lifetime::Seconds(seconds)),
                "{text}"
            );
        }
        assert_eq!(Lifetime::parse(b"never"), Ok(Lifetime::Never));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "", ".", "x", "-1", "+1", "1e3", "1.2.3", "Never", "nan", "1 ",
        ] {
            let fault = Lifetime::parse(text.as_bytes());
            assert!(matches!(fault, Err(LifetimeError::NotDays(_))), "{text}");
        }
        for text in ["1000001", "99999999999999999999999999"] {
            let fault = Lifetime::parse(text.as_bytes());
            assert!(matches!(fault, Err(LifetimeError::TooLong(_))), "{text}");
        }
    }

    #[test]
    fn before_the_epoch_is_the_epoch() {
        assert_eq!(Lifetime::days(1).before(100_000), 13_600);
        assert_eq!(Lifetime::days(2).before(100_000), 0);
        assert_eq!(Lifetime::Never.before(100_000), 0);
        assert_eq!(Lifetime::days(2).before(i64::MIN), 0);
        assert!(Lifetime::Seconds(u64::MAX) < Lifetime::Never);
    }

    proptest! {
        #[test]
        fn display_reads_back(seconds in 0..=DAYS_MAX * DAY_SECONDS) {
            let life = Lifetime::Seconds(seconds);
            prop_assert_eq!(Lifetime::parse(life.to_string().as_bytes()), Ok(life));
        }

        #[test]
        fn parse_never_panics(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Lifetime::parse(&text);
        }
    }
}
