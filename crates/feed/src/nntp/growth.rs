//! The number of connections to a peer: another one is tried while articles wait and the present ones are full, and stays if it helps.

use std::time::{Duration, Instant};

/// Interval between two decisions.
const INTERVAL: Duration = Duration::from_secs(3);
/// How long none is tried after one that did not help.
const REST: Duration = Duration::from_secs(300);
/// The least gain, percent, for which a further connection stays.
const GAIN_PERCENT: u64 = 10;

/// The number of connections for a stretch of the log.
#[derive(Debug)]
pub(super) struct Growth {
    wanted: usize,
    /// The present interval: since when, and the number of answers then.
    began: Option<(Instant, u64)>,
    /// Answers a second before the last connection was added.
    before: Option<u64>,
    rests_until: Option<Instant>,
}

impl Default for Growth {
    fn default() -> Growth {
        Growth {
            wanted: 1,
            began: None,
            before: None,
            rests_until: None,
        }
    }
}

impl Growth {
    /// The number of connections that should be open.
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// Decides anew. `are_full`: articles wait, and all connections are full; `answered`: number of answers so far; at most `most`
    /// connections.
    pub fn decide(&mut self, now: Instant, are_full: bool, answered: u64, most: usize) {
        if !are_full {
            (self.began, self.before) = (None, None);
            return;
        }
        let Some((since, before)) = self.began else {
            self.began = Some((now, answered));
            return;
        };
        let passed = now.saturating_duration_since(since);
        if passed < INTERVAL {
            return;
        }
        let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = answered.saturating_sub(before).saturating_mul(1000) / millis;
        self.began = Some((now, answered));
        if let Some(one_less) = self.before.take()
            && rate.saturating_mul(100) < one_less.saturating_mul(100 + GAIN_PERCENT)
        {
            self.wanted = (self.wanted - 1).max(1);
            self.rests_until = Some(now + REST);
            return;
        }
        // A peer that answers nothing would not answer more on two.
        if rate > 0 && self.wanted < most && self.rests_until.is_none_or(|until| now >= until) {
            self.before = Some(rate);
            self.wanted += 1;
        }
    }

    /// Nothing waits: one connection is enough.
    pub fn shrink(&mut self) {
        self.wanted = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a peer that answers so many articles a second with one, two, … connections.
    fn play(rates: &[u64], most: usize, seconds: u64) -> usize {
        let mut growth = Growth::default();
        let start = Instant::now();
        let mut answered = 0;
        for second in 0..seconds {
            growth.decide(start + Duration::from_secs(second), true, answered, most);
            answered += rates[growth.wanted().min(rates.len()) - 1];
        }
        growth.wanted()
    }

    #[test]
    fn connections_stay_while_they_help() {
        assert_eq!(play(&[100, 190, 270, 340, 400], 4, 60), 4);
        assert_eq!(play(&[100, 190, 195, 195], 8, 60), 2);
        assert_eq!(play(&[100, 100], 8, 200), 1);
        assert_eq!(play(&[100, 200], 1, 60), 1);
        assert_eq!(play(&[0, 0, 0, 0], 4, 60), 1);
    }

    #[test]
    fn what_did_not_help_is_tried_again_after_a_rest() {
        let mut growth = Growth::default();
        let start = Instant::now();
        let mut most = 0;
        for second in 0..400 {
            growth.decide(start + Duration::from_secs(second), true, second * 10, 8);
            most = most.max(growth.wanted());
            if second == 100 {
                assert_eq!((growth.wanted(), most), (1, 2));
                most = 0;
            }
        }
        assert_eq!(most, 2);
    }
}
