//! A record damaged in the last commit costs that record and no other of its commit, even after the machine was started
//! again.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::double;
use crate::news;

use double::Double;
use news::News;
use store::fsck::fsck_on;
use store::{Options, Snapshot, Spool};

/// Files three commits of five articles; flips a bit of one article of the last commit.
fn damaged(article: usize) -> (News, Vec<String>) {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let mut positions = Vec::new();
    let mut ids = Vec::new();
    for number in 0..15 {
        let id = format!("<{number}@x>");
        positions.push(news.file(&mut spool, &id, &["a.b"]));
        ids.push(id);
        if number % 5 == 4 {
            spool.commit().unwrap();
        }
    }
    drop(spool);
    let art = news.dir().join("segments/00000000000000004096.art");
    let mut bytes = std::fs::read(&art).unwrap();
    bytes[(positions[article].0 - 4096) as usize + 60] ^= 4;
    std::fs::write(&art, bytes).unwrap();
    ids.remove(article);
    (news, ids)
}

/// Whatever length is left of the log that was synced, what is filed behind it stays: cut in a record, and between two.
#[test]
fn articles_behind_a_cut_record_are_kept() {
    let cuts = (1..=16).chain([1_001, 5_003]);
    for (lost, whole_records) in
        cuts.map(|lost| (lost, None))
            .chain([(0, Some(99)), (0, Some(40)), (0, Some(0))])
    {
        let news = News::new(&["a.b"]);
        std::fs::create_dir_all(news.dir().join("bad")).unwrap();
        let disk = Double::new(news.dir()).disk();
        let mut spool = Spool::open_on(disk, news.dir(), Options::default()).unwrap();
        let file = |spool: &mut Spool, numbers: std::ops::Range<u32>| {
            let file = |number| news.file(spool, &format!("<{number}@x>"), &["a.b"]);
            let positions: Vec<_> = numbers.map(file).collect();
            spool.commit().unwrap();
            positions
        };
        let positions = file(&mut spool, 0..100);
        drop(spool);
        let art = news.dir().join("segments/00000000000000004096.art");
        let art = std::fs::OpenOptions::new().write(true).open(art).unwrap();
        let length = match whole_records {
            Some(place) => positions[place].0 - 4096,
            None => art.metadata().unwrap().len() - lost,
        };
        art.set_len(length).unwrap();

        let disk = Double::new(news.dir()).disk();
        let mut spool = Spool::open_on(disk.clone(), news.dir(), Options::default()).unwrap();
        let notices = spool.notices().join("\n");
        assert!(notices.contains("damaged"), "{length}: {notices}");
        assert!(notices.contains("it ends here"), "{length}: {notices}");
        let ids = std::fs::read_to_string(news.dir().join("bad/lost.ids")).unwrap();
        let first = whole_records.unwrap_or(100 - ids.lines().count());
        let lost = (first..100).map(|number| format!("<{number}@x>"));
        assert!(ids.lines().eq(lost), "{length}: {ids}");
        file(&mut spool, 200..210);
        drop(spool);
        for (round, repair) in [false, true, false].into_iter().enumerate() {
            let told = fsck_on(disk.clone(), news.dir(), repair).unwrap();
            // What was cut between two records left nothing that is damaged.
            let is_clean = round == 2 || whole_records.is_some();
            assert_eq!(told.faults == 0, is_clean, "{length}: {told:?}");
            let reader = Snapshot::open_on(disk.clone(), news.dir()).unwrap();
            for number in 200..210 {
                let id = format!("<{number}@x>");
                let mut buffer = Vec::new();
                let stored = reader.article(id.as_bytes(), &mut buffer).unwrap();
                assert!(stored.is_some(), "{length}: {id} is lost");
            }
        }
    }
}

/// Of a segment of which nothing is left the history tells what it had, also without the index.
#[test]
fn articles_of_an_emptied_segment_are_listed() {
    for (length, is_index_lost) in [(0, false), (64, false), (0, true), (64, true)] {
        let news = News::new(&["a.b"]);
        std::fs::create_dir_all(news.dir().join("bad")).unwrap();
        let disk = Double::new(news.dir()).disk();
        let mut spool = Spool::open_on(disk, news.dir(), Options::default()).unwrap();
        news.file(&mut spool, "<1@x>", &["a.b"]);
        spool.commit().unwrap();
        drop(spool);
        let art = news.dir().join("segments/00000000000000004096.art");
        let art = std::fs::OpenOptions::new().write(true).open(art).unwrap();
        art.set_len(length).unwrap();
        if is_index_lost {
            std::fs::remove_file(news.dir().join("index")).unwrap();
        }
        let disk = Double::new(news.dir()).disk();
        let spool = Spool::open_on(disk, news.dir(), Options::default()).unwrap();
        let notices = spool.notices().join("\n");
        let what = format!("{length} {is_index_lost}: {notices}");
        assert!(notices.contains("it ends here"), "{what}");
        let ids = std::fs::read_to_string(news.dir().join("bad/lost.ids")).unwrap();
        assert_eq!(ids, "<1@x>\n", "{what}");
    }
}

#[test]
fn damage_in_the_last_commit_costs_one_article() {
    for article in [10, 12, 14] {
        for is_started_again in [false, true] {
            let (news, rest) = damaged(article);
            let what = format!("article {article}, started again: {is_started_again}");
            let disk: std::sync::Arc<dyn store::disk::Disk> = if is_started_again {
                Double::new(news.dir()).disk()
            } else {
                std::sync::Arc::new(store::disk::RealDisk)
            };
            let told = fsck_on(disk.clone(), news.dir(), false).unwrap();
            assert!(!told.is_clean(), "{what}: {told:?}");
            fsck_on(disk.clone(), news.dir(), true).unwrap();
            let told = fsck_on(disk.clone(), news.dir(), false).unwrap();
            assert!(told.faults == 0, "{what}: {told:?}");
            let reader = Snapshot::open_on(disk, news.dir()).unwrap();
            for id in &rest {
                let mut buffer = Vec::new();
                let stored = reader.article(id.as_bytes(), &mut buffer).unwrap();
                assert!(stored.is_some(), "{what}: {id} is lost");
            }
        }
    }
}

fn assert_there(news: &News, ids: &[String]) {
    let reader = Snapshot::open(news.dir()).unwrap();
    for id in ids {
        let mut buffer = Vec::new();
        let stored = reader.article(id.as_bytes(), &mut buffer).unwrap();
        assert!(stored.is_some(), "{id} is lost");
    }
}

/// Without the index, the history tells that the last commit was acknowledged.
#[test]
fn damage_in_the_last_commit_costs_one_article_without_an_index() {
    for article in [10, 12, 13, 14] {
        let (news, rest) = damaged(article);
        std::fs::remove_file(news.dir().join("index")).unwrap();
        let spool = Spool::open(news.dir(), Options::default()).unwrap();
        let notices = spool.notices().join("\n");
        assert!(notices.contains("is damaged at byte"), "{notices}");
        drop(spool);
        assert_there(&news, &rest);
    }
}

/// Without the history, too, what can be read of the last commit stays.
#[test]
fn damage_in_the_last_commit_costs_one_article_without_index_and_history() {
    for article in [10, 12, 13] {
        let (news, rest) = damaged(article);
        std::fs::remove_file(news.dir().join("index")).unwrap();
        std::fs::remove_file(news.dir().join("segments/00000000000000004096.his")).unwrap();
        drop(Spool::open(news.dir(), Options::default()).unwrap());
        assert_there(&news, &rest);
    }
}

/// What a failed attempt left behind the end of the log does not come back.
#[test]
fn a_failed_attempt_does_not_come_back_without_an_index() {
    let file = |news: &News, spool: &mut Spool, name: &str, count: usize| {
        for number in 0..count {
            news.file(spool, &format!("<{name}{number}@x>"), &["a.b"]);
        }
        spool.commit().unwrap();
    };
    let art = |news: &News| news.dir().join("segments/00000000000000004096.art");
    let left = {
        let news = News::new(&["a.b"]);
        let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
        file(&news, &mut spool, "kept", 5);
        file(&news, &mut spool, "failed", 20);
        std::fs::read(art(&news)).unwrap()
    };
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    for (name, count) in [("kept", 5), ("again", 3), ("later", 2)] {
        file(&news, &mut spool, name, count);
    }
    drop(spool);
    let mut bytes = std::fs::read(art(&news)).unwrap();
    assert!(bytes.len() + 1000 < left.len());
    bytes.extend_from_slice(&left[bytes.len()..]);
    std::fs::write(art(&news), &bytes).unwrap();
    std::fs::remove_file(news.dir().join("index")).unwrap();
    drop(Spool::open(news.dir(), Options::default()).unwrap());
    let reader = Snapshot::open(news.dir()).unwrap();
    let has = |id: &str| {
        let mut buffer = Vec::new();
        reader
            .article(id.as_bytes(), &mut buffer)
            .unwrap()
            .is_some()
    };
    for id in ["<kept4@x>", "<again2@x>", "<later1@x>"] {
        assert!(has(id), "{id}");
    }
    for number in 0..20 {
        assert!(!has(&format!("<failed{number}@x>")), "{number}");
    }
}
