//! Decimal numbers in text: history lines, Xref, overview rows.

/// One more than the largest number of eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// Appends a number in decimal.
#[inline]
pub fn push(out: &mut Vec<u8>, value: u64) {
    if value < EIGHT_DIGITS {
        let digits = eight_digits(value);
        // The zeros in front are the lowest bytes; one digit stays.
        let zeros = (digits | (1 << 56)).trailing_zeros() / 8;
        let text = (digits | ZEROS) >> (8 * zeros);
        let end = out.len() + 8 - zeros as usize;
        out.extend_from_slice(&text.to_le_bytes());
        out.truncate(end);
    } else {
        push_long(out, value);
    }
}

fn push_long(out: &mut Vec<u8>, value: u64) {
    push(out, value / EIGHT_DIGITS);
    let digits = eight_digits(value % EIGHT_DIGITS) | ZEROS;
    out.extend_from_slice(&digits.to_le_bytes());
}

/// Eight times the digit 0.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The values of the eight digits of a number, the first digit in the lowest byte. Divides both halves, then all quarters, then all
/// pairs at once: by 100 and by 10 as a multiplication and a shift, which are exact for numbers this small.
#[inline]
fn eight_digits(value: u64) -> u64 {
    let halves = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let quarters = hundreds | ((halves - 100 * hundreds) << 16);
    let tens = ((quarters * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((quarters - 10 * tens) << 8)
}

/// Appends a signed number in decimal (dates before 1970 are negative).
pub fn push_signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push(out, value.unsigned_abs());
}

/// The value of a text that is known to be decimal digits; overflow wraps.
#[inline]
pub fn value_of(digits: &[u8]) -> u64 {
    let each = |digits: &[u8]| {
        digits.iter().fold(0u64, |number, &byte| {
            let digit = u64::from(byte.wrapping_sub(b'0'));
            number.wrapping_mul(10).wrapping_add(digit)
        })
    };
    match digits.split_last_chunk() {
        Some((before, last)) => each(before)
            .wrapping_mul(EIGHT_DIGITS)
            .wrapping_add(value_of_eight(last)),
        None => each(digits),
    }
}

/// The value of eight digits: adds up pairs of neighbours, then pairs of those, then the two halves, all at once.
#[inline]
fn value_of_eight(digits: &[u8; 8]) -> u64 {
    let ones = u64::from_le_bytes(*digits) & 0x0f0f_0f0f_0f0f_0f0f;
    let tens = (ones.wrapping_mul(10).wrapping_add(ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let hundreds = (tens.wrapping_mul(100).wrapping_add(tens >> 16)) & 0x0000_ffff_0000_ffff;
    (hundreds & 0xffff_ffff)
        .wrapping_mul(10_000)
        .wrapping_add(hundreds >> 32)
}

/// Number of digits that cannot overflow a `u64`.
const DIGITS_SAFE: usize = 19;

/// Parses a whole field of decimal digits; `None` for anything else or on overflow.
pub fn parse(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    if field.len() <= DIGITS_SAFE {
        let mut value = 0;
        for &b in field {
            let digit = b.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
        return Some(value);
    }
    field.iter().try_fold(0u64, |value, &b| {
        b.is_ascii_digit().then_some(())?;
        value.checked_mul(10)?.checked_add(u64::from(b - b'0'))
    })
}

/// As [`parse`], with an optional minus sign.
pub fn parse_signed(field: &[u8]) -> Option<i64> {
    match field.strip_prefix(b"-") {
        Some(rest) => 0i64.checked_sub_unsigned(parse(rest)?),
        None => i64::try_from(parse(field)?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_trip() {
        for value in [
            0,
            1,
            9,
            10,
            99,
            100,
            101,
            999,
            12345,
            1 << 63,
            u64::MAX / 10,
            u64::MAX,
        ] {
            let mut out = Vec::new();
            push(&mut out, value);
            assert_eq!(out, value.to_string().as_bytes());
            assert_eq!(value_of(&out), value);
            assert_eq!(parse(&out), Some(value));
        }
        for value in (0..100_000_000).step_by(977).chain(99_999_000..100_001_000) {
            let mut out = Vec::new();
            push(&mut out, value);
            assert_eq!(parse(&out), Some(value));
            assert_eq!(value_of(&out), value);
            assert_eq!(out.len(), value.to_string().len());
        }
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"12x"), None);
        assert_eq!(parse(b"18446744073709551616"), None);
        assert_eq!(parse_signed(b"-5"), Some(-5));
    }
}
