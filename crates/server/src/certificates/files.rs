//! Certificate chain and key from PEM files.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::{Fault, is_mismatch};

/// A larger file is not read.
pub const PEM_BYTES_MAX: u64 = 1 << 20;
/// Certificates of a chain, the server's own among them.
pub const CERTIFICATES_MAX: usize = 16;

/// Both files, which must fit.
pub(super) fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, Fault> {
    let chain = chain(certificate)?;
    let bytes = contents(key, true)?;
    let secret = PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| Fault::Bad {
        path: key.to_owned(),
        what: no_key(&bytes, &error),
    })?;
    CertifiedKey::from_der(chain, secret, &ring::default_provider()).map_err(|error| {
        if is_mismatch(&error) {
            return Fault::KeyMismatch {
                certificate: certificate.to_owned(),
                key: key.to_owned(),
            };
        }
        // Of the two, rustls tells a bad certificate from a bad key by the kind of its error.
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
        Fault::Bad {
            path: path.to_owned(),
            what,
        }
    })
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let bytes = contents(path, false)?;
    let bad = |what: String| Fault::Bad {
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
            certificate.map_err(|error| bad(format!("certificate {number} is no PEM: {error}")))?,
        );
    }
    if chain.is_empty() {
        return Err(bad(
            "no certificate in it; it must have a part that begins `-----BEGIN CERTIFICATE-----'"
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
        "the private key wants a passphrase, and nobody is there to give it; store it without one"
            .to_owned()
    } else {
        format!(
            "no private key in it ({error}); it must have a part that begins `-----BEGIN PRIVATE KEY-----'"
        )
    }
}

const ENCRYPTED: &[u8] = b"ENCRYPTED";

fn contents(path: &Path, is_secret: bool) -> Result<Vec<u8>, Fault> {
    let unreadable = |error| Fault::Unreadable {
        path: path.to_owned(),
        error,
    };
    // A pipe without a writer would keep the opening waiting.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path);
    let file = file.map_err(unreadable)?;
    let facts = file.metadata().map_err(unreadable)?;
    if !facts.is_file() {
        return Err(Fault::NoFile {
            path: path.to_owned(),
        });
    }
    if is_secret && is_open(facts.mode(), facts.uid()) {
        return Err(Fault::KeyIsOpen {
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
        return Err(Fault::TooLarge {
            path: path.to_owned(),
        });
    }
    Ok(bytes)
}

/// A file of root may be readable by a group: so systemd hands over credentials, and so keys lie in /etc/ssl/private.
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
