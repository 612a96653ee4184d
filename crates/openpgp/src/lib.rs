//! OpenPGP public keys and detached signatures, as far as control messages need them: reading and
//! verifying, never signing.
//!
//! GnuPG no longer reads what hierarchies of the 1990s signed with: version-3 keys and signatures (RFC 4880,
//! 5.2.2 and 5.5.2) over MD5. So the packets are read here; arithmetic and hashing come from crates. Nothing here does I/O or knows of news, and nothing here
//! decides whom to trust: self-signatures, expiry of keys and subkeys are not looked at.
//!
//! | file | idea |
//! |---|---|
//! | [`armor`] | text to bytes and back: base64 with its checksum |
//! | [`packet`] | bytes to packets |
//! | [`key`], [`certificate`] | public keys, with their names |
//! | [`signature`] | what was signed how, and whether it holds |
//! | [`digest`] | hashes by their numbers |

pub mod armor;
pub mod certificate;
mod cursor;
pub mod digest;
mod dsa;
mod error;
pub mod key;
pub mod number;
pub mod packet;
pub mod rsa;
pub mod signature;

pub use certificate::Certificate;
pub use digest::Digest;
pub use error::Error;
pub use key::PublicKey;
pub use signature::Signature;
