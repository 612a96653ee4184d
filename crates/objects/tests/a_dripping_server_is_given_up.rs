//! A server that sends an object byte by byte: the whole read has a limit, not each byte of it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use objects::{BucketSettings, Location, connect};

/// Bytes that the reader wants: at a byte in 50 ms they take 55 minutes.
const LENGTH: usize = 64 << 10;

#[test]
fn a_read_ends_though_bytes_come() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || -> io::Result<()> {
                let mut request = BufReader::new(stream.try_clone()?).lines();
                while request.next().is_some_and(|line| !line.unwrap().is_empty()) {}
                let last = LENGTH - 1;
                write!(
                    stream,
                    "HTTP/1.1 206 Partial Content\r\nContent-Length: {LENGTH}\r\nContent-Range: bytes 0-{last}/{LENGTH}\r\n\
                     Last-Modified: Mon, 01 Jan 2001 00:00:00 GMT\r\nETag: \"1\"\r\n\r\n"
                )?;
                // Until the client closes the connection.
                loop {
                    stream.write_all(b"x")?;
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let login = dir.path().join("keys/offload.login");
    crate::s3_server::write_login(&login, "key", "secret");
    let location = Location {
        news: Some(dir.path().to_owned()),
        url: "s3://bucket".to_owned(),
        bucket: BucketSettings {
            endpoint,
            region: "us-east-1".to_owned(),
            login,
            ..BucketSettings::default()
        },
        site: "news.example.org".to_owned(),
        cache_bytes_max: 1,
    };
    let objects = connect(&location).unwrap().objects;
    let began = Instant::now();
    let error = objects.read("segments/1-2.art", 0, &mut [0; LENGTH]);
    assert_eq!(error.unwrap_err().kind(), io::ErrorKind::TimedOut);
    // The bytes came meanwhile: it was not the connection that failed.
    assert!(began.elapsed() >= Duration::from_secs(8));
}
