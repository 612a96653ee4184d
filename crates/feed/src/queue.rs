//! The number of batches in a queue: classic `queuelen`.

use std::io::ErrorKind;
use std::path::Path;

use crate::Error;
use crate::site_name::is_site_name;

/// The spool directory of UUCP.
pub const UUCP_SPOOL: &str = "/var/spool/uucp";
/// Largest count: a longer queue is full for all sites.
pub const QUEUE_FILES_MAX: u64 = 100_000;

/// Counts a site's jobs in a UUCP spool directory: command files `C.*` in `SITE/` (HoneyDanBer) or one directory below (Taylor UUCP). A
/// missing directory has none.
///
/// # Errors
/// The name cannot be part of a path, or a directory cannot be read.
pub fn waiting_in_uucp(spool: &Path, site: &[u8]) -> Result<u64, Error> {
    let name = std::str::from_utf8(site)
        .ok()
        .filter(|_| is_site_name(site));
    let name = name.ok_or_else(|| Error::SiteName(site.escape_ascii().to_string()))?;
    let mut count = 0;
    let mut below = Vec::new();
    each_entry(&spool.join(name), |entry| {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && below.len() < 64 {
            below.push(entry.path());
        } else if !is_directory && is_job(entry) {
            count += 1;
        }
        count < QUEUE_FILES_MAX
    })?;
    for directory in below {
        each_entry(&directory, |entry| {
            count += u64::from(is_job(entry));
            count < QUEUE_FILES_MAX
        })?;
    }
    Ok(count)
}

fn is_job(entry: &std::fs::DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b"C.")
}

/// Counts the batches in a directory such as `in.coming`: its files, except incomplete (`nspool.*`, `nntp.*`) and hidden ones, and
/// `stop`. A missing directory has none.
///
/// # Errors
/// The directory cannot be read.
pub fn waiting_in_directory(directory: &Path) -> Result<u64, Error> {
    let mut count = 0;
    each_entry(directory, |entry| {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_partial = [b"nspool.".as_slice(), b"nntp.", b"."]
            .iter()
            .any(|start| name.starts_with(start));
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        count += u64::from(is_file && !is_partial && name != b"stop");
        count < QUEUE_FILES_MAX
    })?;
    Ok(count)
}

fn each_entry(
    directory: &Path,
    mut each: impl FnMut(&std::fs::DirEntry) -> bool,
) -> Result<(), Error> {
    let at = |error| Error::io("read", directory)(error);
    let entries = match std::fs::read_dir(directory) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(());
        }
        entries => entries.map_err(at)?,
    };
    for entry in entries {
        if !each(&entry.map_err(at)?) {
            break;
        }
    }
    Ok(())
}
