//! The writes that reached a block device, in order, and their state after a power cut.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use bench::generate::Random;

use crate::image::Image;

/// Smallest bad unit of a disk, bytes.
pub const SECTOR_BYTES: u64 = 512;
/// Largest payload of one event in a recording file, bytes; a larger one means that the file is damaged.
const PAYLOAD_BYTES_MAX: usize = 64 << 20;

/// One event of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes were written; they may be lost until the next flush.
    Write { offset: u64, bytes: Vec<u8> },
    /// A range was discarded or zeroed; it may be lost like a write.
    Zero { offset: u64, length: u64 },
    /// A flush: everything before is durable.
    Flush,
    /// A line from the driver of the workload.
    Mark(Vec<u8>),
}

/// The writes since the last flush that survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All.
    All,
    /// None.
    None,
    /// Each write completely or not at all, at random.
    Writes,
    /// Each sector of each write, at random.
    Sectors,
}

const KEEPS: [(Keep, &str); 4] = [
    (Keep::All, "all"),
    (Keep::None, "none"),
    (Keep::Writes, "writes"),
    (Keep::Sectors, "sectors"),
];

impl Keep {
    /// Draws one of them at random: the random ones more often.
    pub fn draw(random: &mut Random) -> Keep {
        match random.below(8) {
            0 => Keep::All,
            1 => Keep::None,
            2..5 => Keep::Writes,
            _ => Keep::Sectors,
        }
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = KEEPS
            .iter()
            .find(|(keep, _)| keep == self)
            .map(|(_, name)| *name);
        out.write_str(name.unwrap_or_default())
    }
}

impl FromStr for Keep {
    type Err = ();

    fn from_str(name: &str) -> Result<Keep, ()> {
        let found = KEEPS.iter().find(|(_, known)| *known == name);
        found.map(|(keep, _)| *keep).ok_or(())
    }
}

/// Applies a whole event.
pub fn apply(event: &Event, image: &mut Image) {
    match event {
        Event::Write { offset, bytes } => image.write(*offset, bytes),
        Event::Zero { offset, length } => image.zero(*offset, *length),
        Event::Flush | Event::Mark(_) => {}
    }
}

/// Applies the surviving part of unflushed events, on a disk that writes sectors of this size
/// atomically. The same seed gives the same result.
pub fn apply_unflushed(events: &[Event], keep: Keep, sector: u64, seed: u64, image: &mut Image) {
    let mut random = Random::new(seed);
    // Some cuts lose little, some almost everything.
    let percent = [10, 50, 90].get(random.position(3)).copied().unwrap_or(50);
    for event in events {
        match (keep, event) {
            (Keep::None, _) => {}
            (Keep::All, _) => apply(event, image),
            (Keep::Sectors, Event::Write { offset, bytes }) => {
                let (mut at, mut rest) = (*offset, bytes.as_slice());
                while !rest.is_empty() {
                    let length = (sector - at % sector).min(rest.len() as u64);
                    let (part, behind) = rest.split_at(length as usize);
                    if random.chance(percent) {
                        image.write(at, part);
                    }
                    (at, rest) = (at + length, behind);
                }
            }
            (Keep::Writes | Keep::Sectors, Event::Write { .. } | Event::Zero { .. }) => {
                if random.chance(percent) {
                    apply(event, image);
                }
            }
            (Keep::Writes | Keep::Sectors, Event::Flush | Event::Mark(_)) => {}
        }
    }
}

/// The number of the first `cut` events that are durable: those up to the last flush among them.
pub fn durable_before(events: &[Event], cut: usize) -> usize {
    let before = events.get(..cut).unwrap_or(events);
    before
        .iter()
        .rposition(|event| *event == Event::Flush)
        .map_or(0, |flush| flush + 1)
}

/// Writes one event to a recording file.
pub fn write_event(event: &Event, out: &mut dyn Write) -> io::Result<()> {
    let (kind, offset, length, payload): (u8, u64, u64, &[u8]) = match event {
        Event::Write { offset, bytes } => (b'w', *offset, bytes.len() as u64, bytes),
        Event::Zero { offset, length } => (b'z', *offset, *length, b""),
        Event::Flush => (b'f', 0, 0, b""),
        Event::Mark(text) => (b'm', 0, text.len() as u64, text),
    };
    out.write_all(&[kind])?;
    out.write_all(&offset.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(payload)
}

/// Reads a recording file to its end.
pub fn read_events(input: &mut dyn Read) -> io::Result<Vec<Event>> {
    let mut events = Vec::new();
    loop {
        let mut kind = [0];
        if input.read(&mut kind)? == 0 {
            return Ok(events);
        }
        let mut word = [0; 8];
        input.read_exact(&mut word)?;
        let offset = u64::from_le_bytes(word);
        input.read_exact(&mut word)?;
        let length = u64::from_le_bytes(word);
        let mut payload = || {
            let bytes = usize::try_from(length).unwrap_or(usize::MAX);
            if bytes > PAYLOAD_BYTES_MAX {
                return Err(io::Error::other("the recording is damaged: a huge event"));
            }
            let mut payload = vec![0; bytes];
            input.read_exact(&mut payload)?;
            Ok(payload)
        };
        events.push(match kind {
            [b'w'] => Event::Write {
                offset,
                bytes: payload()?,
            },
            [b'z'] => Event::Zero { offset, length },
            [b'f'] => Event::Flush,
            [b'm'] => Event::Mark(payload()?),
            _ => {
                return Err(io::Error::other(
                    "the recording is damaged: no such kind of event",
                ));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn events() -> Vec<Event> {
        let write = |offset, byte| Event::Write {
            offset,
            bytes: vec![byte; 1024],
        };
        vec![
            write(0, b'a'),
            Event::Flush,
            Event::Mark(b"said".to_vec()),
            write(0, b'b'),
            write(512, b'c'),
            Event::Zero {
                offset: 2048,
                length: 512,
            },
        ]
    }

    fn left(keep: Keep, seed: u64) -> Vec<u8> {
        let events = events();
        let mut image = Image::default();
        let durable = durable_before(&events, events.len());
        assert_eq!(durable, 2);
        events[..durable]
            .iter()
            .for_each(|event| apply(event, &mut image));
        apply_unflushed(&events[durable..], keep, SECTOR_BYTES, seed, &mut image);
        let mut bytes = vec![0; 1536];
        image.read(0, &mut bytes);
        bytes.chunks(512).map(|sector| sector[0]).collect()
    }

    #[test]
    fn flushed_writes_stay_and_others_may() {
        assert_eq!(left(Keep::None, 1), b"aa\0");
        assert_eq!(left(Keep::All, 1), b"bcc");
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..500 {
            let sectors = left(Keep::Sectors, seed);
            assert_eq!(sectors, left(Keep::Sectors, seed));
            seen.insert(sectors);
            let writes = left(Keep::Writes, seed);
            assert!([&b"aa\0"[..], b"bb\0", b"acc", b"bcc"].contains(&&writes[..]));
        }
        // Of each of two, three and two states: a newer write may survive while an older one is lost.
        assert_eq!(seen.len(), 12);
        assert!(seen.contains(&b"acc"[..]) && seen.contains(&b"ba\0"[..]));
    }

    #[test]
    fn a_recording_file_reads_as_it_was_written() {
        let mut file = Vec::new();
        for event in events() {
            write_event(&event, &mut file).unwrap();
        }
        assert_eq!(read_events(&mut &file[..]).unwrap(), events());
        file[0] = b'?';
        assert!(read_events(&mut &file[..]).is_err());
    }
}
