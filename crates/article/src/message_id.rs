//! Message-ids: C News's tests, which ids are the same, and their hash.

use thiserror::Error;

use crate::scan::lowest;

/// Why C News refuses an id; the text is that of its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IdFault {
    /// No `@` anywhere.
    #[error("no @ in Message-ID")]
    NoAt,
    /// A blank, tab or line end in it.
    #[error("whitespace in Message-ID")]
    Whitespace,
    /// Not `<...>`.
    #[error("Message-ID not bracketed by <>")]
    NotBracketed,
}

/// C News's three tests, in its order.
///
/// # Errors
/// The first that fails.
pub fn check(id: &[u8]) -> Result<(), IdFault> {
    if memchr::memchr(b'@', id).is_none() {
        return Err(IdFault::NoAt);
    }
    let is_space = |b: &u8| b.is_ascii_whitespace() || *b == 0x0b;
    if lowest(id) <= b' ' && id.iter().any(is_space) {
        return Err(IdFault::Whitespace);
    }
    if id.first() != Some(&b'<') || id.last() != Some(&b'>') {
        return Err(IdFault::NotBracketed);
    }
    Ok(())
}

/// Where letters begin to lose their case: all of an id whose local part is `postmaster`, else what follows
/// the last `@` (RFC 822, 6.2.4 and 6.3; dbz's case map `C`). The length of the id if nothing folds.
fn fold_start(id: &[u8]) -> usize {
    let Some(at) = memchr::memrchr(b'@', id) else {
        return id.len();
    };
    let local = id.get(..at).unwrap_or_default();
    let local = local.strip_prefix(b"<").unwrap_or(local);
    if local.eq_ignore_ascii_case(b"postmaster") {
        0
    } else {
        at
    }
}

/// Whether two ids name the same article.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    if a == b {
        return true;
    }
    if a.len() != b.len() {
        return false;
    }
    let (start, other) = (fold_start(a), fold_start(b));
    start == other
        && a.get(..start) == b.get(..start)
        && a.get(start..)
            .unwrap_or_default()
            .eq_ignore_ascii_case(b.get(start..).unwrap_or_default())
}

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash that is equal for ids that are the [`same`]. It is written to disk, so it never changes:
///
/// The id is cut into words of 8 bytes, little-endian, the last one filled up with zeros; ASCII capitals in the
/// part that folds are made small. h begins as the length times 0x9e3779b97f4a7c15. Each word w makes h the
/// exclusive or of the two halves of the 128-bit product (h xor w) × 0x9e3779b97f4a7c15, plus w turned left by 32.
/// At last h goes through that once more with w = 0xd6e8feb86659fd93.
pub fn hash(id: &[u8]) -> u64 {
    let fold = fold_start(id);
    let mut h = (id.len() as u64).wrapping_mul(FACTOR);
    let (words, rest) = id.as_chunks::<8>();
    let (plain, folding) = words.split_at_checked(fold / 8).unwrap_or((words, &[]));
    for word in plain {
        h = step(h, u64::from_le_bytes(*word));
    }
    let mut at = 8 * plain.len();
    for word in folding {
        h = step(h, folded(u64::from_le_bytes(*word), at, fold));
        at += 8;
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        for (place, byte) in word.iter_mut().zip(rest) {
            *place = *byte;
        }
        h = step(h, folded(u64::from_le_bytes(word), at, fold));
    }
    step(h, 0xd6e8_feb8_6659_fd93)
}

#[inline]
fn step(h: u64, word: u64) -> u64 {
    let product = u128::from(h ^ word) * u128::from(FACTOR);
    (product as u64 ^ (product >> 64) as u64).wrapping_add(word.rotate_left(32))
}

/// The word that begins at `at`, its capitals from `fold` on made small.
#[inline]
fn folded(word: u64, at: usize, fold: usize) -> u64 {
    if at + 8 <= fold {
        return word;
    }
    let mask = match fold.saturating_sub(at) {
        0 => u64::MAX,
        kept => u64::MAX << (8 * kept),
    };
    (word & !mask) | (small(word) & mask)
}

/// Eight ASCII bytes at once: 0x20 is added where a byte is `A` to `Z`.
#[inline]
fn small(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let low = word & (0x7f * ONES);
    let from_a = low + (0x80 - b'A' as u64) * ONES;
    let after_z = low + (0x7f - b'Z' as u64) * ONES;
    let capital = (from_a ^ after_z) & !word & (0x80 * ONES);
    word | (capital >> 2)
}

/// The longest id that may be named on the network, in bytes, with its brackets (RFC 3977, 3.6). Articles
/// in batches may have longer ones.
pub const NETWORK_BYTES_MAX: usize = 250;

/// Whether an id is of the form that new articles must have: dots and atoms, `@`, and
/// dots and atoms or a bracketed literal (RFC 5536, 3.1.3), in at most [`NETWORK_BYTES_MAX`].
pub fn valid_strict(id: &[u8]) -> bool {
    let Some(inside) = bracketed(id) else {
        return false;
    };
    let Some(at) = memchr::memchr(b'@', inside) else {
        return false;
    };
    let Some((local, domain)) = inside.split_at_checked(at) else {
        return false;
    };
    is_dot_atom(local) && domain.strip_prefix(b"@").is_some_and(valid_domain_strict)
}

/// Whether an id can be named on the network at all: visible ASCII between brackets
/// without another `>` (RFC 3977, 9.8), in at most [`NETWORK_BYTES_MAX`].
pub fn valid_lax(id: &[u8]) -> bool {
    bracketed(id).is_some_and(valid_domain_lax)
}

/// Whether this may stand behind the `@` of a strictly valid id.
pub fn valid_domain_strict(domain: &[u8]) -> bool {
    match domain {
        [b'[', text @ .., b']'] => text
            .iter()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'>' | b'[' | b'\\' | b']')),
        _ => is_dot_atom(domain),
    }
}

/// Whether this may stand behind the `@` of an id that is valid in the lax way.
pub fn valid_domain_lax(domain: &[u8]) -> bool {
    !domain.is_empty()
        && domain
            .iter()
            .all(|&byte| byte.is_ascii_graphic() && byte != b'>')
}

fn bracketed(id: &[u8]) -> Option<&[u8]> {
    match id {
        [b'<', inside @ .., b'>'] if id.len() <= NETWORK_BYTES_MAX => Some(inside),
        _ => None,
    }
}

fn is_dot_atom(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'.').all(|atom| {
        !atom.is_empty()
            && atom
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_three_tests_in_their_order() {
        assert_eq!(check(b"<a b>"), Err(IdFault::NoAt));
        assert_eq!(check(b"a @b"), Err(IdFault::Whitespace));
        assert_eq!(check(b"a@b"), Err(IdFault::NotBracketed));
        assert_eq!(check(b"<a@b"), Err(IdFault::NotBracketed));
        assert_eq!(check(b"<a@b>"), Ok(()));
        assert_eq!(check(b""), Err(IdFault::NoAt));
    }

    #[test]
    fn only_the_domain_folds() {
        assert!(same(b"<aB@host.EXAMPLE>", b"<aB@HOST.example>"));
        assert!(!same(b"<ab@host>", b"<aB@host>"));
        assert!(!same(b"<a@B@host>", b"<a@b@host>"));
        assert!(same(b"<POSTmaster@host>", b"<postmaster@HOST>"));
        assert!(!same(b"<xPOSTmaster@host>", b"<xpostmaster@host>"));
    }

    #[test]
    fn the_hash_never_changes() {
        let hashes = [&b""[..], b"<1@a>", b"<1993Apr5.1234@News.Example.ORG>"].map(hash);
        assert_eq!(hashes, HASHES);
    }

    const HASHES: [u64; 3] = [
        3472964011493089037,
        11693029445068487312,
        12920865992254272046,
    ];

    fn slow(id: &[u8]) -> u64 {
        let fold = fold_start(id);
        let small: Vec<u8> = id
            .iter()
            .enumerate()
            .map(|(at, b)| {
                if at < fold {
                    *b
                } else {
                    b.to_ascii_lowercase()
                }
            })
            .collect();
        let mut h = (id.len() as u64).wrapping_mul(FACTOR);
        for chunk in small.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            h = step(h, u64::from_le_bytes(word));
        }
        step(h, 0xd6e8_feb8_6659_fd93)
    }

    proptest! {
        #[test]
        fn folding_eight_at_once_is_folding_one_by_one(id in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert_eq!(hash(&id), slow(&id));
        }

        #[test]
        fn the_same_ids_have_the_same_hash(local in "[!-~]{0,20}", domain in "[!-?A-~]{0,30}") {
            let id = format!("<{local}@{domain}>").into_bytes();
            let other = format!("<{local}@{}>", domain.to_ascii_uppercase()).into_bytes();
            prop_assert!(same(&id, &other));
            prop_assert_eq!(hash(&id), hash(&other));
        }
    }
}
