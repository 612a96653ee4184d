//! Little-endian numbers in bytes, and words of texts.

/// Splits at the first occurrence of a byte. Expire reads millions of lines: this examines many bytes in each
/// step, while splitting by a closure examines one.
pub fn cut(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    let place = memchr::memchr(at, text).unwrap_or(text.len());
    let (before, rest) = text.split_at_checked(place).unwrap_or((text, b""));
    (before, rest.get(1..))
}

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

/// Overwrites four bytes at `at`; does nothing past the end.
#[inline]
pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(4)) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// Overwrites eight bytes at `at`; does nothing past the end.
#[inline]
pub fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(8)) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}
