//! RSA signatures with the padding of PKCS #1 version 1.5 (RFC 8017, 8.2.2).
//!
//! All inputs are public, so constant time is not needed.

use num_bigint::BigUint;

use crate::{Digest, Error};

/// Shortest accepted modulus, bits. Shorter ones have been factored by amateurs.
pub const MODULUS_BITS_MIN: u64 = 1000;
/// Longest accepted exponent, bits. Real ones are 65537 or less.
pub const EXPONENT_BITS_MAX: u64 = 64;

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rsa {
    modulus: BigUint,
    exponent: BigUint,
}

impl Rsa {
    /// Makes a key of its two numbers.
    pub fn new(modulus: &[u8], exponent: &[u8]) -> Result<Rsa, Error> {
        let (modulus, exponent) = (
            BigUint::from_bytes_be(modulus),
            BigUint::from_bytes_be(exponent),
        );
        if modulus.bits() < MODULUS_BITS_MIN {
            return Err(Error::Unsound("its RSA modulus has fewer than 1000 bits"));
        }
        if !modulus.bit(0) {
            return Err(Error::Unsound("its RSA modulus is even"));
        }
        if exponent.bits() < 2 || exponent.bits() > EXPONENT_BITS_MAX || !exponent.bit(0) {
            return Err(Error::Unsound(
                "its RSA exponent is not odd or not in the usual range",
            ));
        }
        Ok(Rsa { modulus, exponent })
    }

    /// Length of the modulus, bits.
    pub fn bits(&self) -> u64 {
        self.modulus.bits()
    }

    /// Whether the signature is of this hash. The padding is generated and compared, never parsed, so that
    /// nothing can be hidden in it.
    pub fn is_signed(&self, digest: Digest, hash: &[u8], signature: &[u8]) -> bool {
        let signature = BigUint::from_bytes_be(signature);
        let Some(padded) = pad(digest, hash, self.bits().div_ceil(8) as usize) else {
            return false;
        };
        signature < self.modulus
            && signature.modpow(&self.exponent, &self.modulus) == BigUint::from_bytes_be(&padded)
    }
}

/// `00 01 FF ... FF 00`, the algorithm, the hash. `None` if it does not fit.
fn pad(digest: Digest, hash: &[u8], len: usize) -> Option<Vec<u8>> {
    let name = algorithm(digest);
    let fill = len.checked_sub(3 + name.len() + hash.len())?;
    Some([&[0, 1][..], &vec![0xff; fill], &[0], name, hash].concat())
}

/// The ASN.1 prefix of the hash: its algorithm and length (RFC 8017, 9.2).
fn algorithm(digest: Digest) -> &'static [u8] {
    match digest {
        Digest::Md5 => b"\x30\x20\x30\x0c\x06\x08\x2a\x86\x48\x86\xf7\x0d\x02\x05\x05\x00\x04\x10",
        Digest::Sha1 => b"\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14",
        Digest::Sha224 => {
            b"\x30\x2d\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x04\x05\x00\x04\x1c"
        }
        Digest::Sha256 => {
            b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"
        }
        Digest::Sha384 => {
            b"\x30\x41\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02\x05\x00\x04\x30"
        }
        Digest::Sha512 => {
            b"\x30\x51\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03\x05\x00\x04\x40"
        }
    }
}
