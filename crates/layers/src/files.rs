//! Small files that the administrator writes: certificates, keys, passwords.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use thiserror::Error;

/// A kind of files.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name of such a file in messages.
    pub noun: &'static str,
    /// Largest file, bytes.
    pub bytes_max: u64,
    /// The name of the secret, which other users may not read, if it is one.
    pub secret: Option<&'static str>,
}

/// A file cannot be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{}: cannot read: {error}{}", path.display(), hint(error))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// It is too large.
    #[error("{}: larger than {} bytes: not {}", path.display(), kind.bytes_max, kind.noun)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The expected kind of file.
        kind: Kind,
    },
    /// A directory, a pipe or the like.
    #[error("{}: not a regular file; set the right path in broadsheet.toml", path.display())]
    NoFile {
        /// The path in the settings.
        path: PathBuf,
    },
    /// Other users may read a secret.
    #[error("{}: other users may read this {what} (mode {mode:04o}); run `chmod 600' on it, \
             or `chmod 640' where it belongs to root and to the server's group", path.display())]
    IsOpen {
        /// The file.
        path: PathBuf,
        /// The secret.
        what: &'static str,
        /// Its permissions.
        mode: u32,
    },
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; the server's user may not read it: give it a group, or (a certificate) install a copy by a deploy hook of the renewal tool"
        }
        io::ErrorKind::NotFound => "; set the right path in broadsheet.toml",
        _ => "",
    }
}

/// Reads a file whole.
///
/// # Errors
/// See [`FileError`].
pub fn read(path: &Path, kind: Kind) -> Result<Vec<u8>, FileError> {
    let path_of = || path.to_owned();
    let unreadable = |error| FileError::Unreadable {
        path: path_of(),
        error,
    };
    // Opening a pipe without a writer would block.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path);
    let file = file.map_err(unreadable)?;
    let facts = file.metadata().map_err(unreadable)?;
    if !facts.is_file() {
        return Err(FileError::NoFile { path: path_of() });
    }
    if let Some(what) = kind.secret
        && is_open(facts.mode(), facts.uid())
    {
        return Err(FileError::IsOpen {
            path: path_of(),
            what,
            mode: facts.mode() & 0o7777,
        });
    }
    let mut bytes = Vec::new();
    let count = file
        .take(kind.bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if u64::try_from(count).unwrap_or(u64::MAX) > kind.bytes_max {
        return Err(FileError::TooLarge {
            path: path_of(),
            kind,
        });
    }
    Ok(bytes)
}

/// Whether others may read a secret. The group of root's file may: systemd credentials and /etc/ssl/private work that way.
fn is_open(mode: u32, owner: u32) -> bool {
    let forbidden = if owner == 0 { 0o037 } else { 0o077 };
    mode & forbidden != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_lets_a_group_read_a_key() {
        assert!(!is_open(0o100_600, 1000));
        assert!(!is_open(0o100_400, 1000));
        assert!(is_open(0o100_640, 1000));
        assert!(!is_open(0o100_640, 0));
        assert!(is_open(0o100_660, 0));
        assert!(is_open(0o100_644, 0));
    }
}
