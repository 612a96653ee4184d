//! Public keys (RFC 4880, 5.5.2).

use std::fmt::Write as _;

use ed25519_dalek::VerifyingKey;

use crate::cursor::Cursor;
use crate::dsa::Dsa;
use crate::rsa::Rsa;
use crate::{Digest, Error};

/// The object identifier of Ed25519 in version-4 EdDSA keys (RFC 9580, 9.2).
const ED25519: &[u8] = b"\x2b\x06\x01\x04\x01\xda\x47\x0f\x01";

/// The numbers of a key, by algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyMaterial {
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
    pub(crate) numbers: KeyMaterial,
}

impl PublicKey {
    /// Parses the body of a key packet.
    ///
    /// # Errors
    /// A malformed packet, an algorithm that cannot sign or is not supported, or numbers that a properly generated
    /// key does not have.
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
        let numbers = parse_material(algorithm, &mut cursor)?;
        cursor.end()?;
        let (fingerprint, id) = match (version, &numbers) {
            (4, _) => v4_identity(body)?,
            (_, KeyMaterial::Rsa(_)) => v3_identity(material)?,
            _ => return Err(Error::Malformed("a key of version 2 or 3 must be RSA")),
        };
        Ok(PublicKey {
            version,
            created,
            fingerprint,
            id,
            numbers,
        })
    }

    /// The version: 2 or 3 (PGP 2), or 4.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Creation time, seconds since 1970.
    pub fn created(&self) -> u32 {
        self.created
    }

    /// The fingerprint in hexadecimal: 32 digits of MD5 for versions 2 and 3, else 40 of SHA-1.
    pub fn fingerprint(&self) -> String {
        hex(&self.fingerprint)
    }

    /// The key id, which signatures contain. For a key of version 2 or 3 anybody can make another key with the same id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// `RSA`, `DSA` or `Ed25519`.
    pub fn algorithm(&self) -> &'static str {
        match self.numbers {
            KeyMaterial::Rsa(_) => "RSA",
            KeyMaterial::Dsa(_) => "DSA",
            KeyMaterial::Ed25519(_) => "Ed25519",
        }
    }

    /// The size in bits.
    pub fn bits(&self) -> u64 {
        match &self.numbers {
            KeyMaterial::Rsa(rsa) => rsa.bits(),
            KeyMaterial::Dsa(dsa) => dsa.bits(),
            KeyMaterial::Ed25519(_) => 256,
        }
    }
}

/// Formats bytes as upper-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}

fn parse_material(algorithm: u8, cursor: &mut Cursor<'_>) -> Result<KeyMaterial, Error> {
    match algorithm {
        1 | 3 => Ok(KeyMaterial::Rsa(Rsa::new(
            cursor.number()?,
            cursor.number()?,
        )?)),
        17 => {
            let four = [
                cursor.number()?,
                cursor.number()?,
                cursor.number()?,
                cursor.number()?,
            ];
            Ok(KeyMaterial::Dsa(Box::new(Dsa::new(four)?)))
        }
        22 => {
            let len = cursor.byte()?;
            if cursor.take(usize::from(len))? != ED25519 {
                return Err(Error::Malformed("its curve is not Ed25519"));
            }
            match cursor.number()? {
                [0x40, point @ ..] => parse_ed25519(point),
                _ => Err(Error::Unsound("its point has an unknown form")),
            }
        }
        27 => parse_ed25519(cursor.take(ed25519_dalek::PUBLIC_KEY_LENGTH)?),
        number => Err(Error::Unsupported {
            what: "key algorithm",
            number,
        }),
    }
}

fn parse_ed25519(point: &[u8]) -> Result<KeyMaterial, Error> {
    let key = VerifyingKey::try_from(point)
        .map_err(|_| Error::Unsound("its point is not on the curve"))?;
    if key.is_weak() {
        return Err(Error::Unsound("its point is weak"));
    }
    Ok(KeyMaterial::Ed25519(Box::new(key)))
}

/// Fingerprint and id of a key of version 2 or 3: the hash of its numbers, and the low bits of the modulus (RFC 4880, 12.2).
fn v3_identity(mut material: Cursor<'_>) -> Result<(Vec<u8>, u64), Error> {
    let (modulus, exponent) = (material.number()?, material.number()?);
    let fingerprint = Digest::Md5.of(|feed| {
        feed(modulus);
        feed(exponent);
    });
    let id = modulus.last_chunk().ok_or(Error::CutOff)?;
    Ok((fingerprint, u64::from_be_bytes(*id)))
}

fn v4_identity(body: &[u8]) -> Result<(Vec<u8>, u64), Error> {
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
