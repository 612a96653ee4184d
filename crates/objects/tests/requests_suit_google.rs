//! The requests to Google have only what its interface for clients of S3 takes: signature 4 in headers, for region `auto`, over the whole
//! bytes, without checksums in trailers and without headers that its front end changes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};

use objects::{BucketSettings, Location, connect};

use crate::s3_server::write_login;

/// The first line of a request, and its headers, in small letters.
type Seen = Vec<String>;

/// Answers one request as Google does, and tells what it was.
fn answer(stream: TcpStream, seen: &Sender<Seen>) -> io::Result<()> {
    let mut input = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        match line.trim() {
            "" => break,
            line => lines.push(line.to_lowercase()),
        }
    }
    let length = lines
        .iter()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    io::copy(&mut (&mut input).take(length), &mut io::sink())?;
    let request = lines.first().cloned().unwrap_or_default();
    let (status, headers, body) = match request.split(' ').next().unwrap_or_default() {
        "post" if request.contains("uploads") => (
            200,
            "",
            "<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>",
        ),
        "post" => (
            200,
            "",
            "<CompleteMultipartUploadResult><ETag>\"a\"</ETag></CompleteMultipartUploadResult>",
        ),
        "put" => (200, "ETag: \"a\"\r\n", ""),
        "delete" => (204, "", ""),
        "get" => (
            206,
            "ETag: \"a\"\r\nLast-Modified: Mon, 23 Nov 2026 14:52:17 GMT\r\nContent-Range: bytes 0-7/8\r\n",
            "01234567",
        ),
        other => panic!("{other}"),
    };
    seen.send(lines).unwrap();
    let length = body.len();
    write!(
        input.get_mut(),
        "HTTP/1.1 {status} OK\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[test]
fn they_have_no_header_that_google_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (seen, all) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = answer(stream.unwrap(), &seen);
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let login = dir.path().join("offload.login");
    write_login(&login, "GOOG1EXAMPLE", "secret");
    let location = Location {
        news: None,
        url: "gs://news-articles/old".to_owned(),
        bucket: BucketSettings {
            endpoint,
            // The default of the setting; it is not used.
            region: "us-east-1".to_owned(),
            login,
            ..BucketSettings::default()
        },
        site: "a".to_owned(),
        cache_bytes_max: 1,
    };
    let objects = connect(&location).unwrap().objects;
    objects.put("x", &mut &b"01234567"[..], 8).unwrap();
    let long = 17 << 20;
    objects
        .put("x", &mut io::repeat(1).take(long), long)
        .unwrap();
    objects.read("x", 0, &mut [0; 8]).unwrap();
    objects.delete("x").unwrap();
    let seen: Vec<Seen> = all.try_iter().collect();
    // An object, an upload of two parts, a range, a deletion.
    assert_eq!(seen.len(), 1 + 4 + 1 + 1, "{seen:?}");
    for request in seen {
        let value = |name: &str| {
            let line = request.iter().find(|line| line.starts_with(name));
            line.unwrap_or_else(|| panic!("no {name} {request:?}"))
                .clone()
        };
        assert!(
            request
                .iter()
                .any(|line| line.contains(" /news-articles/old/a/x"))
        );
        let signature = value("authorization: aws4-hmac-sha256 credential=goog1example/");
        assert!(signature.contains("/auto/s3/aws4_request"), "{signature}");
        assert!(!signature.contains("accept-encoding"), "{signature}");
        let digest = value("x-amz-content-sha256: ");
        let digest = digest.trim_start_matches("x-amz-content-sha256: ");
        let is_hex = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(is_hex, "{digest}");
        let known = [
            "authorization",
            "content-length",
            "host",
            "range",
            "user-agent",
            "x-amz-content-sha256",
            "x-amz-date",
        ];
        for line in request.iter().skip(1) {
            let name = line.split(':').next().unwrap();
            assert!(known.contains(&name), "{line}");
        }
    }
}
