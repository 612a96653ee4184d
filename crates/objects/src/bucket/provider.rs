//! The services that have buckets, and the differences between them: each has a file of its own.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig};

use super::fault::{ErrorAnswer, Meaning};
use super::http::Http;
use super::login::Login;
use super::place::{BucketUrl, Endpoint};
use super::{azure, google, s3};

/// A service that has buckets, or a protocol that many speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Amazon S3, and stores with the same protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
}

/// The words of a provider.
#[derive(Debug)]
pub struct Words {
    /// The beginning of its URLs.
    pub scheme: &'static str,
    /// Its word for a bucket.
    pub bucket: &'static str,
    /// The first line of the file of the keys.
    pub key_id: &'static str,
    /// The second line.
    pub secret: &'static str,
}

/// What a client of a bucket is made of.
pub struct Access<'a> {
    /// The bucket.
    pub bucket: &'a BucketUrl,
    /// The servers.
    pub endpoint: &'a Endpoint,
    /// The region, for a provider that has some.
    pub region: &'a str,
    /// The keys.
    pub login: Login,
    /// How failed requests are repeated.
    pub retry: RetryConfig,
    /// The connections.
    pub http: Http,
}

impl Access<'_> {
    /// The error of a bucket for which there is no client.
    pub fn wrong_url(&self, error: &dyn std::error::Error) -> io::Error {
        let what = format!("offload.url: {error}");
        io::Error::new(io::ErrorKind::InvalidInput, what)
    }
}

/// A request that is on its way.
pub type Pending = Pin<Box<dyn Future<Output = object_store::Result<()>> + Send>>;

/// Deletes objects.
pub trait Delete: Send + Sync {
    /// Deletes one.
    fn delete(&self, path: Path) -> Pending;
}

/// The requests to a bucket.
#[derive(Clone)]
pub struct Client {
    /// Whole objects, and parts of them.
    pub objects: Arc<dyn ObjectStore>,
    /// Uploads in parts.
    pub uploads: Arc<dyn MultipartStore>,
    /// Deletions.
    pub deletions: Arc<dyn Delete>,
}

impl Provider {
    /// All of them.
    pub const ALL: [Provider; 3] = [Provider::S3, Provider::Google, Provider::Azure];

    /// Its words.
    pub fn words(self) -> &'static Words {
        match self {
            Provider::S3 => &s3::WORDS,
            Provider::Google => &google::WORDS,
            Provider::Azure => &azure::WORDS,
        }
    }

    /// The fault of the name of a bucket, as the rest of a sentence that begins with the setting's name.
    pub fn fault_of_bucket(self, name: &str) -> Option<String> {
        match self {
            Provider::S3 | Provider::Google => s3::fault_of_bucket(self, name),
            Provider::Azure => azure::fault_of_container(name),
        }
    }

    /// The fault of a region; there is none where regions do not matter.
    pub fn fault_of_region(self, region: &str) -> Option<String> {
        match self {
            Provider::S3 => s3::fault_of_region(region),
            Provider::Google | Provider::Azure => None,
        }
    }

    /// The region in signatures.
    pub fn region(self, setting: &str) -> &str {
        match self {
            Provider::S3 => setting,
            Provider::Google => google::REGION,
            Provider::Azure => "",
        }
    }

    /// Whether an endpoint may end in the name of an account.
    pub fn has_path(self) -> bool {
        self == Provider::Azure
    }

    /// The fault of the keys, as the rest of a sentence, where a look at them tells it.
    pub fn fault_of_login(self, login: &Login) -> Option<&'static str> {
        match self {
            Provider::S3 | Provider::Google => None,
            Provider::Azure => azure::fault_of_login(login),
        }
    }

    /// The endpoint of a bucket for which none is set.
    pub fn default_endpoint(self, bucket: &BucketUrl, region: &str, login: &Login) -> Endpoint {
        match self {
            Provider::S3 => s3::endpoint(bucket, region),
            Provider::Google => google::endpoint(),
            Provider::Azure => azure::endpoint(login),
        }
    }

    /// The client of a bucket.
    ///
    /// # Errors
    /// The settings, or the keys, cannot be used; the error names them.
    pub fn client(self, access: Access<'_>) -> io::Result<Client> {
        match self {
            Provider::S3 | Provider::Google => s3::client(access),
            Provider::Azure => azure::client(access),
        }
    }

    /// The meaning of an answer that refuses a request, if its code tells.
    pub fn meaning(self, answer: &ErrorAnswer) -> Option<Meaning> {
        match self {
            Provider::S3 => s3::meaning(answer),
            Provider::Google => google::meaning(answer),
            Provider::Azure => azure::meaning(answer),
        }
    }
}
