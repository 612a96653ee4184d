//! A bucket of an object store that is asked over HTTP: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX`.

mod answer;
mod azure;
mod client;
pub mod endpoint;
mod fault;
mod google;
mod http;
mod login;
pub mod place;
mod provider;
pub mod requests;
mod s3;
mod words;

use std::fmt;
use std::io::{self, Read};
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use layers::{ClientTrust, Trust};
use object_store::path::Path;
use object_store::{
    BackoffConfig, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode,
    RetryConfig,
};
use store::offload::Objects;

pub use http::ANSWER_BYTES_MAX;
pub use login::LOGIN_BYTES_MAX;

use answer::Fault;
use client::{Access, Client};
use endpoint::Endpoint;
use fault::Names;
use login::Login;
use place::BucketUrl;
use requests::Requests;

/// Bytes of a part of an upload, which are in memory at once: 16 MiB. A shorter object goes in one request.
const PART_BYTES: u64 = 16 << 20;
/// Parts of an upload, as S3 allows; Azure allows more.
const PARTS: u64 = 10_000;
/// Time for a request without its bytes, with its repetitions.
const LIMIT: Duration = Duration::from_secs(45);
/// The same of a request for some bytes of an object: a reader waits for them.
const READ_LIMIT: Duration = Duration::from_secs(20);
/// Repetitions of a request that failed.
const RETRIES: usize = 2;
/// Time after which a request is not repeated.
const RETRY_UNTIL: Duration = Duration::from_secs(8);
/// The pause before the first repetition, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// The settings of a bucket, besides its URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BucketSettings {
    /// `https://HOST[:PORT]`; empty: that of the provider.
    pub endpoint: String,
    /// The region, where there are some.
    pub region: String,
    /// The servers that are trusted.
    pub trust: Trust,
    /// The file with the keys.
    pub login: std::path::PathBuf,
}

/// The objects of one site in a bucket.
pub struct Bucket {
    client: Client,
    names: Names,
    prefix: String,
    /// The thread, once it is needed.
    requests: Mutex<Option<Arc<Requests>>>,
}

/// Without the keys.
impl fmt::Debug for Bucket {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Bucket")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl Bucket {
    /// The objects of a site. Reads the keys and the certificates; no request is made and no thread is started.
    ///
    /// # Errors
    /// The settings, or the file of the keys, cannot be used; the error names them.
    pub fn new(bucket: &BucketUrl, site: &str, settings: &BucketSettings) -> io::Result<Bucket> {
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        let provider = bucket.provider;
        let region = provider.region(settings.region.trim());
        let login_file = shown_path(&settings.login);
        let endpoint = Endpoint::parse(&settings.endpoint, provider.path_of_endpoint())
            .map_err(|what| invalid(format!("offload.endpoint {what}")))?;
        let login = Login::read(&settings.login, provider.words())?;
        if let Some(what) = provider.fault_of_login(&login) {
            return Err(invalid(format!("{login_file}: {what}")));
        }
        let endpoint =
            endpoint.unwrap_or_else(|| provider.default_endpoint(&bucket.name, region, &login));
        let tls = if endpoint.is_plain {
            layers::trust::trusting_nobody()
        } else {
            ClientTrust::new(&endpoint.host, &settings.trust).map(|trust| trust.config())
        };
        let tls = tls.map_err(|error| invalid(format!("offload.endpoint: {error}")))?;
        let client = provider.client(Access {
            bucket: &bucket.name,
            endpoint: &endpoint,
            region,
            login,
            retry: RetryConfig {
                backoff: BackoffConfig {
                    init_backoff: PAUSES[0],
                    max_backoff: PAUSES[1],
                    base: 2.0,
                },
                max_retries: RETRIES,
                retry_timeout: RETRY_UNTIL,
            },
            http: http::Http::new(tls, endpoint.is_plain),
        })?;
        let prefix = match bucket.prefix.as_str() {
            "" => site.to_owned(),
            prefix => format!("{prefix}/{site}"),
        };
        Ok(Bucket {
            client,
            names: Names {
                provider,
                bucket: bucket.name.clone(),
                endpoint: endpoint.url,
                region: region.to_owned(),
                login: login_file,
            },
            prefix,
            requests: Mutex::default(),
        })
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}/{name}", self.prefix))
    }

    /// Does some work that moves so many bytes, in the thread.
    fn run<T: Send + 'static>(
        &self,
        bytes: u64,
        work: impl Future<Output = Result<T, object_store::Error>> + Send + 'static,
    ) -> io::Result<T> {
        self.run_within(LIMIT + Duration::from_secs(bytes / http::SLOWEST), work)
    }

    fn run_within<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, object_store::Error>> + Send + 'static,
    ) -> io::Result<T> {
        self.requests()?
            .run(limit, work)
            .map_err(|fault| self.names.error(fault))
    }

    fn requests(&self) -> io::Result<Arc<Requests>> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(requests) = &*requests {
            return Ok(requests.clone());
        }
        Ok(requests.insert(Arc::new(Requests::start()?)).clone())
    }

    /// Some bytes of an object, and what is known of it.
    fn get(&self, name: &str, offset: u64, length: usize) -> io::Result<(ObjectMeta, Vec<u8>)> {
        let (store, path) = (self.client.objects.clone(), self.path(name));
        self.run_within(read_limit(length as u64), async move {
            let range = Some(GetRange::Bounded(offset..offset + length as u64));
            let options = GetOptions {
                range,
                ..GetOptions::default()
            };
            let got = store.get_opts(&path, options).await?;
            let meta = got.meta.clone();
            let mut bytes = Vec::with_capacity(length);
            let mut pieces = got.into_stream();
            while let Some(piece) = pieces.next().await {
                let piece = piece?;
                if bytes.len() + piece.len() > length {
                    return Err(other("the answer has more bytes than were asked for"));
                }
                bytes.extend_from_slice(&piece);
            }
            Ok((meta, bytes))
        })
    }

    /// Stores an object of one part.
    fn put_part(&self, name: &str, content: &mut dyn Read, length: u64) -> io::Result<()> {
        let (store, path) = (self.client.objects.clone(), self.path(name));
        let bytes = read_whole(content, length)?;
        let work = async move { store.put(&path, bytes.into()).await };
        self.run(length, work).map(drop)
    }

    /// Stores an object of more than one part.
    fn put_parts(&self, name: &str, content: &mut dyn Read, length: u64) -> io::Result<()> {
        let (store, path) = (self.client.uploads.clone(), self.path(name));
        let begun = {
            let (store, path) = (store.clone(), path.clone());
            self.run(0, async move { store.create_multipart(&path).await })
        };
        let upload = begun?;
        let mut put = || {
            let part_bytes = PART_BYTES.max(length.div_ceil(PARTS));
            let mut parts = Vec::new();
            let mut left = length;
            while left > 0 {
                let bytes = part_bytes.min(left);
                let part = read_whole(content, bytes)?;
                let (store, path, upload) = (store.clone(), path.clone(), upload.clone());
                let place = parts.len();
                let work = async move { store.put_part(&path, &upload, place, part.into()).await };
                parts.push(self.run(bytes, work)?);
                left -= bytes;
            }
            let (store, path, upload) = (store.clone(), path.clone(), upload.clone());
            self.run(part_bytes, async move {
                store.complete_multipart(&path, &upload, parts).await
            })
        };
        match put() {
            Ok(_) => Ok(()),
            Err(error) => {
                // Its parts would take space and have no name. If this fails too, the rule of the bucket for unfinished uploads removes them.
                let work = async move { store.abort_multipart(&path, &upload).await };
                let _ = self.run(0, work);
                Err(error)
            }
        }
    }
}

/// Time for a request for some bytes of an object, with its repetitions.
fn read_limit(bytes: u64) -> Duration {
    READ_LIMIT.max(Duration::from_secs(bytes / http::SLOWEST))
}

fn shown_path(path: &FilePath) -> String {
    path.display().to_string()
}

fn other(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> object_store::Error {
    object_store::Error::Generic {
        store: "bucket",
        source: what.into(),
    }
}

fn read_whole(content: &mut dyn Read, length: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    content.read_exact(&mut bytes)?;
    Ok(bytes.into())
}

impl Objects for Bucket {
    fn put(&self, name: &str, content: &mut dyn Read, length: u64) -> io::Result<()> {
        let done = if length > PART_BYTES {
            self.put_parts(name, content, length)
        } else {
            self.put_part(name, content, length)
        };
        // A server that refuses a request may close before it has the whole request, and its answer is lost. It gives the
        // same answer to a short request.
        done.map_err(|error| match error.kind() {
            io::ErrorKind::NotConnected => self.length(name).err().unwrap_or(error),
            _ => error,
        })
    }

    fn put_new(&self, name: &str, content: &[u8]) -> io::Result<bool> {
        let (store, path) = (self.client.objects.clone(), self.path(name));
        let bytes = Bytes::copy_from_slice(content);
        let work = async move {
            use object_store::Error::{AlreadyExists, Precondition};
            match store
                .put_opts(&path, bytes.into(), PutMode::Create.into())
                .await
            {
                Ok(_) => Ok(true),
                Err(AlreadyExists { .. } | Precondition { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        };
        match self.requests()?.run(LIMIT, work) {
            // A server that does not know the condition refuses the request. After any other error the object of another may be there.
            Err(Fault::Refused(answer)) if matches!(answer.status, 400 | 501) => {
                self.put(name, &mut &*content, content.len() as u64)?;
                Ok(true)
            }
            done => done.map_err(|fault| self.names.error(fault)),
        }
    }

    fn read(&self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if buffer.is_empty() {
            return Ok(());
        }
        let (_, bytes) = self.get(name, offset, buffer.len())?;
        if bytes.len() < buffer.len() {
            let what = "the object is shorter";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        buffer.copy_from_slice(&bytes);
        Ok(())
    }

    fn length(&self, name: &str) -> io::Result<Option<u64>> {
        // A HEAD request has no body that tells a missing object from a missing bucket, or an archived one. Some servers answer a request for
        // one byte with the whole object, and one for bytes of an empty object without its length: then HEAD tells it.
        match self.get(name, 0, 2) {
            Ok((meta, _)) => Ok(Some(meta.size)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let (store, path) = (self.client.objects.clone(), self.path(name));
                let head = self.run_within(READ_LIMIT, async move { store.head(&path).await });
                head.map(|meta| Some(meta.size)).map_err(|_| error)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(0)),
            Err(error) => Err(error),
        }
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        match self.run(0, self.client.deletions.delete(self.path(name))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_waits_for_a_slow_server_as_long_as_for_a_silent_one() {
        let fetched = store::offload::FETCH_BYTES_MIN;
        assert_eq!(read_limit(fetched), Duration::from_secs(20));
        assert_eq!(read_limit(4 << 20), Duration::from_secs(64));
    }
}
