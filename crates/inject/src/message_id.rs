//! New ids: `<code(time).code(chance)@mailname>`, in the manner of C News.

/// A number in base 32, with letters that are not taken for each other.
pub fn code(mut number: u64, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghijkmnpqrstuvwx";
    let start = out.len();
    loop {
        out.push(DIGITS.get((number & 31) as usize).copied().unwrap_or(b'0'));
        number >>= 5;
        if number == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

/// The id of an article posted at `seconds` through `mailname`. What makes it the only one is `chance`, which is a
/// random number of 64 bits; C News took the process, which says less after a restart.
pub fn new(seconds: i64, chance: u64, mailname: &[u8]) -> Vec<u8> {
    let mut id = vec![b'<'];
    code(u64::try_from(seconds).unwrap_or_default(), &mut id);
    id.push(b'.');
    code(chance, &mut id);
    id.push(b'@');
    id.extend_from_slice(mailname);
    id.push(b'>');
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_valid() {
        assert_eq!(new(0, 31, b"a.b"), b"<0.x@a.b>");
        for (seconds, chance) in [(-1, 0), (i64::MAX, u64::MAX), (1_000_000_000, 12_345)] {
            assert!(article::message_id::valid_strict(&new(
                seconds,
                chance,
                b"news.example.org"
            )));
        }
    }
}
