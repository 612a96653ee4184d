//! Hash algorithms by their numbers in OpenPGP (RFC 4880, 9.4).

use crate::Error;

/// The hash algorithm of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    /// 1. Collisions can be computed in seconds.
    Md5,
    /// 2. Collisions can be computed at some cost.
    Sha1,
    /// 8.
    Sha256,
    /// 9.
    Sha384,
    /// 10.
    Sha512,
    /// 11.
    Sha224,
}

impl Digest {
    /// The algorithm with this number.
    ///
    /// # Errors
    /// An unsupported number, such as RIPEMD-160 or a private one.
    pub fn of_number(number: u8) -> Result<Digest, Error> {
        Ok(match number {
            1 => Digest::Md5,
            2 => Digest::Sha1,
            8 => Digest::Sha256,
            9 => Digest::Sha384,
            10 => Digest::Sha512,
            11 => Digest::Sha224,
            _ => {
                return Err(Error::Unsupported {
                    what: "hash algorithm",
                    number,
                });
            }
        })
    }

    /// The name for display.
    pub fn name(self) -> &'static str {
        match self {
            Digest::Md5 => "MD5",
            Digest::Sha1 => "SHA-1",
            Digest::Sha224 => "SHA-224",
            Digest::Sha256 => "SHA-256",
            Digest::Sha384 => "SHA-384",
            Digest::Sha512 => "SHA-512",
        }
    }

    /// Whether collisions can be computed.
    pub fn is_weak(self) -> bool {
        matches!(self, Digest::Md5 | Digest::Sha1)
    }

    /// Hashes the pieces that `feed` passes.
    pub(crate) fn of(self, feed: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Vec<u8> {
        match self {
            Digest::Md5 => hashed::<md5::Md5>(feed),
            Digest::Sha1 => hashed::<sha1::Sha1>(feed),
            Digest::Sha224 => hashed::<sha2::Sha224>(feed),
            Digest::Sha256 => hashed::<sha2::Sha256>(feed),
            Digest::Sha384 => hashed::<sha2::Sha384>(feed),
            Digest::Sha512 => hashed::<sha2::Sha512>(feed),
        }
    }
}

fn hashed<D: sha2::Digest>(feed: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Vec<u8> {
    let mut hash = D::new();
    feed(&mut |piece| hash.update(piece));
    hash.finalize().to_vec()
}
