//! Data survives TLS in any portions (RFC 4642).
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::support;

use rustls::version::{TLS12, TLS13};
use server::layers::tls::{Tls, TlsError};
use support::{Client, connect, feed, make, plain, portions, receive, say, sent, serving, shake};

fn text(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn both_ways_in_both_versions() {
    let serving = serving(&make(&["news.example"]));
    for (seed, version) in [(1, &TLS12), (2, &TLS13), (3, &TLS12), (4, &TLS13)] {
        for largest in [1, 7, 300, 5000, 40_000] {
            let mut portion = portions(seed * 1000 + largest as u64, largest);
            let mut tls = Tls::new(serving.config()).unwrap();
            let mut client = plain(version).connect();
            assert!(tls.is_handshaking());
            assert_eq!(tls.description(), "");
            assert!(matches!(
                tls.seal(b"200 early\r\n", &mut Vec::new()),
                Err(TlsError::Handshaking)
            ));
            shake(&mut tls, &mut client, &mut portion).unwrap();
            assert!(!tls.is_handshaking());
            assert_eq!(tls.certificate(), None);
            assert!(
                tls.description().starts_with("TLSv1."),
                "{}",
                tls.description()
            );
            for size in [1, 100, 16_384, 16_385, 100_000] {
                let said = text(size);
                let mut read = Vec::new();
                let fed = feed(&mut tls, &say(&mut client, &said), &mut portion, &mut read);
                assert!(!fed.unwrap().is_closed);
                assert_eq!(read, said);
                let mut cipher = b"before".to_vec();
                tls.seal(&said, &mut cipher).unwrap();
                assert_eq!(&cipher[..6], b"before");
                assert_eq!(receive(&mut client, &cipher[6..]).unwrap(), said);
            }
        }
    }
}

#[test]
fn a_cut_is_told_from_an_end() {
    let serving = serving(&make(&["news.example"]));
    for version in [&TLS12, &TLS13] {
        let mut tls = Tls::new(serving.config()).unwrap();
        let mut client = plain(version).connect();
        shake(&mut tls, &mut client, &mut || 1000).unwrap();
        let mut bytes = say(&mut client, b"QUIT\r\n");
        let mut read = Vec::new();
        assert!(!tls.feed(&mut bytes, &mut read).unwrap().is_closed);
        // The connection could break here.
        assert!(!tls.is_closed());
        client.send_close_notify();
        let mut bytes = sent(&mut client);
        bytes.extend_from_slice(b"more that nobody reads");
        let fed = tls.feed(&mut bytes, &mut read).unwrap();
        assert!(fed.is_closed && tls.is_closed());
        assert_eq!(read, b"QUIT\r\n");
        // The handshake messages of before are still sent.
        let mut cipher = Vec::new();
        tls.seal(b"205 bye\r\n", &mut cipher).unwrap();
        tls.close(&mut cipher);
        assert_eq!(receive(&mut client, &cipher).unwrap(), b"205 bye\r\n");
        let mut last = [0; 10];
        let end = std::io::Read::read(&mut client.reader(), &mut last);
        assert_eq!(end.unwrap(), 0, "close_notify came");
        assert!(matches!(tls.seal(b"x", &mut cipher), Err(TlsError::Closed)));
        assert!(matches!(
            tls.feed(&mut [1], &mut read),
            Err(TlsError::Closed)
        ));
    }
}

#[test]
fn keys_may_be_renewed() {
    let serving = serving(&make(&["news.example"]));
    let mut tls = Tls::new(serving.config()).unwrap();
    let mut client = plain(&TLS13).connect();
    let mut portion = portions(5, 30);
    shake(&mut tls, &mut client, &mut portion).unwrap();
    for _ in 0..5 {
        client.refresh_traffic_keys().unwrap();
        let mut read = Vec::new();
        feed(
            &mut tls,
            &say(&mut client, b"DATE\r\n"),
            &mut portion,
            &mut read,
        )
        .unwrap();
        assert_eq!(read, b"DATE\r\n");
        let mut cipher = Vec::new();
        tls.seal(b"111 20260101000000\r\n", &mut cipher).unwrap();
        assert_eq!(
            receive(&mut client, &cipher).unwrap(),
            b"111 20260101000000\r\n"
        );
    }
}

#[test]
fn a_session_is_taken_up_again_by_its_ticket() {
    let serving = serving(&make(&["news.example"]));
    let own = make(&["peer.example"]);
    for version in [&TLS12, &TLS13] {
        let config = Client {
            version,
            shows: Some((vec![own.der.clone()], &own.secret)),
            protocols: &[],
            record_bytes: None,
        }
        .config();
        for kind in [rustls::HandshakeKind::Full, rustls::HandshakeKind::Resumed] {
            let mut tls = Tls::new(serving.config()).unwrap();
            let mut client = connect(config.clone());
            shake(&mut tls, &mut client, &mut || 100).unwrap();
            assert_eq!(client.handshake_kind(), Some(kind));
            assert!(tls.certificate().is_some(), "known also by the ticket");
        }
    }
}

#[test]
fn only_news_is_spoken() {
    let serving = serving(&make(&["news.example"]));
    for (offered, agreed) in [
        (&[b"nntp".as_slice()][..], Some(b"nntp".as_slice())),
        (&[b"h2", b"nnsp"], Some(b"nnsp")),
        (&[], None),
    ] {
        let mut tls = Tls::new(serving.config()).unwrap();
        let mut client = Client {
            version: &TLS13,
            shows: None,
            protocols: offered,
            record_bytes: None,
        }
        .connect();
        shake(&mut tls, &mut client, &mut || 1000).unwrap();
        assert_eq!(tls.protocol(), agreed);
    }
    let mut tls = Tls::new(serving.config()).unwrap();
    let mut client = Client {
        version: &TLS13,
        shows: None,
        protocols: &[b"h2"],
        record_bytes: None,
    }
    .connect();
    assert!(shake(&mut tls, &mut client, &mut || 1000).is_err());
}
