//! Public keys (RFC 4880, 5.5.2).

use std::fmt::Write as _;

use ed25519_dalek::VerifyingKey;

use crate::cursor::Cursor;
use crate::dsa::Dsa;
use crate::rsa::Rsa;
use crate::{Digest, Error};

/// Ed25519 among curves, as RFC 4880's successors wrote it first (RFC 9580, 9.2).
const ED25519: &[u8] = b"\x2b\x06\x01\x04\x01\xda\x47\x0f\x01";

/// The numbers of a key, by algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Numbers {
    Rsa(Rsa),
    Dsa(Box<Dsa>),
    Ed25519(Box<VerifyingKey>),
}

/// A public key of version 2, 3 or 4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    version: u8,
    created: u32,
    fingerprint: Vec<u8>,
    id: u64,
    pub(crate) numbers: Numbers,
}

impl PublicKey {
    /// Reads the body of a key packet.
    ///
    /// # Errors
    /// Not as it should be, an algorithm that does not sign or is not known here, or numbers that no
    /// honest key has.
    pub fn parse(body: &[u8]) -> Result<PublicKey, Error> {
        let mut cursor = Cursor(body);
        let version = cursor.byte()?;
        let created = cursor.long()?;
        match version {
            2 | 3 => {
                let _days_valid = cursor.short()?;
            }
            4 => {}
            number => {
                return Err(Error::Unsupported {
                    what: "key version",
                    number,
                });
            }
        }
        let algorithm = cursor.byte()?;
        let material = cursor;
        let numbers = numbers(algorithm, &mut cursor)?;
        cursor.end()?;
        let (fingerprint, id) = match (version, &numbers) {
            (4, _) => new_names(body)?,
            (_, Numbers::Rsa(_)) => old_names(material)?,
            _ => return Err(Error::Malformed("an old key can only be of RSA")),
        };
        Ok(PublicKey {
            version,
            created,
            fingerprint,
            id,
            numbers,
        })
    }

    /// 2, 3 (PGP 2) or 4.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// When it was made, in seconds since 1970.
    pub fn created(&self) -> u32 {
        self.created
    }

    /// The fingerprint in hexadecimal: 32 digits of MD5 for an old key, else 40 of SHA-1.
    pub fn fingerprint(&self) -> String {
        hex(&self.fingerprint)
    }

    /// The key id, by which signatures name it. Of an old key somebody can make another with the same id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// `RSA`, `DSA` or `Ed25519`.
    pub fn algorithm(&self) -> &'static str {
        match self.numbers {
            Numbers::Rsa(_) => "RSA",
            Numbers::Dsa(_) => "DSA",
            Numbers::Ed25519(_) => "Ed25519",
        }
    }

    /// Its size in bits.
    pub fn bits(&self) -> u64 {
        match &self.numbers {
            Numbers::Rsa(rsa) => rsa.bits(),
            Numbers::Dsa(dsa) => dsa.bits(),
            Numbers::Ed25519(_) => 256,
        }
    }
}

/// Capital hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}

fn numbers(algorithm: u8, cursor: &mut Cursor<'_>) -> Result<Numbers, Error> {
    match algorithm {
        1 | 3 => Ok(Numbers::Rsa(Rsa::new(cursor.number()?, cursor.number()?)?)),
        17 => {
            let four = [
                cursor.number()?,
                cursor.number()?,
                cursor.number()?,
                cursor.number()?,
            ];
            Ok(Numbers::Dsa(Box::new(Dsa::new(four)?)))
        }
        22 => {
            let len = cursor.byte()?;
            if cursor.take(usize::from(len))? != ED25519 {
                return Err(Error::Malformed("its curve is not Ed25519"));
            }
            match cursor.number()? {
                [0x40, point @ ..] => ed25519(point),
                _ => Err(Error::Unsound("its point is in no known form")),
            }
        }
        27 => ed25519(cursor.take(ed25519_dalek::PUBLIC_KEY_LENGTH)?),
        number => Err(Error::Unsupported {
            what: "key algorithm",
            number,
        }),
    }
}

fn ed25519(point: &[u8]) -> Result<Numbers, Error> {
    let key = VerifyingKey::try_from(point)
        .map_err(|_| Error::Unsound("its point is not on the curve"))?;
    if key.is_weak() {
        return Err(Error::Unsound("its point is weak"));
    }
    Ok(Numbers::Ed25519(Box::new(key)))
}

/// Fingerprint and id of an old key: the hash of its numbers, and the low bits of the modulus (RFC 4880, 12.2).
fn old_names(mut material: Cursor<'_>) -> Result<(Vec<u8>, u64), Error> {
    let (modulus, exponent) = (material.number()?, material.number()?);
    let fingerprint = Digest::Md5.of(|feed| {
        feed(modulus);
        feed(exponent);
    });
    let id = modulus.last_chunk().ok_or(Error::CutOff)?;
    Ok((fingerprint, u64::from_be_bytes(*id)))
}

fn new_names(body: &[u8]) -> Result<(Vec<u8>, u64), Error> {
    const WHAT: Error = Error::TooLarge {
        what: "the key, in bytes,",
        max: u16::MAX as usize,
    };
    let len = u16::try_from(body.len()).map_err(|_| WHAT)?;
    let fingerprint = Digest::Sha1.of(|feed| {
        feed(&[0x99]);
        feed(&len.to_be_bytes());
        feed(body);
    });
    let id = fingerprint.last_chunk().ok_or(Error::CutOff)?;
    let id = u64::from_be_bytes(*id);
    Ok((fingerprint, id))
}
