//! The errors of reading keys and verifying signatures.

/// The reason why a key or a signature is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end too early.
    #[error("it is truncated")]
    CutOff,
    /// The armour or a packet is malformed, with the reason.
    #[error("{0}")]
    Malformed(&'static str),
    /// The checksum of the armour is wrong.
    #[error("the checksum of the armour is wrong: it was damaged in transit")]
    Checksum,
    /// A limit is exceeded.
    #[error("{what} is larger than {max}")]
    TooLarge {
        /// The limited quantity.
        what: &'static str,
        /// The limit.
        max: usize,
    },
    /// An unsupported algorithm or version.
    #[error("{what} {number} is not supported")]
    Unsupported {
        /// The kind of algorithm or version.
        what: &'static str,
        /// Its number in OpenPGP.
        number: u8,
    },
    /// Numbers that a properly generated key does not have.
    #[error("the key is unsound: {0}")]
    Unsound(&'static str),
    /// A secret key in place of a public one.
    #[error("it is a secret key; export the public key, and keep the secret key private")]
    Secret,
    /// The signature was not made by this key over this text.
    #[error("the signature does not match the text")]
    Mismatch,
}
