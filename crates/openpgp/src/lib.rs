//! OpenPGP public keys and detached signatures, as far as control messages need them: reading and
//! verifying, not signing.
//!
//! GnuPG no longer reads the version-3 keys and signatures (RFC 4880, 5.2.2 and 5.5.2) over MD5 with which hierarchies
//! of the 1990s signed. So this crate parses the packets itself; arithmetic and hashing come from other crates. It does no I/O, knows nothing of news, and
//! does not decide which keys to trust: self-signatures, expiry of keys and subkeys are ignored.
//!
//! | file | content |
//! |---|---|
//! | [`armor`] | text to bytes and back: base64 with a checksum |
//! | [`packet`] | bytes to packets |
//! | [`key`], [`certificate`] | public keys, with their user ids |
//! | [`signature`] | detached signatures, and their verification |
//! | [`digest`] | hash algorithms by number |

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
