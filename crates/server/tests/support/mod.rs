//! Certificates made for a test, and a rustls client without a socket.
#![allow(missing_docs, clippy::indexing_slicing)] // a test fails by panicking

pub mod house;

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme,
    SupportedProtocolVersion,
};
use server::certificates::Certificates;
use server::layers::tls::{Fed, Tls, TlsError};

/// A certificate with its key.
pub struct Made {
    pub chain: String,
    pub key: String,
    pub der: CertificateDer<'static>,
    pub secret: PrivateKeyDer<'static>,
}

pub fn make(names: &[&str]) -> Made {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).expect("made");
    Made {
        chain: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
        der: made.cert.der().clone(),
        secret: PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key"),
    }
}

/// Writes chain and key to files in `dir`, each by a rename.
pub fn put(dir: &Path, made: &Made) -> [PathBuf; 2] {
    [
        ("chain.pem", &made.chain, 0o644),
        ("key.pem", &made.key, 0o600),
    ]
    .map(|(name, text, mode)| {
        let path = dir.join(name);
        let fresh = dir.join(format!("{name}.new"));
        std::fs::write(&fresh, text).expect("written");
        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(mode)).expect("mode");
        std::fs::rename(&fresh, &path).expect("renamed");
        path
    })
}

pub fn serving(made: &Made) -> Certificates {
    let dir = tempfile::tempdir().expect("a directory");
    let [chain, key] = put(dir.path(), made);
    Certificates::open(&chain, &key).expect("certificates")
}

#[derive(Debug)]
struct TrustsAll;

impl ServerCertVerifier for TrustsAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// How a client connects.
pub struct Client<'a> {
    pub version: &'static SupportedProtocolVersion,
    /// Its certificates, and the key that it signs with.
    pub shows: Option<(Vec<CertificateDer<'static>>, &'a PrivateKeyDer<'static>)>,
    pub protocols: &'a [&'a [u8]],
    /// Largest record, header included, bytes.
    pub record_bytes: Option<usize>,
}

impl Client<'_> {
    pub fn config(&self) -> Arc<ClientConfig> {
        let provider = ring::default_provider();
        let builder = ClientConfig::builder_with_provider(Arc::new(provider.clone()))
            .with_protocol_versions(&[self.version])
            .expect("versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustsAll));
        let mut config = match &self.shows {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let key = provider
                    .key_provider
                    .load_private_key(key.clone_key())
                    .expect("a key");
                let shown = CertifiedKey::new(chain.clone(), key);
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(shown)))
            }
        };
        config.max_fragment_size = self.record_bytes;
        config.alpn_protocols = self.protocols.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }

    pub fn connect(&self) -> ClientConnection {
        connect(self.config())
    }
}

pub fn connect(config: Arc<ClientConfig>) -> ClientConnection {
    let mut client = ClientConnection::new(
        config,
        ServerName::try_from("news.example").expect("a name"),
    )
    .expect("a client");
    client.set_buffer_limit(None);
    client
}

pub fn plain(version: &'static SupportedProtocolVersion) -> Client<'static> {
    Client {
        version,
        shows: None,
        protocols: &[],
        record_bytes: None,
    }
}

/// All pending output of the client.
pub fn sent(client: &mut ClientConnection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while client.wants_write() {
        client.write_tls(&mut bytes).expect("a Vec takes all");
    }
    bytes
}

/// Passes `bytes` to the client; returns the decrypted data.
pub fn receive(client: &mut ClientConnection, mut bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut read = Vec::new();
    while !bytes.is_empty() {
        if client.read_tls(&mut bytes).expect("room") == 0 {
            break;
        }
        client.process_new_packets()?;
        let mut some = [0; 1 << 16];
        while let Ok(count @ 1..) = client.reader().read(&mut some) {
            read.extend_from_slice(&some[..count]);
        }
    }
    Ok(read)
}

/// Passes `bytes` to the server in portions of `portion` bytes.
pub fn feed(
    tls: &mut Tls,
    bytes: &[u8],
    portion: &mut dyn FnMut() -> usize,
    read: &mut Vec<u8>,
) -> Result<Fed, TlsError> {
    let mut last = Fed {
        plain_bytes: 0,
        is_closed: tls.is_closed(),
    };
    let mut rest = bytes;
    while !rest.is_empty() {
        let (next, after) = rest.split_at(portion().clamp(1, rest.len()));
        last = tls.feed(&mut next.to_vec(), read)?;
        rest = after;
    }
    Ok(last)
}

/// Exchanges data until both ends are silent.
pub fn shake(
    tls: &mut Tls,
    client: &mut ClientConnection,
    portion: &mut dyn FnMut() -> usize,
) -> Result<(), TlsError> {
    loop {
        let bytes = sent(client);
        let mut read = Vec::new();
        let fed = feed(tls, &bytes, portion, &mut read);
        let mut answers = Vec::new();
        tls.pending(&mut answers);
        let received = receive(client, &answers);
        fed?;
        received?;
        assert!(read.is_empty(), "nothing was said yet");
        if bytes.is_empty() && answers.is_empty() {
            return Ok(());
        }
    }
}

pub fn say(client: &mut ClientConnection, text: &[u8]) -> Vec<u8> {
    client.writer().write_all(text).expect("no limit");
    sent(client)
}

/// Pseudo-random sizes, the same in each run.
pub fn portions(mut seed: u64, largest: usize) -> impl FnMut() -> usize {
    move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        1 + usize::try_from(seed % largest as u64).expect("small")
    }
}
