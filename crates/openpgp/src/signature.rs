//! Detached signatures (RFC 4880, 5.2).

use ed25519_dalek::Signature as Ed25519Signature;

use crate::cursor::Cursor;
use crate::key::Numbers;
use crate::packet::{self, Packets};
use crate::{Digest, Error, PublicKey};

/// How the text is hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// As it is.
    Binary,
    /// With CRLF at the ends of lines.
    Text,
}

/// A signature of version 2, 3 or 4 over a text that lies elsewhere.
#[derive(Debug, Clone)]
pub struct Signature {
    mode: Mode,
    created: Option<u32>,
    lasts: Option<u32>,
    issuer: Option<u64>,
    algorithm: u8,
    digest: Digest,
    /// What is hashed after the text.
    tail: Vec<u8>,
    /// The first two bytes of the hash.
    begins: [u8; 2],
    /// The numbers of the algorithm, not yet read.
    numbers: Vec<u8>,
}

impl Signature {
    /// Reads a packet that is alone in these bytes.
    ///
    /// # Errors
    /// Not one whole signature packet, or one that says nothing about a text, or an unknown algorithm.
    pub fn read(bytes: &[u8]) -> Result<Signature, Error> {
        let mut packets = Packets::of(bytes);
        let first = packets.next().ok_or(Error::CutOff)??;
        if first.tag != packet::SIGNATURE {
            return Err(Error::Malformed("it is no signature"));
        }
        if packets.next().is_some() {
            return Err(Error::Malformed("more follows where it should end"));
        }
        Signature::parse(first.body)
    }

    /// Reads the body of a signature packet.
    ///
    /// # Errors
    /// As [`Signature::read`].
    pub fn parse(body: &[u8]) -> Result<Signature, Error> {
        let mut cursor = Cursor(body);
        match cursor.byte()? {
            2 | 3 => old(cursor),
            4 => new(cursor, body),
            number => Err(Error::Unsupported {
                what: "signature version",
                number,
            }),
        }
    }

    /// When it was made, in seconds since 1970, if it says.
    pub fn created(&self) -> Option<u32> {
        self.created
    }

    /// When it ceases to count, in seconds since 1970, if it says.
    pub fn expires(&self) -> Option<u64> {
        let lasts = self.lasts.filter(|&lasts| lasts != 0)?;
        Some(u64::from(self.created?) + u64::from(lasts))
    }

    /// The id of the key that it says made it; nothing is proved by that.
    pub fn issuer(&self) -> Option<u64> {
        self.issuer
    }

    /// The hash it is made over.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether this key made this signature over this text, whose lines end in LF.
    ///
    /// # Errors
    /// [`Error::Mismatch`], or numbers that are not as they should be.
    pub fn verify(&self, key: &PublicKey, text: &[u8]) -> Result<(), Error> {
        let hash = self.digest.of(|feed| {
            match self.mode {
                Mode::Binary => feed(text),
                Mode::Text => feed_lines(text, feed),
            }
            feed(&self.tail);
        });
        if !hash.starts_with(&self.begins) {
            return Err(Error::Mismatch);
        }
        let mut cursor = Cursor(&self.numbers);
        let is_signed = match (&key.numbers, self.algorithm) {
            (Numbers::Rsa(rsa), 1 | 3) => rsa.is_signed(self.digest, &hash, cursor.number()?),
            (Numbers::Dsa(dsa), 17) => dsa.is_signed(&hash, cursor.number()?, cursor.number()?),
            (Numbers::Ed25519(key), 22) => {
                let two = [half(cursor.number()?)?, half(cursor.number()?)?];
                let [r, s] = two;
                let signature = Ed25519Signature::from_components(r, s);
                key.verify_strict(&hash, &signature).is_ok()
            }
            (Numbers::Ed25519(key), 27) => {
                let signature = Ed25519Signature::from_bytes(&cursor.array()?);
                key.verify_strict(&hash, &signature).is_ok()
            }
            _ => return Err(Error::Malformed("its algorithm is not the key's")),
        };
        cursor.end()?;
        match is_signed {
            true => Ok(()),
            false => Err(Error::Mismatch),
        }
    }
}

/// A number as 32 bytes, with zeros before it.
fn half(number: &[u8]) -> Result<[u8; 32], Error> {
    let mut padded = [0; 32];
    let from = padded.len().checked_sub(number.len());
    let place = from.and_then(|from| padded.get_mut(from..));
    place
        .ok_or(Error::Malformed("a number of the signature is too long"))?
        .copy_from_slice(number);
    Ok(padded)
}

/// Lines with CRLF at their ends; a last line without an end stays without.
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

fn mode(kind: u8) -> Result<Mode, Error> {
    match kind {
        0 => Ok(Mode::Binary),
        1 => Ok(Mode::Text),
        _ => Err(Error::Malformed(
            "it is a signature over something else than a text",
        )),
    }
}

/// Version 2 and 3 (RFC 4880, 5.2.2).
fn old(mut cursor: Cursor<'_>) -> Result<Signature, Error> {
    if cursor.byte()? != 5 {
        return Err(Error::Malformed("what it hashes is not five bytes long"));
    }
    let tail = cursor.take(5)?;
    let mut hashed = Cursor(tail);
    let (kind, created) = (hashed.byte()?, hashed.long()?);
    let issuer = u64::from_be_bytes(cursor.array()?);
    Ok(Signature {
        mode: mode(kind)?,
        created: Some(created),
        lasts: None,
        issuer: Some(issuer),
        algorithm: cursor.byte()?,
        digest: Digest::of_number(cursor.byte()?)?,
        tail: tail.to_vec(),
        begins: cursor.array()?,
        numbers: cursor.0.to_vec(),
    })
}

/// Version 4 (RFC 4880, 5.2.3).
fn new(mut cursor: Cursor<'_>, body: &[u8]) -> Result<Signature, Error> {
    let (kind, algorithm) = (cursor.byte()?, cursor.byte()?);
    let digest = Digest::of_number(cursor.byte()?)?;
    let mut said = Said::default();
    let len = cursor.short()?;
    said.read(cursor.take(usize::from(len))?, true)?;
    let hashed = body.len().saturating_sub(cursor.0.len());
    let hashed = body.get(..hashed).unwrap_or_default();
    let len = cursor.short()?;
    said.read(cursor.take(usize::from(len))?, false)?;
    // At most six bytes more than 16 bits can tell.
    let hashed_len = hashed.len() as u32;
    Ok(Signature {
        mode: mode(kind)?,
        created: said.created,
        lasts: said.lasts,
        issuer: said.issuer,
        algorithm,
        digest,
        tail: [hashed, &[4, 0xff], &hashed_len.to_be_bytes()].concat(),
        begins: cursor.array()?,
        numbers: cursor.0.to_vec(),
    })
}

/// What the subpackets say.
#[derive(Default)]
struct Said {
    created: Option<u32>,
    lasts: Option<u32>,
    issuer: Option<u64>,
}

impl Said {
    /// Reads one area of subpackets. What is not hashed anybody can change: only the issuer, which is a hint,
    /// is taken from there.
    fn read(&mut self, area: &[u8], is_hashed: bool) -> Result<(), Error> {
        let mut cursor = Cursor(area);
        while !cursor.0.is_empty() {
            let first = cursor.byte()?;
            let len = packet::sized(first, &mut cursor)?;
            let mut body = Cursor(cursor.take(len)?);
            let kind = body.byte()?;
            match (kind & 0x7f, is_hashed) {
                (2, true) => self.created = Some(body.long()?),
                (3, true) => self.lasts = Some(body.long()?),
                (16, _) => self.issued_by(body.take(8)?),
                // The whole fingerprint; that of version 4 ends in the key id.
                (33, _) => {
                    if let [4, fingerprint @ ..] = body.0 {
                        self.issued_by(fingerprint);
                    }
                }
                // The signer's name and the uses of the key: nothing to obey.
                (28 | 27, _) => {}
                _ if is_hashed && kind & 0x80 != 0 => {
                    return Err(Error::Malformed(
                        "it has a critical part that is not understood here",
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The first word counts.
    fn issued_by(&mut self, id: &[u8]) {
        let id = id.last_chunk().map(|id| u64::from_be_bytes(*id));
        self.issuer = self.issuer.or(id);
    }
}
