//! Data survives TLS, compression and both, in any portions; an end is told from a cut.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use layers::client::PLAIN_BYTES_MAX;
use layers::deflate::Deflate;
use layers::{ClientLayers, LayersError};

use crate::support::{VERSIONS, answer, hear, pair, receive};

const PORTIONS: [usize; 5] = [1, 7, 300, 5000, 40_000];

fn text(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
}

#[test]
fn through_tls() {
    for version in VERSIONS {
        for portion in PORTIONS {
            let (mut layers, mut server) = pair(version, portion);
            assert!(layers.is_secure() && !layers.is_plain() && !layers.is_compressed());
            assert!(layers.description().starts_with("TLSv1."));
            for size in [1, 100, 16_384, 16_385, 100_000] {
                let said = text(size);
                let mut raw = b"before".to_vec();
                layers.send(&said, &mut raw, true).unwrap();
                assert_eq!(
                    hear(&mut server, raw.strip_prefix(b"before").unwrap()),
                    said
                );
                let mut plain = Vec::new();
                let bytes = answer(&mut server, &said);
                let received = receive(&mut layers, &bytes, portion, &mut plain).unwrap();
                assert!(plain == said && !received.is_over);
            }
        }
    }
}

#[test]
fn through_compression_with_and_without_tls() {
    for is_secure in [false, true] {
        for portion in PORTIONS {
            let (mut layers, mut server) = if is_secure {
                let (layers, server) = pair(VERSIONS[1], portion);
                (layers, Some(server))
            } else {
                (ClientLayers::plain(), None)
            };
            let mut other = Deflate::new(6);
            // What follows the reply 206 in the same read is compressed already.
            let mut unread = Vec::new();
            other.deflate(b"200 early\r\n", &mut unread, true);
            layers.begin_deflate(&mut unread);
            let mut plain = Vec::new();
            layers.receive(&mut [], &mut plain).unwrap();
            assert_eq!(plain, b"200 early\r\n");
            assert!(unread.is_empty() && layers.is_compressed());
            for size in [1, 100, 16_385, 300_000] {
                let said = text(size);
                let mut raw = Vec::new();
                // Some pieces, and one flush.
                for piece in said.chunks(1000) {
                    layers.send(piece, &mut raw, false).unwrap();
                }
                layers.send(b"", &mut raw, true).unwrap();
                layers.release();
                let packed = match &mut server {
                    Some(server) => hear(server, &raw),
                    None => raw,
                };
                let mut heard = Vec::new();
                other.inflate(&packed, &mut heard, 1 << 20).unwrap();
                assert!(heard == said);
                let mut packed = Vec::new();
                other.deflate(&said, &mut packed, true);
                let bytes = match &mut server {
                    Some(server) => answer(server, &packed),
                    None => packed,
                };
                let mut plain = Vec::new();
                receive(&mut layers, &bytes, portion, &mut plain).unwrap();
                assert!(plain == said);
            }
        }
    }
}

#[test]
fn a_bomb_is_taken_in_bounded_steps() {
    let mut packed = Vec::new();
    Deflate::new(9).deflate(&vec![b'0'; 10 << 20], &mut packed, true);
    let mut layers = ClientLayers::plain();
    layers.begin_deflate(&mut Vec::new());
    let (mut plain, mut bytes) = (Vec::new(), 0);
    let mut received = layers.receive(&mut packed, &mut plain).unwrap();
    while received.is_more {
        assert!(plain.len() <= PLAIN_BYTES_MAX);
        bytes += plain.len();
        plain.clear();
        received = layers.receive(&mut [], &mut plain).unwrap();
    }
    assert_eq!(bytes + plain.len(), 10 << 20);
    let garbage = layers.receive(&mut [0xff; 100], &mut plain);
    assert!(matches!(garbage, Err(LayersError::Deflate(_))));
}

#[test]
fn an_end_is_told_from_a_cut() {
    for version in VERSIONS {
        let (mut layers, mut server) = pair(version, 1000);
        let mut plain = Vec::new();
        receive(
            &mut layers,
            &answer(&mut server, b"205 bye\r\n"),
            1000,
            &mut plain,
        )
        .unwrap();
        server.send_close_notify();
        let bytes = answer(&mut server, b"");
        let received = receive(&mut layers, &bytes, 1, &mut plain).unwrap();
        assert!(received.is_over);
        assert_eq!(plain, b"205 bye\r\n");
        // The other half is still open.
        let mut raw = Vec::new();
        layers.send(b"QUIT\r\n", &mut raw, true).unwrap();
        layers.close(&mut raw);
        assert_eq!(hear(&mut server, &raw), b"QUIT\r\n");
        assert!(layers.send(b"more", &mut raw, true).is_err());
    }
}

#[test]
fn without_layers_nothing_changes() {
    let mut layers = ClientLayers::plain();
    assert!(layers.is_plain() && !layers.is_handshaking());
    let (mut raw, mut plain) = (Vec::new(), Vec::new());
    layers.send(b"DATE\r\n", &mut raw, true).unwrap();
    layers
        .receive(&mut b"111 20260101000000\r\n".to_vec(), &mut plain)
        .unwrap();
    assert_eq!(
        (&*raw, &*plain),
        (&b"DATE\r\n"[..], &b"111 20260101000000\r\n"[..])
    );
}
