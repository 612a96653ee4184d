//! Packets (RFC 4880, 4.2), with headers in both formats.

use crate::Error;
use crate::cursor::Cursor;

/// Longest packet that is read, bytes. Photographs in keys can be large.
pub const PACKET_BYTES_MAX: usize = 1 << 20;

/// Tag of a signature.
pub const SIGNATURE: u8 = 2;
/// Tag of a secret key.
pub const SECRET_KEY: u8 = 5;
/// Tag of a primary public key.
pub const PUBLIC_KEY: u8 = 6;
/// Tag of a public subkey.
pub const SUBKEY: u8 = 14;
/// Tag of a trust packet, which is private to the program that wrote it.
pub const TRUST: u8 = 12;
/// Tag of a user id.
pub const USER_ID: u8 = 13;

/// A packet, borrowed from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The tag, which is the type of the packet.
    pub tag: u8,
    /// The content.
    pub body: &'a [u8],
    /// The packet including its header.
    pub whole: &'a [u8],
}

/// Iterates over the packets in some bytes. Ends after an error.
pub struct Packets<'a>(&'a [u8]);

impl<'a> Packets<'a> {
    /// Iterates over the packets in these bytes.
    pub fn of(bytes: &'a [u8]) -> Packets<'a> {
        Packets(bytes)
    }

    fn parse_next(&self) -> Result<(Packet<'a>, &'a [u8]), Error> {
        let mut cursor = Cursor(self.0);
        let first = cursor.byte()?;
        let (tag, len) = match first {
            0xc0.. => (first & 0x3f, new_length(&mut cursor)?),
            0x80.. => (first >> 2 & 0x0f, old_length(first & 3, &mut cursor)?),
            _ => return Err(Error::Malformed("it is not an OpenPGP packet")),
        };
        if len > PACKET_BYTES_MAX {
            return Err(Error::TooLarge {
                what: "a packet, in bytes,",
                max: PACKET_BYTES_MAX,
            });
        }
        let body = cursor.take(len)?;
        let whole = self.0.len().saturating_sub(cursor.0.len());
        let whole = self.0.get(..whole).unwrap_or_default();
        Ok((Packet { tag, body, whole }, cursor.0))
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Result<Packet<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = self.parse_next();
        self.0 = read.as_ref().map_or(&[], |(_, rest)| rest);
        Some(read.map(|(packet, _)| packet))
    }
}

fn old_length(kind: u8, cursor: &mut Cursor<'_>) -> Result<usize, Error> {
    match kind {
        0 => cursor.byte().map(usize::from),
        1 => cursor.short().map(usize::from),
        2 => cursor.long().map(|len| len as usize),
        // Only data packets may have an unknown length; keys and signatures never do.
        _ => Err(Error::Malformed("a packet has no length")),
    }
}

fn new_length(cursor: &mut Cursor<'_>) -> Result<usize, Error> {
    match cursor.byte()? {
        224..=254 => Err(Error::Malformed("a packet is split into parts")),
        first => read_length(first, cursor),
    }
}

/// Reads the length that begins with this byte: of a packet in the new format, or of a subpacket.
pub(crate) fn read_length(first: u8, cursor: &mut Cursor<'_>) -> Result<usize, Error> {
    let first = usize::from(first);
    match first {
        0..192 => Ok(first),
        192..255 => Ok(((first - 192) << 8) + usize::from(cursor.byte()?) + 192),
        _ => cursor.long().map(|len| len as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags_and_lengths(bytes: &[u8]) -> Vec<Result<(u8, usize), Error>> {
        let of = |packet: Packet<'_>| (packet.tag, packet.body.len());
        Packets::of(bytes).map(|read| read.map(of)).collect()
    }

    #[test]
    fn both_forms_of_headers() {
        let bytes = [
            &[0x88, 1, 9][..],
            &[0x99, 0, 2, 9, 9],
            &[0xcd, 1, 9],
            &[0xb6, 0, 0, 0, 0],
        ]
        .concat();
        assert_eq!(
            tags_and_lengths(&bytes),
            [Ok((2, 1)), Ok((6, 2)), Ok((13, 1)), Ok((13, 0))]
        );
        let two = [&[0xc2, 192, 8][..], &[1; 200]].concat();
        assert_eq!(tags_and_lengths(&two), [Ok((2, 200))]);
    }

    #[test]
    fn malformed_packets_are_rejected() {
        assert_eq!(
            tags_and_lengths(b"text"),
            [Err(Error::Malformed("it is not an OpenPGP packet"))]
        );
        assert_eq!(tags_and_lengths(&[0x88, 2, 9]), [Err(Error::CutOff)]);
        assert!(tags_and_lengths(&[0x8b, 9]).first().unwrap().is_err());
        assert!(
            tags_and_lengths(&[0xc2, 0xe1, 9, 9])
                .first()
                .unwrap()
                .is_err()
        );
        assert!(matches!(
            tags_and_lengths(&[0xc2, 0xff, 0xff, 0xff, 0xff, 0xff])[..],
            [Err(Error::TooLarge { .. })]
        ));
    }
}
