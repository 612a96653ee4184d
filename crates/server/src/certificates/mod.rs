//! The server's certificate and key: read from PEM files, replaced live when the files change.

mod der;
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

use crate::layers::client_certificate::AnyProven;

pub use der::Facts;
pub use files::{CERTIFICATES_MAX, PEM_BYTES_MAX};
pub use watch::Watching;

/// What clients may ask for by ALPN (RFC 7301): reading and transit. One that asks for something else only (a browser)
/// is turned away in the handshake.
const PROTOCOLS: [&[u8]; 2] = [b"nntp", b"nnsp"];

/// Why there is no TLS.
#[derive(Debug, Error)]
pub enum Fault {
    /// A file cannot be read.
    #[error("{}: cannot be read: {error}{}", path.display(), hint(error))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file is larger than `PEM_BYTES_MAX`.
    #[error("{}: more than {PEM_BYTES_MAX} bytes are no PEM file of certificates or a key", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A directory, a pipe or the like.
    #[error("{}: is no regular file; say in broadsheet.toml where the file is", path.display())]
    NoFile {
        /// What was named.
        path: PathBuf,
    },
    /// Others may read the key.
    #[error("{}: others may read this private key (mode {mode:04o}); run `chmod 600' on it, \
             or `chmod 640' where it belongs to root and to the server's group", path.display())]
    KeyIsOpen {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file is no PEM, or damaged.
    #[error("{}: {what}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
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
    /// rustls cannot work here: no random numbers.
    #[error("TLS cannot start: {0}")]
    Setup(rustls::Error),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; the server runs as a user that may not read it: give it a copy (a deploy hook of the tool that renews it), \
             or a group"
        }
        io::ErrorKind::NotFound => "; say in broadsheet.toml where it is",
        _ => "",
    }
}

/// Certificate chain and key, as they are now, and the TLS settings that serve them.
pub struct Certificates {
    certificate: PathBuf,
    key: PathBuf,
    served: Arc<Served>,
    config: Arc<ServerConfig>,
    /// One reading at a time: a watcher and SIGHUP may come together.
    reading: Mutex<()>,
}

impl Certificates {
    /// Reads both files. `certificate` holds the server's own certificate and then its issuers' (certbot's
    /// fullchain.pem), `key` its private key (privkey.pem); both may be the same file.
    ///
    /// # Errors
    /// See `Fault`: each names the file and what to do.
    pub fn open(certificate: &Path, key: &Path) -> Result<Self, Fault> {
        let first = files::read(certificate, key)?;
        let served = Arc::new(Served(RwLock::new(Arc::new(first))));
        Ok(Certificates {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            config: Arc::new(config(Arc::clone(&served)).map_err(Fault::Setup)?),
            served,
            reading: Mutex::new(()),
        })
    }

    /// For `layers::tls::Tls::new`. It is the same for ever: a new certificate is served through it too, and tickets of
    /// earlier sessions stay good.
    #[must_use]
    pub fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }

    /// Reads the files again (SIGHUP, or they changed). True when the certificate is another than before; connections
    /// that are there keep the old one.
    ///
    /// # Errors
    /// As `open`; the old certificate is still served.
    pub fn reload(&self) -> Result<bool, Fault> {
        let _turn = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let next = files::read(&self.certificate, &self.key)?;
        // A key that fits to the same certificate is the same key.
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

    /// Reloads whenever the files change, in a thread of its own that sleeps until then. `say` gets a line for the
    /// journal for each change and each fault. Ends when the value is dropped.
    ///
    /// # Errors
    /// No inotify, or no thread.
    pub fn watch(self: &Arc<Self>, say: impl Fn(&str) + Send + 'static) -> io::Result<Watching> {
        watch::start(Arc::clone(self), Box::new(say))
    }

    /// Names and end of the certificate that is served now.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let served = self.served.now();
        Facts::of(served.cert.first().map_or(&[][..], AsRef::as_ref))
    }

    /// The files, as they were named.
    #[must_use]
    pub fn paths(&self) -> [&Path; 2] {
        [&self.certificate, &self.key]
    }
}

/// What the next handshake shows.
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

/// Is this key the one of this certificate? What cannot be compared counts as yes.
fn is_mismatch(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)
    )
}
