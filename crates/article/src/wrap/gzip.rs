//! One member of a gzip file (RFC 1952): header, deflated data, checksum and length.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::codec::{Codec, CodecStatus, Progress, advance};

/// Length of the fixed part of the header.
const FIXED_BYTES: usize = 10;
/// Length of the CRC-32 and the size modulo 2^32 at the end.
const TRAILER_BYTES: usize = 8;

const HAS_HEADER_CRC: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

pub(super) struct Gzip {
    part: Part,
    flags: u8,
    inflate: Decompress,
    crc: Crc,
    trailer: [u8; TRAILER_BYTES],
}

/// The current position within the member.
enum Part {
    Fixed { seen: usize },
    ExtraLength { low: Option<u8> },
    Extra { left: usize },
    Name,
    Comment,
    HeaderCrc { left: usize },
    Data,
    Trailer { seen: usize },
    Done,
}

impl Gzip {
    pub(super) fn new() -> Gzip {
        Gzip {
            part: Part::Fixed { seen: 0 },
            flags: 0,
            inflate: Decompress::new(false),
            crc: Crc::new(),
            trailer: [0; TRAILER_BYTES],
        }
    }

    /// Consumes one byte of the header.
    fn header_byte(&mut self, byte: u8) -> Result<(), &'static str> {
        self.part = match self.part {
            Part::Fixed { seen } => {
                match seen {
                    2 if byte != 8 => return Err("not deflated"),
                    3 if byte & RESERVED != 0 => return Err("unknown flags in the header"),
                    3 => self.flags = byte,
                    _ => {}
                }
                if seen.saturating_add(1) < FIXED_BYTES {
                    Part::Fixed {
                        seen: seen.saturating_add(1),
                    }
                } else {
                    self.next_part(HAS_EXTRA)
                }
            }
            Part::ExtraLength { low: None } => Part::ExtraLength { low: Some(byte) },
            Part::ExtraLength { low: Some(low) } => {
                match usize::from(u16::from_le_bytes([low, byte])) {
                    0 => self.next_part(HAS_NAME),
                    left => Part::Extra { left },
                }
            }
            Part::Extra { left } if left > 1 => Part::Extra { left: left - 1 },
            Part::Extra { .. } => self.next_part(HAS_NAME),
            Part::Name if byte != 0 => Part::Name,
            Part::Name => self.next_part(HAS_COMMENT),
            Part::Comment if byte != 0 => Part::Comment,
            Part::Comment => self.next_part(HAS_HEADER_CRC),
            Part::HeaderCrc { left } if left > 1 => Part::HeaderCrc { left: left - 1 },
            Part::HeaderCrc { .. } | Part::Data | Part::Trailer { .. } | Part::Done => Part::Data,
        };
        Ok(())
    }

    /// The first optional part from `flag` on that the header has, else the data.
    fn next_part(&self, flag: u8) -> Part {
        let parts = [
            (HAS_EXTRA, Part::ExtraLength { low: None }),
            (HAS_NAME, Part::Name),
            (HAS_COMMENT, Part::Comment),
            (HAS_HEADER_CRC, Part::HeaderCrc { left: 2 }),
        ];
        let mut from_here = parts.into_iter().skip_while(|(one, _)| *one != flag);
        from_here
            .find(|(one, _)| self.flags & one != 0)
            .map_or(Part::Data, |(_, part)| part)
    }

    fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Progress {
        let before = (self.inflate.total_in(), self.inflate.total_out());
        let result = self.inflate.decompress(input, out, FlushDecompress::None);
        let consumed = advance(before.0, self.inflate.total_in());
        let produced = advance(before.1, self.inflate.total_out());
        self.crc.update(out.get(..produced).unwrap_or_default());
        let status = match result {
            Ok(Status::StreamEnd) => {
                self.part = Part::Trailer { seen: 0 };
                CodecStatus::Continue
            }
            Ok(Status::Ok | Status::BufError) => CodecStatus::Continue,
            Err(error) => CodecStatus::Damaged(error.to_string()),
        };
        Progress {
            consumed,
            produced,
            status,
        }
    }

    fn trailer_byte(&mut self, seen: usize, byte: u8) -> CodecStatus {
        if let Some(place) = self.trailer.get_mut(seen) {
            *place = byte;
        }
        self.part = Part::Trailer {
            seen: seen.saturating_add(1),
        };
        if seen.saturating_add(1) < TRAILER_BYTES {
            return CodecStatus::Continue;
        }
        self.part = Part::Done;
        let [a, b, c, d, e, f, g, h] = self.trailer;
        if u32::from_le_bytes([a, b, c, d]) != self.crc.sum() {
            CodecStatus::Damaged("checksum does not match".into())
        } else if u32::from_le_bytes([e, f, g, h]) != self.crc.amount() {
            CodecStatus::Damaged("length does not match".into())
        } else {
            CodecStatus::Done
        }
    }
}

impl Codec for Gzip {
    fn step(&mut self, input: &[u8], out: &mut [u8], _at_end: bool) -> Progress {
        let mut consumed: usize = 0;
        loop {
            let rest = input.get(consumed..).unwrap_or_default();
            let status = match self.part {
                Part::Data => {
                    let mut step = self.inflate(rest, out);
                    step.consumed = step.consumed.saturating_add(consumed);
                    return step;
                }
                Part::Done => CodecStatus::Done,
                Part::Trailer { seen } => match rest.first() {
                    Some(&byte) => {
                        consumed = consumed.saturating_add(1);
                        match self.trailer_byte(seen, byte) {
                            CodecStatus::Continue => continue,
                            status => status,
                        }
                    }
                    None => CodecStatus::Continue,
                },
                _ => match rest.first() {
                    Some(&byte) => {
                        consumed = consumed.saturating_add(1);
                        match self.header_byte(byte) {
                            Ok(()) => continue,
                            Err(what) => CodecStatus::Damaged(what.into()),
                        }
                    }
                    None => CodecStatus::Continue,
                },
            };
            return Progress {
                consumed,
                produced: 0,
                status,
            };
        }
    }
}
