//! The stored verifier of a password for SCRAM-SHA-256, in the form of RFC 5803:
//! `SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY`.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::password::is_same;
use crate::random::random;

/// Iterations for new passwords. The client computes them at each login, and common client libraries accept at most 65,536.
pub const ITERATIONS: u32 = 50_000;
/// Minimum number of iterations (RFC 7677, 4).
pub const ITERATIONS_MIN: u32 = 4096;
/// Maximum number of iterations in the file.
pub const ITERATIONS_MAX: u32 = 10_000_000;

/// Length of a new salt, bytes.
const SALT_BYTES: usize = 16;
/// Longest salt of a line, bytes.
const SALT_BYTES_MAX: usize = 64;

const NAME: &str = "SCRAM-SHA-256";

/// The keys that check a proof of the password; they are not sufficient to make a proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifier {
    pub(super) iterations: u32,
    pub(super) salt: Vec<u8>,
    stored_key: [u8; 32],
    server_key: [u8; 32],
}

impl Verifier {
    /// Makes the verifier of a new password, with a random salt.
    ///
    /// # Errors
    /// There are no random numbers.
    pub fn of(password: &[u8]) -> Result<Verifier, Error> {
        let salt: [u8; SALT_BYTES] = random().map_err(Error::Chance)?;
        Ok(Verifier::with(password, &salt, ITERATIONS))
    }

    /// Makes the verifier of a password with this salt and number of iterations (at least one).
    pub fn with(password: &[u8], salt: &[u8], iterations: u32) -> Verifier {
        let salted = salted(password, salt, iterations);
        Verifier {
            iterations,
            salt: salt.to_vec(),
            stored_key: Sha256::digest(hmac(&salted, &[b"Client Key"])).into(),
            server_key: hmac(&salted, &[b"Server Key"]),
        }
    }

    /// Makes a verifier that accepts no proof. Its salt is constant for a name, so that it looks like that of a known user.
    pub(super) fn of_unknown_user(secret: &[u8; 32], name: &[u8]) -> Verifier {
        let salt = hmac(secret, &[name]);
        Verifier {
            iterations: ITERATIONS,
            salt: salt.iter().copied().take(SALT_BYTES).collect(),
            stored_key: hmac(secret, &[name, b" stored"]),
            server_key: hmac(secret, &[name, b" server"]),
        }
    }

    /// Checks the proof for the messages of the exchange. Returns the server's signature, which the client verifies (RFC 5802, 3), or
    /// `None` for a wrong proof.
    pub(super) fn check(&self, auth_message: &[u8], proof: &[u8]) -> Option<[u8; 32]> {
        let proof: &[u8; 32] = proof.try_into().ok()?;
        let signature = hmac(&self.stored_key, &[auth_message]);
        let mut client_key = signature;
        for (byte, other) in client_key.iter_mut().zip(proof) {
            *byte ^= other;
        }
        let is_valid = is_same(&Sha256::digest(client_key), &self.stored_key);
        is_valid.then(|| hmac(&self.server_key, &[auth_message]))
    }

    /// Parses a verifier.
    ///
    /// # Errors
    /// The problem, as the rest of a sentence that begins with the field's name.
    pub fn parse(text: &str) -> Result<Verifier, String> {
        let parse = || {
            let rest = text.strip_prefix(NAME)?.strip_prefix('$')?;
            let (parameters, keys) = rest.split_once('$')?;
            let (iterations, salt) = parameters.split_once(':')?;
            let (stored, server) = keys.split_once(':')?;
            let bytes = |text: &str| STANDARD.decode(text).ok();
            Some(Verifier {
                iterations: iterations.parse().ok()?,
                salt: bytes(salt)?,
                stored_key: bytes(stored)?.try_into().ok()?,
                server_key: bytes(server)?.try_into().ok()?,
            })
        };
        let is_valid = |verifier: &Verifier| {
            (ITERATIONS_MIN..=ITERATIONS_MAX).contains(&verifier.iterations)
                && (1..=SALT_BYTES_MAX).contains(&verifier.salt.len())
        };
        parse().filter(is_valid).ok_or_else(|| {
            format!("is not {NAME}$ITERATIONS:SALT$STOREDKEY:SERVERKEY with {ITERATIONS_MIN} to {ITERATIONS_MAX} iterations")
        })
    }
}

/// The form in the file.
impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |bytes: &[u8]| STANDARD.encode(bytes);
        let (salt, stored, server) = (of(&self.salt), of(&self.stored_key), of(&self.server_key));
        write!(f, "{NAME}${}:{salt}${stored}:{server}", self.iterations)
    }
}

/// HMAC-SHA-256 of these pieces, concatenated.
pub(crate) fn hmac(key: &[u8], pieces: &[&[u8]]) -> [u8; 32] {
    let mut mac = keyed(key);
    for piece in pieces {
        mac.update(piece);
    }
    mac.finalize().into_bytes().into()
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length")
}

/// `Hi` of RFC 5802, 2.2: PBKDF2 with one block.
fn salted(password: &[u8], salt: &[u8], iterations: u32) -> [u8; 32] {
    let keyed = keyed(password);
    let mut mac = keyed.clone();
    mac.update(salt);
    mac.update(&1u32.to_be_bytes());
    let mut last: [u8; 32] = mac.finalize().into_bytes().into();
    let mut all = last;
    for _ in 1..iterations {
        let mut mac = keyed.clone();
        mac.update(&last);
        last = mac.finalize().into_bytes().into();
        for (byte, other) in all.iter_mut().zip(&last) {
            *byte ^= other;
        }
    }
    all
}
