//! Keys with their user ids, as in key files.

use crate::packet::{self, Packet, Packets};
use crate::signature::key_flags;
use crate::{Error, PublicKey, armor};

/// Most keys that are read from one file.
pub const KEYS_MAX: usize = 1000;
/// Most user ids of a key that are kept.
pub const USER_IDS_MAX: usize = 100;
/// The type of a signature by which a key revokes itself (RFC 4880, 5.2.1).
const KEY_REVOCATION: u8 = 0x20;
/// The type of a signature that binds a subkey to its key.
const SUBKEY_BINDING: u8 = 0x18;
/// The flag of a key that may sign (RFC 4880, 5.2.3.21).
const SIGNS: u8 = 2;

/// A public key and the packets that belong to it.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The primary key.
    pub key: PublicKey,
    /// Its user ids, which are not verified.
    pub user_ids: Vec<Vec<u8>>,
    /// Whether the file contains a revocation of the key. The revocation is not verified.
    pub is_revoked: bool,
    /// All its packets, except trust packets. Subkeys are not used.
    pub packets: Vec<u8>,
}

impl Certificate {
    /// Reads every key in a text with armour, or in bytes without. An unusable key is an error in its place.
    ///
    /// # Errors
    /// There is no key, a limit is exceeded, or damage hides the start of the next key.
    pub fn read_all(text: &[u8]) -> Result<Vec<Result<Certificate, Error>>, Error> {
        let blocks = match armor::is_armored(text) {
            true => armor::blocks(text)?,
            false if text.len() > armor::FILE_BYTES_MAX => {
                return Err(Error::TooLarge {
                    what: "the file, in bytes,",
                    max: armor::FILE_BYTES_MAX,
                });
            }
            false => vec![text.to_vec()],
        };
        let mut found: Vec<Result<Certificate, Error>> = Vec::new();
        for block in &blocks {
            for read in Packets::of(block) {
                add(&mut found, &read?)?;
            }
        }
        if found.is_empty() {
            Err(Error::Malformed("it contains no public key"))
        } else {
            Ok(found)
        }
    }

    /// The ids of its subkeys that may sign; their bindings are not verified.
    pub fn signing_subkeys(&self) -> Vec<u64> {
        let mut found = Vec::new();
        let mut last = None;
        for packet in Packets::of(&self.packets).flatten() {
            match packet.tag {
                packet::SUBKEY => {
                    last = PublicKey::parse(packet.body).ok().map(|key| key.id());
                    found.extend(last);
                }
                packet::SIGNATURE
                    if kind(packet.body) == Some(SUBKEY_BINDING)
                        && key_flags(packet.body).is_some_and(|flags| flags & SIGNS == 0) =>
                {
                    found.retain(|id| Some(*id) != last);
                }
                _ => {}
            }
        }
        found
    }
}

fn add(found: &mut Vec<Result<Certificate, Error>>, packet: &Packet<'_>) -> Result<(), Error> {
    if packet.tag == packet::SECRET_KEY {
        return Err(Error::Secret);
    }
    if packet.tag == packet::PUBLIC_KEY {
        if found.len() >= KEYS_MAX {
            return Err(Error::TooLarge {
                what: "the number of keys",
                max: KEYS_MAX,
            });
        }
        found.push(PublicKey::parse(packet.body).map(|key| Certificate {
            key,
            user_ids: Vec::new(),
            is_revoked: false,
            packets: packet.whole.to_vec(),
        }));
        return Ok(());
    }
    // Packets after an unusable key are skipped with it.
    let Some(Ok(certificate)) = found.last_mut() else {
        return Ok(());
    };
    match packet.tag {
        packet::TRUST => return Ok(()),
        packet::USER_ID if certificate.user_ids.len() < USER_IDS_MAX => {
            certificate.user_ids.push(packet.body.to_vec());
        }
        packet::SIGNATURE if kind(packet.body) == Some(KEY_REVOCATION) => {
            certificate.is_revoked = true;
        }
        _ => {}
    }
    certificate.packets.extend_from_slice(packet.whole);
    Ok(())
}

/// The type of a signature (RFC 4880, 5.2.1).
fn kind(body: &[u8]) -> Option<u8> {
    match body {
        [2 | 3, _, kind, ..] | [4, kind, ..] => Some(*kind),
        _ => None,
    }
}
