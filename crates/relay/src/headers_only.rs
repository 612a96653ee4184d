//! News directories for header-only feeds: all of their articles but control messages lack their bodies.
//!
//! A news directory has articles of one kind, from its first article on. An id without a body that blocks the whole article, and an
//! article without its body among whole ones, can then not occur. The file [`FILE`] declares the kind: it is written before the first
//! article is filed, and never removed.

use std::ops::ControlFlow;
use std::path::Path;

use store::disk::{Disk, RealDisk};
use store::{Spool, replace};

use crate::error::Error;

/// The file that declares a news directory, in it.
pub const FILE: &str = "headers.only";

const TEXT: &[u8] =
    b"This news directory has articles without their bodies (headers_only in broadsheet.toml).\n";

/// Whether a news directory is declared.
pub fn is_declared(dir: &Path) -> bool {
    dir.join(FILE).exists()
}

/// Compares the setting `headers_only` with the news directory. Declares a directory that has no articles yet.
///
/// # Errors
/// They disagree, or the declaration cannot be written.
pub fn check(spool: &Spool, wanted: bool) -> Result<(), Error> {
    let dir = spool.dir();
    match (wanted, is_declared(dir)) {
        (true, true) | (false, false) => Ok(()),
        (false, true) => Err(disagree(dir)),
        (true, false) => declare(spool),
    }
}

/// The error of a declared directory whose setting is off.
pub fn disagree(dir: &Path) -> Error {
    Error::HeadersOnly {
        dir: dir.to_owned(),
        what: "its articles have no bodies (file headers.only): set headers_only = true in broadsheet.toml, or use another news directory for whole articles",
    }
}

fn declare(spool: &Spool) -> Result<(), Error> {
    let (dir, snapshot) = (spool.dir(), spool.snapshot()?);
    let all = (snapshot.oldest(), snapshot.end());
    let found = snapshot.each_article(all, |_| ControlFlow::Break(()))?;
    if found.is_break() {
        return Err(Error::HeadersOnly {
            dir: dir.to_owned(),
            what: "it has whole articles already: use a new news directory with headers_only = true",
        });
    }
    let disk: &dyn Disk = &RealDisk;
    Ok(replace(disk, &dir.join(FILE), |file| {
        file.write_at(TEXT, 0)
    })?)
}
