//! The size of a segment follows the spool, so that space comes back from a small one as well as from a large one.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::os::unix::fs::MetadataExt;

use crate::news;

use news::News;
use store::{ExpiryDecision, Options, ReclaimPolicy, SEGMENT_BYTES_MIN, Snapshot, Spool, reclaim};

const MIB: u64 = 1 << 20;
const ARTICLE_BYTES: usize = 10_000;
const BATCH_ARTICLES: u64 = 100;

/// Files a batch of about a megabyte.
fn file_batch(news: &News, options: Options, batch: u64) {
    let mut spool = Spool::open(news.dir(), options).unwrap();
    let filler = "x".repeat(ARTICLE_BYTES);
    for number in 0..BATCH_ARTICLES {
        news.file_with(
            &mut spool,
            &format!("<{batch}.{number}@x>"),
            &["a"],
            &filler,
        );
    }
    spool.commit().unwrap();
}

/// Length and bytes on the disk of the articles of each segment.
fn segments(news: &News) -> Vec<(u64, u64)> {
    let names = std::fs::read_dir(news.dir().join("segments")).unwrap();
    let mut paths: Vec<_> = names.map(|name| name.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|suffix| suffix == "art"));
    paths.sort();
    let told = paths.iter().map(|path| {
        let meta = std::fs::metadata(path).unwrap();
        (meta.len(), meta.blocks() * 512)
    });
    told.collect()
}

fn on_disk(news: &News) -> u64 {
    segments(news).iter().map(|(_, bytes)| bytes).sum()
}

/// Expires everything in group a below a number, and reclaims the space.
fn expire_below(news: &News, number: u64, touched: &[u64]) {
    let expiry = ExpiryDecision {
        cuts: vec![(b"a".to_vec(), number)],
        touched: touched.to_vec(),
        ..ExpiryDecision::default()
    };
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    spool.expire(&expiry).unwrap();
    drop(spool);
    reclaim(news.dir(), Options::default(), ReclaimPolicy::usual(0.15)).unwrap();
}

#[test]
fn a_small_spool_gives_its_older_half_back() {
    let news = News::new(&["a"]);
    for batch in 0..80 {
        file_batch(&news, Options::default(), batch);
    }
    let sealed = segments(&news);
    let (_, sealed) = sealed.split_last().unwrap();
    assert!(sealed.len() > 10, "{sealed:?}");
    for (length, _) in sealed {
        assert!((4 * MIB..7 * MIB).contains(length), "{sealed:?}");
    }
    let before = on_disk(&news);
    let bases = Snapshot::open(news.dir()).unwrap().segments().to_vec();
    expire_below(&news, 80 * BATCH_ARTICLES / 2, &bases);
    let after = on_disk(&news);
    assert!(after < before * 52 / 100, "{before} to {after} bytes");
    let survivor = Snapshot::open(news.dir()).unwrap();
    assert!(survivor.find(b"<40.0@x>").unwrap().is_some());
}

#[test]
fn a_long_batch_in_one_segment_gives_space_back() {
    let news = News::new(&["a"]);
    let filler = "x".repeat(ARTICLE_BYTES);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    for number in 0..1_000 {
        news.file_with(&mut spool, &format!("<{number}@x>"), &["a"], &filler);
    }
    spool.commit().unwrap();
    drop(spool);
    assert_eq!(segments(&news).len(), 1);
    let before = on_disk(&news);
    // Less than the share that seals any segment.
    expire_below(&news, 131, &[4096]);
    let after = on_disk(&news);
    assert!(after < before * 92 / 100, "{before} to {after} bytes");
}

#[test]
fn a_lowered_setting_acts_on_the_current_segment() {
    let news = News::new(&["a"]);
    for batch in 0..3 {
        file_batch(&news, Options::default(), batch);
    }
    assert_eq!(segments(&news).len(), 1);
    let lowered = Options {
        segment_bytes: SEGMENT_BYTES_MIN,
        ..Options::default()
    };
    file_batch(&news, lowered, 3);
    let now = segments(&news);
    let (first, rest) = now.split_first().unwrap();
    assert!(first.0 < 4 * MIB, "nothing was added to it: {now:?}");
    assert!(
        !rest.is_empty() && rest.iter().all(|(length, _)| *length <= MIB),
        "{now:?}"
    );
}
