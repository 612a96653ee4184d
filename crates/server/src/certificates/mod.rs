//! The server's certificate and key: read from PEM files, and replaced at runtime when the files change.

mod client_certificate;
mod files;
mod watch;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustls::crypto::ring;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{InconsistentKeys, ServerConfig};
use thiserror::Error;

use client_certificate::AnyProven;

pub use client_certificate::CHAIN_BYTES_MAX;
pub use files::{CERTIFICATES_MAX, PEM_BYTES_MAX};
pub use layers::certificate::Facts;
pub use layers::files::FileError;
pub use watch::Watching;

/// ALPN protocols (RFC 7301): reading and transit. The handshake rejects a client that offers only others, such as a browser.
const PROTOCOLS: [&[u8]; 2] = [b"nntp", b"nnsp"];

/// TLS is not available.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file cannot be read, or others may read the key.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not PEM, or damaged.
    #[error("{}: {what}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The problem and its solution.
        what: String,
    },
    /// The key belongs to another certificate.
    #[error("{}: this key does not belong to the first certificate in {}; \
             the server's own certificate must come first, then those of the issuers", key.display(), certificate.display())]
    KeyMismatch {
        /// The file of certificates.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// rustls cannot start: no random numbers.
    #[error("TLS cannot start: {0}")]
    Setup(rustls::Error),
}

/// The current certificate chain and key, and the TLS settings that serve them.
pub struct Certificates {
    certificate: PathBuf,
    key: PathBuf,
    served: Arc<Served>,
    config: Arc<ServerConfig>,
    /// Serializes reloads: the watcher and SIGHUP may coincide.
    reading: Mutex<()>,
}

impl Certificates {
    /// Reads both files. `certificate` holds the server's own certificate and then its issuers' (certbot's
    /// fullchain.pem), `key` its private key (privkey.pem); both may be the same file.
    ///
    /// # Errors
    /// See `CertificateError`.
    pub fn open(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let first = files::read(certificate, key)?;
        let served = Arc::new(Served(RwLock::new(Arc::new(first))));
        Ok(Certificates {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            config: Arc::new(config(Arc::clone(&served)).map_err(CertificateError::Setup)?),
            served,
            reading: Mutex::new(()),
        })
    }

    /// The configuration for `layers::tls::Tls::new`. It stays the same: it also serves new certificates, and session tickets stay valid.
    #[must_use]
    pub fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }

    /// Reads the files again, after SIGHUP or a change. Returns true if the certificate is a new one; existing connections keep the old.
    ///
    /// # Errors
    /// As `open`; the old certificate is still served.
    pub fn reload(&self) -> Result<bool, CertificateError> {
        let _guard = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let next = files::read(&self.certificate, &self.key)?;
        // The same certificate has the same key.
        if next.cert == self.served.now().cert {
            return Ok(false);
        }
        *self
            .served
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        Ok(true)
    }

    /// Reloads whenever the files change, in a thread that sleeps until then. `say` gets a log line for each change and each error. The
    /// watch ends when the value is dropped.
    ///
    /// # Errors
    /// inotify or the thread cannot be started.
    pub fn watch(self: &Arc<Self>, say: impl Fn(&str) + Send + 'static) -> io::Result<Watching> {
        watch::start(Arc::clone(self), Box::new(say))
    }

    /// Names and expiry of the current certificate.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let served = self.served.now();
        Facts::of(served.cert.first().map_or(&[][..], AsRef::as_ref))
    }

    /// The paths of certificate and key.
    #[must_use]
    pub fn paths(&self) -> [&Path; 2] {
        [&self.certificate, &self.key]
    }
}

/// The certificate for the next handshake.
#[derive(Debug)]
struct Served(RwLock<Arc<CertifiedKey>>);

impl Served {
    fn now(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ResolvesServerCert for Served {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.now())
    }
}

fn config(served: Arc<Served>) -> Result<ServerConfig, rustls::Error> {
    let provider = ring::default_provider();
    let clients = AnyProven::new(provider.signature_verification_algorithms);
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_client_cert_verifier(Arc::new(clients))
        .with_cert_resolver(served);
    config.alpn_protocols = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
    // Tickets hold the session, so that the server holds none.
    config.ticketer = ring::Ticketer::new()?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

/// Whether rustls reports that the key does not belong to the certificate.
fn is_mismatch(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)
    )
}
