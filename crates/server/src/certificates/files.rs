//! Reads certificate chain and key from PEM files.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::{CertificateError, is_mismatch};

/// Largest PEM file, bytes.
pub const PEM_BYTES_MAX: u64 = 1 << 20;
/// Longest certificate chain, the server's own certificate included.
pub const CERTIFICATES_MAX: usize = 16;

/// Reads both files and checks that they belong together.
pub(super) fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, CertificateError> {
    let chain = chain(certificate)?;
    let bytes = contents(key, true)?;
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
    let bytes = contents(path, false)?;
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

fn contents(path: &Path, is_secret: bool) -> Result<Vec<u8>, CertificateError> {
    let unreadable = |error| CertificateError::Unreadable {
        path: path.to_owned(),
        error,
    };
    // Opening a pipe without a writer would block.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path);
    let file = file.map_err(unreadable)?;
    let facts = file.metadata().map_err(unreadable)?;
    if !facts.is_file() {
        return Err(CertificateError::NoFile {
            path: path.to_owned(),
        });
    }
    if is_secret && is_open(facts.mode(), facts.uid()) {
        return Err(CertificateError::KeyIsOpen {
            path: path.to_owned(),
            mode: facts.mode() & 0o7777,
        });
    }
    let mut bytes = Vec::new();
    let count = file
        .take(PEM_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if u64::try_from(count).unwrap_or(u64::MAX) > PEM_BYTES_MAX {
        return Err(CertificateError::TooLarge {
            path: path.to_owned(),
        });
    }
    Ok(bytes)
}

/// Whether others may read the key. The group of root's file may: systemd credentials and /etc/ssl/private work that way.
fn is_open(mode: u32, owner: u32) -> bool {
    let forbidden = if owner == 0 { 0o037 } else { 0o077 };
    mode & forbidden != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_lets_a_group_read_a_key() {
        assert!(!is_open(0o100_600, 1000));
        assert!(!is_open(0o100_400, 1000));
        assert!(is_open(0o100_640, 1000));
        assert!(!is_open(0o100_640, 0));
        assert!(is_open(0o100_660, 0));
        assert!(is_open(0o100_644, 0));
    }
}
