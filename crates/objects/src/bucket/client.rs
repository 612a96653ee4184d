//! The requests to a bucket, and what is needed to make them.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig};

use super::endpoint::Endpoint;
use super::http::Http;
use super::login::Login;

/// The parts of a client of a bucket.
pub struct Access<'a> {
    /// The name of the bucket.
    pub bucket: &'a str,
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
