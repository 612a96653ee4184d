//! Client certificates: requested, not required; any is accepted if the client proves its private key.
//!
//! No authority is checked: access rules identify a client by the fingerprint of its certificate, as in SSH.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// Longest certificate chain, bytes: the connection and each session ticket hold it.
pub const CHAIN_BYTES_MAX: usize = 24 << 10;

/// Verifies only the signature that proves the private key: no names, dates or issuers.
#[derive(Debug)]
pub struct AnyProven {
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyProven {
    /// A verifier with these signature algorithms.
    #[must_use]
    pub fn new(algorithms: WebPkiSupportedAlgorithms) -> Self {
        AnyProven { algorithms }
    }
}

impl ClientCertVerifier for AnyProven {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let issuers: usize = intermediates.iter().map(|issuer| issuer.len()).sum();
        if end_entity.len() + issuers > CHAIN_BYTES_MAX {
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        // The fingerprint is the identity. The key is proven below, or the handshake ends.
        Ok(ClientCertVerified::assertion())
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
