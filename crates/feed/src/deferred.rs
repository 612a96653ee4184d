//! Articles that a site did not want yet, or that the disk could not read: `feeds/SITE/deferred`, a line for each, to be offered again.

use std::path::Path;

use article::decimal;
use store::Position;
use store::disk::RealDisk;

use crate::error::Error;

/// The file's name in the site's directory.
pub const FILE: &str = "deferred";
/// Maximum number of deferred articles of a site.
pub const DEFERRED_MAX: usize = 100_000;

const MAGIC: &[u8] = b"BSdeferred1 ";
/// A word at the end of a line, for [`Deferred::is_blamed`].
const BLAMED: &[u8] = b"broke";
/// A word at the end of a line, for [`Deferred::is_unreadable`].
const UNREADABLE: &[u8] = b"unread";

/// A deferred article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferred {
    /// Its position in the log.
    pub position: Position,
    /// Earliest time of the next offer, seconds since 1970.
    pub due: i64,
    /// Number of offers.
    pub attempts: u64,
    /// Connections broke at it: it is offered last, and alone.
    pub is_blamed: bool,
    /// The disk could not read it when the cursor passed it: whether the site gets it is to be checked.
    pub is_unreadable: bool,
}

/// Longest delay before the next offer, seconds.
pub const DELAY_LAST: i64 = 3600;
/// First delay, seconds. Each further one is twice as long.
const DELAY_FIRST: i64 = 15;

/// The delay after so many offers, seconds.
fn delay(attempts: u64) -> i64 {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    (DELAY_FIRST << doublings.min(16)).min(DELAY_LAST)
}

impl Deferred {
    /// An article that was offered now, and so many times in all.
    pub fn new(position: Position, attempts: u64, now: i64) -> Deferred {
        Deferred {
            position,
            due: now.saturating_add(delay(attempts)),
            attempts,
            is_blamed: false,
            is_unreadable: false,
        }
    }

    /// An article that the disk cannot read now, after so many attempts.
    pub fn unreadable(position: Position, attempts: u64, now: i64) -> Deferred {
        Deferred {
            is_unreadable: true,
            ..Deferred::new(position, attempts, now)
        }
    }

    /// Time of the last offer, seconds since 1970.
    pub fn offered_at(&self) -> i64 {
        self.due.saturating_sub(delay(self.attempts))
    }

    /// Whether it is to be offered again. One that is due later than any delay was deferred while the clock was ahead.
    pub fn is_due(&self, now: i64) -> bool {
        is_due(self.due, now)
    }
}

/// Returns whether an article that is due at this time is to be offered again, as [`Deferred::is_due`].
pub fn is_due(due: i64, now: i64) -> bool {
    due <= now || due > now.saturating_add(DELAY_LAST)
}

/// Reads the list; a missing file is empty.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn read(dir: &Path) -> Result<Vec<Deferred>, Error> {
    let path = dir.join(FILE);
    match store::read_whole(&RealDisk, &path)? {
        None => Ok(Vec::new()),
        Some(text) => Ok(parse(&text).ok_or(store::Error::Damaged {
            path,
            offset: 0,
            what: "the list of deferred articles (remove it, and `broadsheet feed reset SITE` to send again what it may have held)",
        })?),
    }
}

fn parse(text: &[u8]) -> Option<Vec<Deferred>> {
    let rest = text.strip_prefix(MAGIC)?;
    let end = memchr::memchr(b'\n', rest)?;
    let (sum, lines) = rest.split_at_checked(end)?;
    let lines = lines.get(1..)?;
    if decimal::parse(sum)? != u64::from(crc32c::crc32c(lines)) {
        return None;
    }
    let lines = lines.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let mut words = line.split(|&byte| byte == b' ');
            let mut one = Deferred {
                position: Position(decimal::parse(words.next()?)?),
                due: decimal::parse_signed(words.next()?)?,
                attempts: decimal::parse(words.next()?)?,
                is_blamed: false,
                is_unreadable: false,
            };
            for word in words {
                one.is_blamed |= word == BLAMED;
                one.is_unreadable |= word == UNREADABLE;
            }
            Some(one)
        })
        .collect()
}

/// Replaces the list durably; an empty list removes the file without a sync of the directory: after a power cut the old list may be back, and
/// its articles are offered again.
///
/// # Errors
/// An I/O error, or [`Error::TooManyDeferred`].
pub fn write(dir: &Path, site: &str, list: &[Deferred]) -> Result<(), Error> {
    let path = dir.join(FILE);
    if list.len() > DEFERRED_MAX {
        return Err(Error::TooManyDeferred {
            site: site.to_owned(),
            limit: DEFERRED_MAX,
        });
    }
    if list.is_empty() {
        return match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("remove", &path)(error))
            }
            _ => Ok(()),
        };
    }
    let mut lines = Vec::with_capacity(list.len() * 32);
    for one in list {
        decimal::push(&mut lines, one.position.0);
        lines.push(b' ');
        decimal::push_signed(&mut lines, one.due);
        lines.push(b' ');
        decimal::push(&mut lines, one.attempts);
        let words = [(one.is_blamed, BLAMED), (one.is_unreadable, UNREADABLE)];
        for (_, word) in words.into_iter().filter(|(is_said, _)| *is_said) {
            lines.push(b' ');
            lines.extend_from_slice(word);
        }
        lines.push(b'\n');
    }
    let mut text = MAGIC.to_vec();
    decimal::push(&mut text, u64::from(crc32c::crc32c(&lines)));
    text.push(b'\n');
    text.extend_from_slice(&lines);
    store::replace(&RealDisk, &path, |file| file.write_at(&text, 0))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_is_told() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), []);
        let list =
            [(4096, -1, 0), (1 << 40, i64::MAX, 9)].map(|(position, due, attempts)| Deferred {
                position: Position(position),
                due,
                attempts,
                is_blamed: attempts > 0,
                is_unreadable: position == 4096,
            });
        write(dir.path(), "x", &list).unwrap();
        assert_eq!(read(dir.path()).unwrap(), list);
        let path = dir.path().join(FILE);
        let text = std::fs::read(&path).unwrap();
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, flipped).unwrap();
            assert!(read(dir.path()).is_err(), "bit {bit}");
        }
        write(dir.path(), "x", &[]).unwrap();
        assert_eq!(read(dir.path()).unwrap(), []);
    }
}
