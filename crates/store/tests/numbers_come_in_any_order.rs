//! Given numbers in any order: LISTGROUP, OVER and ARTICLE tell what a model tells, while the articles are filed, after each restart, and
//! after the derived files were lost.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use store::{Options, Published, SEGMENT_BYTES_MIN, Snapshot, Spool};

use crate::agree;
use crate::news::News;
use crate::story;

const GROUPS: [&str; 2] = ["a", "b"];

#[derive(Debug, Clone)]
enum Deed {
    /// Files an article with these numbers, if they are free.
    File([Option<u64>; 2]),
    Commit,
    Seal,
    /// Ends without a commit and opens again.
    Abandon,
    /// Loses all derived files.
    Lose,
}

fn deed() -> impl Strategy<Value = Deed> {
    let number = || prop::option::weighted(0.7, 1..60u64);
    prop_oneof![
        20 => (number(), number()).prop_map(|(a, b)| Deed::File([a, b])),
        3 => Just(Deed::Commit),
        1 => Just(Deed::Seal),
        1 => Just(Deed::Abandon),
        1 => Just(Deed::Lose),
    ]
}

fn open(news: &News) -> Spool {
    let options = Options {
        segment_bytes: SEGMENT_BYTES_MIN,
        ..Options::default()
    };
    Spool::open(news.dir(), options).unwrap()
}

/// The spool, and a snapshot that follows it.
fn open_live(news: &News) -> (Spool, Snapshot) {
    let mut spool = open(news);
    let published = Published::new();
    spool.publish_to(published.clone());
    let live = Snapshot::open_live(news.dir(), published).unwrap();
    (spool, live)
}

/// Removes what can be made again.
fn lose(dir: &Path) {
    for entry in std::fs::read_dir(dir.join("segments")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().unwrap() != "art" {
            std::fs::remove_file(path).unwrap();
        }
    }
    std::fs::remove_file(dir.join("index")).unwrap();
}

type Model = BTreeMap<(usize, u64), String>;

fn check(news: &News, live: Option<&mut Snapshot>, model: &Model) {
    let reader = Snapshot::open(news.dir()).unwrap();
    if let Some(live) = live {
        live.catch_up().unwrap();
        agree::agree(live, &reader, "numbers");
    }
    for (place, group) in GROUPS.iter().enumerate() {
        let of_group = model.iter().filter(|((its, _), _)| *its == place);
        let expected: Vec<(u64, String)> = of_group
            .map(|((_, number), id)| (*number, id.clone()))
            .collect();
        let mut rows = Vec::new();
        reader
            .overview(group.as_bytes(), (0, u64::MAX), |row| {
                let text = std::str::from_utf8(row.text).unwrap();
                rows.push((row.number, text.split('\t').nth(4).unwrap().to_owned()));
                Ok(())
            })
            .unwrap();
        assert_eq!(rows, expected, "{group}");
        let mut numbers = Vec::new();
        let range = (0, u64::MAX);
        reader
            .numbers(group.as_bytes(), range, 1000, &mut numbers)
            .unwrap();
        assert!(numbers.iter().eq(expected.iter().map(|(number, _)| number)));
        for (number, id) in &expected {
            let mut buffer = Vec::new();
            let stored = reader.article_by_number(group.as_bytes(), *number, &mut buffer);
            let text = story::native(&stored.unwrap().unwrap());
            assert!(
                text.contains(&format!("Message-ID: {id}\n")),
                "{group}/{number}"
            );
        }
    }
}

fn play(deeds: &[Deed]) {
    let news = News::new(&GROUPS);
    let (mut spool, mut live) = open_live(&news);
    let (mut model, mut waiting) = (Model::new(), Model::new());
    for (place, deed) in deeds.iter().enumerate() {
        match deed {
            Deed::File(wanted) => {
                let (mut links, mut is_late, mut fits) = (Vec::new(), false, true);
                for (group, number) in wanted.iter().enumerate() {
                    let Some(number) = *number else { continue };
                    let name = GROUPS[group];
                    let found = spool.active().find(name.as_bytes()).unwrap();
                    let key = (group, number);
                    let is_free = !model.contains_key(&key) && !waiting.contains_key(&key);
                    assert_eq!(spool.is_free(name.as_bytes(), number).unwrap(), is_free);
                    fits &= is_free;
                    is_late |= number <= spool.active().high(found);
                    links.push((group, name.to_owned(), number));
                }
                if !fits || links.is_empty() {
                    continue;
                }
                let id = format!("<{place}@x>");
                let mut named = Vec::new();
                for (group, name, number) in links {
                    let found = spool.active().find(name.as_bytes()).unwrap();
                    let high = spool.active().high(found).max(number);
                    assert!(spool.active_mut().set_high(found, high));
                    waiting.insert((group, number), id.clone());
                    named.push((name, number));
                }
                let text = crate::news::article(&id);
                story::append(&mut spool, &id, &text, (&named, is_late)).unwrap();
            }
            Deed::Commit | Deed::Seal => {
                spool.commit().unwrap();
                model.append(&mut waiting);
                if matches!(deed, Deed::Seal) {
                    spool.seal().unwrap();
                }
                check(&news, Some(&mut live), &model);
            }
            Deed::Abandon | Deed::Lose => {
                drop(spool);
                waiting.clear();
                if matches!(deed, Deed::Lose) {
                    lose(news.dir());
                }
                (spool, live) = open_live(&news);
                check(&news, Some(&mut live), &model);
            }
        }
    }
    spool.commit().unwrap();
    model.append(&mut waiting);
    drop(spool);
    check(&news, Some(&mut live), &model);
    let report = store::fsck(news.dir(), false).unwrap();
    assert!(report.is_clean(), "{report:?}");
    store::rebuild(news.dir()).unwrap();
    check(&news, None, &model);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn they_are_told_as_a_model_tells_them(deeds in prop::collection::vec(deed(), 1..150)) {
        play(&deeds);
    }
}
