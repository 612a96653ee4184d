//! Reads a packet from its start.

use crate::Error;
use crate::number::BITS_MAX;

/// The unread rest of a packet.
#[derive(Clone, Copy)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// Reads bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Error::CutOff)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads an array of bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Error::CutOff)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// Reads a byte.
    pub fn byte(&mut self) -> Result<u8, Error> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Reads a 16-bit number.
    pub fn short(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    /// Reads a 32-bit number.
    pub fn long(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads a multiprecision integer: its length in bits, which must be exact, and its bytes (RFC 4880, 3.2).
    pub fn number(&mut self) -> Result<&'a [u8], Error> {
        let bits = usize::from(self.short()?);
        if bits > BITS_MAX {
            return Err(Error::TooLarge {
                what: "a number, in bits,",
                max: BITS_MAX,
            });
        }
        let bytes = self.take(bits.div_ceil(8))?;
        if significant_bits(bytes) != bits {
            return Err(Error::Malformed("the length of a number is wrong"));
        }
        Ok(bytes)
    }

    /// Fails if anything is left.
    pub fn end(self) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Error::Malformed("it contains more data after its end"))
    }
}

/// The bits of a number whose first byte must not be zero; 0 if it is.
fn significant_bits(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(&first) if first != 0 => bytes.len() * 8 - first.leading_zeros() as usize,
        _ => 0,
    }
}
