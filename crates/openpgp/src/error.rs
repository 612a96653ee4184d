//! What can be wrong with a key or a signature.

/// Why bytes are no key or signature that can be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end too early.
    #[error("it is cut off")]
    CutOff,
    /// The armour or a packet breaks the rules: which, in words.
    #[error("{0}")]
    Malformed(&'static str),
    /// The checksum of the armour does not fit.
    #[error("the checksum of the armour does not fit: it was damaged on its way")]
    Checksum,
    /// Larger than what is read here.
    #[error("{what} is larger than {max}")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// The limit.
        max: usize,
    },
    /// An algorithm or version that is not known here.
    #[error("{what} {number} is not supported")]
    Unsupported {
        /// Of what.
        what: &'static str,
        /// Its number in OpenPGP.
        number: u8,
    },
    /// Numbers that no honest key has.
    #[error("the key is unsound: {0}")]
    Unsound(&'static str),
    /// A secret key where a public one belongs.
    #[error("it is a secret key; export the public one, and keep this one to yourself")]
    Secret,
    /// The signature was not made by this key over this text.
    #[error("the signature does not fit the text")]
    Mismatch,
}
