//! Decimal numbers in text: history lines, Xref, overview rows.

/// Appends a number in decimal.
pub fn push(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut used = 0;
    for place in digits.iter_mut().rev() {
        *place = b'0' + (value % 10) as u8;
        value /= 10;
        used += 1;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(20 - used..).unwrap_or_default());
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
        for value in [0, 1, 9, 10, 12345, u64::MAX] {
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
