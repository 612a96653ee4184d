//! Certificates made for a test, and a server without a socket.
#![allow(missing_docs)] // a test fails by panicking

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use layers::{ClientLayers, ClientTrust, Fingerprint, LayersError, Received, Trust};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};

pub const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];

/// A CA, and its file.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    pub file: PathBuf,
    _dir: tempfile::TempDir,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a CA");
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("ca.pem");
        std::fs::write(&file, issuer.pem()).expect("written");
        Authority {
            issuer,
            file,
            _dir: dir,
        }
    }

    pub fn trust(&self) -> Trust {
        Trust {
            ca: Some(self.file.clone()),
            ..Trust::default()
        }
    }

    /// A certificate for these names, changed by `change`.
    pub fn certify(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Shown {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let made = params.signed_by(&key, &self.issuer).expect("a certificate");
        Shown::new(made.der().clone(), &key)
    }
}

/// What a server shows.
pub struct Shown {
    pub der: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Shown {
    pub fn new(der: CertificateDer<'static>, key: &KeyPair) -> Self {
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        Shown { der, key }
    }

    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.der)
    }

    pub fn server(&self, version: &'static SupportedProtocolVersion) -> ServerConnection {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.der.clone()], self.key.clone_key())
            .expect("a certificate");
        let mut server = ServerConnection::new(Arc::new(config)).expect("a server");
        server.set_buffer_limit(None);
        server
    }
}

/// Gives `bytes` to the server; returns what they say.
pub fn hear(server: &mut ServerConnection, mut bytes: &[u8]) -> Vec<u8> {
    let mut heard = Vec::new();
    while !bytes.is_empty() {
        server.read_tls(&mut bytes).expect("room");
        let processed = server.process_new_packets();
        if processed.is_err() {
            break;
        }
        let mut some = [0; 1 << 16];
        while let Ok(count @ 1..) = server.reader().read(&mut some) {
            heard.extend_from_slice(some.get(..count).expect("in it"));
        }
    }
    heard
}

/// What the server sends, with `text` at its end.
pub fn answer(server: &mut ServerConnection, text: &[u8]) -> Vec<u8> {
    server.writer().write_all(text).expect("no limit");
    let mut bytes = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut bytes).expect("a Vec takes all");
    }
    bytes
}

/// Gives `bytes` to the client in portions, and takes all that comes out of it.
pub fn receive(
    layers: &mut ClientLayers,
    bytes: &[u8],
    portion: usize,
    plain: &mut Vec<u8>,
) -> Result<Received, LayersError> {
    let mut last = Received::default();
    for portion in bytes.chunks(portion) {
        last = layers.receive(&mut portion.to_vec(), plain)?;
        while last.is_more {
            last = layers.receive(&mut [], plain)?;
        }
    }
    Ok(last)
}

/// Exchanges handshake messages until both are silent.
pub fn shake(
    layers: &mut ClientLayers,
    server: &mut ServerConnection,
    portion: usize,
) -> Result<(), LayersError> {
    loop {
        let mut raw = Vec::new();
        layers.pending(&mut raw);
        assert!(hear(server, &raw).is_empty());
        let answered = answer(server, b"");
        if raw.is_empty() && answered.is_empty() {
            return Ok(());
        }
        let mut plain = Vec::new();
        receive(layers, &answered, portion, &mut plain)?;
        assert!(plain.is_empty());
    }
}

/// A client and a server after their handshake.
pub fn pair(
    version: &'static SupportedProtocolVersion,
    portion: usize,
) -> (ClientLayers, ServerConnection) {
    let authority = Authority::new();
    let shown = authority.certify(&["news.example"], |_| {});
    let trust = ClientTrust::new("news.example", &authority.trust()).expect("trust");
    let mut server = shown.server(version);
    let mut layers = ClientLayers::implicit(&trust).expect("layers");
    shake(&mut layers, &mut server, portion).expect("a handshake");
    (layers, server)
}
