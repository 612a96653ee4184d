//! A client's identity is the fingerprint of its certificate, if it proves the private key.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::support;

use rustls::pki_types::CertificateDer;
use rustls::version::{TLS12, TLS13};
use server::layers::tls::Tls;
use sha2::{Digest, Sha256};
use support::{Client, Made, make, portions, serving, shake};

#[test]
fn any_certificate_is_taken_with_its_key() {
    let serving = serving(&make(&["news.example"]));
    let own = make(&["peer.example"]);
    let wanted: [u8; 32] = Sha256::digest(&own.der).into();
    for version in [&TLS12, &TLS13] {
        let mut tls = Tls::new(serving.config()).unwrap();
        let mut client = Client {
            version,
            shows: Some((vec![own.der.clone()], &own.secret)),
            protocols: &[],
            record_bytes: None,
        }
        .connect();
        shake(&mut tls, &mut client, &mut portions(9, 50)).unwrap();
        assert_eq!(tls.certificate(), Some(wanted));
    }
}

#[test]
fn a_long_chain_comes_in_several_records() {
    let serving = serving(&make(&["news.example"]));
    let own = make(&["peer.example"]);
    // Longer than one record.
    let chain = chain(&own, 20_000);
    for version in [&TLS12, &TLS13] {
        for largest in [900, 100_000] {
            let mut tls = Tls::new(serving.config()).unwrap();
            let mut client = Client {
                version,
                shows: Some((chain.clone(), &own.secret)),
                protocols: &[],
                record_bytes: None,
            }
            .connect();
            shake(&mut tls, &mut client, &mut portions(3, largest)).unwrap();
            assert_eq!(tls.certificate(), Some(Sha256::digest(&own.der).into()));
        }
    }
}

#[test]
fn a_chain_that_is_too_long_is_refused() {
    let serving = serving(&make(&["news.example"]));
    let own = make(&["peer.example"]);
    for version in [&TLS12, &TLS13] {
        let mut tls = Tls::new(serving.config()).unwrap();
        let mut client = Client {
            version,
            shows: Some((chain(&own, 30_000), &own.secret)),
            protocols: &[],
            record_bytes: None,
        }
        .connect();
        assert!(shake(&mut tls, &mut client, &mut || 1000).is_err());
    }
}

fn chain(own: &Made, bytes: usize) -> Vec<CertificateDer<'static>> {
    vec![own.der.clone(); bytes / own.der.len()]
}

#[test]
fn a_certificate_without_its_key_ends_the_handshake() {
    let serving = serving(&make(&["news.example"]));
    let (own, other) = (make(&["peer.example"]), make(&["thief.example"]));
    for version in [&TLS12, &TLS13] {
        let mut tls = Tls::new(serving.config()).unwrap();
        let mut client = Client {
            version,
            shows: Some((vec![own.der.clone()], &other.secret)),
            protocols: &[],
            record_bytes: None,
        }
        .connect();
        assert!(shake(&mut tls, &mut client, &mut || 1000).is_err());
        assert_eq!(tls.certificate(), None);
    }
}
