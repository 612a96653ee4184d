//! Amazon S3, and stores that speak like it (Garage, MinIO, Ceph): `s3://BUCKET/PREFIX`.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;

use object_store::ObjectStoreExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;

use super::answer::{ErrorAnswer, Meaning};
use super::client::{Access, Client, Delete, Pending};
use super::endpoint::Endpoint;
use super::words::{Words, is_name};

/// Its words.
pub const WORDS: Words = Words {
    scheme: "s3://",
    bucket: "bucket",
    key_id: "access key",
    secret: "secret key",
};
/// Length of the name of a bucket, bytes.
const BUCKET_BYTES: RangeInclusive<usize> = 3..=63;

/// The fault of the name of a bucket, as the rest of a sentence that begins with the setting's name.
pub fn fault_of_bucket(words: &Words, name: &str) -> Option<String> {
    let is_right = BUCKET_BYTES.contains(&name.len()) && name.chars().all(is_name);
    let scheme = words.scheme;
    (!is_right).then(|| {
        format!(
            "needs the name of a bucket, 3 to 63 letters, digits, `.' and `-': {scheme}news-articles/PREFIX, not `{name}'"
        )
    })
}

/// The fault of a region, as the rest of a sentence that begins with the setting's name.
pub fn fault_of_region(region: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_right = !region.is_empty() && region.len() <= 64 && region.chars().all(is_name);
    (!is_right).then(|| {
        format!("is the name of a region, such as \"eu-central-1\" or \"garage\", not `{region}'")
    })
}

/// Amazon's endpoint of a bucket.
pub fn endpoint(bucket: &str, region: &str) -> Endpoint {
    // A certificate for all buckets has none with a dot.
    let has_bucket = !bucket.contains('.');
    let host = if has_bucket {
        format!("{}.s3.{region}.amazonaws.com", bucket)
    } else {
        format!("s3.{region}.amazonaws.com")
    };
    Endpoint {
        url: format!("https://{host}"),
        host,
        is_plain: false,
        has_bucket,
    }
}

/// The client of a bucket.
///
/// # Errors
/// The settings cannot be used.
pub fn client(access: Access<'_>) -> io::Result<Client> {
    let store = AmazonS3Builder::new()
        .with_bucket_name(access.bucket)
        .with_region(access.region)
        .with_endpoint(&access.endpoint.url)
        .with_virtual_hosted_style_request(access.endpoint.has_bucket)
        .with_access_key_id(&access.login.key_id)
        .with_secret_access_key(&access.login.secret)
        .with_disable_bulk_delete(true)
        .with_retry(access.retry.clone())
        .with_http_connector(access.http.clone())
        .build()
        .map_err(|error| access.wrong_url(&error))?;
    let store = Arc::new(store);
    Ok(Client {
        objects: store.clone(),
        uploads: store.clone(),
        deletions: Arc::new(Deletions(store)),
    })
}

struct Deletions(Arc<AmazonS3>);

impl Delete for Deletions {
    fn delete(&self, path: Path) -> Pending {
        let store = self.0.clone();
        Box::pin(async move { store.delete(&path).await })
    }
}

/// The meaning of an answer that refuses a request.
pub fn meaning(answer: &ErrorAnswer) -> Option<Meaning> {
    Some(match (answer.code.as_str(), answer.status) {
        ("NoSuchKey", 404) => Meaning::Missing,
        ("InvalidObjectState", _) => Meaning::Archived,
        ("NoSuchBucket", _) => Meaning::NoBucket,
        ("InvalidAccessKeyId" | "InvalidClientTokenId" | "XAdminUserNotFound", _) => {
            Meaning::UnknownKey
        }
        ("SignatureDoesNotMatch", _) => Meaning::WrongSecret,
        ("RequestTimeTooSkewed" | "RequestExpired", _) => Meaning::Clock,
        (
            "AuthorizationHeaderMalformed"
            | "IllegalLocationConstraintException"
            | "PermanentRedirect"
            | "TemporaryRedirect"
            | "InvalidRegion",
            _,
        )
        | (_, 300..=399) => Meaning::Region,
        ("QuotaExceeded" | "XMinioStorageFull", _) => Meaning::Full,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amazon_has_an_endpoint_for_each_region() {
        let found = endpoint("news-articles", "eu-central-1");
        assert_eq!(
            found.url,
            "https://news-articles.s3.eu-central-1.amazonaws.com"
        );
        assert!(found.has_bucket && !found.is_plain);
        let found = endpoint("news.articles", "eu-central-1");
        assert_eq!(found.url, "https://s3.eu-central-1.amazonaws.com");
        assert!(fault_of_region("eu-central-1").is_none());
        assert!(fault_of_region("").is_some() && fault_of_region("a/b").is_some());
    }
}
