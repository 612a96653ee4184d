//! Objects of one part and of several, in a bucket of a real server, of each provider.
#![allow(
    clippy::needless_pass_by_value,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::io::{self, Read};

use objects::{BucketSettings, Location, connect};
use store::offload::Objects;

use crate::bucket_server::{BucketServer, PROVIDERS, Provider};
use crate::s3_server::REGION;

/// More than two parts of 16 MiB.
const LARGE: usize = (33 << 20) + 5;

/// Runs a test with a server of each provider.
pub fn with_each(test: impl Fn(BucketServer)) {
    let servers = PROVIDERS.into_iter().filter_map(BucketServer::start);
    servers.for_each(|server| {
        eprintln!("{:?}", server.provider);
        test(server);
    });
}

pub fn location(server: &BucketServer, dir: &std::path::Path) -> Location {
    let login = dir.join("keys/offload.login");
    server.write_login(&login);
    Location {
        news: Some(dir.to_owned()),
        url: server.url("some/where"),
        bucket: BucketSettings {
            endpoint: server.endpoint(),
            region: match server.provider {
                Provider::S3 => REGION.to_owned(),
                // It is not used.
                Provider::Google | Provider::Azure => String::new(),
            },
            login,
            ..BucketSettings::default()
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

fn check(provider: Provider, objects: &dyn Objects, name: &str, content: &[u8]) {
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
        if provider == Provider::Azure && offset == length {
            // Azurite answers with a range that ends before it begins; Azure refuses it (416).
            continue;
        }
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof, "{short}");
    }
}

#[test]
fn what_is_stored_is_read_until_it_is_deleted() {
    with_each(store_read_delete);
}

fn store_read_delete(server: BucketServer) {
    let dir = tempfile::tempdir().unwrap();
    let objects = connect(&location(&server, dir.path())).unwrap().objects;
    let name = "segments/00000000000000004096-ba7816bf8f01cfea.art";
    assert_eq!(objects.length(name).unwrap(), None);
    check(server.provider, &*objects, name, &bytes(5000));
    // Another one of that name replaces it.
    check(server.provider, &*objects, name, &bytes(LARGE));
    if let Some(files) = server.files() {
        assert_eq!(files, [format!("some/where/news.example.org/{name}")]);
    }
    objects.delete(name).unwrap();
    objects.delete(name).unwrap();
    assert_eq!(objects.length(name).unwrap(), None);
    let gone = objects.read(name, 0, &mut [0; 8]).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound, "{gone}");
}

#[test]
fn an_upload_that_breaks_leaves_nothing() {
    with_each(break_uploads);
}

fn break_uploads(server: BucketServer) {
    let dir = tempfile::tempdir().unwrap();
    let objects = connect(&location(&server, dir.path())).unwrap().objects;
    let content = bytes(LARGE);
    for sent in [0, 5000, 17 << 20, LARGE - 1] {
        let put = objects.put("segments/x", &mut Breaks(&content[..sent]), LARGE as u64);
        assert_eq!(put.unwrap_err().to_string(), "the disk is broken");
        assert_eq!(objects.length("segments/x").unwrap(), None);
        if let Some(files) = server.files() {
            assert_eq!(files, [""; 0]);
        }
    }
    check(server.provider, &*objects, "segments/x", &content);
}

#[test]
fn an_object_that_ends_early_is_not_stored() {
    with_each(end_early);
}

fn end_early(server: BucketServer) {
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
    with_each(be_away);
}

fn be_away(mut server: BucketServer) {
    let dir = tempfile::tempdir().unwrap();
    let objects = connect(&location(&server, dir.path())).unwrap().objects;
    check(
        server.provider,
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
