//! Keys and signatures made for the tests; README.md describes how.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use openpgp::{Certificate, Digest, PublicKey, Signature, armor};

/// The text of all signatures.
pub const TEXT: &[u8] = include_bytes!("text");

/// A key and one of its signatures.
pub struct Vector {
    pub name: &'static str,
    pub key: &'static [u8],
    pub signature: &'static [u8],
    pub digest: Digest,
    pub algorithm: (&'static str, u64),
    pub fingerprint: &'static str,
}

macro_rules! vector {
    ($name:literal, $key:literal, $digest:ident, $algorithm:literal, $bits:literal, $fingerprint:literal) => {
        Vector {
            name: $name,
            key: include_bytes!(concat!($key, ".key.asc")),
            signature: include_bytes!(concat!($name, ".sig.asc")),
            digest: Digest::$digest,
            algorithm: ($algorithm, $bits),
            fingerprint: $fingerprint,
        }
    };
}

/// The version-3 key is first.
pub const VECTORS: &[Vector] = &[
    vector!(
        "old",
        "old",
        Md5,
        "RSA",
        1024,
        "E4B3AFE822B1AAC32A2F0F1C1A0CF148"
    ),
    vector!(
        "old-sha1",
        "old",
        Sha1,
        "RSA",
        1024,
        "E4B3AFE822B1AAC32A2F0F1C1A0CF148"
    ),
    vector!(
        "rsa2048",
        "rsa2048",
        Sha256,
        "RSA",
        2048,
        "EC2C6E21A50D080189891A211AC100935DC4D948"
    ),
    vector!(
        "rsa2048-binary",
        "rsa2048",
        Sha512,
        "RSA",
        2048,
        "EC2C6E21A50D080189891A211AC100935DC4D948"
    ),
    vector!(
        "rsa2048-sha1",
        "rsa2048",
        Sha1,
        "RSA",
        2048,
        "EC2C6E21A50D080189891A211AC100935DC4D948"
    ),
    vector!(
        "rsa2048-sha224",
        "rsa2048",
        Sha224,
        "RSA",
        2048,
        "EC2C6E21A50D080189891A211AC100935DC4D948"
    ),
    vector!(
        "rsa2048-sha384",
        "rsa2048",
        Sha384,
        "RSA",
        2048,
        "EC2C6E21A50D080189891A211AC100935DC4D948"
    ),
    vector!(
        "dsa2048",
        "dsa2048",
        Sha256,
        "DSA",
        2048,
        "FC3858A445D0FF3520A37BCEAED1613A0D71B7E3"
    ),
    vector!(
        "ed25519",
        "ed25519",
        Sha256,
        "Ed25519",
        256,
        "3BBF55513F9A57E1ABF602807FDA0F8A067B7717"
    ),
];

/// The only key in its file.
pub fn key(text: &[u8]) -> PublicKey {
    Certificate::read_all(text).unwrap().remove(0).unwrap().key
}

/// The armoured signature.
pub fn signature(text: &[u8]) -> Signature {
    Signature::read(&armor::blocks(text).unwrap().remove(0)).unwrap()
}

/// The armour as text.
pub fn armor_of(signature: &[u8]) -> String {
    String::from_utf8(signature.to_vec()).unwrap()
}
