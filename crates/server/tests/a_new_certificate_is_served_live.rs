//! Certificates are read with clear errors, and replaced at runtime.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::support;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rustls::version::TLS13;
use server::certificates::{CertificateError, Certificates, FileError};
use server::layers::tls::Tls;
use support::{make, plain, put, shake};

const SOON: Duration = Duration::from_secs(30);

/// The certificate that a new client gets.
fn shown(certificates: &Certificates) -> Vec<u8> {
    let mut tls = Tls::new(certificates.config()).unwrap();
    let mut client = plain(&TLS13).connect();
    shake(&mut tls, &mut client, &mut || 1000).unwrap();
    client.peer_certificates().unwrap()[0].to_vec()
}

/// The next log line that begins with this. The two files are written one after the other; if that takes long, a line between them says
/// that the old certificate stays in use.
fn until(said: &mpsc::Receiver<String>, begin: &str) -> String {
    loop {
        let told = said.recv_timeout(SOON).expect(begin);
        if told.starts_with(begin) {
            return told;
        }
        assert!(told.starts_with("TLS: the old certificate stays"), "{told}");
    }
}

fn fault(chain: &Path, key: &Path) -> String {
    Certificates::open(chain, key).err().unwrap().to_string()
}

#[test]
fn files_that_are_renamed_into_place_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (
        make(&["old.example"]),
        make(&["new.example", "news.example"]),
    );
    let [chain, key] = put(dir.path(), &old);
    let certificates = Arc::new(Certificates::open(&chain, &key).unwrap());
    assert_eq!(shown(&certificates), old.der.to_vec());
    let (say, said) = mpsc::channel();
    let watching = certificates
        .watch(move |text| drop(say.send(text.to_owned())))
        .unwrap();
    put(dir.path(), &new);
    until(&said, "TLS: new certificate for new.example, news.example");
    assert_eq!(shown(&certificates), new.der.to_vec());
    // A damaged one is reported, and the old one stays.
    std::fs::write(dir.path().join("bad"), "nonsense").unwrap();
    std::fs::rename(dir.path().join("bad"), &chain).unwrap();
    let told = until(&said, "TLS: the old certificate stays in use: ");
    assert!(told.contains("chain.pem: no certificate found"), "{told}");
    assert_eq!(shown(&certificates), new.der.to_vec());
    assert!(certificates.reload().is_err());
    // As made by a plain `openssl req -subj`.
    put(dir.path(), &make(&[]));
    until(
        &said,
        "TLS: new certificate that names no host in subjectAltName: clients that look at certificates refuse it",
    );
    // The thread ends, and with it the channel.
    drop(watching);
    assert!(
        said.recv_timeout(SOON)
            .is_err_and(|error| error == mpsc::RecvTimeoutError::Disconnected)
    );
}

#[test]
fn links_that_point_elsewhere_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let made: Vec<_> = ["one.example", "two.example", "three.example"]
        .map(|name| make(&[name]))
        .into();
    let live = dir.path().join("live");
    std::fs::create_dir(&live).unwrap();
    let [chain, key] = ["chain.pem", "key.pem"].map(|name| live.join(name));
    let point = |number: usize| {
        let archive = dir.path().join(format!("archive{number}"));
        std::fs::create_dir(&archive).unwrap();
        put(&archive, &made[number]);
        for name in ["chain.pem", "key.pem"] {
            let link = live.join(name);
            let _ = std::fs::remove_file(&link);
            symlink(format!("../archive{number}/{name}"), &link).unwrap();
        }
    };
    point(0);
    let certificates = Arc::new(Certificates::open(&chain, &key).unwrap());
    let (say, said) = mpsc::channel();
    let _watching = certificates
        .watch(move |text| drop(say.send(text.to_owned())))
        .unwrap();
    for number in [1, 2] {
        point(number);
        until(&said, "TLS: new certificate for");
        assert_eq!(shown(&certificates), made[number].der.to_vec());
    }
    // In the directory that the links point to now.
    let again = make(&["again.example"]);
    put(&dir.path().join("archive2"), &again);
    until(&said, "TLS: new certificate for again.example");
    assert_eq!(shown(&certificates), again.der.to_vec());
}

#[test]
fn reload_tells_whether_there_is_another() {
    let dir = tempfile::tempdir().unwrap();
    let [chain, key] = put(dir.path(), &make(&["old.example"]));
    let certificates = Certificates::open(&chain, &key).unwrap();
    assert!(!certificates.reload().unwrap());
    put(dir.path(), &make(&["new.example"]));
    assert!(certificates.reload().unwrap());
    assert!(!certificates.reload().unwrap());
}

#[test]
fn facts_are_those_of_the_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let [chain, key] = put(
        dir.path(),
        &make(&["a.example", "*.b.example", "192.0.2.7", "2001:db8::1"]),
    );
    let facts = Certificates::open(&chain, &key).unwrap().facts();
    assert_eq!(
        facts.names,
        ["a.example", "*.b.example", "192.0.2.7", "2001:db8::1"]
    );
    // The default of rcgen: the year 4096.
    assert_eq!(facts.expires, Some(67_090_118_400));
}

#[test]
fn facts_of_garbage_are_none() {
    use server::certificates::Facts;
    let made = make(&["a.example"]);
    for cut in 0..made.der.len() {
        let facts = Facts::of(&made.der[..cut]);
        assert_eq!(facts, Facts::default(), "all or nothing in one element");
        let mut damaged = made.der.to_vec();
        damaged[cut] = damaged[cut].wrapping_add(0x7f);
        let _ = Facts::of(&damaged);
    }
}

#[test]
fn faults_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let one = make(&["one.example"]);
    let [chain, key] = put(dir.path(), &one);
    let write = |name: &str, text: &str, mode| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let told = fault(&dir.path().join("none"), &key);
    assert!(
        told.contains("/none: cannot read: No such file")
            && told.contains("set the right path in broadsheet.toml"),
        "{told}"
    );
    let told = fault(&chain, &write("open", &one.key, 0o644));
    assert!(
        told.contains("/open: other users may read this private key (mode 0644); run `chmod 600'"),
        "{told}"
    );
    for no_file in [dir.path(), Path::new("/dev/null")] {
        let told = fault(&chain, no_file);
        assert!(told.contains(": not a regular file"), "{told}");
        let told = fault(no_file, &key);
        assert!(told.contains(": not a regular file"), "{told}");
    }
    let told = fault(&key, &key);
    assert!(told.contains("key.pem: no certificate found"), "{told}");
    let told = fault(&chain, &write("empty", "", 0o600));
    assert!(told.contains("/empty: no private key found"), "{told}");
    let told = fault(
        &chain,
        &write(
            "secret",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            0o600,
        ),
    );
    assert!(told.contains("passphrase"), "{told}");
    let other = write("other", &make(&["two.example"]).key, 0o600);
    let told = fault(&chain, &other);
    assert!(
        told.contains("/other: this key does not belong to the first certificate in"),
        "{told}"
    );
    let told = fault(&write("cut", &one.chain[..200], 0o644), &key);
    assert!(told.contains("/cut: ") && told.contains("PEM"), "{told}");
    let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let told = fault(&write("nonsense", nonsense, 0o644), &key);
    assert!(
        told.contains("/nonsense: the first certificate cannot be used"),
        "{told}"
    );
    let told = fault(&write("many", &one.chain.repeat(17), 0o644), &key);
    assert!(told.contains("more than 16 certificates"), "{told}");
    let large = write("large", &"x".repeat((1 << 20) + 1), 0o600);
    assert!(matches!(
        Certificates::open(&large, &key),
        Err(CertificateError::File(FileError::TooLarge { .. }))
    ));
    // Both may lie in one file.
    let both = write("both", &format!("{}{}", one.chain, one.key), 0o600);
    assert!(Certificates::open(&both, &both).is_ok());
}
