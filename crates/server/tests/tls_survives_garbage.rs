//! No input makes TLS panic, hang or grow without bound.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::support;

use proptest::prelude::*;
use rustls::version::{TLS12, TLS13};
use server::layers::tls::{HELLO_BYTES_MAX, Tls, TlsError};
use support::{Client, feed, make, plain, portions, receive, say, sent, serving, shake};

#[test]
fn a_client_without_tls_gets_an_alert() {
    let serving = serving(&make(&["news.example"]));
    let mut tls = Tls::new(serving.config()).unwrap();
    let fault = tls.feed(&mut b"MODE READER\r\n".to_vec(), &mut Vec::new());
    assert!(matches!(fault, Err(TlsError::Protocol(_))));
    let mut alert = Vec::new();
    tls.pending(&mut alert);
    assert_eq!(alert.first(), Some(&21), "an alert: {alert:?}");
    assert!(matches!(
        tls.feed(&mut [0; 9], &mut Vec::new()),
        Err(TlsError::Closed)
    ));
}

#[test]
fn a_message_without_end_is_refused() {
    let serving = serving(&make(&["news.example"]));
    let mut tls = Tls::new(serving.config()).unwrap();
    // Handshake records that begin a ClientHello of 16 MB.
    let mut record = vec![22, 3, 1, 0x40, 0];
    record.extend_from_slice(&[1, 255, 255, 255]);
    record.resize(5 + 0x4000, 0);
    let mut fed = 0;
    while tls.feed(&mut record.clone(), &mut Vec::new()).is_ok() {
        fed += record.len();
        assert!(fed < 1 << 20, "it takes all there is");
        record[5..9].copy_from_slice(&[0; 4]);
    }
}

#[test]
fn a_record_that_is_too_long_is_refused_by_its_header() {
    let serving = serving(&make(&["news.example"]));
    let mut tls = Tls::new(serving.config()).unwrap();
    let mut record = vec![22, 3, 1, 0xff, 0xff, 1, 0, 0xff, 0xf0];
    tls.feed(&mut [record.remove(0)], &mut Vec::new()).unwrap();
    record.resize(100, 0);
    let fault = tls.feed(&mut record, &mut Vec::new());
    assert!(matches!(fault, Err(TlsError::TooLong)), "{fault:?}");
}

#[test]
fn half_a_hello_holds_no_more_than_a_record() {
    let serving = serving(&make(&["news.example"]));
    for portion in [1, 100, 5000] {
        let mut tls = Tls::new(serving.config()).unwrap();
        // Records that begin a ClientHello of 60 KB.
        let mut hello = vec![1, 0, 0xea, 0x60];
        hello.resize(4 + 60_000, 0);
        let records: Vec<u8> = hello
            .chunks(2000)
            .flat_map(|part| {
                let length = (part.len() as u16).to_be_bytes();
                [&[22, 3, 1, length[0], length[1]], part].concat()
            })
            .collect();
        let mut fed = 0;
        for portion in records.chunks(portion) {
            if tls.feed(&mut portion.to_vec(), &mut Vec::new()).is_err() {
                break;
            }
            fed += portion.len();
            assert!(tls.kept_bytes() <= 2 * HELLO_BYTES_MAX);
        }
        assert!(fed <= HELLO_BYTES_MAX, "{fed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..2000), largest in 1usize..100) {
        let serving = serving(&make(&["news.example"]));
        let mut tls = Tls::new(serving.config()).unwrap();
        for portion in bytes.chunks(largest) {
            let mut plain = Vec::new();
            let _ = tls.feed(&mut portion.to_vec(), &mut plain);
            prop_assert!(plain.is_empty());
        }
        let _ = tls.seal(b"x", &mut Vec::new());
        tls.close(&mut Vec::new());
    }

    #[test]
    fn a_damaged_hello(at in 0usize..200, with in any::<u8>(), cut in 1usize..300) {
        let serving = serving(&make(&["news.example"]));
        for version in [&TLS12, &TLS13] {
            let mut tls = Tls::new(serving.config()).unwrap();
            let mut hello = sent(&mut plain(version).connect());
            if let Some(byte) = hello.get_mut(at) {
                *byte ^= with;
            }
            hello.truncate(cut);
            let _ = tls.feed(&mut hello, &mut Vec::new());
            tls.close(&mut Vec::new());
        }
    }

    // The client's second flight, in records that cut its messages anywhere.
    #[test]
    fn a_damaged_handshake(
        at in 0usize..3000, with in any::<u8>(), record in 32usize..400, seed in 1u64.., largest in 1usize..3000,
    ) {
        let serving = serving(&make(&["news.example"]));
        let own = make(&["peer.example"]);
        for version in [&TLS12, &TLS13] {
            let client = Client {
                version,
                shows: Some((vec![own.der.clone(); 3], &own.secret)),
                protocols: &[],
                record_bytes: Some(record),
            };
            let (mut tls, mut client) = (Tls::new(serving.config()).unwrap(), client.connect());
            let mut portion = portions(seed, largest);
            let mut read = Vec::new();
            feed(&mut tls, &sent(&mut client), &mut portion, &mut read).unwrap();
            let mut answers = Vec::new();
            tls.pending(&mut answers);
            receive(&mut client, &answers).unwrap();
            let mut flight = sent(&mut client);
            let at = at % flight.len();
            flight[at] ^= with;
            let fed = feed(&mut tls, &flight, &mut portion, &mut read);
            if with == 0 {
                prop_assert!(fed.is_ok() && tls.certificate().is_some());
            }
            let _ = tls.seal(b"x", &mut Vec::new());
            tls.close(&mut Vec::new());
        }
    }

    #[test]
    fn a_damaged_record(at in 0usize..120, with in 1u8..) {
        let serving = serving(&make(&["news.example"]));
        for version in [&TLS12, &TLS13] {
            let mut tls = Tls::new(serving.config()).unwrap();
            let mut client = plain(version).connect();
            shake(&mut tls, &mut client, &mut || 1000).unwrap();
            let mut bytes = say(&mut client, &[b'a'; 80]);
            let at = at % bytes.len();
            bytes[at] ^= with;
            let mut read = Vec::new();
            let fed = tls.feed(&mut bytes, &mut read);
            // With a changed length it may wait for more; a changed byte is never accepted.
            prop_assert!(read.is_empty() || read == [b'a'; 80]);
            if at >= 5 {
                prop_assert!(fed.is_err() && read.is_empty());
            }
        }
    }
}
