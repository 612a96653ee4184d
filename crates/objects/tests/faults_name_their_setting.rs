//! Each fault of a bucket of S3 names the setting, or the file, that the administrator has to change.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::path::Path;

use objects::{Location, S3Settings, connect};

use crate::a_bucket_keeps_objects::location;
use crate::s3_server::{S3Server, write_login};

/// The error of a read.
fn error(location: &Location) -> io::Error {
    let objects = connect(location).unwrap().objects;
    objects.read("segments/x", 0, &mut [0; 8]).unwrap_err()
}

#[test]
fn a_real_server_refuses() {
    let Some(server) = S3Server::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let right = location(&server, dir.path());
    assert_eq!(error(&right).kind(), io::ErrorKind::NotFound);
    let login = |key: &str, secret: &str| {
        let other = dir.path().join("other.login");
        write_login(&other, key, secret);
        let mut location = right.clone();
        location.s3.login = other;
        location
    };
    let [key, secret] = server.keys();
    let told = error(&login("GKffffffffffffffffffffffff", secret)).to_string();
    assert!(told.contains("other.login: "), "{told}");
    let told = error(&login(key, &secret.replace('0', "f"))).to_string();
    assert!(told.contains("other.login: "), "{told}");
    let mut no_bucket = right.clone();
    no_bucket.url = "s3://no-such-bucket/x".to_owned();
    for work in ["read", "put", "put of parts", "length", "delete"] {
        let objects = connect(&no_bucket).unwrap().objects;
        let done = match work {
            "read" => objects.read("segments/x", 0, &mut [0; 8]),
            "put" => objects.put("segments/x", &mut &b"01234567"[..], 8),
            "put of parts" => objects.put("segments/x", &mut io::repeat(1), 20 << 20),
            "length" => objects.length("segments/x").map(drop),
            _ => objects.delete("segments/x"),
        };
        let error = done.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotConnected, "{work}: {error}");
        let told = error.to_string();
        assert!(
            told.contains("offload.url: there is no bucket no-such-bucket"),
            "{work}: {told}"
        );
    }
    let mut elsewhere = right.clone();
    elsewhere.s3.region = "mars-1".to_owned();
    let told = error(&elsewhere).to_string();
    assert!(told.contains("offload.region: \"mars-1\""), "{told}");
}

#[test]
fn a_certificate_has_to_be_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = ["cert.pem", "key.pem"].map(|name| dir.path().join(name));
    fs::write(&files[0], made.cert.pem()).unwrap();
    fs::write(&files[1], made.signing_key.serialize_pem()).unwrap();
    let Some(server) = S3Server::start_with(Some(files.clone())) else {
        return;
    };
    let mut location = location(&server, dir.path());
    location.s3.trust.ca = Some(files[0].clone());
    assert_eq!(error(&location).kind(), io::ErrorKind::NotFound);
    // Another one of that name.
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let path = dir.path().join("other.pem");
    fs::write(&path, other.cert.pem()).unwrap();
    location.s3.trust.ca = Some(path);
    let told = error(&location).to_string();
    assert!(
        told.starts_with("offload.endpoint: cannot reach https://localhost:"),
        "{told}"
    );
    assert!(told.contains("tls_ca names a file with the CA"), "{told}");
    location.s3.trust.ca = Some(dir.path().join("missing.pem"));
    let told = connect(&location).unwrap_err().to_string();
    assert!(told.contains("missing.pem"), "{told}");
    // No request goes in the clear to a server that wants TLS.
    location.s3.trust.ca = None;
    location.s3.endpoint = server
        .endpoint()
        .replace("https://localhost", "http://127.0.0.1");
    let error = error(&location);
    assert_ne!(error.kind(), io::ErrorKind::NotFound, "{error}");
}

/// A server that gives one answer to each request.
fn answering(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(&answer);
        }
    });
    endpoint
}

fn at(endpoint: String, dir: &Path) -> Location {
    let login = dir.join("offload.login");
    write_login(&login, "KEY", "secret");
    Location {
        url: "s3://news-articles".to_owned(),
        s3: S3Settings {
            endpoint,
            region: "us-east-1".to_owned(),
            login,
            ..S3Settings::default()
        },
        site: "news.example.org".to_owned(),
        cache_bytes_max: 1,
    }
}

#[test]
fn odd_answers_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let xml = |status: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
    };
    for (answer, part) in [
        (
            xml(
                "403 Forbidden",
                "<Error><Code>RequestTimeTooSkewed</Code><Message>15 minutes</Message></Error>",
            ),
            "set this one by NTP (\"15 minutes\")",
        ),
        (
            xml("404 Not Found", "<html>no page</html>"),
            "answers 404, and not as an object store does",
        ),
        (xml("200 OK", "<html>hello</html>"), "non-partial response"),
        (xml("301 Moved", ""), "offload.region: \"us-east-1\""),
        (
            "no HTTP at all\r\n\r\n".to_owned(),
            "offload.endpoint: cannot reach http://127.0.0.1:",
        ),
        (
            // More than was asked for.
            format!(
                "HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-7/100\r\nContent-Length: 1000000\r\nETag: \"a\"\r\nLast-Modified: Mon, 23 Nov 2026 14:52:17 GMT\r\n\r\n{}",
                "x".repeat(1_000_000)
            ),
            "more bytes than were asked for",
        ),
        (
            // An error without an end.
            format!(
                "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                format!("80000\r\n{}\r\n", "x".repeat(0x80000)).repeat(8)
            ),
            "offload.endpoint: http://127.0.0.1:",
        ),
    ] {
        let told = error(&at(answering(answer.into_bytes()), dir.path())).to_string();
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = error(&at(endpoint.clone(), dir.path()));
    assert_eq!(error.kind(), io::ErrorKind::NotConnected);
    let told = error.to_string();
    assert!(
        told.starts_with(&format!("offload.endpoint: cannot reach {endpoint}: ")),
        "{told}"
    );
    assert!(told.contains("refused"), "{told}");
}

#[test]
fn keys_are_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    let connection = connect(&at("http://127.0.0.1:1".to_owned(), dir.path())).unwrap();
    let shown = format!("{connection:?}");
    assert!(
        !shown.contains("secret") && !shown.contains("KEY"),
        "{shown}"
    );
}
