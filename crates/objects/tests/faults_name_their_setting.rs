//! Each fault of a bucket names the setting, or the file, that the administrator has to change.
#![allow(
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::path::Path;

use objects::{BucketSettings, Location, connect};

use crate::a_bucket_keeps_objects::{location, with_each};
use crate::bucket_server::{BucketServer, PROVIDERS, Provider};
use crate::s3_server::write_login;

/// The error of a read.
fn error(location: &Location) -> io::Error {
    let objects = connect(location).unwrap().objects;
    objects.read("segments/x", 0, &mut [0; 8]).unwrap_err()
}

#[test]
fn a_real_server_refuses() {
    with_each(refuse);
}

fn refuse(server: BucketServer) {
    let dir = tempfile::tempdir().unwrap();
    let right = location(&server, dir.path());
    assert_eq!(error(&right).kind(), io::ErrorKind::NotFound);
    let login = |key: &str, secret: &str| {
        let other = dir.path().join("other.login");
        write_login(&other, key, secret);
        let mut location = right.clone();
        location.bucket.login = other;
        location
    };
    let [key, secret] = server.keys();
    let [wrong_key, wrong_secret] = server.wrong_keys();
    for login in [login(wrong_key, secret), login(key, wrong_secret)] {
        let error = error(&login);
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        let told = error.to_string();
        assert!(told.contains("other.login: "), "{told}");
    }
    let mut no_bucket = right.clone();
    no_bucket.url = right.url.replace("news-articles", "no-such-bucket");
    let noun = match server.provider {
        Provider::S3 | Provider::Google => "bucket",
        Provider::Azure => "container",
    };
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
            told.contains(&format!("offload.url: there is no {noun} no-such-bucket")),
            "{work}: {told}"
        );
    }
    if server.provider != Provider::S3 {
        return;
    }
    let mut elsewhere = right.clone();
    elsewhere.bucket.region = "mars-1".to_owned();
    let told = error(&elsewhere).to_string();
    assert!(told.contains("offload.region: \"mars-1\""), "{told}");
}

#[test]
fn a_certificate_has_to_be_trusted() {
    for provider in PROVIDERS {
        trust_certificates(provider);
    }
}

fn trust_certificates(provider: Provider) {
    let dir = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = ["cert.pem", "key.pem"].map(|name| dir.path().join(name));
    fs::write(&files[0], made.cert.pem()).unwrap();
    fs::write(&files[1], made.signing_key.serialize_pem()).unwrap();
    let Some(server) = BucketServer::start_with(provider, Some(files.clone())) else {
        return;
    };
    let mut location = location(&server, dir.path());
    location.bucket.trust.ca = Some(files[0].clone());
    assert_eq!(error(&location).kind(), io::ErrorKind::NotFound);
    // Another one of that name.
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let path = dir.path().join("other.pem");
    fs::write(&path, other.cert.pem()).unwrap();
    location.bucket.trust.ca = Some(path);
    let told = error(&location).to_string();
    assert!(
        told.starts_with("offload.endpoint: cannot reach https://localhost:"),
        "{told}"
    );
    assert!(told.contains("tls_ca names a file with the CA"), "{told}");
    location.bucket.trust.ca = Some(dir.path().join("missing.pem"));
    let told = connect(&location).unwrap_err().to_string();
    assert!(told.contains("missing.pem"), "{told}");
    // No request goes in the clear to a server that wants TLS.
    location.bucket.trust.ca = None;
    location.bucket.endpoint = server
        .endpoint()
        .replace("https://localhost", "http://127.0.0.1");
    let error = error(&location);
    assert_ne!(error.kind(), io::ErrorKind::NotFound, "{error}");
}

/// A server that gives one answer to each request.
fn answering(answer: Vec<u8>) -> String {
    answering_in_turn(vec![answer])
}

/// A server that gives some answers in turn, and the last one from then on.
fn answering_in_turn(answers: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let last = answers.last().cloned();
        let mut answers = answers.into_iter();
        for stream in listener.incoming() {
            let answer = answers.next().or(last.clone()).unwrap();
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(&answer);
        }
    });
    endpoint
}

/// The same for Azure.
fn at_azure(endpoint: String, dir: &Path) -> Location {
    let mut location = at(endpoint, dir);
    write_login(&location.bucket.login, "account", "c2VjcmV0");
    location.url = "az://news-articles".to_owned();
    location
}

fn at(endpoint: String, dir: &Path) -> Location {
    let login = dir.join("offload.login");
    write_login(&login, "KEY", "secret");
    Location {
        news: Some(dir.to_owned()),
        url: "s3://news-articles".to_owned(),
        bucket: BucketSettings {
            endpoint,
            region: "us-east-1".to_owned(),
            login,
            ..BucketSettings::default()
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
fn refusals_of_azure_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let refusal = |status: &str, code: &str, rest: &str| {
        let body = format!("<Error><Code>{code}</Code><Message>No</Message>{rest}</Error>");
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
    };
    for (answer, part) in [
        (
            refusal(
                "403 Forbidden",
                "AuthenticationFailed",
                "<AuthenticationErrorDetail>Request date header too old</AuthenticationErrorDetail>",
            ),
            "set this one by NTP (\"No\")",
        ),
        (
            refusal("403 Forbidden", "AuthorizationFailure", ""),
            "offload.login: ",
        ),
        (
            // The code is in the header alone.
            "HTTP/1.1 404 Not Found\r\nx-ms-error-code: ContainerNotFound\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                .to_owned(),
            "offload.url: there is no container news-articles",
        ),
        (
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(),
            "answers 404, and not as an object store does",
        ),
    ] {
        let told = error(&at_azure(answering(answer.into_bytes()), dir.path())).to_string();
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_deletion_at_azure_is_repeated_while_the_server_is_busy() {
    let dir = tempfile::tempdir().unwrap();
    let answer = |status: &str| {
        format!("HTTP/1.1 {status}\r\nx-ms-error-code: ServerBusy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .into_bytes()
    };
    let busy = || answer("503 Busy");
    let delete = |answers: Vec<Vec<u8>>| {
        let location = at_azure(answering_in_turn(answers), dir.path());
        let objects = connect(&location).unwrap().objects;
        objects.delete("segments/x")
    };
    delete(vec![busy(), busy(), answer("202 Accepted")]).unwrap();
    let told = delete(vec![busy(), busy(), busy(), answer("202 Accepted")]).unwrap_err();
    assert_eq!(told.kind(), io::ErrorKind::NotConnected);
    assert!(told.to_string().contains("503 ServerBusy"), "{told}");
    // A refusal is no reason to try again.
    let told = delete(vec![answer("403 Forbidden"), answer("202 Accepted")]).unwrap_err();
    assert_eq!(told.kind(), io::ErrorKind::PermissionDenied, "{told}");
}

#[test]
fn a_login_that_azure_cannot_have_is_an_error_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let location = at_azure("https://localhost".to_owned(), dir.path());
    for (account, key, part) in [
        ("account", "secret!", "in the second line, is not base64"),
        ("My.Account", "c2VjcmV0", "in the first line, has 3 to 24"),
        (
            "account",
            "",
            "write the name of the storage account in its first line",
        ),
    ] {
        write_login(&location.bucket.login, account, key);
        let told = connect(&location).unwrap_err().to_string();
        assert!(
            told.contains("offload.login: ") && told.contains(part),
            "{told}"
        );
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

#[test]
fn an_answer_counts_that_comes_before_the_server_has_the_whole_request() {
    let dir = tempfile::tempdir().unwrap();
    let answer = "HTTP/1.1 404 Not Found\r\nx-ms-error-code: ContainerNotFound\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    for round in 0..20 {
        let location = at_azure(answering(answer.into()), dir.path());
        let objects = connect(&location).unwrap().objects;
        let told = objects.put("segments/x", &mut io::repeat(1), [8, 20][round % 2] << 20);
        let told = told.unwrap_err().to_string();
        assert!(told.contains("there is no container"), "{round}: {told}");
    }
}

/// Any other error may hide that the object of another news directory is there.
#[test]
fn only_a_refused_condition_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let done = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let refusal = |status: &str, code: &str| {
        let body = format!("<Error><Code>{code}</Code></Error>");
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
    };
    for (status, code, is_made) in [
        ("400 Bad Request", "InvalidArgument", true),
        ("403 Forbidden", "AccessDenied", false),
    ] {
        let answers = vec![refusal(status, code).into(), done.into()];
        let location = at(answering_in_turn(answers), dir.path());
        let objects = connect(&location).unwrap().objects;
        assert_eq!(
            objects.put_new("owner", b"ours").ok(),
            is_made.then_some(true),
            "{code}"
        );
    }
}
