//! Without a readable policy file with at least one rule, nothing is expired.

#![allow(clippy::unwrap_used)] // test code may panic

use expire::explist::FILE_BYTES_MAX;
use expire::{Error, Explist};

#[test]
fn missing_empty_unreadable_and_oversized_files_refuse() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("explist");
    assert!(matches!(
        Explist::read(&path, None),
        Err(Error::Missing { .. })
    ));
    std::fs::write(&path, "").unwrap();
    assert!(matches!(
        Explist::read(&path, None),
        Err(Error::Empty { .. })
    ));
    // A block of zeros, as a power cut may leave it.
    std::fs::write(&path, [0; 4096]).unwrap();
    assert!(matches!(
        Explist::read(&path, None),
        Err(Error::Line { line: 1, .. })
    ));
    assert!(matches!(
        Explist::read(directory.path(), None),
        Err(Error::Read { .. })
    ));
    let large = std::fs::File::create(&path).unwrap();
    large.set_len(FILE_BYTES_MAX + 1).unwrap();
    assert!(matches!(
        Explist::read(&path, None),
        Err(Error::Size { .. })
    ));
}

#[test]
fn a_valid_file_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("explist");
    std::fs::write(&path, "all x 14 -\n").unwrap();
    let list = Explist::read(&path, None).unwrap();
    assert_eq!(list.rules.len(), 1);
    assert!(list.file.ends_with("explist"));
}
