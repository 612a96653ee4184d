//! RFC 4642, 2.2.2: what was received before the handshake must not count as protected.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use layers::{ClientLayers, ClientTrust, LayersError};

use crate::support::{Authority, VERSIONS, answer, hear, receive, shake};

#[test]
fn bytes_behind_the_reply_end_the_connection() {
    let authority = Authority::new();
    let trust = ClientTrust::new("news.example", &authority.trust()).unwrap();
    let mut layers = ClientLayers::plain();
    let began = layers.begin_tls(&trust, b"281 welcome\r\n");
    assert!(matches!(began, Err(LayersError::Injected)));
    assert!(layers.is_plain());
}

#[test]
fn tls_begins_after_the_reply() {
    let authority = Authority::new();
    let shown = authority.certify(&["news.example"], |_| {});
    let trust = ClientTrust::new("news.example", &authority.trust()).unwrap();
    for version in VERSIONS {
        let mut layers = ClientLayers::plain();
        let mut plain = Vec::new();
        layers
            .receive(&mut b"382 go on\r\n".to_vec(), &mut plain)
            .unwrap();
        plain.clear();
        layers.begin_tls(&trust, &plain).unwrap();
        assert!(layers.is_handshaking() && !layers.is_secure());
        // Nothing leaves in the clear from now on.
        let mut raw = Vec::new();
        assert!(
            layers
                .send(b"AUTHINFO USER we\r\n", &mut raw, true)
                .is_err()
        );
        assert_eq!(raw.first(), Some(&22), "the handshake alone");
        let mut server = shown.server(version);
        hear(&mut server, &raw);
        let bytes = answer(&mut server, b"");
        receive(&mut layers, &bytes, 1, &mut plain).unwrap();
        shake(&mut layers, &mut server, 1).unwrap();
        raw.clear();
        layers.send(b"CAPABILITIES\r\n", &mut raw, true).unwrap();
        assert_eq!(hear(&mut server, &raw), b"CAPABILITIES\r\n");
        assert!(layers.is_secure());
    }
}
