//! Object stores for the articles of sealed segments ([`store::offload::Objects`]). A URL names the store; below it, the site's name keeps the
//! objects of several sites apart.

mod directory;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use store::offload::{Connection, Objects};

pub use directory::Directory;

/// Where the objects of a site are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// `file:///DIRECTORY`.
    pub url: String,
    /// The site's name.
    pub site: String,
    /// Largest size of the local cache, bytes.
    pub cache_bytes_max: u64,
}

/// A store that a URL names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Directory(PathBuf),
}

impl Place {
    fn parse(url: &str) -> Result<Place, String> {
        if let Some(path) = url.strip_prefix("file://") {
            return match path.starts_with('/') && path.len() > 1 {
                true => Ok(Place::Directory(path.into())),
                false => Err("needs a full path: file:///srv/articles".to_owned()),
            };
        }
        Err("is not the URL of an object store: write file:///DIRECTORY".to_owned())
    }
}

/// Returns the fault of a URL, as the rest of a sentence that begins with the setting's name.
pub fn fault_of_url(url: &str) -> Option<String> {
    Place::parse(url).err()
}

/// Connects to an object store. A directory is not looked at before it is used.
///
/// # Errors
/// The URL or the site's name cannot be used.
pub fn connect(location: &Location) -> io::Result<Connection> {
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
    if location.url.is_empty() {
        return Err(invalid(
            "`[offload] url' in broadsheet.toml is empty".to_owned(),
        ));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let site = location.site.as_str();
    if site.is_empty() || site.starts_with('.') || !site.chars().all(is_name) {
        return Err(invalid(format!(
            "the site's name {site:?} cannot be part of the names of objects"
        )));
    }
    let place = Place::parse(&location.url)
        .map_err(|what| invalid(format!("`[offload] url' in broadsheet.toml {what}")))?;
    let objects: Arc<dyn Objects> = match place {
        Place::Directory(root) => Arc::new(Directory::new(root, site)),
    };
    Ok(Connection {
        objects,
        cache_bytes_max: location.cache_bytes_max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_and_names_that_can_be_used_are_taken() {
        let location = |url: &str, site: &str| Location {
            url: url.to_owned(),
            site: site.to_owned(),
            cache_bytes_max: 1,
        };
        assert!(connect(&location("file:///srv/articles", "news.example.org")).is_ok());
        for (url, site) in [
            ("file://srv/articles", "a"),
            ("file:///", "a"),
            ("/srv/articles", "a"),
            ("", "a"),
            ("file:///srv", ".."),
            ("file:///srv", "a/b"),
            ("file:///srv", ""),
        ] {
            assert!(connect(&location(url, site)).is_err(), "{url} {site}");
        }
    }
}
