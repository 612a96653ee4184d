//! The look-up of an id: the index names addresses where its history line may be, and the lines there decide.

use article::message_id;

use crate::Error;
use crate::history::sealed::SealedHistory;
use crate::index::{IdHash, Index};
use crate::io::map::{is_any_unreadable, is_unreadable};

/// The history that the addresses of an index refer to: sealed segments and the current one.
pub trait Histories {
    /// The history of the sealed segments.
    fn sealed(&self) -> &SealedHistory;

    /// The history from the line at an address on. `None`: the address is stale.
    fn text_at(&self, address: u64) -> Result<Option<&[u8]>, Error>;

    /// Returns whether the id of a text's first line may be forgotten, so that it may come again.
    fn is_forgotten(&self, text: &[u8]) -> Result<bool, Error>;
}

/// The reason that a look-up failed.
#[derive(Debug)]
pub enum Failure {
    /// The index cannot be read or used.
    Index(Error),
    /// A history file cannot be opened or used.
    History(Error),
    /// The index has the hash of the id, and the disk cannot read the line there.
    Line(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::Index(error) | Failure::History(error) | Failure::Line(error) => error,
        }
    }
}

/// The history line of an id, without its newline.
pub fn find<'h>(
    index: &Index,
    histories: &'h impl Histories,
    id: &[u8],
) -> Result<Option<&'h [u8]>, Failure> {
    let hash = index.hash(id).map_err(Failure::Index)?;
    Ok(find_hashed(index, histories, id, hash)?.map(first_line))
}

/// The text from the history line of an id on.
fn find_hashed<'h>(
    index: &Index,
    histories: &'h impl Histories,
    id: &[u8],
    hash: IdHash,
) -> Result<Option<&'h [u8]>, Failure> {
    let mut found = Ok(None);
    let looked_up = index.find_hashed(hash, |address| {
        found = text_at(histories, address, id);
        // The search goes on behind a line of another id.
        !matches!(found, Ok(None))
    });
    looked_up.map_err(Failure::Index)?;
    found
}

/// Returns whether an id is known. Where the disk cannot read the line that the index names, it is all but surely the line of this id,
/// and the article must not be filed twice.
pub fn has_hashed(
    index: &Index,
    histories: &impl Histories,
    id: &[u8],
    hash: IdHash,
) -> Result<bool, Failure> {
    match find_hashed(index, histories, id, hash) {
        Ok(found) => Ok(found.is_some()),
        Err(Failure::Line(_)) => Ok(true),
        Err(failure) => Err(failure),
    }
}

/// The text from the line at an address on, if the line is that of the id and is not forgotten.
fn text_at<'h>(
    histories: &'h impl Histories,
    address: u64,
    id: &[u8],
) -> Result<Option<&'h [u8]>, Failure> {
    let Some(text) = histories.text_at(address).map_err(Failure::History)? else {
        return Ok(None);
    };
    let is_its_own = is_line_of(text, id);
    if is_any_unreadable() {
        let line = match is_its_own {
            true => first_line(text),
            // The id and the tab behind it.
            false => text.get(..=id.len()).unwrap_or(text),
        };
        if is_unreadable(line) {
            return Err(Failure::Line(histories.sealed().unreadable_line(address)));
        }
    }
    if !is_its_own || histories.is_forgotten(text).map_err(Failure::History)? {
        return Ok(None);
    }
    Ok(Some(text))
}

/// True when a text begins with the line of `id`. The id ends at the first tab.
pub fn is_line_of(text: &[u8], id: &[u8]) -> bool {
    text.get(id.len()) == Some(&b'\t')
        && text
            .get(..id.len())
            .is_some_and(|told| message_id::same(told, id))
}

/// The first line of a text, without its newline.
pub fn first_line(text: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}
