//! Expiry by space against a slow model: the model computes the share of its life at which each article is removed, sorts the
//! articles by it, and removes them until enough space is free.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::path::Path;

use expire::count::disk_bytes_of;
use expire::{Archiving, DiskSpace, Explist, RunOptions, RunReport, Share, SpaceLimits};
use proptest::prelude::*;
use store::{Filing, Options, OverviewFields, Piece, Snapshot, Spool};

const NOW: i64 = 10_000_000;
const DAY: i64 = 86_400;
/// Groups with low, default and high, days; `None` is never.
const GROUPS: [(&str, i64, Option<i64>, Option<i64>); 4] = [
    ("a.short", 1, Some(5), Some(9)),
    ("a.long", 2, Some(30), Some(60)),
    ("b.open", 0, Some(12), None),
    ("c.kept", 0, None, None),
];

#[derive(Debug, Clone)]
struct Arriving {
    groups: BTreeSet<usize>,
    age: i64,
    expires: Option<i64>,
    filler: usize,
}

fn arriving() -> impl Strategy<Value = Arriving> {
    let groups = prop_oneof![
        3 => (0..4usize).prop_map(|group| BTreeSet::from([group])),
        1 => prop::collection::btree_set(0..4usize, 1..4),
    ];
    let expires = prop_oneof![4 => Just(None), 1 => (-40 * DAY..80 * DAY).prop_map(Some)];
    // Some arrive in the future.
    (groups, -DAY..70 * DAY, expires, 0..5_000usize).prop_map(|(groups, age, expires, filler)| {
        Arriving {
            groups,
            age,
            expires,
            filler,
        }
    })
}

fn options() -> Options {
    Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    }
}

fn run_options(keep_free: u64, disk: DiskSpace) -> RunOptions {
    RunOptions {
        now: NOW,
        dry: true,
        trace: false,
        force: true,
        space: SpaceLimits {
            keep_free: Some(keep_free),
            ..SpaceLimits::default()
        },
        disk: Some(disk),
        store: options(),
    }
}

fn explist() -> Explist {
    let days = |days: Option<i64>| days.map_or("never".to_owned(), |days| days.to_string());
    let lines: String = GROUPS
        .iter()
        .map(|(name, low, default, high)| {
            format!("{name} x {low}-{}-{} -\n", days(*default), days(*high))
        })
        .collect();
    Explist::parse(lines.as_bytes(), "explist", None).unwrap()
}

/// Files the articles, oldest first, and returns the first link of each.
fn file(dir: &Path, articles: &[Arriving]) -> Vec<(usize, u64)> {
    for name in ["segments", "bad"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
    let active: String = GROUPS
        .iter()
        .map(|(name, ..)| format!("{name} 0000000000 00001 y\n"))
        .collect();
    std::fs::write(dir.join("active"), active).unwrap();
    let mut spool = Spool::open(dir, options()).unwrap();
    let mut first = Vec::new();
    for (place, article) in articles.iter().enumerate() {
        let id = format!("<{place}@x>");
        let mut links = Vec::new();
        for &group in &article.groups {
            let found = spool.active().find(GROUPS[group].0.as_bytes()).unwrap();
            links.push((group, spool.active_mut().take_number(found).unwrap()));
        }
        first.push(links[0]);
        let named: Vec<(&[u8], u64)> = links
            .iter()
            .map(|(group, number)| (GROUPS[*group].0.as_bytes(), *number))
            .collect();
        let places = links
            .iter()
            .map(|(group, number)| format!(" {}:{number}", GROUPS[*group].0));
        let xref = format!("h{}", places.collect::<String>());
        let header = format!("Xref: {xref}\nSubject: s\nMessage-ID: {id}\n\n");
        let body = "x".repeat(article.filler) + "\n";
        spool
            .append(&Filing {
                id: id.as_bytes(),
                arrival: NOW - article.age,
                expires: article.expires.map(|after| NOW + after).into(),
                is_late: false,
                links: &named,
                sites: b"",
                header: &[Piece::Native(header.as_bytes())],
                body: Piece::Native(body.as_bytes()),
                left_out: None,
                overview: OverviewFields {
                    id: id.as_bytes(),
                    xref: xref.as_bytes(),
                    ..OverviewFields::default()
                },
            })
            .unwrap();
    }
    spool.commit().unwrap();
    first
}

/// Whether a link is removed when lives are shortened to this number of steps.
fn goes(article: &Arriving, group: usize, steps: u32) -> bool {
    let (_, low, default, high) = GROUPS[group];
    let low = low * DAY;
    let left = |days: Option<i64>| {
        days.map(|days| {
            let seconds = i128::from(days * DAY) * i128::from(steps) / i128::from(Share::STEPS);
            i64::try_from(seconds).unwrap().max(low)
        })
    };
    match article.expires {
        None => left(default).is_some_and(|life| article.age > life),
        Some(after) => {
            let too_old = left(high).is_some_and(|life| article.age >= life);
            article.age > low && (too_old || after <= 0)
        }
    }
}

/// The largest number of steps at which an article is removed from all its groups.
fn last_share(article: &Arriving) -> Option<u32> {
    let gone = |steps| {
        article
            .groups
            .iter()
            .all(|group| goes(article, *group, steps))
    };
    if !gone(0) {
        return None;
    }
    let (mut low, mut high) = (0, Share::STEPS + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if gone(middle) {
            low = middle
        } else {
            high = middle
        }
    }
    Some(low)
}

fn sizes(dir: &Path, first: &[(usize, u64)]) -> Vec<u64> {
    let snapshot = Snapshot::open(dir).unwrap();
    let disk = |(group, number): &(usize, u64)| {
        let mut disk = 0;
        let name = GROUPS[*group].0.as_bytes();
        snapshot
            .overview(name, (*number, *number), |row| {
                disk = disk_bytes_of(row.text);
                Ok(())
            })
            .unwrap();
        disk
    };
    first.iter().map(disk).collect()
}

/// The result of the model when this number of bytes is wanted: the steps, and the bytes freed.
fn model(articles: &[Arriving], sizes: &[u64], wanted: u64) -> (u32, u64) {
    let mut run_options: Vec<(u32, u64)> = articles
        .iter()
        .zip(sizes)
        .filter_map(|(article, disk)| Some((last_share(article)?, *disk)))
        .collect();
    run_options.sort_unstable_by_key(|(steps, _)| std::cmp::Reverse(*steps));
    let (mut taken, mut at) = (0, Share::STEPS);
    for (steps, disk) in run_options {
        if taken >= wanted && steps < at {
            return (at, taken);
        }
        taken += disk;
        at = steps;
    }
    (if taken >= wanted { at } else { 0 }, taken)
}

fn ask(dir: &Path, wanted: u64) -> RunReport {
    let disk = DiskSpace {
        free: Some(1 << 30),
        used: 0,
    };
    expire::run(
        dir,
        explist(),
        &run_options((1 << 30) + wanted, disk),
        Archiving::default(),
    )
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn the_oldest_by_its_life_goes_first(
        mut articles in prop::collection::vec(arriving(), 1..80),
        percent in 0..120u64,
    ) {
        articles.sort_by_key(|article| std::cmp::Reverse(article.age));
        let news = tempfile::tempdir().unwrap();
        let first = file(news.path(), &articles);
        let sizes = sizes(news.path(), &first);
        let wanted = sizes.iter().sum::<u64>() * percent / 100;
        let outcome = ask(news.path(), wanted);
        let (steps, taken) = model(&articles, &sizes, wanted);
        prop_assert_eq!(outcome.plan.total.disk_bytes, taken);
        match outcome.shortage {
            None => prop_assert_eq!(steps, Share::STEPS),
            Some(told) => {
                prop_assert_eq!(told.share, Share::steps(steps));
                prop_assert_eq!(told.missing, wanted.saturating_sub(taken));
            }
        }
    }
}

#[test]
fn space_not_yet_reclaimed_counts_as_free() {
    let article = |age: i64| Arriving {
        groups: BTreeSet::from([0]),
        age: age * DAY / 10,
        expires: None,
        filler: 20_000,
    };
    // Ten articles of 20 kB: one segment, in which some are kept.
    let articles: Vec<Arriving> = (20..30).rev().map(article).collect();
    let news = tempfile::tempdir().unwrap();
    file(news.path(), &articles);
    let used = DiskSpace::of(&news.path().join("segments")).unwrap().used;
    let limits = RunOptions {
        dry: false,
        space: SpaceLimits {
            max_size: Some(used - 50_000),
            ..SpaceLimits::default()
        },
        disk: None,
        ..run_options(
            0,
            DiskSpace {
                free: Some(0),
                used: 0,
            },
        )
    };
    let first = expire::run(news.path(), explist(), &limits, Archiving::default()).unwrap();
    assert_eq!(first.plan.total.articles, 3, "{:?}", first.shortage);
    assert_eq!(first.reclaimed.segments, 0);
    let again = expire::run(news.path(), explist(), &limits, Archiving::default()).unwrap();
    assert_eq!(again.plan.total.articles, 0, "{:?}", again.shortage);
    assert_eq!(again.shortage, None);
}
