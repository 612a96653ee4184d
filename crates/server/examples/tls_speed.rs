//! How fast TLS is here, and what an idle connection takes: `cargo run --release -p server --example tls_speed`.
//!
//! Figures of one core, in its own time, whatever else runs: articles of 3 KB in pieces of 256 KB, both ways, and the memory of many idle connections.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::crypto::ring::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme,
    SupportedCipherSuite,
};
use server::certificates::Certificates;
use server::layers::deflate::Deflate;
use server::layers::tls::Tls;

const PIECE_BYTES: usize = 256 << 10;
const ROUNDS: usize = 4000;
const IDLE: usize = 5000;

fn main() {
    let dir = std::env::temp_dir().join(format!("tls-speed-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["news.example".to_owned()]).unwrap();
    let path = dir.join("both.pem");
    let both = made.cert.pem() + &made.signing_key.serialize_pem();
    std::fs::write(&path, both).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let certificates = Certificates::open(&path, &path).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    for suite in [
        TLS13_AES_128_GCM_SHA256,
        TLS13_AES_256_GCM_SHA384,
        TLS13_CHACHA20_POLY1305_SHA256,
    ] {
        speed(&certificates, suite);
    }
    memory(&certificates);
    compression();
}

fn speed(certificates: &Certificates, suite: SupportedCipherSuite) {
    let (mut tls, mut client) = connected(certificates, suite);
    println!("{}", tls.description());
    let piece: Vec<u8> = (0..PIECE_BYTES).map(|at| (at * 31 % 97) as u8).collect();
    let mut cipher = Vec::new();
    let began = processor();
    for _ in 0..ROUNDS {
        cipher.clear();
        tls.seal(&piece, &mut cipher).unwrap();
    }
    tell("  seal", began, ROUNDS * PIECE_BYTES);
    let mut seconds = 0.0;
    let (mut received, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS / 4 {
        client.writer().write_all(&piece).unwrap();
        received.clear();
        while client.wants_write() {
            client.write_tls(&mut received).unwrap();
        }
        let began = processor();
        // As from a socket: a piece ends within a record.
        for portion in received.chunks_mut(100_000) {
            plain.clear();
            tls.feed(portion, &mut plain).unwrap();
        }
        seconds += (processor() - began).as_secs_f64();
    }
    let bytes = ROUNDS / 4 * PIECE_BYTES;
    println!("  feed: {:.0} MB/s", bytes as f64 / seconds / 1e6);
    let mut server = rustls::ServerConnection::new(Arc::clone(certificates.config())).unwrap();
    server.set_buffer_limit(None);
    buffered(&mut server, suite, &piece);
}

/// The other way that rustls offers, to compare.
fn buffered(server: &mut rustls::ServerConnection, suite: SupportedCipherSuite, piece: &[u8]) {
    let mut client = client(suite);
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets().unwrap();
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets().unwrap();
        }
    }
    let mut out = Vec::new();
    let began = processor();
    for _ in 0..ROUNDS {
        out.clear();
        server.writer().write_all(piece).unwrap();
        while server.wants_write() {
            server.write_tls(&mut out).unwrap();
        }
    }
    tell("  buffered writer", began, ROUNDS * PIECE_BYTES);
    let mut seconds = 0.0;
    let (mut received, mut plain) = (Vec::new(), vec![0; PIECE_BYTES]);
    for _ in 0..ROUNDS / 4 {
        client.writer().write_all(piece).unwrap();
        received.clear();
        while client.wants_write() {
            client.write_tls(&mut received).unwrap();
        }
        let began = processor();
        let mut rest = &received[..];
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets().unwrap();
            while let Ok(1..) = server.reader().read(&mut plain) {}
        }
        seconds += (processor() - began).as_secs_f64();
    }
    let bytes = ROUNDS / 4 * PIECE_BYTES;
    println!(
        "  buffered reader: {:.0} MB/s",
        bytes as f64 / seconds / 1e6
    );
}

fn tell(what: &str, began: Duration, bytes: usize) {
    let rate = bytes as f64 / (processor() - began).as_secs_f64() / 1e6;
    println!("{what}: {rate:.0} MB/s");
}

fn memory(certificates: &Certificates) {
    let began = processor();
    let before = resident_bytes();
    let mut idle = Vec::with_capacity(IDLE);
    for _ in 0..IDLE {
        let (mut tls, mut client) = connected(certificates, TLS13_AES_128_GCM_SHA256);
        // As after a command and its reply.
        let mut cipher = Vec::new();
        tls.seal(&[b'x'; 20_000], &mut cipher).unwrap();
        client.writer().write_all(b"DATE\r\n").unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        tls.feed(&mut bytes, &mut Vec::new()).unwrap();
        idle.push(tls);
    }
    let each = (processor() - began).as_secs_f64() / IDLE as f64;
    println!("handshake, both sides: {:.0} microseconds", each * 1e6);
    println!(
        "idle TLS connection: {} bytes",
        (resident_bytes() - before) / IDLE
    );
    drop(idle);
}

fn compression() {
    let text: Vec<u8> = (0..PIECE_BYTES / 40)
        .flat_map(|number| {
            format!("{number}\tA subject\tSomeone <x@y>\t<{number}@z>\r\n").into_bytes()
        })
        .collect();
    for level in [1, 6] {
        let mut all = Vec::new();
        for is_at_rest in [true, false] {
            let before = resident_bytes();
            for _ in 0..200 {
                let mut deflate = Deflate::new(level);
                let mut packed = Vec::new();
                deflate.deflate(&text, &mut packed, true);
                let mut plain = Vec::new();
                deflate.inflate(&packed, &mut plain, usize::MAX).unwrap();
                assert!(!is_at_rest || deflate.release());
                all.push(deflate);
            }
            let bytes = (resident_bytes() - before) / 200;
            let how = if is_at_rest { " at rest" } else { "" };
            println!("compressed connection{how}, level {level}: {bytes} bytes");
        }
        let Some(deflate) = all.last_mut() else {
            return;
        };
        let (mut packed, rounds) = (Vec::new(), 50);
        let began = processor();
        for _ in 0..rounds {
            packed.clear();
            deflate.deflate(&text, &mut packed, true);
        }
        tell("  deflate", began, rounds * text.len());
        println!(
            "  to {:.0} in 100",
            packed.len() as f64 * 100.0 / text.len() as f64
        );
    }
}

/// Time that this thread had the processor.
fn processor() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}

fn resident_bytes() -> usize {
    let told = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = told.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn client(suite: SupportedCipherSuite) -> ClientConnection {
    let mut provider = ring::default_provider();
    provider.cipher_suites = vec![suite];
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustsAll))
        .with_no_client_auth();
    let name = ServerName::try_from("news.example").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    client.set_buffer_limit(None);
    client
}

fn connected(certificates: &Certificates, suite: SupportedCipherSuite) -> (Tls, ClientConnection) {
    let mut tls = Tls::new(certificates.config()).unwrap();
    let mut client = client(suite);
    while client.is_handshaking() || tls.is_handshaking() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        tls.feed(&mut bytes, &mut Vec::new()).unwrap();
        let mut answers = Vec::new();
        tls.pending(&mut answers);
        let mut rest = &answers[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets().unwrap();
        }
    }
    (tls, client)
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
