//! Message-ids: validity tests, equality and hash.

use siphasher::sip::SipHasher13;
use thiserror::Error;

use crate::scan::{any_capital, has_blank_control_or, has_byte, has_control, last_place};

/// The reason why an id is refused; `Display` gives the text of the log, which is that of C News but for [`IdError::Unusable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IdError {
    /// No `@` anywhere.
    #[error("no @ in Message-ID")]
    NoAt,
    /// Contains a blank, tab or line end.
    #[error("whitespace in Message-ID")]
    Whitespace,
    /// Does not have the form `<...>`.
    #[error("Message-ID not bracketed by <>")]
    NotBracketed,
    /// Contains a control character, or a `>` before its end: no command of NNTP can name it (RFC 3977, 9.8), so nobody could request
    /// the article.
    #[error("control character or > inside Message-ID")]
    Unusable,
}

/// Checks an id by C News's three tests, in C News's order, and then whether commands of NNTP can name it.
///
/// # Errors
/// The first test that fails.
#[inline]
pub fn check(id: &[u8]) -> Result<(), IdError> {
    match id {
        [b'<', inside @ .., b'>'] if is_plain(inside) => Ok(()),
        _ => check_in_order(id),
    }
}

/// Whether what stands between the brackets has an `@`, and neither white space, control characters nor `>`.
#[inline]
fn is_plain(inside: &[u8]) -> bool {
    has_byte(inside, b'@') && !has_blank_control_or(inside, b'>')
}

#[cold]
fn check_in_order(id: &[u8]) -> Result<(), IdError> {
    if memchr::memchr(b'@', id).is_none() {
        return Err(IdError::NoAt);
    }
    let is_space = |b: &u8| b.is_ascii_whitespace() || *b == 0x0b;
    if id.iter().any(is_space) {
        return Err(IdError::Whitespace);
    }
    let [b'<', inside @ .., b'>'] = id else {
        return Err(IdError::NotBracketed);
    };
    if has_control(inside) || inside.contains(&b'>') {
        return Err(IdError::Unusable);
    }
    Ok(())
}

/// Offset from which letter case is ignored: 0 if the local part is `postmaster`, else the offset of
/// the last `@` (RFC 822, 6.2.4 and 6.3; dbz's case map `C`), or the length of the id if it has no `@`.
fn fold_start(id: &[u8]) -> usize {
    let Some(at) = last_place(id, b'@') else {
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

/// Whether two ids denote the same article.
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

/// The secret key of the hash of ids. Without the key nobody can choose ids whose hashes collide, so no sender can fill
/// one slot of the hash table.
#[derive(Clone, Copy)]
pub struct HashKey {
    bytes: [u8; HashKey::BYTES],
    hasher: SipHasher13,
}

impl HashKey {
    /// Length of a key, bytes.
    pub const BYTES: usize = 16;

    /// Makes a key from random bytes, which must be kept secret.
    pub fn new(bytes: [u8; HashKey::BYTES]) -> HashKey {
        HashKey {
            bytes,
            hasher: SipHasher13::new_with_key(&bytes),
        }
    }

    /// The bytes of the key.
    pub fn bytes(&self) -> &[u8; HashKey::BYTES] {
        &self.bytes
    }

    /// Returns the SipHash-1-3 of an id, with lower case letters where [case is ignored](same), so that equal ids have equal
    /// hashes. Hashes are written to disk, so this function never changes.
    pub fn hash(&self, id: &[u8]) -> u64 {
        let folding = id.get(fold_start(id)..).unwrap_or_default();
        if !any_capital(folding) {
            return self.hasher.hash(id);
        }
        let mut lower = [0; FOLDED_BYTES];
        match lower.get_mut(..id.len()) {
            Some(lower) => {
                lower.copy_from_slice(id);
                fold(lower);
                self.hasher.hash(lower)
            }
            None => self.hasher.hash(&folded(id)),
        }
    }
}

/// Longest id that is folded on the stack, bytes; NNTP does not permit longer ones.
const FOLDED_BYTES: usize = 256;

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey")
    }
}

/// Returns the id with lower case letters where case is ignored. Two ids are the [`same`] exactly if their folded forms are equal.
pub fn folded(id: &[u8]) -> Vec<u8> {
    let mut folded = id.to_vec();
    fold(&mut folded);
    folded
}

/// Converts to lower case the letters whose case is ignored.
fn fold(id: &mut [u8]) {
    let start = fold_start(id);
    if let Some(folding) = id.get_mut(start..) {
        folding.make_ascii_lowercase();
    }
}

/// Longest id that NNTP permits, bytes, with its brackets (RFC 3977, 3.6). Articles in batches may have
/// longer ones.
pub const NETWORK_BYTES_MAX: usize = 250;

/// Whether an id has the form required of new articles: a dot-atom, `@`, and a
/// dot-atom or a bracketed literal (RFC 5536, 3.1.3), in at most [`NETWORK_BYTES_MAX`].
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

/// Whether this domain may follow the `@` of an id that [`valid_strict`] accepts.
pub fn valid_domain_strict(domain: &[u8]) -> bool {
    match domain {
        [b'[', text @ .., b']'] => text
            .iter()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'>' | b'[' | b'\\' | b']')),
        _ => is_dot_atom(domain),
    }
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
    fn the_tests_in_their_order() {
        assert_eq!(check(b"<a b>"), Err(IdError::NoAt));
        assert_eq!(check(b"a @b"), Err(IdError::Whitespace));
        assert_eq!(check(b"a@b"), Err(IdError::NotBracketed));
        assert_eq!(check(b"<a@b"), Err(IdError::NotBracketed));
        for id in [
            &b"<a@b\0>"[..],
            b"<a\x1b@b>",
            b"<a\x7f@b>",
            b"<a>@b>",
            b"<a@b>>",
        ] {
            assert_eq!(check(id), Err(IdError::Unusable), "{id:?}");
        }
        assert_eq!(check(b"<\xe9@b>"), Ok(()));
        assert_eq!(check(b"<a@b>"), Ok(()));
        assert_eq!(check(b""), Err(IdError::NoAt));
    }

    #[test]
    fn only_the_domain_folds() {
        assert!(same(b"<aB@host.EXAMPLE>", b"<aB@HOST.example>"));
        assert!(!same(b"<ab@host>", b"<aB@host>"));
        assert!(!same(b"<a@B@host>", b"<a@b@host>"));
        assert!(same(b"<POSTmaster@host>", b"<postmaster@HOST>"));
        assert!(!same(b"<xPOSTmaster@host>", b"<xpostmaster@host>"));
    }

    const KEY: [u8; HashKey::BYTES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    /// The key and the text of the reference implementation's test vectors; the SipHash-1-3 values are from there too.
    #[test]
    fn the_hash_never_changes() {
        let key = HashKey::new(KEY);
        let text = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
        assert_eq!(key.hash(b""), 0xabac_0158_050f_c4dc);
        assert_eq!(key.hash(&text), 0xd320_d86d_2a51_9956);
        let ids = [&b"<1@a>"[..], b"<1993Apr5.1234@News.Example.ORG>"];
        assert_eq!(ids.map(|id| key.hash(id)), HASHES);
    }

    const HASHES: [u64; 2] = [3893452929483998218, 7764919438648913325];

    #[test]
    fn another_key_hashes_otherwise() {
        let (one, other) = (HashKey::new(KEY), HashKey::new([7; HashKey::BYTES]));
        assert_ne!(one.hash(b"<1@a>"), other.hash(b"<1@a>"));
        assert_eq!(format!("{one:?}"), "HashKey");
    }

    proptest! {
        #[test]
        fn folding_eight_at_once_is_folding_one_by_one(id in proptest::collection::vec(any::<u8>(), 0..300)) {
            let key = HashKey::new(KEY);
            prop_assert_eq!(key.hash(&id), key.hasher.hash(&folded(&id)));
            prop_assert!(same(&id, &folded(&id)));
        }

        #[test]
        fn the_same_ids_have_the_same_hash(local in "[!-~]{0,20}", domain in "[!-?A-~]{0,30}") {
            let key = HashKey::new(KEY);
            let id = format!("<{local}@{domain}>").into_bytes();
            let other = format!("<{local}@{}>", domain.to_ascii_uppercase()).into_bytes();
            prop_assert!(same(&id, &other));
            prop_assert_eq!(key.hash(&id), key.hash(&other));
        }
    }
}
