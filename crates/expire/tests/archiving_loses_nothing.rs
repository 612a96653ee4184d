//! Random articles, cross-posts, Expires and clocks; copies that fail now and then, or are held: every article removed from a
//! group with an archive is in the archive, no other article is removed or kept wrongly, and once no obstacle is left
//! all of them are removed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::newsdir;

use std::collections::BTreeSet;

use expire::policy::Facts;
use expire::{Archiving, Explist, Policy, RunOptions, SpaceLimits, Verdict};
use newsdir::{NewsDir, options, text};
use proptest::prelude::*;

const GROUPS: [&str; 4] = ["a.x", "a.y", "b", "plain"];
const POLICY: &str = "plain x 3 -\nb x 2 DIR/arch\na.x x 3-4-9 DIR/arch\nall x 3 DIR/arch\n";

#[derive(Debug, Clone)]
struct Arriving {
    groups: BTreeSet<usize>,
    after: i64,
    expires: Option<i64>,
}

#[derive(Debug, Clone)]
struct Round {
    articles: Vec<Arriving>,
    /// Links whose file name is blocked during this round; taken modulo the number of links.
    blocked: Vec<usize>,
    hold: bool,
    seal: bool,
}

struct Link {
    name: String,
    group: usize,
    number: u64,
    facts: Facts,
    alive: bool,
}

fn round() -> impl Strategy<Value = Round> {
    let groups = prop::collection::btree_set(0..4usize, 1..4);
    let expires = prop_oneof![3 => Just(None), 1 => (0..1_500_000i64).prop_map(Some)];
    let arriving = (groups, 0..40_000i64, expires).prop_map(|(groups, after, expires)| Arriving {
        groups,
        after,
        expires,
    });
    let articles = prop::collection::vec(arriving, 0..25);
    let blocked = prop::collection::vec(any::<usize>(), 0..6);
    let hold = prop::bool::weighted(0.2);
    (articles, blocked, hold, any::<bool>()).prop_map(|(articles, blocked, hold, seal)| Round {
        articles,
        blocked,
        hold,
        seal,
    })
}

fn file(newsdir: &NewsDir, links: &mut Vec<Link>, round: &Round, clock: &mut i64) {
    let mut spool = newsdir.spool();
    for wanted in &round.articles {
        *clock += wanted.after;
        let expires = wanted.expires.map(|after| *clock + after);
        let name = format!("n{}", links.len());
        let groups: Vec<_> = wanted.groups.iter().map(|group| GROUPS[*group]).collect();
        newsdir::file(&mut spool, &name, &groups.join(","), *clock, expires);
        for &group in &wanted.groups {
            let id = spool.active().find(GROUPS[group].as_bytes()).unwrap();
            links.push(Link {
                name: name.clone(),
                group,
                number: spool.active().high(id),
                facts: Facts {
                    arrival: *clock,
                    expires,
                    expires_unreadable: false,
                },
                alive: true,
            });
        }
    }
    spool.commit().unwrap();
    if round.seal {
        spool.seal().unwrap();
        spool.commit().unwrap();
    }
}

fn path(newsdir: &NewsDir, link: &Link) -> std::path::PathBuf {
    let folder = GROUPS[link.group].replace('.', "/");
    newsdir
        .path("arch")
        .join(folder)
        .join(link.number.to_string())
}

fn expire(newsdir: &NewsDir, now: i64, hold: bool) -> (expire::RunReport, Policy) {
    let text = POLICY.replace("DIR", newsdir.path("").to_str().unwrap());
    let list = || Explist::parse(text.as_bytes(), "explist", None).unwrap();
    let order = RunOptions {
        now,
        dry: false,
        force: true,
        trace: false,
        space: SpaceLimits {
            dead_fraction: 0.1,
            ..SpaceLimits::default()
        },
        disk: None,
        store: options(),
    };
    let archiving = Archiving {
        hold,
        ..Archiving::default()
    };
    let told = expire::run(&newsdir.news(), list(), &order, archiving).unwrap();
    let (policy, _) = Policy::compile(list(), newsdir.snapshot().active()).unwrap();
    (told, policy)
}

fn check(newsdir: &NewsDir, links: &mut [Link], now: i64, hold: bool, free: bool) {
    let (told, policy) = expire(newsdir, now, hold);
    let snapshot = newsdir.snapshot();
    let (mut went, mut copied) = (0, 0);
    for link in links {
        let name = GROUPS[link.group].as_bytes();
        let id = snapshot.active().find(name).unwrap();
        let due = policy.decide(link.facts, id, now).verdict != Verdict::Keep;
        let there = snapshot
            .article_by_number(name, link.number, &mut Vec::new())
            .unwrap()
            .is_some();
        let shown = format!("{}/{}", GROUPS[link.group], link.number);
        assert!(link.alive || !there, "{shown} came back");
        assert!(!link.alive || there || due, "{shown} went early");
        let archives = link.group != 3;
        assert!(
            !there || !due || (archives && !free),
            "{shown} was kept back"
        );
        if archives && !there {
            let copy = std::fs::read_to_string(path(newsdir, link)).expect(&shown);
            assert_eq!(copy, text(&link.name), "{shown}");
            copied += u64::from(link.alive);
        }
        went += u64::from(link.alive && !there);
        link.alive = there;
    }
    assert_eq!(told.plan.total.links, went);
    assert_eq!(told.archived.copies, copied);
    let by_hierarchy: u64 = told
        .plan
        .hierarchies
        .values()
        .map(|going| going.links)
        .sum();
    assert_eq!(by_hierarchy, went);
    drop(snapshot);
    newsdir.assert_clean();
}

fn story(rounds: &[Round]) {
    let newsdir = NewsDir::new(&GROUPS);
    newsdir.folder("arch");
    let mut clock = 10_000_000;
    let mut links: Vec<Link> = Vec::new();
    for round in rounds {
        file(&newsdir, &mut links, round, &mut clock);
        let mut in_the_way = Vec::new();
        for place in &round.blocked {
            let archived = links
                .get(place % links.len().max(1))
                .filter(|link| link.group != 3);
            let Some(path) = archived.map(|link| path(&newsdir, link)) else {
                continue;
            };
            if !path.exists() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, "another").unwrap();
                in_the_way.push(path);
            }
        }
        let free = in_the_way.is_empty() && !round.hold;
        check(&newsdir, &mut links, clock, round.hold, free);
        for path in in_the_way {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "another");
            std::fs::remove_file(path).unwrap();
        }
    }
    check(&newsdir, &mut links, clock, false, true);
    check(&newsdir, &mut links, clock + 40 * 86_400, false, true);
    assert!(links.iter().all(|link| !link.alive));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn archiving_loses_nothing(rounds in prop::collection::vec(round(), 1..7)) {
        story(&rounds);
    }
}
