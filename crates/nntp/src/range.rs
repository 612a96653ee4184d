//! Ranges of article numbers (RFC 3977, 6.1.2).

use article::decimal;

/// Article numbers from `low` to `high`, both included; the range is empty if `high` is below `low`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// First number.
    pub low: u64,
    /// Last number; `u64::MAX` for an open range.
    pub high: u64,
}

impl Range {
    /// Parses `N`, `N-` or `N-M`, and, as other servers do, `-M` and `-`. A number is below 2^63; RFC 3977, 9.8 asks for sixteen digits.
    pub fn parse(text: &[u8]) -> Option<Range> {
        let Some(at) = memchr::memchr(b'-', text) else {
            let number = number(text)?;
            return Some(Range {
                low: number,
                high: number,
            });
        };
        let (low, high) = text.split_at_checked(at)?;
        let high = high.get(1..)?;
        Some(Range {
            low: if low.is_empty() { 0 } else { number(low)? },
            high: if high.is_empty() {
                u64::MAX
            } else {
                number(high)?
            },
        })
    }

    /// Advances the start to `next`, which is above `low`. Returns false, and empties the range, if there is nothing left.
    pub(crate) fn advance_to(&mut self, next: Option<u64>) -> bool {
        match next.filter(|&next| next > self.low && next <= self.high) {
            Some(next) => {
                self.low = next;
                true
            }
            None => {
                (self.low, self.high) = (1, 0);
                false
            }
        }
    }
}

/// Parses an article number: digits only, below 2^63.
pub fn number(text: &[u8]) -> Option<u64> {
    let is_short = !text.is_empty() && text.len() <= 20;
    let digits = is_short && text.iter().all(u8::is_ascii_digit);
    digits
        .then(|| decimal::parse(text))
        .flatten()
        .filter(|&number| number < 1 << 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let range = |low, high| Some(Range { low, high });
        assert_eq!(Range::parse(b"12"), range(12, 12));
        assert_eq!(Range::parse(b"12-"), range(12, u64::MAX));
        assert_eq!(Range::parse(b"12-34"), range(12, 34));
        assert_eq!(Range::parse(b"34-12"), range(34, 12));
        assert_eq!(Range::parse(b"-12"), range(0, 12));
        for bad in [
            &b""[..],
            b"a",
            b"1-a",
            b"1-2-3",
            b"<1@a>",
            b"+1",
            b"99999999999999999999999",
        ] {
            assert_eq!(Range::parse(bad), None, "{bad:?}");
        }
    }
}
