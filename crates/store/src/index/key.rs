//! The secret key for hashing message-ids in the index: 16 random bytes of the news directory, in `index.key`.
//!
//! With it, a stranger could choose ids that fill one bucket of the index, so only the owner of the directory may read it. It is
//! derived data: if it is lost, a new key is made, and the index is made again from the history lines.

use std::path::{Path, PathBuf};

use article::message_id::HashKey;

use crate::Error;
use crate::io::disk::{Disk, Open};
use crate::io::replace::replace_private;

/// The file in the news directory.
pub const FILE: &str = "index.key";

/// 32 digits and a newline.
const TEXT_BYTES: usize = 2 * HashKey::BYTES + 1;

/// An unpredictable key from the system's random numbers.
///
/// # Errors
/// An error of the system.
fn random_hash_key() -> std::io::Result<HashKey> {
    let mut bytes = [0; HashKey::BYTES];
    // The system returns so few bytes completely or fails (getrandom(2)).
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(HashKey::new(bytes))
}

/// A value in the index that identifies its key and does not reveal it.
pub fn check(key: &HashKey) -> u64 {
    key.hash(b"the key of this index")
}

/// The key beside an index; `None` if it is missing or invalid.
///
/// # Errors
/// It cannot be read; [`std::io::ErrorKind::PermissionDenied`] for another user.
pub fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<HashKey>, Error> {
    let path = path(dir);
    let at = |source| Error::io("read", &path, source);
    let file = match disk.open(&path, Open::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(error)),
    };
    // One more byte shows that the file is too long.
    let mut text = [0; TEXT_BYTES + 1];
    let length = file.read_at(&mut text, 0).map_err(at)?;
    Ok(text.get(..length).and_then(parse))
}

/// Creates a new key durably, and replaces any other.
///
/// # Errors
/// It cannot be written.
pub fn make(disk: &dyn Disk, dir: &Path) -> Result<HashKey, Error> {
    let path = path(dir);
    let key = random_hash_key().map_err(|source| Error::io("make", &path, source))?;
    replace_private(disk, &path, |file| file.write_at(&text(&key), 0))?;
    Ok(key)
}

/// The path of the key of a news directory.
pub fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

fn text(key: &HashKey) -> Vec<u8> {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).map_or(b'0', |digit| digit as u8);
    let digits = key
        .bytes()
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.chain([b'\n']).collect()
}

fn parse(text: &[u8]) -> Option<HashKey> {
    let digits = text.strip_suffix(b"\n")?;
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let half = |digit: u8| char::from(digit).to_digit(16);
    let bytes: Option<Vec<u8>> = pairs
        .iter()
        .map(|[high, low]| u8::try_from(half(*high)? << 4 | half(*low)?).ok())
        .collect();
    Some(HashKey::new(bytes?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk::RealDisk;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_read_as_it_was_made_by_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(&RealDisk, dir.path()).unwrap().is_none());
        let made = make(&RealDisk, dir.path()).unwrap();
        let again = read(&RealDisk, dir.path()).unwrap().unwrap();
        assert_eq!(made.bytes(), again.bytes());
        assert_eq!(check(&made), check(&again));
        let mode = std::fs::metadata(dir.path().join(FILE)).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        let other = make(&RealDisk, dir.path()).unwrap();
        assert_ne!(made.bytes(), other.bytes());
    }

    #[test]
    fn what_is_no_key_is_none() {
        let digits = "00112233445566778899aabbccddeeff";
        assert!(parse(format!("{digits}\n").as_bytes()).is_some());
        for bad in ["", "\n", digits, "0g\n", &format!("{digits}00\n")] {
            assert!(parse(bad.as_bytes()).is_none(), "{bad}");
        }
        assert!(parse(format!("+{}\n", &digits[1..]).as_bytes()).is_none());
    }
}
