//! Little-endian numbers in byte pictures, and decimal ones in text.

/// The `u32` at `at`; `None` past the end.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let end = at.checked_add(4)?;
    Some(u32::from_le_bytes(bytes.get(at..end)?.try_into().ok()?))
}

/// The `u64` at `at`; `None` past the end.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let end = at.checked_add(8)?;
    Some(u64::from_le_bytes(bytes.get(at..end)?.try_into().ok()?))
}

/// Overwrites four bytes at `at`; nothing happens past the end.
pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(4)) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Overwrites eight bytes at `at`; nothing happens past the end.
pub fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(8)) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Appends a number in decimal.
pub fn push_decimal(out: &mut Vec<u8>, mut value: u64) {
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
    push_decimal(out, value.unsigned_abs());
}

/// A whole field of decimal digits; `None` for anything else or on overflow.
pub fn decimal(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0u64, |value, &b| {
        b.is_ascii_digit().then_some(())?;
        value.checked_mul(10)?.checked_add(u64::from(b - b'0'))
    })
}

/// As [`decimal`], with an optional minus sign.
pub fn signed(field: &[u8]) -> Option<i64> {
    match field.strip_prefix(b"-") {
        Some(rest) => 0i64.checked_sub_unsigned(decimal(rest)?),
        None => i64::try_from(decimal(field)?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_go_there_and_back() {
        for value in [0, 1, 9, 10, 12345, u64::MAX] {
            let mut out = Vec::new();
            push_decimal(&mut out, value);
            assert_eq!(out, value.to_string().as_bytes());
            assert_eq!(decimal(&out), Some(value));
        }
        assert_eq!(decimal(b""), None);
        assert_eq!(decimal(b"12x"), None);
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!(signed(b"-5"), Some(-5));
    }
}
