//! An object that cannot be used: it is archived, or empty. Others, and the keys, are not blamed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;

use objects::{BucketSettings, Location, connect};

use crate::a_bucket_keeps_objects::{location, with_each};
use crate::moto_server::{BUCKET, MotoServer};

const NAME: &str = "segments/1-2.art";

#[test]
fn an_empty_object_has_no_bytes() {
    with_each(|server| {
        let dir = tempfile::tempdir().unwrap();
        let objects = connect(&location(&server, dir.path())).unwrap().objects;
        objects.put(NAME, &mut &b""[..], 0).unwrap();
        assert_eq!(objects.length(NAME).unwrap(), Some(0));
        objects.put(NAME, &mut &b"x"[..], 1).unwrap();
        assert_eq!(objects.length(NAME).unwrap(), Some(1));
    });
}

#[test]
fn an_object_is_made_once() {
    with_each(|server| {
        let dir = tempfile::tempdir().unwrap();
        let objects = connect(&location(&server, dir.path())).unwrap().objects;
        assert!(objects.put_new("owner", b"first").unwrap());
        assert!(!objects.put_new("owner", b"other").unwrap());
        let mut found = [0; 5];
        objects.read("owner", 0, &mut found).unwrap();
        assert_eq!(&found, b"first");
    });
}

#[test]
fn an_archived_object_names_its_storage_class() {
    let Some(server) = MotoServer::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let login = dir.path().join("keys/offload.login");
    crate::s3_server::write_login(&login, "key", "secret");
    let location = Location {
        news: Some(dir.path().to_owned()),
        url: format!("s3://{BUCKET}"),
        bucket: BucketSettings {
            endpoint: server.endpoint(),
            region: "us-east-1".to_owned(),
            login,
            ..BucketSettings::default()
        },
        site: "news.example.org".to_owned(),
        cache_bytes_max: 1,
    };
    let objects = connect(&location).unwrap().objects;
    objects.put("segments/here", &mut &b"0123"[..], 4).unwrap();
    assert!(!objects.put_new("segments/here", b"other").unwrap());
    let class = "x-amz-storage-class: GLACIER\r\n";
    server.put(&format!("news.example.org/{NAME}"), class, b"0123456789");
    let told = [
        objects.length(NAME).unwrap_err(),
        objects.read(NAME, 0, &mut [0; 4]).unwrap_err(),
    ];
    for error in told {
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy, "{error}");
        let error = error.to_string();
        assert!(error.contains("the storage class GLACIER"), "{error}");
        assert!(!error.contains("offload.login"), "{error}");
    }
    assert_eq!(objects.length("segments/here").unwrap(), Some(4));
    assert_eq!(objects.length("segments/other").unwrap(), None);
}
