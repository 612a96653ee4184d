//! Detached signatures (RFC 4880, 5.2).

use ed25519_dalek::Signature as Ed25519Signature;

use crate::cursor::Cursor;
use crate::key::KeyMaterial;
use crate::packet::{self, Packets};
use crate::{Digest, Error, PublicKey};

/// How the text is hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Unchanged.
    Binary,
    /// With CRLF line ends.
    Text,
}

/// A signature of version 2, 3 or 4 over a detached text.
#[derive(Debug, Clone)]
pub struct Signature {
    mode: Mode,
    created: Option<u32>,
    lifetime: Option<u32>,
    issuer: Option<u64>,
    algorithm: u8,
    digest: Digest,
    /// The bytes hashed after the text.
    tail: Vec<u8>,
    /// The first two bytes of the hash.
    hash_prefix: [u8; 2],
    /// The numbers of the algorithm, not parsed yet.
    numbers: Vec<u8>,
}

impl Signature {
    /// Reads the only packet in these bytes.
    ///
    /// # Errors
    /// Not exactly one signature packet, a signature of something other than a text, or an unsupported algorithm.
    pub fn read(bytes: &[u8]) -> Result<Signature, Error> {
        let mut packets = Packets::of(bytes);
        let first = packets.next().ok_or(Error::CutOff)??;
        if first.tag != packet::SIGNATURE {
            return Err(Error::Malformed("it is not a signature"));
        }
        if packets.next().is_some() {
            return Err(Error::Malformed("it contains more data after its end"));
        }
        Signature::parse(first.body)
    }

    /// Parses the body of a signature packet.
    ///
    /// # Errors
    /// As [`Signature::read`].
    pub fn parse(body: &[u8]) -> Result<Signature, Error> {
        let mut cursor = Cursor(body);
        match cursor.byte()? {
            2 | 3 => parse_v3(cursor),
            4 => parse_v4(cursor, body),
            number => Err(Error::Unsupported {
                what: "signature version",
                number,
            }),
        }
    }

    /// Creation time, seconds since 1970, if present.
    pub fn created(&self) -> Option<u32> {
        self.created
    }

    /// Expiry time, seconds since 1970, if present.
    pub fn expires(&self) -> Option<u64> {
        let lifetime = self.lifetime.filter(|&lifetime| lifetime != 0)?;
        Some(u64::from(self.created?) + u64::from(lifetime))
    }

    /// The id of the signing key, if present; not verified.
    pub fn issuer(&self) -> Option<u64> {
        self.issuer
    }

    /// The hash algorithm.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Verifies that this key made this signature over this text, whose lines end in LF.
    ///
    /// # Errors
    /// [`Error::Mismatch`], or malformed numbers.
    pub fn verify(&self, key: &PublicKey, text: &[u8]) -> Result<(), Error> {
        let hash = self.digest.of(|feed| {
            match self.mode {
                Mode::Binary => feed(text),
                Mode::Text => feed_lines(text, feed),
            }
            feed(&self.tail);
        });
        if !hash.starts_with(&self.hash_prefix) {
            return Err(Error::Mismatch);
        }
        let mut cursor = Cursor(&self.numbers);
        let is_signed = match (&key.numbers, self.algorithm) {
            (KeyMaterial::Rsa(rsa), 1 | 3) => rsa.is_signed(self.digest, &hash, cursor.number()?),
            (KeyMaterial::Dsa(dsa), 17) => dsa.is_signed(&hash, cursor.number()?, cursor.number()?),
            (KeyMaterial::Ed25519(key), 22) => {
                let two = [pad_to_32(cursor.number()?)?, pad_to_32(cursor.number()?)?];
                let [r, s] = two;
                let signature = Ed25519Signature::from_components(r, s);
                key.verify_strict(&hash, &signature).is_ok()
            }
            (KeyMaterial::Ed25519(key), 27) => {
                let signature = Ed25519Signature::from_bytes(&cursor.array()?);
                key.verify_strict(&hash, &signature).is_ok()
            }
            _ => return Err(Error::Malformed("its algorithm is not that of the key")),
        };
        cursor.end()?;
        if is_signed {
            Ok(())
        } else {
            Err(Error::Mismatch)
        }
    }
}

/// The key flags (RFC 4880, 5.2.3.21) in the body of a signature; `None` if it has none. They are not verified.
pub(crate) fn key_flags(body: &[u8]) -> Option<u8> {
    let [4, _, _, _, rest @ ..] = body else {
        return None;
    };
    let mut cursor = Cursor(rest);
    let len = cursor.short().ok()?;
    let mut subpackets = Subpackets::default();
    let area = cursor.take(usize::from(len)).ok()?;
    subpackets.read(area, true).ok()?;
    subpackets.key_flags
}

/// Pads a number with leading zeros to 32 bytes.
fn pad_to_32(number: &[u8]) -> Result<[u8; 32], Error> {
    let mut padded = [0; 32];
    let from = padded.len().checked_sub(number.len());
    let place = from.and_then(|from| padded.get_mut(from..));
    place
        .ok_or(Error::Malformed("a number of the signature is too long"))?
        .copy_from_slice(number);
    Ok(padded)
}

/// Feeds the lines with CRLF line ends; a last line without line end gets none.
fn feed_lines(text: &[u8], feed: &mut dyn FnMut(&[u8])) {
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(mut line) => {
                while let Some(shorter) = line.strip_suffix(b"\r") {
                    line = shorter;
                }
                feed(line);
                feed(b"\r\n");
            }
            None => feed(line),
        }
    }
}

fn parse_mode(kind: u8) -> Result<Mode, Error> {
    match kind {
        0 => Ok(Mode::Binary),
        1 => Ok(Mode::Text),
        _ => Err(Error::Malformed("it is not a signature of a text")),
    }
}

/// Parses a signature of version 2 or 3 (RFC 4880, 5.2.2).
fn parse_v3(mut cursor: Cursor<'_>) -> Result<Signature, Error> {
    if cursor.byte()? != 5 {
        return Err(Error::Malformed("its hashed part is not five bytes long"));
    }
    let tail = cursor.take(5)?;
    let mut hashed = Cursor(tail);
    let (kind, created) = (hashed.byte()?, hashed.long()?);
    let issuer = u64::from_be_bytes(cursor.array()?);
    Ok(Signature {
        mode: parse_mode(kind)?,
        created: Some(created),
        lifetime: None,
        issuer: Some(issuer),
        algorithm: cursor.byte()?,
        digest: Digest::of_number(cursor.byte()?)?,
        tail: tail.to_vec(),
        hash_prefix: cursor.array()?,
        numbers: cursor.0.to_vec(),
    })
}

/// Parses a signature of version 4 (RFC 4880, 5.2.3).
fn parse_v4(mut cursor: Cursor<'_>, body: &[u8]) -> Result<Signature, Error> {
    let (kind, algorithm) = (cursor.byte()?, cursor.byte()?);
    let digest = Digest::of_number(cursor.byte()?)?;
    let mut subpackets = Subpackets::default();
    let len = cursor.short()?;
    subpackets.read(cursor.take(usize::from(len))?, true)?;
    let hashed = body.len().saturating_sub(cursor.0.len());
    let hashed = body.get(..hashed).unwrap_or_default();
    let len = cursor.short()?;
    subpackets.read(cursor.take(usize::from(len))?, false)?;
    // At most six bytes more than 16 bits can express.
    let hashed_len = hashed.len() as u32;
    Ok(Signature {
        mode: parse_mode(kind)?,
        created: subpackets.created,
        lifetime: subpackets.lifetime,
        issuer: subpackets.issuer,
        algorithm,
        digest,
        tail: [hashed, &[4, 0xff], &hashed_len.to_be_bytes()].concat(),
        hash_prefix: cursor.array()?,
        numbers: cursor.0.to_vec(),
    })
}

/// The values of the subpackets.
#[derive(Default)]
struct Subpackets {
    created: Option<u32>,
    lifetime: Option<u32>,
    issuer: Option<u64>,
    key_flags: Option<u8>,
}

impl Subpackets {
    /// Reads one area of subpackets. Anybody can change the unhashed area, so only the issuer, which is a hint,
    /// is read from there.
    fn read(&mut self, area: &[u8], is_hashed: bool) -> Result<(), Error> {
        let mut cursor = Cursor(area);
        while !cursor.0.is_empty() {
            let first = cursor.byte()?;
            let len = packet::read_length(first, &mut cursor)?;
            let mut body = Cursor(cursor.take(len)?);
            let kind = body.byte()?;
            match (kind & 0x7f, is_hashed) {
                (2, true) => self.created = Some(body.long()?),
                (3, true) => self.lifetime = Some(body.long()?),
                (16, _) => self.set_issuer(body.take(8)?),
                // The whole fingerprint; in version 4 it ends in the key id.
                (33, _) => {
                    if let [4, fingerprint @ ..] = body.0 {
                        self.set_issuer(fingerprint);
                    }
                }
                (27, true) => self.key_flags = body.byte().ok(),
                // The signer's user id is ignored.
                (28 | 27, _) => {}
                _ if is_hashed && kind & 0x80 != 0 => {
                    return Err(Error::Malformed("it has an unknown critical subpacket"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets the issuer, unless it is set.
    fn set_issuer(&mut self, id: &[u8]) {
        let id = id.last_chunk().map(|id| u64::from_be_bytes(*id));
        self.issuer = self.issuer.or(id);
    }
}
