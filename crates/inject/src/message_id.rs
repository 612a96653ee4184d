//! Generates message-ids: `<code(time).code(random)@mailname>`, in the style of C News.

/// Appends a number in base 32, with digits that are not easily confused.
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

/// Makes the id of an article posted at `seconds` through `mailname`. `random`, 64 random bits, makes it
/// unique; C News used the process id, which repeats after a restart.
pub fn new(seconds: i64, random: u64, mailname: &[u8]) -> Vec<u8> {
    let mut id = vec![b'<'];
    code(u64::try_from(seconds).unwrap_or_default(), &mut id);
    id.push(b'.');
    code(random, &mut id);
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
        for (seconds, random) in [(-1, 0), (i64::MAX, u64::MAX), (1_000_000_000, 12_345)] {
            assert!(article::message_id::valid_strict(&new(
                seconds,
                random,
                b"news.example.org"
            )));
        }
    }
}
