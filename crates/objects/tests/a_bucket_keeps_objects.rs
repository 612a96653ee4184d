//! Objects of one part and of several, in a bucket of a real server.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::io::{self, Read};

use objects::{Location, S3Settings, connect};
use store::offload::Objects;

use crate::s3_server::{BUCKET, REGION, S3Server};

/// More than two parts of 16 MiB.
const LARGE: usize = (33 << 20) + 5;

pub fn location(server: &S3Server, dir: &std::path::Path) -> Location {
    let login = dir.join("keys/offload.login");
    server.write_login(&login);
    Location {
        url: format!("s3://{BUCKET}/some/where"),
        s3: S3Settings {
            endpoint: server.endpoint(),
            region: REGION.to_owned(),
            login,
            ..S3Settings::default()
        },
        site: "news.example.org".to_owned(),
        cache_bytes_max: 1,
    }
}

/// Bytes no two pieces of which are equal.
fn bytes(length: usize) -> Vec<u8> {
    let words = (0_u64..).flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    words.take(length).collect()
}

/// Gives some bytes, and then an error.
struct Breaks<'b>(&'b [u8]);

impl Read for Breaks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("the disk is broken")),
            got => Ok(got),
        }
    }
}

fn check(objects: &dyn Objects, name: &str, content: &[u8]) {
    let length = content.len() as u64;
    objects.put(name, &mut &content[..], length).unwrap();
    assert_eq!(objects.length(name).unwrap(), Some(length));
    for (offset, count) in [(0, 10), (content.len() / 2, 1000), (content.len() - 7, 7)] {
        let mut part = vec![0; count];
        objects.read(name, offset as u64, &mut part).unwrap();
        assert!(part == content[offset..offset + count]);
    }
    let mut whole = vec![0; content.len()];
    objects.read(name, 0, &mut whole).unwrap();
    assert!(whole == content);
    let mut past = [0; 8];
    for offset in [length - 4, length, length + 4] {
        let short = objects.read(name, offset, &mut past).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof, "{short}");
    }
}

#[test]
fn what_is_stored_is_read_until_it_is_deleted() {
    let Some(server) = S3Server::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let objects = connect(&location(&server, dir.path())).unwrap().objects;
    let name = "segments/00000000000000004096-ba7816bf8f01cfea.art";
    assert_eq!(objects.length(name).unwrap(), None);
    check(&*objects, name, &bytes(5000));
    // Another one of that name replaces it.
    check(&*objects, name, &bytes(LARGE));
    if server.has_files() {
        assert_eq!(
            server.files(),
            [format!("some/where/news.example.org/{name}")]
        );
    }
    objects.delete(name).unwrap();
    objects.delete(name).unwrap();
    assert_eq!(objects.length(name).unwrap(), None);
    let gone = objects.read(name, 0, &mut [0; 8]).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound, "{gone}");
}

#[test]
fn an_upload_that_breaks_leaves_nothing() {
    let Some(server) = S3Server::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let objects = connect(&location(&server, dir.path())).unwrap().objects;
    let content = bytes(LARGE);
    for sent in [0, 5000, 17 << 20, LARGE - 1] {
        let put = objects.put("segments/x", &mut Breaks(&content[..sent]), LARGE as u64);
        assert_eq!(put.unwrap_err().to_string(), "the disk is broken");
        assert_eq!(objects.length("segments/x").unwrap(), None);
        if server.has_files() {
            assert_eq!(server.files(), [""; 0]);
        }
    }
    check(&*objects, "segments/x", &content);
}

#[test]
fn an_object_that_ends_early_is_not_stored() {
    let Some(server) = S3Server::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let objects = connect(&location(&server, dir.path())).unwrap().objects;
    for length in [10, LARGE as u64] {
        let put = objects.put("segments/x", &mut &b"0123"[..], length);
        assert_eq!(put.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(objects.length("segments/x").unwrap(), None);
    }
}

#[test]
fn a_server_that_was_away_is_used_again() {
    let Some(mut server) = S3Server::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let objects = connect(&location(&server, dir.path())).unwrap().objects;
    check(
        &*objects,
        "segments/x",
        b"0123456789012345678901234567890123456789"
            .repeat(60)
            .as_slice(),
    );
    server.kill();
    let error = objects.read("segments/x", 0, &mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotConnected, "{error}");
    server.restart();
    objects.read("segments/x", 0, &mut [0; 8]).unwrap();
}
