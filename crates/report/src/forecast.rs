//! The day on which the disk will be full, if it fills as in the last days.

use serde::Serialize;

use crate::day::DAY_SECONDS;

/// Days that a forecast looks back.
pub const DAYS: i64 = 14;
/// Fewest days for a forecast.
const DAYS_MIN: usize = 3;
/// A disk that lasts longer counts as steady, days.
const STEADY_DAYS: f64 = 1_000.0;

/// The forecast for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Forecast {
    /// The figures are of fewer than three days.
    Unknown,
    /// The free space does not shrink, or so slowly that it lasts for years.
    Steady,
    /// The free space shrinks.
    Shrinking {
        /// Bytes a day.
        bytes_a_day: u64,
        /// The disk is full after so many days.
        days: u64,
    },
}

/// The line through the free space of the days, each a time (seconds since 1970) and bytes, by least squares.
pub fn of(points: &[(i64, u64)]) -> Forecast {
    let (Some((first, _)), Some((last, free))) = (points.first(), points.last()) else {
        return Forecast::Unknown;
    };
    if points.len() < DAYS_MIN || last <= first {
        return Forecast::Unknown;
    }
    let count = points.len() as f64;
    let days = |at: i64| (at - first) as f64 / DAY_SECONDS as f64;
    let middle = points.iter().map(|(at, _)| days(*at)).sum::<f64>() / count;
    let mean = points.iter().map(|(_, free)| *free as f64).sum::<f64>() / count;
    let (mut above, mut below) = (0.0, 0.0);
    for (at, free) in points {
        let distance = days(*at) - middle;
        above += distance * (*free as f64 - mean);
        below += distance * distance;
    }
    let slope = above / below;
    let left = *free as f64 / -slope;
    if slope < 0.0 && left < STEADY_DAYS {
        Forecast::Shrinking {
            bytes_a_day: -slope as u64,
            days: left as u64,
        }
    } else {
        Forecast::Steady
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn points(free: &[u64]) -> Vec<(i64, u64)> {
        let each = free.iter().zip(0..);
        each.map(|(free, day)| (day * DAY_SECONDS, *free)).collect()
    }

    #[test]
    fn a_shrinking_disk_has_an_end() {
        let shrinking = Forecast::Shrinking {
            bytes_a_day: 2 * GB,
            days: 20,
        };
        assert_eq!(
            of(&points(&[46 * GB, 44 * GB, 42 * GB, 40 * GB])),
            shrinking
        );
        assert_eq!(of(&points(&[40 * GB, 41 * GB, 42 * GB])), Forecast::Steady);
        assert_eq!(of(&points(&[40 * GB; 5])), Forecast::Steady);
        assert_eq!(
            of(&points(&[40 * GB, 40 * GB - 1, 40 * GB - 2])),
            Forecast::Steady
        );
        assert_eq!(of(&points(&[40 * GB, 30 * GB])), Forecast::Unknown);
        assert_eq!(of(&[(5, 1), (5, 2), (5, 3)]), Forecast::Unknown);
        assert_eq!(of(&[]), Forecast::Unknown);
        assert_eq!(
            of(&points(&[30, 20, 10, 0])),
            Forecast::Shrinking {
                bytes_a_day: 10,
                days: 0
            }
        );
    }
}
