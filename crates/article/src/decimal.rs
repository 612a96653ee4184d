//! Decimal numbers in text: history lines, Xref, overview rows.

/// Most digits of a number.
const DIGITS_MAX: usize = 20;

/// `00` to `99`.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut rest: &mut [[u8; 2]] = &mut pairs;
    let mut value = 0;
    while let [pair, tail @ ..] = rest {
        *pair = [b'0' + value / 10, b'0' + value % 10];
        value += 1;
        rest = tail;
    }
    pairs
};

/// Appends a number in decimal.
#[inline]
pub fn push(out: &mut Vec<u8>, value: u64) {
    // The digits end in the middle, so that a copy of a fixed size, which needs no call, begins at the first one.
    let mut text = [0u8; 2 * DIGITS_MAX];
    let (digits, _) = text.split_at_mut(DIGITS_MAX);
    let (pairs, _) = digits.as_chunks_mut::<2>();
    let mut rest = value;
    let mut start = DIGITS_MAX;
    for pair in pairs.iter_mut().rev() {
        *pair = PAIRS
            .get((rest % 100) as usize)
            .copied()
            .unwrap_or_default();
        start -= 2;
        let was = rest;
        rest /= 100;
        if rest == 0 {
            start += usize::from(was < 10);
            break;
        }
    }
    if let Some(copied) = text
        .get(start..)
        .and_then(<[u8]>::first_chunk::<DIGITS_MAX>)
    {
        let end = out.len() + DIGITS_MAX - start;
        out.extend_from_slice(copied);
        out.truncate(end);
    }
}

/// Appends a signed number in decimal (dates before 1970 are negative).
pub fn push_signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push(out, value.unsigned_abs());
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
            assert_eq!(parse(&out), Some(value));
        }
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"12x"), None);
        assert_eq!(parse(b"18446744073709551616"), None);
        assert_eq!(parse_signed(b"-5"), Some(-5));
    }
}
