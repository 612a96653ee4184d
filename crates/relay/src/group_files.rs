//! Files of the news directory that control messages read: the descriptions of groups.

use std::io::{self, Read};
use std::path::Path;

use groups::Newsgroups;
use groups::newsgroups::TEXT_BYTES_MAX;
use store::state::group_files::NEWSGROUPS;

use crate::error::Error;

/// Reads the descriptions; a missing file has none.
///
/// # Errors
/// The file cannot be read, or is too large.
pub fn descriptions(news: &Path) -> Result<Newsgroups, Error> {
    let path = NEWSGROUPS.path(news);
    Newsgroups::parse(read(&path)?).map_err(|error| Error::GroupFile {
        doing: "use",
        path,
        source: io::Error::other(error),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let read = store::regular::open(path)
        .and_then(|file| file.take(TEXT_BYTES_MAX as u64 + 1).read_to_end(&mut text));
    match read {
        Ok(_) if text.len() <= TEXT_BYTES_MAX => Ok(text),
        Ok(_) => Err(fault("read", path)(io::Error::other(
            "it is larger than it may be",
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(fault("read", path)(error)),
    }
}

fn fault(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::GroupFile {
        doing,
        path: path.to_owned(),
        source,
    }
}
