//! News directories for header-only feeds: all of their articles but control messages lack their bodies.
//!
//! A news directory has articles of one kind, from its first article on. An id without a body that blocks the whole article, and an
//! article without its body among whole ones, can then not occur. The file [`FILE`] declares the kind: it is written before the first
//! article is filed, and never removed.

use std::ops::ControlFlow;
use std::path::Path;

use article::{Article, LeftOut};
use store::disk::{Disk, RealDisk};
use store::{Snapshot, replace};

use crate::error::Error;

/// The file that declares a news directory, in it.
pub const FILE: &str = "headers.only";

/// Its text, for people.
pub const TEXT: &[u8] =
    b"This news directory has articles without their bodies (headers_only in broadsheet.toml).\n";

/// Whether a news directory is declared.
pub fn is_declared(dir: &Path) -> bool {
    dir.join(FILE).exists()
}

/// Compares the setting `headers_only` with the news directory. Declares a directory that has no articles yet.
///
/// # Errors
/// They disagree, or the declaration cannot be written.
pub fn check(dir: &Path, wanted: bool) -> Result<(), Error> {
    match (wanted, is_declared(dir)) {
        (true, true) | (false, false) => Ok(()),
        (false, true) => Err(disagree(dir)),
        (true, false) => declare(dir),
    }
}

/// The error of a declared directory whose setting is off.
pub fn disagree(dir: &Path) -> Error {
    Error::HeadersOnly {
        dir: dir.to_owned(),
        what: "its articles have no bodies (file headers.only): set headers_only = true in broadsheet.toml, or use another news directory for whole articles",
    }
}

/// Refuses whole articles, as those of batches and imports, for a news directory that takes only headers.
///
/// # Errors
/// It does, by the setting or its declaration.
pub fn refuse_whole(dir: &Path, wanted: bool) -> Result<(), Error> {
    match (wanted, is_declared(dir)) {
        (false, false) => Ok(()),
        (false, true) => Err(disagree(dir)),
        (true, _) => Err(Error::HeadersOnly {
            dir: dir.to_owned(),
            what: "takes articles from header-only feeds over NNTP alone (headers_only in broadsheet.toml); nothing of the input was filed",
        }),
    }
}

/// The stated size of an article without its body; `None` of one that comes whole. The error is the text of its refusal.
///
/// # Errors
/// A news directory with `headers_only` refuses it.
pub fn left_out(
    article: &Article<'_>,
    headers_only: bool,
) -> Result<Option<LeftOut>, &'static str> {
    if !headers_only || article.has_body_in_header_feed() {
        return Ok(None);
    }
    if !article.is_header_alone() {
        return Err("has a body; this news directory has headers only");
    }
    let stated = LeftOut::stated_in(article);
    stated
        .map(Some)
        .ok_or("no valid Bytes header in an article without its body")
}

fn declare(dir: &Path) -> Result<(), Error> {
    let snapshot = Snapshot::open(dir)?;
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
