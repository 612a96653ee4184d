//! While the writer files, seals segments and makes larger indexes, who reads live sees every article of each commit, in
//! order, once it has caught up with that commit.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::news;

use std::sync::atomic::{AtomicU64, Ordering};

use news::News;
use store::{Options, Published, Snapshot, Spool};

const ARTICLES: u64 = 40_000;
const BIG_EACH: u64 = 10;

fn id(number: u64) -> String {
    format!("<{number}@x>")
}

#[test]
fn snapshots_read_on_while_others_file() {
    let news = News::new(&["a.b"]);
    let options = Options {
        segment_bytes: 1 << 20,
        durability: store::Durability::None,
        ..Options::default()
    };
    let mut spool = Spool::open(news.dir(), options).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let index_before = spool.index_size().1;
    let committed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut live = Snapshot::open_live(news.dir(), published.clone()).unwrap();
                let mut at = 0;
                while at < ARTICLES {
                    let sure = committed.load(Ordering::Acquire);
                    live.catch_up().unwrap();
                    at = look(&mut live, (at, sure));
                }
            });
        }
        let filler = "\nsome text".repeat(30);
        for number in 1..=ARTICLES {
            let more = if number % BIG_EACH == 0 { &*filler } else { "" };
            news.file_with(&mut spool, &id(number), &["a.b"], more);
            // Many small commits, and some large.
            if number % 100 > 50 || number % 100 == 0 {
                spool.commit().unwrap();
                committed.store(number, Ordering::Release);
            }
        }
    });
    assert!(spool.index_size().1 > index_before);
    let reader = Snapshot::open(news.dir()).unwrap();
    let segments = reader.segments().len();
    assert!(segments > 5, "{segments}");
}

/// Looks at what came, of which so many articles are surely there; tells how many were.
fn look(live: &mut Snapshot, (before, sure): (u64, u64)) -> u64 {
    for number in before + 1..=sure {
        assert!(live.has(id(number).as_bytes()).unwrap(), "{number}");
    }
    let (mut numbers, mut from) = (Vec::new(), Some(before + 1));
    while let Some(low) = from {
        let range = (low, u64::MAX);
        from = live.numbers(b"a.b", range, 1000, &mut numbers).unwrap();
    }
    let seen = before + numbers.len() as u64;
    assert!(seen >= sure);
    assert_eq!(numbers, (before + 1..=seen).collect::<Vec<_>>());
    for &number in numbers.iter().step_by(97) {
        let found = live.find(id(number).as_bytes()).unwrap().unwrap();
        let position = found.position;
        assert_eq!(live.position(b"a.b", number).unwrap(), Some(position));
        let mut buffer = Vec::new();
        let record = live.record(position, &mut buffer).unwrap().unwrap();
        let line = store::HistoryLine::parse(record.line()).unwrap();
        assert_eq!(line.id, id(number).as_bytes());
    }
    let mut rows = 0;
    let mut last = before;
    let each = |run: store::Run| {
        assert_eq!(run.first, last + 1);
        last = run.last;
        rows += run.rows;
        let text = run.bytes();
        assert_eq!(memchr(text), run.rows);
        assert!(text.starts_with(format!("{}\t", run.first).as_bytes()));
    };
    let range = (before + 1, u64::MAX);
    let left = live.rows(b"a.b", range, usize::MAX, each).unwrap().next;
    assert_eq!((left, rows), (None, seen - before));
    seen
}

fn memchr(text: &[u8]) -> u64 {
    text.iter().filter(|&&b| b == b'\n').count() as u64
}
