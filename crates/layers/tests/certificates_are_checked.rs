//! A client accepts only the right server (RFC 8143, 4), and says what is wrong with another one.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use layers::{ClientLayers, ClientTrust, Fingerprint, LayersError, Trust, TrustError};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

use crate::support::{Authority, Shown, VERSIONS, hear, shake};

/// The error of a handshake, in both versions; none if it succeeds.
fn error(host: &str, trust: &Trust, shown: &Shown) -> Option<String> {
    let trust = ClientTrust::new(host, trust).unwrap();
    let errors = VERSIONS.map(|version| {
        let mut layers = ClientLayers::implicit(&trust).unwrap();
        let mut server = shown.server(version);
        let shaken = shake(&mut layers, &mut server, 1000);
        assert_eq!(layers.is_secure(), shaken.is_ok());
        if shaken.is_err() {
            let mut alert = Vec::new();
            layers.pending(&mut alert);
            assert!(!alert.is_empty(), "the server gets an alert");
            hear(&mut server, &alert);
            assert!(layers.send(b"secret", &mut Vec::new(), true).is_err());
        }
        shaken.err().map(|error| error.to_string())
    });
    let [first, second] = errors;
    assert_eq!(first, second);
    first
}

#[test]
fn the_name_counts() {
    let authority = Authority::new();
    let trust = authority.trust();
    let shown = authority.certify(&["news.example", "127.0.0.1"], |_| {});
    assert_eq!(error("news.example", &trust, &shown), None);
    assert_eq!(error("127.0.0.1", &trust, &shown), None);
    assert_eq!(
        error("other.example", &trust, &shown).unwrap(),
        "the certificate of other.example is for news.example, 127.0.0.1, not for other.example"
    );
    let named = Trust {
        name: Some("news.example".to_owned()),
        ..trust
    };
    assert_eq!(error("10.1.2.3", &named, &shown), None);
    let many = authority.certify(
        &["a.example", "b.example", "c.example", "d.example"],
        |_| {},
    );
    assert_eq!(
        error("10.1.2.3", &named, &many).unwrap(),
        "the certificate of 10.1.2.3 is for a.example, b.example, c.example and others, not for news.example"
    );
}

#[test]
fn dates_count() {
    let authority = Authority::new();
    let ended = authority.certify(&["news.example"], |params| {
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 2, 29);
    });
    assert_eq!(
        error("news.example", &authority.trust(), &ended).unwrap(),
        "the certificate of news.example ended on 2020-02-29"
    );
    let early = authority.certify(&["news.example"], |params| {
        params.not_before = date_time_ymd(4000, 1, 1);
    });
    assert_eq!(
        error("news.example", &authority.trust(), &early).unwrap(),
        "the certificate of news.example begins on 4000-01-01: perhaps the clock of this machine is wrong"
    );
}

#[test]
fn the_authority_counts() {
    let (authority, other) = (Authority::new(), Authority::new());
    let shown = authority.certify(&["news.example"], |_| {});
    let text = error("news.example", &other.trust(), &shown).unwrap();
    let wanted = format!(
        "the certificate of news.example is signed by nobody this machine knows; tls_ca names a file with the CA, \
         and tls_fingerprint one certificate (that of this one is {})",
        shown.fingerprint()
    );
    assert_eq!(text, wanted);
}

#[test]
fn the_certificate_of_a_ca_is_no_servers() {
    // As `openssl req -x509` makes them.
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["news.example".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let made = params.self_signed(&key).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("own.pem");
    std::fs::write(&file, made.pem()).unwrap();
    let trust = Trust {
        ca: Some(file),
        ..Trust::default()
    };
    let shown = Shown::new(made.der().clone(), &key);
    let wanted = format!(
        "the certificate of news.example is that of a CA (CA:TRUE), which cannot be a server's; make another with \
         basicConstraints=critical,CA:FALSE, or name this one by tls_fingerprint ({})",
        shown.fingerprint()
    );
    assert_eq!(error("news.example", &trust, &shown).unwrap(), wanted);
    let trust = Trust {
        fingerprint: Some(shown.fingerprint()),
        ..Trust::default()
    };
    assert_eq!(error("news.example", &trust, &shown), None);
}

#[test]
fn a_pinned_certificate_needs_nothing_else() {
    let authority = Authority::new();
    let shown = authority.certify(&["another.example"], |params| {
        params.not_after = date_time_ymd(2020, 2, 29);
    });
    let mut trust = Trust {
        fingerprint: Some(shown.fingerprint()),
        ..Trust::default()
    };
    assert_eq!(error("news.example", &trust, &shown), None);
    let Fingerprint(mut bytes) = shown.fingerprint();
    *bytes.last_mut().unwrap() ^= 1;
    trust.fingerprint = Some(Fingerprint(bytes));
    assert_eq!(
        error("news.example", &trust, &shown).unwrap(),
        format!(
            "the certificate of news.example is not the one of tls_fingerprint: its fingerprint is {}",
            shown.fingerprint()
        )
    );
}

#[test]
fn a_self_signed_certificate_is_its_own_authority() {
    let key = KeyPair::generate().unwrap();
    let made = CertificateParams::new(["news.example".to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("own.pem");
    std::fs::write(&file, made.pem()).unwrap();
    let trust = Trust {
        ca: Some(file),
        ..Trust::default()
    };
    let shown = Shown::new(made.der().clone(), &key);
    assert_eq!(error("news.example", &trust, &shown), None);
}

#[test]
fn a_file_without_certificates_is_no_authority() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    let trust = Trust {
        ca: Some(file.clone()),
        ..Trust::default()
    };
    let open = || {
        ClientTrust::new("news.example", &trust)
            .map(|_| ())
            .unwrap_err()
    };
    assert!(matches!(open(), TrustError::File(_)));
    for text in [
        "",
        "no certificate",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        std::fs::write(&file, text).unwrap();
        assert!(matches!(open(), TrustError::Bad { .. }));
    }
    let name = ClientTrust::new("no host", &Authority::new().trust());
    assert!(matches!(name, Err(TrustError::Name(_))));
}

#[test]
fn another_protocol_is_told_apart() {
    let authority = Authority::new();
    let trust = ClientTrust::new("news.example", &authority.trust()).unwrap();
    for portion in [1, 4, 100] {
        for greeting in [
            &b"200 news.example ready\r\n"[..],
            b"400\r\n",
            b"\0\0\0\0\0\0\0",
        ] {
            let mut layers = ClientLayers::implicit(&trust).unwrap();
            let mut plain = Vec::new();
            let result = crate::support::receive(&mut layers, greeting, portion, &mut plain);
            assert!(matches!(result, Err(LayersError::NoTls)), "{result:?}");
            assert!(plain.is_empty());
        }
    }
}
