//! Object stores for the articles of sealed segments ([`store::offload::Objects`]). A URL names the store; below it, the site's name keeps the
//! objects of several sites apart.

mod bucket;
mod directory;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use store::offload::{Connection, Objects};

pub use bucket::place::PREFIX_BYTES_MAX;
pub use bucket::requests::{Job, Spawn, start_threads_by};
pub use bucket::{ANSWER_BYTES_MAX, Bucket, BucketSettings, LOGIN_BYTES_MAX};
pub use directory::Directory;
pub use layers::{Fingerprint, Trust};

use bucket::endpoint::Endpoint;
use bucket::place::BucketUrl;

/// Where the objects of a site are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// `file:///DIRECTORY`, `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`.
    pub url: String,
    /// The news directory whose articles move there, if there is one: objects in a directory lie outside of it.
    pub news: Option<PathBuf>,
    /// How to reach a bucket.
    pub bucket: BucketSettings,
    /// The site's name.
    pub site: String,
    /// Largest size of the local cache, bytes.
    pub cache_bytes_max: u64,
}

/// A store that a URL names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Directory(PathBuf),
    Bucket(BucketUrl),
}

impl Place {
    fn parse(url: &str) -> Result<Place, String> {
        if let Some(path) = url.strip_prefix("file://") {
            return match path.starts_with('/') && path.len() > 1 {
                true => Ok(Place::Directory(path.into())),
                false => Err("needs a full path: file:///srv/articles".to_owned()),
            };
        }
        if let Some(bucket) = BucketUrl::parse(url) {
            return bucket.map(Place::Bucket);
        }
        Err(
            "is not the URL of an object store: write file:///DIRECTORY, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX"
                .to_owned(),
        )
    }
}

/// Whether a URL names a bucket.
pub fn is_bucket(url: &str) -> bool {
    matches!(Place::parse(url), Ok(Place::Bucket(_)))
}

/// Returns the faults of a URL, an endpoint and a region: the key of each in `[offload]`, and the rest of a sentence that begins with the
/// setting's name.
pub fn faults_of(url: &str, endpoint: &str, region: &str) -> Vec<(&'static str, String)> {
    let bucket = match Place::parse(url) {
        Err(what) => return vec![("url", what)],
        Ok(Place::Directory(_)) => return Vec::new(),
        Ok(Place::Bucket(bucket)) => bucket,
    };
    let endpoint = Endpoint::parse(endpoint, bucket.provider.path_of_endpoint()).err();
    let faults = endpoint.map(|what| ("endpoint", what)).into_iter();
    let region = bucket.provider.fault_of_region(region.trim());
    faults.chain(region.map(|what| ("region", what))).collect()
}

/// Connects to an object store. Nothing is asked of it before it is used.
///
/// # Errors
/// The URL, the site's name, or what is needed to reach a bucket cannot be used.
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
        Place::Directory(root) => {
            let objects = resolved(&root);
            if let Some(news) = location.news.as_deref().map(resolved)
                && (objects.starts_with(&news) || news.starts_with(&objects))
            {
                return Err(invalid(format!(
                    "`[offload] url' in broadsheet.toml names {}, and the news directory is {}: neither may be in the other",
                    root.display(),
                    news.display()
                )));
            }
            Arc::new(Directory::new(root, site))
        }
        Place::Bucket(bucket) => Arc::new(Bucket::new(&bucket, site, &location.bucket)?),
    };
    Ok(Connection {
        objects,
        cache_bytes_max: location.cache_bytes_max,
    })
}

/// A path without symbolic links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    found.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_and_names_that_can_be_used_are_taken() {
        let location = |url: &str, site: &str| Location {
            url: url.to_owned(),
            site: site.to_owned(),
            news: Some("/var/spool/news".into()),
            bucket: BucketSettings::default(),
            cache_bytes_max: 1,
        };
        assert!(connect(&location("file:///srv/articles", "news.example.org")).is_ok());
        for (url, site) in [
            ("file://srv/articles", "a"),
            ("file:///", "a"),
            ("file:///var/spool/news/objects", "a"),
            ("file:///var/spool", "a"),
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
