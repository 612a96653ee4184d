//! Password hashes by argon2id (RFC 9106) in the PHC string format: `$argon2id$v=19$m=19456,t=2,p=1$SALT$HASH`.

use std::borrow::Cow;
use std::fmt;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::error::Error;
use crate::prepared::prepared;
use crate::random::random;

/// Memory of one check, KiB: OWASP's recommendation for two passes.
pub const MEMORY_KIB: u32 = 19 * 1024;
/// Passes over the memory.
pub const PASSES: u32 = 2;
/// Lanes; more would need threads.
pub const LANES: u32 = 1;
/// Length of a new salt, bytes.
pub const SALT_BYTES: usize = 16;
/// Length of a new hash, bytes.
pub const HASH_BYTES: usize = 32;

/// Most memory in a line of the file, KiB.
pub const MEMORY_KIB_MAX: u32 = 1 << 20;
/// Most passes in a line of the file.
pub const PASSES_MAX: u32 = 100;
/// Most lanes in a line of the file.
pub const LANES_MAX: u32 = 16;
/// Longest salt or hash in a line of the file, bytes.
pub const HASH_BYTES_MAX: usize = 64;
/// The longest password, bytes.
pub const PASSWORD_BYTES_MAX: usize = 1024;
/// The longest new password, bytes: a command has 512 (RFC 3977, 3.1), and `AUTHINFO PASS` and CRLF are part of it.
pub const NEW_PASSWORD_BYTES_MAX: usize = 496;

/// The shortest new password, characters (NIST SP 800-63B, 5.1.1). Older and imported ones may be shorter.
pub const NEW_PASSWORD_CHARACTERS_MIN: usize = 8;

/// Smallest allocation for a check, KiB. glibc returns allocations above 32 MiB to the system at once; smaller ones stay in the arenas
/// of all threads (the threshold of mmap rises to 32 MiB): 400 MB after some hundred logins. Unused pages cost nothing.
const ROOM_KIB: usize = 33 << 10;

/// The salt of a hash that matches no password.
const NO_USER_SALT: &[u8] = b"nobody has this salt";

/// The stored hash of a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hash {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl Hash {
    /// Hashes a new password with a random salt. It takes some tens of milliseconds.
    ///
    /// # Errors
    /// There are no random numbers, or no memory.
    pub fn of(password: &[u8]) -> Result<Hash, Error> {
        let salt: [u8; SALT_BYTES] = random().map_err(Error::Chance)?;
        let mut made = Hash {
            salt: salt.to_vec(),
            ..Hash::no_user()
        };
        made.hash = made.compute(password).ok_or_else(|| {
            Error::Unfit("there is no memory for the hash of the password".into())
        })?;
        Ok(made)
    }

    /// A hash that takes as long to check as a usual one and matches no password.
    pub(crate) fn no_user() -> Hash {
        Hash {
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            lanes: LANES,
            salt: NO_USER_SALT.to_vec(),
            hash: vec![0; HASH_BYTES],
        }
    }

    /// Whether this is the hash of a password. It takes some tens of milliseconds for either result. `None` if memory is short.
    pub fn is_of(&self, password: &[u8]) -> Option<bool> {
        self.compute(password)
            .map(|hash| is_same(&hash, &self.hash))
    }

    fn compute(&self, password: &[u8]) -> Option<Vec<u8>> {
        let mut hash = vec![0; self.hash.len()];
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(hash.len()));
        let params = params.ok()?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
        let count = params.block_count();
        let mut memory: Vec<Block> = Vec::new();
        memory.try_reserve_exact(count.max(ROOM_KIB)).ok()?;
        memory.resize(count, Block::default());
        let done =
            argon2.hash_password_into_with_memory(password, &self.salt, &mut hash, &mut memory);
        done.ok().map(|()| hash)
    }

    /// Parses a PHC string of argon2id.
    ///
    /// # Errors
    /// The problem, as the rest of a sentence that begins with the field's name.
    pub fn parse(text: &str) -> Result<Hash, String> {
        let error =
            || "is not a hash of argon2id ($argon2id$v=19$m=..,t=..,p=..$salt$hash)".to_owned();
        let rest = text.strip_prefix("$argon2id$v=19$").ok_or_else(error)?;
        let mut parts = rest.split('$');
        let (costs, salt, hash) = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(costs), Some(salt), Some(hash), None) => (costs, salt, hash),
            _ => return Err(error()),
        };
        let mut costs = costs.split(',');
        let mut cost = |name: &str| {
            let value = costs.next()?.strip_prefix(name)?.strip_prefix('=')?;
            value.parse::<u32>().ok()
        };
        let (memory_kib, passes, lanes) = match (cost("m"), cost("t"), cost("p"), costs.next()) {
            (Some(memory), Some(passes), Some(lanes), None) => (memory, passes, lanes),
            _ => return Err(error()),
        };
        let bytes = |text: &str| STANDARD_NO_PAD.decode(text).map_err(|_| error());
        let (salt, hash) = (bytes(salt)?, bytes(hash)?);
        // Argon2 needs 8 blocks a lane, and salts of 8 bytes.
        let is_sound = (1..=LANES_MAX).contains(&lanes)
            && (1..=PASSES_MAX).contains(&passes)
            && (8 * lanes..=MEMORY_KIB_MAX).contains(&memory_kib)
            && (8..=HASH_BYTES_MAX).contains(&salt.len())
            && (16..=HASH_BYTES_MAX).contains(&hash.len());
        if is_sound {
            Ok(Hash {
                memory_kib,
                passes,
                lanes,
                salt,
                hash,
            })
        } else {
            Err(format!(
                "has parameters outside of the limits (at most m={MEMORY_KIB_MAX}, t={PASSES_MAX}, p={LANES_MAX}; salt and hash of at most {HASH_BYTES_MAX} bytes)"
            ))
        }
    }
}

/// The PHC string.
impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "$argon2id$v=19$m={},t={},p={}${}${}",
            self.memory_kib,
            self.passes,
            self.lanes,
            STANDARD_NO_PAD.encode(&self.salt),
            STANDARD_NO_PAD.encode(&self.hash)
        )
    }
}

/// Checks a new password, and prepares it by SASLprep (RFC 4013): one line of UTF-8 (RFC 4643, 2.3.2).
///
/// # Errors
/// The password is invalid.
pub fn check_password(password: &[u8]) -> Result<Cow<'_, str>, Error> {
    let error = |what: String| Err(Error::Unfit(what));
    let Ok(text) = str::from_utf8(password) else {
        return error("the password is not UTF-8".to_owned());
    };
    if text.chars().any(char::is_control) {
        return error("the password has a control character".to_owned());
    }
    if text.starts_with(' ') {
        // RFC 4643, 2.3.1: blanks behind PASS separate the words.
        return error(
            "the password begins with a blank, which AUTHINFO PASS cannot send".to_owned(),
        );
    }
    if text.len() > NEW_PASSWORD_BYTES_MAX {
        return error(format!(
            "the password is longer than {NEW_PASSWORD_BYTES_MAX} bytes, the most that AUTHINFO PASS can send"
        ));
    }
    match prepared(text) {
        Err(what) => error(format!("the password {what}")),
        Ok(text) if text.is_empty() => error("the password is empty".to_owned()),
        Ok(text) if text.len() > PASSWORD_BYTES_MAX => error(format!(
            "the password is longer than {PASSWORD_BYTES_MAX} bytes as SASLprep (RFC 4013) writes it"
        )),
        Ok(text) => Ok(text),
    }
}

/// Checks that a password that somebody chooses now is long enough.
///
/// # Errors
/// It is shorter than [`NEW_PASSWORD_CHARACTERS_MIN`].
pub(crate) fn check_length(password: &str) -> Result<(), Error> {
    match password.chars().count() {
        NEW_PASSWORD_CHARACTERS_MIN.. => Ok(()),
        count => Err(Error::Unfit(format!(
            "the password is too short: it has {count} of at least {NEW_PASSWORD_CHARACTERS_MIN} characters; a few words are easy to remember"
        ))),
    }
}

/// The forms of a received password: its prepared form, then the octets themselves, of which files of other programs have hashes and which need not
/// be UTF-8.
pub(crate) fn forms(password: &[u8]) -> Vec<Cow<'_, [u8]>> {
    let form = str::from_utf8(password)
        .ok()
        .and_then(|text| prepared(text).ok());
    let form = form.map(|form| match form {
        Cow::Borrowed(form) => Cow::Borrowed(form.as_bytes()),
        Cow::Owned(form) => Cow::Owned(form.into_bytes()),
    });
    let mut forms: Vec<Cow<'_, [u8]>> = form.into_iter().collect();
    if !forms.iter().any(|form| **form == *password) {
        forms.push(Cow::Borrowed(password));
    }
    forms
}

/// Compares in constant time.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    let pairs = one.iter().zip(other);
    let differences = pairs.fold(0, |all, (a, b)| std::hint::black_box(all | (a ^ b)));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_that_no_client_can_send_is_refused() {
        let refused = check_password(b" secret").unwrap_err().to_string();
        assert!(refused.contains("AUTHINFO PASS"), "{refused}");
        assert_eq!(check_password(b"a secret ").unwrap(), "a secret ");
    }
}
