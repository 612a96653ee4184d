//! Writes a batch to `in.coming`.
//!
//! The batch is written to a temporary file, synced, linked to its name, and the directory is synced: after [`spool`] returns, the batch
//! is complete and durable. It stays compressed.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use article::wrap::{self, WrapLimits};
use store::Error as StoreError;

use super::name::{self, Grade, Name};
use super::stop::{incoming_dir, sync};
use crate::Error;
use crate::bad_batches::{self, TEMPORARY};
use crate::free_space;
use crate::log::Now;

/// Default of [`SpoolOptions::keep_free`], bytes: 5 MiB, about as in C News (5000 KB).
pub const KEEP_FREE_BYTES: u64 = 5 << 20;
/// How far ahead of the clock names of simultaneous batches may be, seconds, with 62 names a second.
pub const SECONDS_AHEAD_MAX: u64 = 3600;
/// Length of a batch's start that is read to detect its compression, bytes.
const HEAD_BYTES: usize = 4096;
/// Bytes copied between two checks of the free space.
const COPY_BYTES: usize = 1 << 20;

/// Options of spooling.
#[derive(Debug, Clone, Copy)]
pub struct SpoolOptions {
    /// Its grade.
    pub grade: Grade,
    /// Space that has to stay free, bytes.
    pub keep_free: u64,
}

impl Default for SpoolOptions {
    fn default() -> SpoolOptions {
        SpoolOptions {
            grade: Grade::NONE,
            keep_free: KEEP_FREE_BYTES,
        }
    }
}

/// The result of spooling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spooled {
    /// The batch waits.
    Waits {
        /// Its file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The batch was empty, also after decompression (C News: fewer than 5 bytes), and was discarded.
    Empty,
}

/// Copies a batch `from` a reader, named `what` in messages, to `in.coming` of the news directory `dir`.
///
/// # Errors
/// [`Error::NoRoom`], or an I/O error; then nothing stays in `in.coming`.
pub fn spool(
    dir: &Path,
    what: &Path,
    from: &mut dyn Read,
    options: SpoolOptions,
) -> Result<Spooled, Error> {
    spool_into(&incoming_dir(dir), what, from, options)
}

/// As [`spool`], to the `in.coming` of another news system.
///
/// # Errors
/// As [`spool`].
pub fn spool_into(
    dir: &Path,
    what: &Path,
    from: &mut dyn Read,
    options: SpoolOptions,
) -> Result<Spooled, Error> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    fill(from, &mut head, HEAD_BYTES).map_err(|source| StoreError::io("read", what, source))?;
    let suffix = match wrap::open(head.as_slice(), WrapLimits::default()) {
        Ok(seen) if seen.is_empty_wrapper() || head.is_empty() => return Ok(Spooled::Empty),
        Ok(seen) => name::suffix(seen.layers().first().copied()),
        // The drain will report it and save it in bad/.
        Err(_) => name::suffix(None),
    };
    let stem = format!("{TEMPORARY}{}", std::process::id());
    let (file, temporary) = bad_batches::create(dir, &stem)
        .map_err(|source| StoreError::io("create a file in", dir, source))?;
    let done = copy(dir, what, head, from, file, &temporary, options.keep_free).and_then(|bytes| {
        let path = link(dir, &temporary, options.grade, suffix)?;
        Ok(Spooled::Waits { path, bytes })
    });
    // The file of a killed program stays, and is removed a day later.
    let _ = fs::remove_file(&temporary);
    let done = done?;
    sync(dir)?;
    Ok(done)
}

/// Copies `head` and the rest of the reader, and syncs the file. Returns its size, bytes.
fn copy(
    dir: &Path,
    what: &Path,
    head: Vec<u8>,
    from: &mut dyn Read,
    mut file: File,
    path: &Path,
    keep_free: u64,
) -> Result<u64, Error> {
    let mut bytes: u64 = 0;
    let mut piece = head;
    while !piece.is_empty() {
        let length = piece.len() as u64;
        free_space::check(dir, length, keep_free)?;
        file.write_all(&piece)
            .map_err(|source| StoreError::io("write", path, source))?;
        bytes = bytes.saturating_add(length);
        piece.clear();
        fill(from, &mut piece, COPY_BYTES)
            .map_err(|source| StoreError::io("read", what, source))?;
    }
    file.sync_all()
        .map_err(|source| StoreError::io("sync", path, source))?;
    Ok(bytes)
}

/// Reads `count` bytes, or fewer at the end.
fn fill(from: &mut dyn Read, out: &mut Vec<u8>, count: usize) -> io::Result<usize> {
    from.take(count as u64).read_to_end(out)
}

/// Links the file to an unused name. A link, unlike a rename, never replaces another file.
fn link(dir: &Path, temporary: &Path, grade: Grade, suffix: &str) -> Result<PathBuf, Error> {
    let now = u64::try_from(Now::read().seconds).unwrap_or(0).max(1);
    let mut name = Name {
        grade,
        time: now,
        unique: 0,
        suffix: suffix.to_owned(),
    };
    while name.time <= now.saturating_add(SECONDS_AHEAD_MAX) {
        let path = dir.join(name.to_string());
        match fs::hard_link(temporary, &path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => name = name.next(),
            Err(source) => return Err(StoreError::io("create", &path, source).into()),
        }
    }
    let source = io::Error::new(
        ErrorKind::AlreadyExists,
        "all names are in use; run newsrun",
    );
    Err(StoreError::io("create a file in", dir, source).into())
}
