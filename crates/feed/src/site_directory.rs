//! The directory of a site, below `feeds/`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use groups::shown;

use crate::error::Error;

/// The directory of all sites, in the news directory.
pub const FEEDS: &str = "feeds";
/// Longest site name, bytes, as of a file name.
pub const SITE_NAME_BYTES_MAX: usize = 255;

/// The directory of a site.
///
/// # Errors
/// [`Error::Name`] if the name is not a valid file name.
pub fn directory(news: &Path, site: &[u8]) -> Result<PathBuf, Error> {
    let is_plain = !matches!(site, b"" | b"." | b"..")
        && site.len() <= SITE_NAME_BYTES_MAX
        && !site
            .iter()
            .any(|&byte| byte == b'/' || byte.is_ascii_control());
    if is_plain {
        Ok(news.join(FEEDS).join(OsStr::from_bytes(site)))
    } else {
        Err(Error::Name(shown(site)))
    }
}
