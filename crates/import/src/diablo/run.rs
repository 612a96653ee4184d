//! Imports the articles of a Diablo spool.
//!
//! Diablo's history (dhistory) is not used: it has 64-bit hashes of ids in place of ids, so what is gone cannot be remembered, and articles that
//! were cancelled there and still lie in the spool come back.

use std::fs;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use article::wrap::{self, WrapLimits};

use crate::archived::{ArchiveCounts, ArchiveOptions, Archived};
use crate::diablo::spool::{self, Entry, HEADER_BYTES};
use crate::error::Error;
use crate::importer::{Importer, Unfiled};
use crate::regular;

/// Imports the articles of spools; the time of arrival is that of their directory.
///
/// # Errors
/// Errors that are not of one spool, file or article.
pub fn import(
    spools: &[PathBuf],
    options: ArchiveOptions,
    mut importer: Importer<'_>,
) -> Result<ArchiveCounts, Error> {
    let mut run = Archived::new(options);
    let mut files = Vec::new();
    for path in spools {
        match spool::files(path) {
            Ok(found) => {
                if found.files.is_empty() && found.unread.is_empty() {
                    let why =
                        "it has no files D.xxxxxxxx/B.xxxx: name a directory of Diablo's spool";
                    run.unread(&path.display().to_string(), why, &mut importer)?;
                }
                for (path, error) in &found.unread {
                    let name = path.display().to_string();
                    run.unread(&name, &error.to_string(), &mut importer)?;
                }
                files.extend(found.files);
            }
            Err(error) => run.unread(
                &path.display().to_string(),
                &error.to_string(),
                &mut importer,
            )?,
        }
    }
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |info| info.len());
    let all: u64 = files.iter().map(|(_, path)| size(path)).sum();
    let mut read = 0;
    for (arrived, path) in &files {
        run.options.arrived = *arrived;
        file(path, (&mut read, all), &mut run, &mut importer)?;
    }
    run.finish(importer)
}

fn file(
    path: &Path,
    (read, all): (&mut u64, u64),
    run: &mut Archived,
    importer: &mut Importer<'_>,
) -> Result<(), Error> {
    let name = path.display().to_string();
    let mut reader = match regular::open(path) {
        Ok(file) => BufReader::with_capacity(1 << 20, file),
        Err(error) => return run.unread(&name, &error.to_string(), importer),
    };
    let mut offset = 0u64;
    let mut stored = Vec::new();
    loop {
        let place = format!("{name} byte {offset}");
        let entry = match header(&mut reader) {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(()),
            Err(error) => return run.unread(&place, &error.to_string(), importer),
        };
        let limit = run.options.rules.article_bytes_max;
        let is_large = entry.article > limit || entry.stored > limit;
        let taken = if is_large { 0 } else { entry.stored };
        let before = (entry.skip - HEADER_BYTES) as u64;
        let after = entry.whole - entry.skip as u64 - taken as u64;
        stored.clear();
        let got = skip(&mut reader, before)
            .and_then(|()| Read::take(&mut reader, taken as u64).read_to_end(&mut stored))
            .and_then(|count| {
                if count == taken {
                    skip(&mut reader, after)
                } else {
                    Err(ErrorKind::UnexpectedEof.into())
                }
            });
        if let Err(error) = got {
            return run.unread(&place, &error.to_string(), importer);
        }
        offset += entry.whole;
        *read += entry.whole;
        if is_large {
            let why = format!(
                "{place}: it has {} bytes, more than limits.article_bytes_max ({limit})",
                entry.article
            );
            importer.refuse(&Unfiled(why))?;
        } else if entry.is_header_only() {
            let why = format!("{place}: only its header was stored");
            importer.refuse(&Unfiled(why))?;
        } else {
            match native(&entry, &stored) {
                Ok(article) => run.message(&place, b"", &article, importer)?,
                Err(error) => importer.refuse(&Unfiled(format!("{place}: {error}")))?,
            }
        }
        run.commit_if_full(importer)?;
        importer.progress(*read, all);
    }
}

/// The next entry; `None` at the end of the file.
fn header(reader: &mut impl Read) -> io::Result<Option<Entry>> {
    let mut bytes = Vec::new();
    Read::take(&mut *reader, HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let entry = bytes.as_slice().try_into().ok().and_then(Entry::parse);
    entry.map(Some).ok_or_else(|| {
        io::Error::other(
            "no article of a Diablo 5 on this kind of machine begins here; what follows in this file is not imported",
        )
    })
}

fn skip(reader: &mut impl Read, bytes: u64) -> io::Result<()> {
    match io::copy(&mut Read::take(reader, bytes), &mut io::sink())? {
        skipped if skipped == bytes => Ok(()),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// An article in native form.
fn native(entry: &Entry, stored: &[u8]) -> io::Result<Vec<u8>> {
    let mut article = Vec::new();
    let bytes = if entry.is_gzip {
        let limits = WrapLimits {
            expanded_bytes_max: entry.article as u64,
            layers_max: 1,
            ..WrapLimits::default()
        };
        wrap::open(stored, limits)?.read_to_end(&mut article)?;
        &article
    } else {
        stored
    };
    if !entry.is_wire {
        return Ok(bytes.to_vec());
    }
    let (wire, _) = crate::importer::form_of(bytes);
    let mut native = Vec::new();
    article::wire::push_native(&mut native, wire);
    Ok(native)
}
