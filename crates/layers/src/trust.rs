//! Which server certificates a client trusts: those of the system's CAs, of an own CA, or the one with a fingerprint.

use std::fmt::{self, Write};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore,
    SignatureScheme,
};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::certificate::{Facts, day};
use crate::files::{self, FileError, Kind};

/// Largest file of CA certificates, bytes: those of the whole world take 220 KB.
pub const CA_FILE_BYTES_MAX: u64 = 4 << 20;

/// The SHA-256 hash of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Of a certificate in DER.
    #[must_use]
    pub fn of(certificate: &[u8]) -> Self {
        Fingerprint(Sha256::digest(certificate).into())
    }

    /// Compares in a time that does not depend on the difference.
    fn is(&self, other: &Fingerprint) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        pairs.fold(0, |sum, (one, other)| sum | (one ^ other)) == 0
    }
}

/// As hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// How a client decides whether a certificate is right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// A PEM file of the CAs to trust in place of the system's.
    pub ca: Option<PathBuf>,
    /// The one certificate to trust: then neither its names nor its dates nor its CA count.
    pub fingerprint: Option<Fingerprint>,
    /// The name that the certificate must have in place of the host's.
    pub name: Option<String>,
}

/// TLS to a server cannot be set up.
#[derive(Debug, Error)]
pub enum TrustError {
    /// The CA file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The CA file is not one.
    #[error("{}: {what}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The problem and its solution.
        what: String,
    },
    /// The system has no CA certificates.
    #[error(
        "this machine has no CA certificates{0}: install them (Debian's package is ca-certificates), \
             or set tls_ca or tls_fingerprint"
    )]
    NoRoots(String),
    /// Not a name that a certificate can have.
    #[error("`{0}' is no name that a certificate can have: set tls_name")]
    Name(String),
    /// rustls cannot start.
    #[error("TLS cannot start: {0}")]
    Setup(Error),
}

/// The TLS settings of one server. It is made once, and used for each connection; a clone shares them.
#[derive(Debug, Clone)]
pub struct ClientTrust {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

impl ClientTrust {
    /// Reads what `trust` says about the server `host`, which is a name or an address. The system's CAs are read once in the life of the
    /// process.
    ///
    /// # Errors
    /// See [`TrustError`].
    pub fn new(host: &str, trust: &Trust) -> Result<Self, TrustError> {
        let provider = Arc::new(ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let rule = match (&trust.fingerprint, &trust.ca) {
            (Some(fingerprint), _) => Rule::Fingerprint(*fingerprint),
            (None, Some(path)) => Rule::Signed(verifier(own_roots(path)?)?),
            (None, None) => Rule::Signed(system_verifier()?),
        };
        let verifier = Verifier {
            rule,
            host: host.to_owned(),
            algorithms,
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(TrustError::Setup)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        // Connections live long; each new one looks at the certificate again.
        config.resumption = Resumption::disabled();
        let name = trust.name.as_deref().unwrap_or(host);
        let server = ServerName::try_from(name.to_owned());
        Ok(ClientTrust {
            config: Arc::new(config),
            name: server.map_err(|_| TrustError::Name(name.to_owned()))?,
        })
    }
}

impl ClientTrust {
    /// The settings, for others that drive TLS.
    #[must_use]
    pub fn config(&self) -> ClientConfig {
        (*self.config).clone()
    }
}

/// Settings for connections none of which is encrypted: no certificate is trusted.
///
/// # Errors
/// rustls cannot start.
pub fn trusting_nobody() -> Result<ClientConfig, TrustError> {
    Ok(
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(TrustError::Setup)?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth(),
    )
}

/// What is wrong with a server's certificate, if that is the error; [`ClientTrust`] made the text.
#[must_use]
pub fn certificate_fault(error: &Error) -> Option<String> {
    match error {
        Error::InvalidCertificate(CertificateError::Other(other)) => Some(other.0.to_string()),
        _ => None,
    }
}

/// The verifier of the system's CAs, shared by all servers.
fn system_verifier() -> Result<Arc<WebPkiServerVerifier>, TrustError> {
    static SYSTEM: Mutex<Option<Arc<WebPkiServerVerifier>>> = Mutex::new(None);
    let mut shared = SYSTEM.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(verifier) = &*shared {
        return Ok(Arc::clone(verifier));
    }
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // A few odd certificates in the system's file are no reason to trust none.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let error = found.errors.first().map(|error| format!(" ({error})"));
        return Err(TrustError::NoRoots(error.unwrap_or_default()));
    }
    let verifier = verifier(roots)?;
    *shared = Some(Arc::clone(&verifier));
    Ok(verifier)
}

fn verifier(roots: RootCertStore) -> Result<Arc<WebPkiServerVerifier>, TrustError> {
    let provider = Arc::new(ring::default_provider());
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| TrustError::Setup(Error::General(error.to_string())))
}

fn own_roots(path: &Path) -> Result<RootCertStore, TrustError> {
    let bad = |what: String| TrustError::Bad {
        path: path.to_owned(),
        what,
    };
    let kind = Kind {
        noun: "a file of CA certificates",
        bytes_max: CA_FILE_BYTES_MAX,
        secret: None,
    };
    let bytes = files::read(path, kind)?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let number = roots.len() + 1;
        let certificate = certificate
            .map_err(|error| bad(format!("certificate {number} is not valid PEM: {error}")))?;
        roots
            .add(certificate)
            .map_err(|error| bad(format!("certificate {number} cannot be used: {error}")))?;
    }
    if roots.is_empty() {
        Err(bad(
            "no certificate found; the file must have a part that begins with `-----BEGIN CERTIFICATE-----'"
                .to_owned(),
        ))
    } else {
        Ok(roots)
    }
}

#[derive(Debug)]
enum Rule {
    Fingerprint(Fingerprint),
    Signed(Arc<WebPkiServerVerifier>),
}

/// Checks a server's certificate, and explains its errors.
#[derive(Debug)]
struct Verifier {
    rule: Rule,
    host: String,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// An error that [`crate::LayersError`] shows as it is.
    fn error(&self, what: &str) -> Error {
        let text = format!("the certificate of {} {what}", self.host);
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(
            io::Error::other(text),
        ))))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = match &self.rule {
            Rule::Fingerprint(wanted) => {
                let shown = Fingerprint::of(end_entity);
                return if wanted.is(&shown) {
                    Ok(ServerCertVerified::assertion())
                } else {
                    Err(self.error(&format!(
                        "is not the one of tls_fingerprint: its fingerprint is {shown}"
                    )))
                };
            }
            Rule::Signed(verifier) => verifier.verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            ),
        };
        verified.map_err(|error| match error {
            Error::InvalidCertificate(error) => {
                self.error(&explained(&error, end_entity, server_name))
            }
            error => error,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The fault of a certificate, as the rest of a sentence that begins with `the certificate of HOST`.
fn explained(error: &CertificateError, certificate: &[u8], wanted: &ServerName<'_>) -> String {
    let date = |time: &UnixTime| day(i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
    match error {
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("ended on {}", date(not_after))
        }
        CertificateError::NotValidYetContext { not_before, .. } => format!(
            "begins on {}: perhaps the clock of this machine is wrong",
            date(not_before)
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            let names = Facts::of(certificate).names;
            let whom = match names.split_first() {
                None => "names no host".to_owned(),
                Some((first, rest)) => {
                    let mut whom = format!("is for {first}");
                    for name in rest.iter().take(NAMES_SHOWN - 1) {
                        let _ = write!(whom, ", {name}");
                    }
                    if rest.len() >= NAMES_SHOWN {
                        whom.push_str(" and others");
                    }
                    whom
                }
            };
            format!("{whom}, not for {}", wanted.to_str())
        }
        // The signature is bad where two CAs have the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
            "is signed by nobody this machine knows; tls_ca names a file with the CA, and tls_fingerprint one certificate \
             (that of this one is {})",
            Fingerprint::of(certificate)
        ),
        // webpki's error has no type here.
        CertificateError::Other(other) if other.0.to_string() == "CaUsedAsEndEntity" => format!(
            "is that of a CA (CA:TRUE), which cannot be a server's; make another with basicConstraints=critical,CA:FALSE, or name this one \
             by tls_fingerprint ({})",
            Fingerprint::of(certificate)
        ),
        CertificateError::Revoked => "is revoked".to_owned(),
        error => format!("is not accepted: {error}"),
    }
}

/// Names of a certificate in a message.
const NAMES_SHOWN: usize = 3;
