//! Message-ids are hashed with a secret key: ids that were chosen to agree do not, and where some agree all the same the index takes
//! them and stays as large as the number of ids makes it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::news;

use std::path::Path;

use article::message_id::HashKey;
use news::News;
use store::{Options, Snapshot, Spool};

/// Numbers N: the ids `<N@x>` agreed in the first 22 bits of the hash without a key, and each more of them doubled the index. 600 made
/// it 24.5 GB.
const AGREED: &str = include_str!("crowded_ids/agree_in_22_bits.txt");
/// Bytes of the smallest index.
const INDEX_BYTES: u64 = 4096 + 4096 * 64;

fn file_all(news: &News, ids: &[String]) {
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    for id in ids {
        assert!(!spool.has(id.as_bytes()).unwrap());
        news.file(&mut spool, id, &["a.b"]);
        assert!(spool.has(id.as_bytes()).unwrap(), "refused the second time");
    }
    spool.commit().unwrap();
    assert_eq!(spool.index_size().2, INDEX_BYTES);
}

fn check_all(dir: &Path, ids: &[String]) {
    let reader = Snapshot::open(dir).unwrap();
    for id in ids {
        assert!(
            reader.history_line(id.as_bytes()).unwrap().is_some(),
            "{id}"
        );
    }
    assert!(reader.history_line(b"<another@x>").unwrap().is_none());
    let length = std::fs::metadata(dir.join("index")).unwrap().len();
    assert_eq!(length, INDEX_BYTES);
    assert!(store::fsck(dir, false).unwrap().is_clean());
}

#[test]
fn ids_that_agreed_without_a_key_are_filed_like_others() {
    let news = News::new(&["a.b"]);
    let ids: Vec<String> = AGREED
        .split_whitespace()
        .map(|n| format!("<{n}@x>"))
        .collect();
    assert_eq!(ids.len(), 600);
    file_all(&news, &ids);
    check_all(news.dir(), &ids);
}

/// The key of a news directory, as docs/formats/index.md has it.
fn key_of(dir: &Path) -> HashKey {
    let text = std::fs::read_to_string(dir.join("index.key")).unwrap();
    let digits = text.trim();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
    HashKey::new(bytes.try_into().unwrap())
}

#[test]
fn ids_chosen_with_the_key_crowd_a_bucket_and_nothing_else() {
    let news = News::new(&["a.b"]);
    drop(Spool::open(news.dir(), Options::default()).unwrap());
    let key = key_of(news.dir());
    // 1,024 of one bucket of eight: they fill 128.
    let ids: Vec<String> = (0u64..)
        .map(|n| format!("<{n}@x>"))
        .filter(|id| key.hash(id.as_bytes()) >> 52 == 4095)
        .take(1024)
        .collect();
    file_all(&news, &ids);
    check_all(news.dir(), &ids);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    assert_eq!(spool.rebuild_index().unwrap(), 1024);
    drop(spool);
    check_all(news.dir(), &ids);
}
