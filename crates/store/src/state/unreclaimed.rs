//! The file `unreclaimed`: the segments whose dead articles still use space, or whose history will have lines to forget.
//! It is written before an expiry takes effect, so that the next run finishes an interrupted one; if it is missing or damaged, all
//! segments are examined.

use std::collections::BTreeMap;
use std::path::Path;

use article::decimal;

use crate::Error;
use crate::io::disk::{Disk, Open};
use crate::io::replace::{read_whole, replace};

const NAME: &str = "unreclaimed";
/// The name of the file of [`mark_all`].
const ALL: &str = "unreclaimed.all";
const MAGIC: &[u8] = b"BSunreclaimed1 ";

/// The bases of segments, and when to examine them: when ids that arrived before that time may be forgotten.
pub type Due = BTreeMap<u64, i64>;

/// Whatever may be forgotten.
pub const NOW: i64 = i64::MIN;

/// The segments; `None` if they are unknown.
pub fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<Due>, Error> {
    let text = read_whole(disk, &dir.join(NAME))?;
    Ok(text.and_then(|text| parse(&text)))
}

fn parse(text: &[u8]) -> Option<Due> {
    let rest = text.strip_prefix(MAGIC)?;
    let end = memchr::memchr(b'\n', rest)?;
    let (sum, lines) = rest.split_at_checked(end)?;
    let lines = lines.get(1..)?;
    if decimal::parse(sum)? != u64::from(crc32c::crc32c(lines)) {
        return None;
    }
    crate::history::lines(lines)
        .map(|(_, line)| {
            let (base, due) = line.split_at_checked(memchr::memchr(b' ', line)?)?;
            Some((decimal::parse(base)?, decimal::parse_signed(due.get(1..)?)?))
        })
        .collect()
}

/// Adds segments to examine immediately. A missing file stays missing: it means all segments.
pub fn add(disk: &dyn Disk, dir: &Path, bases: &[u64]) -> Result<(), Error> {
    let Some(known) = read(disk, dir)? else {
        return Ok(());
    };
    let mut all = known.clone();
    all.extend(bases.iter().map(|base| (*base, NOW)));
    if all == known {
        return Ok(());
    }
    write(disk, dir, &all)
}

/// Removes the file durably: all segments are examined.
fn forget(disk: &dyn Disk, dir: &Path) -> Result<(), Error> {
    let path = dir.join(NAME);
    match disk.remove(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => disk.sync_directory(dir),
    }
    .map_err(|source| Error::io("remove", &path, source))
}

/// Durably marks all segments as such to examine, also if a run that is under way rewrites the file.
pub fn mark_all(disk: &dyn Disk, dir: &Path) -> Result<(), Error> {
    let path = dir.join(ALL);
    disk.open(&path, Open::Create)
        .and_then(|_| disk.sync_directory(dir))
        .map_err(|source| Error::io("create", &path, source))
}

/// Whether [`mark_all`] was called since the last run began.
pub fn is_all_marked(dir: &Path) -> bool {
    dir.join(ALL).exists()
}

/// A run begins: what [`mark_all`] marked becomes a missing file.
pub fn take_mark(disk: &dyn Disk, dir: &Path) -> Result<(), Error> {
    if !is_all_marked(dir) {
        return Ok(());
    }
    forget(disk, dir)?;
    let path = dir.join(ALL);
    disk.remove(&path)
        .map_err(|source| Error::io("remove", &path, source))
}

/// Rewrites the file durably. Where that fails, the file is removed instead, which a full disk allows: all segments are examined then.
///
/// # Errors
/// That of the writing, if the file cannot be removed either.
pub fn write(disk: &dyn Disk, dir: &Path, due: &Due) -> Result<(), Error> {
    let mut lines = Vec::new();
    for (base, time) in due {
        decimal::push(&mut lines, *base);
        lines.push(b' ');
        decimal::push_signed(&mut lines, *time);
        lines.push(b'\n');
    }
    let mut text = MAGIC.to_vec();
    decimal::push(&mut text, u64::from(crc32c::crc32c(&lines)));
    text.push(b'\n');
    text.extend_from_slice(&lines);
    replace(disk, &dir.join(NAME), |file| file.write_at(&text, 0))
        .or_else(|error| forget(disk, dir).map_err(|_| error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk::RealDisk;

    #[test]
    fn what_is_written_is_read_and_damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(&RealDisk, dir.path()).unwrap(), None);
        let bases: Due = [(4096, NOW), (1 << 40, 77)].into();
        write(&RealDisk, dir.path(), &bases).unwrap();
        assert_eq!(read(&RealDisk, dir.path()).unwrap(), Some(bases));
        let path = dir.path().join(NAME);
        let mut text = std::fs::read(&path).unwrap();
        *text.last_mut().unwrap() ^= 1;
        std::fs::write(&path, text).unwrap();
        assert_eq!(read(&RealDisk, dir.path()).unwrap(), None);
    }
}
