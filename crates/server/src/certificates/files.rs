//! Reads certificate chain and key from PEM files.

use std::path::Path;

use layers::files::{self, Kind};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::{CertificateError, is_mismatch};

/// Largest PEM file, bytes.
pub const PEM_BYTES_MAX: u64 = 1 << 20;
/// Longest certificate chain, the server's own certificate included.
pub const CERTIFICATES_MAX: usize = 16;

const CERTIFICATE: Kind = Kind {
    noun: "a PEM file of certificates or a key",
    bytes_max: PEM_BYTES_MAX,
    secret: None,
};
const KEY: Kind = Kind {
    secret: Some("private key"),
    ..CERTIFICATE
};

/// Reads both files and checks that they belong together.
pub(super) fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, CertificateError> {
    let chain = chain(certificate)?;
    let bytes = files::read(key, KEY)?;
    let secret = PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| CertificateError::Bad {
        path: key.to_owned(),
        what: no_key(&bytes, &error),
    })?;
    CertifiedKey::from_der(chain, secret, &ring::default_provider()).map_err(|error| {
        if is_mismatch(&error) {
            return CertificateError::KeyMismatch {
                certificate: certificate.to_owned(),
                key: key.to_owned(),
            };
        }
        // The type of the error tells which of the two files is bad.
        let (path, what) = match error {
            rustls::Error::InvalidCertificate(error) => (
                certificate,
                format!("the first certificate cannot be used: {error}"),
            ),
            error => (
                key,
                format!("this private key cannot be used ({error}); ECDSA P-256, Ed25519 and RSA from 2048 bits can"),
            ),
        };
        CertificateError::Bad {
            path: path.to_owned(),
            what,
        }
    })
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let bytes = files::read(path, CERTIFICATE)?;
    let bad = |what: String| CertificateError::Bad {
        path: path.to_owned(),
        what,
    };
    let mut chain = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        if chain.len() == CERTIFICATES_MAX {
            return Err(bad(format!(
                "more than {CERTIFICATES_MAX} certificates; a chain is the server's own and its issuers'"
            )));
        }
        let number = chain.len() + 1;
        chain.push(
            certificate
                .map_err(|error| bad(format!("certificate {number} is not valid PEM: {error}")))?,
        );
    }
    if chain.is_empty() {
        return Err(bad(
            "no certificate found; the file must have a part that begins with `-----BEGIN CERTIFICATE-----'"
                .to_owned(),
        ));
    }
    Ok(chain)
}

fn no_key(bytes: &[u8], error: &dyn std::fmt::Display) -> String {
    let is_encrypted = bytes
        .windows(ENCRYPTED.len())
        .any(|window| window == ENCRYPTED);
    if is_encrypted {
        "the private key is encrypted with a passphrase; store it without one".to_owned()
    } else {
        format!(
            "no private key found ({error}); the file must have a part that begins with `-----BEGIN PRIVATE KEY-----'"
        )
    }
}

const ENCRYPTED: &[u8] = b"ENCRYPTED";
