//! ASCII armour (RFC 4880, 6): base64 between two lines of dashes, with a checksum.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::Error;

/// Largest key file that is read, bytes.
pub const FILE_BYTES_MAX: usize = 4 << 20;

const BEGIN: &[u8] = b"-----BEGIN PGP ";
const END: &[u8] = b"-----END PGP ";
/// Characters of base64 in a line, as PGP and GnuPG write it.
const LINE_CHARACTERS: usize = 64;

/// Whether the text contains armour.
pub fn is_armored(text: &[u8]) -> bool {
    lines(text).any(|line| line.starts_with(BEGIN))
}

/// Decodes every block in the text, in order; other text is skipped.
///
/// # Errors
/// A block without end or blank line, invalid base64, or a wrong checksum.
pub fn blocks(text: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    if text.len() > FILE_BYTES_MAX {
        return Err(Error::TooLarge {
            what: "the text, in bytes,",
            max: FILE_BYTES_MAX,
        });
    }
    let mut lines = lines(text);
    let mut found = Vec::new();
    while lines.any(|line| line.starts_with(BEGIN)) {
        found.push(block(&mut lines)?);
    }
    Ok(found)
}

fn block<'a>(lines: &mut impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>, Error> {
    if !lines.any(<[u8]>::is_empty) {
        return Err(Error::CutOff);
    }
    let (mut base64, mut checksum) = (Vec::new(), None);
    for line in lines {
        if line.starts_with(END) {
            return decode(&base64, checksum);
        }
        match line.strip_prefix(b"=") {
            Some(sum) => checksum = Some(sum),
            None => base64.extend_from_slice(line),
        }
    }
    Err(Error::CutOff)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii)
}

/// The bytes that base64 without white space stands for, tested by the checksum (four characters, without
/// the `=` before them) where there is one.
///
/// # Errors
/// Other characters, bits left over, or a checksum that does not fit.
pub fn decode(base64: &[u8], checksum: Option<&[u8]>) -> Result<Vec<u8>, Error> {
    let bytes = from_base64(base64)?;
    let Some(checksum) = checksum else {
        return Ok(bytes);
    };
    let [_, sum @ ..] = crc24(&bytes).to_be_bytes();
    if from_base64(checksum)? == sum {
        return Ok(bytes);
    }
    Err(Error::Checksum)
}

/// Encodes a block of armour with this label, such as `PUBLIC KEY BLOCK`.
pub fn encode(label: &str, bytes: &[u8]) -> String {
    let mut text = format!("-----BEGIN PGP {label}-----\n\n");
    for line in bytes.chunks(LINE_CHARACTERS / 4 * 3) {
        STANDARD.encode_string(line, &mut text);
        text.push('\n');
    }
    let [_, sum @ ..] = crc24(bytes).to_be_bytes();
    text.push('=');
    STANDARD.encode_string(sum, &mut text);
    text.push_str(&format!("\n-----END PGP {label}-----\n"));
    text
}

fn from_base64(text: &[u8]) -> Result<Vec<u8>, Error> {
    STANDARD
        .decode(text)
        .map_err(|_| Error::Malformed("it is not base64"))
}

/// The checksum of the armour (RFC 4880, 6.1).
fn crc24(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x0186_4cfb;
    bytes.iter().fold(0x00b7_04ce, |mut sum, &byte| {
        sum ^= u32::from(byte) << 16;
        for _ in 0..8 {
            sum <<= 1;
            if sum & 0x0100_0000 != 0 {
                sum ^= POLYNOMIAL;
            }
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_both_ways() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"\xff\xfe\xfd\xfc", "//79/A=="),
        ] {
            assert_eq!(STANDARD.encode(bytes), text);
            assert_eq!(from_base64(text.as_bytes()).unwrap(), bytes);
        }
        for bad in [
            "Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==", "Z\n==",
        ] {
            assert!(from_base64(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn blocks_among_other_text() {
        let one = encode("PUBLIC KEY BLOCK", b"one");
        let two =
            encode("SIGNATURE", &[7; 200]).replace("-----\n\n", "-----\r\nVersion: x\r\n \r\n");
        let text = format!("Dear all\n{one}\nand\n{two}yours\n");
        assert!(is_armored(text.as_bytes()));
        assert_eq!(
            blocks(text.as_bytes()).unwrap(),
            [b"one".to_vec(), vec![7; 200]]
        );
        assert_eq!(blocks(b"none").unwrap(), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn damage_is_detected() {
        let text = encode("SIGNATURE", b"some bytes");
        let cut = text.find("-----END").unwrap();
        assert_eq!(blocks(&text.as_bytes()[..cut]), Err(Error::CutOff));
        let changed = text.replacen("c29t", "c39t", 1);
        assert_eq!(blocks(changed.as_bytes()), Err(Error::Checksum));
    }
}
