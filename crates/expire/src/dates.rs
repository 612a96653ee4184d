//! The dates field of a rule: `default`, `default-high` or `low-default-high`.

use std::fmt;

use thiserror::Error;

use crate::life::{Lifetime, LifetimeError, Share};

/// The lives of articles under a rule.
///
/// Invariant: `low <= default <= high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dates {
    low: Lifetime,
    default: Lifetime,
    high: Lifetime,
}

/// The ends of dates that contain none: those of the last
/// `/bounds/` line, or 0 and `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateBounds {
    /// The shortest life.
    pub low: Lifetime,
    /// The longest life.
    pub high: Lifetime,
}

impl DateBounds {
    /// Checks that the ends are in order.
    ///
    /// # Errors
    /// [`DatesError::Order`] if they are not.
    pub fn check(&self) -> Result<(), DatesError> {
        ordered(("low", self.low), ("high", self.high))
    }
}

impl Default for DateBounds {
    fn default() -> Self {
        Self {
            low: Lifetime::ZERO,
            high: Lifetime::Never,
        }
    }
}

/// The error in a dates field.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DatesError {
    /// A part is not a length of time.
    #[error(transparent)]
    Lifetime(#[from] LifetimeError),
    /// More than three parts.
    #[error("`{0}' contains more than three dates; write low-default-high")]
    Parts(String),
    /// `low <= default <= high` does not hold for the written parts.
    #[error("dates out of order: {shorter_name} {shorter} is more than {longer_name} {longer}")]
    Order {
        /// The end that should be the shorter.
        shorter_name: &'static str,
        /// Its value.
        shorter: Lifetime,
        /// The end that should be the longer.
        longer_name: &'static str,
        /// Its value.
        longer: Lifetime,
    },
}

impl Dates {
    /// Makes dates of the written parts, and takes the missing ones from the bounds. A missing end
    /// is moved to keep the order; a written one is not.
    ///
    /// # Errors
    /// [`DatesError::Order`] if the written parts are out of order.
    pub fn new(
        low: Option<Lifetime>,
        default: Lifetime,
        high: Option<Lifetime>,
        bounds: DateBounds,
    ) -> Result<Self, DatesError> {
        let dates = Self {
            low: low.unwrap_or_else(|| bounds.low.min(default)),
            default,
            high: high.unwrap_or_else(|| bounds.high.max(default)),
        };
        ordered(("low", dates.low), ("default", dates.default))?;
        ordered(("default", dates.default), ("high", dates.high))?;
        Ok(dates)
    }

    /// Parses `default`, `default-high` or `low-default-high`.
    ///
    /// # Errors
    /// [`DatesError`] with the wrong part.
    pub fn parse(text: &[u8], bounds: DateBounds) -> Result<Self, DatesError> {
        let mut parts = text.split(|byte| *byte == b'-').map(Lifetime::parse);
        let mut next = || parts.next().transpose();
        let (first, second, third) = (next()?, next()?, next()?);
        if next().is_ok_and(|fourth| fourth.is_none()) {
            return match (first, second, third) {
                (Some(low), Some(default), Some(high)) => {
                    Self::new(Some(low), default, Some(high), bounds)
                }
                (Some(default), high, _) => Self::new(None, default, high, bounds),
                // `split` always yields a first part.
                (None, ..) => Err(LifetimeError::NotDays(String::new()).into()),
            };
        }
        Err(DatesError::Parts(
            String::from_utf8_lossy(text).into_owned(),
        ))
    }

    /// Articles younger than this are kept whatever their Expires.
    pub fn low(&self) -> Lifetime {
        self.low
    }

    /// The life of an article without a usable Expires.
    pub fn default(&self) -> Lifetime {
        self.default
    }

    /// Articles older than this are removed whatever their Expires.
    pub fn high(&self) -> Lifetime {
        self.high
    }

    /// Shortens the default and the longest life, never below `low`. `never` does not change.
    pub fn shortened(&self, share: Share) -> Self {
        Self {
            low: self.low,
            default: self.default.shortened(share).max(self.low),
            high: self.high.shortened(share).max(self.low),
        }
    }

    /// The ends alone, for a `/bounds/` line.
    pub fn bounds(&self) -> DateBounds {
        DateBounds {
            low: self.low,
            high: self.high,
        }
    }
}

/// `low-default-high`, as in `explist`.
impl fmt::Display for Dates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.low, self.default, self.high)
    }
}

fn ordered(
    (shorter_name, shorter): (&'static str, Lifetime),
    (longer_name, longer): (&'static str, Lifetime),
) -> Result<(), DatesError> {
    if shorter <= longer {
        return Ok(());
    }
    Err(DatesError::Order {
        shorter_name,
        shorter,
        longer_name,
        longer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, bounds: DateBounds) -> String {
        match Dates::parse(text.as_bytes(), bounds) {
            Ok(dates) => dates.to_string(),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn ends_not_given_come_from_the_bounds_and_stretch() {
        let bounds = DateBounds {
            low: Lifetime::days(5),
            high: Lifetime::days(30),
        };
        for (text, plain, bounded) in [
            ("14", "0-14-never", "5-14-30"),
            ("2", "0-2-never", "2-2-30"),
            ("90", "0-90-never", "5-90-90"),
            ("never", "0-never-never", "5-never-never"),
            ("14-20", "0-14-20", "5-14-20"),
            ("2-3", "0-2-3", "2-2-3"),
            ("14-never", "0-14-never", "5-14-never"),
            ("1-2-3", "1-2-3", "1-2-3"),
            ("2-2-2", "2-2-2", "2-2-2"),
            (
                "never-never-never",
                "never-never-never",
                "never-never-never",
            ),
        ] {
            assert_eq!(shown(text, DateBounds::default()), plain, "{text}");
            assert_eq!(shown(text, bounds), bounded, "{text}");
        }
    }

    #[test]
    fn written_disorder_and_odd_shapes_are_faults() {
        for (text, want) in [
            (
                "20-14",
                "dates out of order: default 20 is more than high 14",
            ),
            ("2-1-3", "dates out of order: low 2 is more than default 1"),
            ("1-3-2", "dates out of order: default 3 is more than high 2"),
            (
                "1-never-2",
                "dates out of order: default never is more than high 2",
            ),
            (
                "1-2-3-4",
                "`1-2-3-4' contains more than three dates; write low-default-high",
            ),
            (
                "1-2-3-",
                "`1-2-3-' contains more than three dates; write low-default-high",
            ),
            (
                "1--3",
                "`' is neither a number of days (like 14 or 0.5) nor `never'",
            ),
            (
                "",
                "`' is neither a number of days (like 14 or 0.5) nor `never'",
            ),
            (
                "x",
                "`x' is neither a number of days (like 14 or 0.5) nor `never'",
            ),
        ] {
            assert_eq!(shown(text, DateBounds::default()), want, "{text}");
        }
    }
}
