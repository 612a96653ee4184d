//! Removals against a slow model: random articles, cross-posts, late numbers, Expires (some of them invalid), clocks and policies; runs of expire between
//! batches of filing; after each run the test looks up every article in every group. After the clock was set back, an article may
//! be kept longer by the same time, and is never removed early.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeSet;
use std::path::Path;

use expire::policy::Facts;
use expire::{Archiving, Explist, Policy, RemovalCount, RunOptions, SpaceLimits, Verdict};
use proptest::prelude::*;
use store::{Expires, Filing, Options, OverviewFields, Piece, Position, Snapshot, Spool};

const GROUPS: [&str; 4] = ["a.x", "a.y", "b", "c.moderated"];

#[derive(Debug, Clone)]
struct Arriving {
    groups: BTreeSet<usize>,
    /// Seconds since the article before; the clock may be set back.
    after: i64,
    /// Seconds from arrival to Expires.
    expires: Option<i64>,
    /// Without that: its Expires is invalid.
    unreadable: bool,
    /// Numbers that it leaves free before its own.
    skips: u64,
    /// It takes numbers that were left free, if there are any.
    is_late: bool,
    filler: usize,
}

#[derive(Debug, Clone)]
struct Round {
    articles: Vec<Arriving>,
    /// Days that articles of each group are kept, and history lines.
    days: [u8; 4],
    low: u8,
    high: u8,
    /// The dead fraction above which a segment is rewritten.
    dead_fraction: f64,
    /// The article to cancel, of those filed so far.
    cancel: prop::sample::Index,
}

struct Filed {
    id: String,
    text: String,
    arrival: i64,
    expires: Option<i64>,
    unreadable: bool,
    position: Position,
    cancelled: bool,
    links: Vec<(usize, u64, bool)>,
}

impl Filed {
    fn is_alive(&self) -> bool {
        !self.cancelled && self.links.iter().any(|(_, _, alive)| *alive)
    }
}

/// The arrival of the oldest article alive in a hierarchy.
fn oldest(filed: &[Filed], hierarchy: &[u8]) -> Option<i64> {
    let within = |group: usize| GROUPS[group].split('.').next().unwrap().as_bytes() == hierarchy;
    filed
        .iter()
        .filter(|article| !article.cancelled)
        .filter(|article| {
            let mut links = article.links.iter();
            links.any(|(group, _, alive)| *alive && within(*group))
        })
        .map(|article| article.arrival)
        .min()
}

fn arriving() -> impl Strategy<Value = Arriving> {
    let groups = prop::collection::btree_set(0..4usize, 1..4);
    let after = prop_oneof![20 => 0..40_000i64, 1 => -200_000..0i64];
    let expires = prop_oneof![4 => Just(None), 1 => (-50_000..2_000_000i64).prop_map(Some)];
    let numbers = (
        prop_oneof![8 => Just(0), 1 => 1..4u64],
        prop::bool::weighted(0.1),
    );
    let rest = (prop::bool::weighted(0.1), 0..40_000usize, numbers);
    (groups, after, expires, rest).prop_map(
        |(groups, after, expires, (unreadable, filler, (skips, is_late)))| Arriving {
            groups,
            after,
            expires,
            unreadable: unreadable && expires.is_none(),
            skips,
            is_late,
            filler,
        },
    )
}

fn round() -> impl Strategy<Value = Round> {
    let articles = prop::collection::vec(arriving(), 0..90);
    let dead_fraction = prop::sample::select(vec![0.0, 0.15, 0.15, 1.0]);
    let rest = (0..2u8, 9..30u8, dead_fraction, any::<prop::sample::Index>());
    (articles, [1..9u8, 1..9, 1..20, 1..3], rest).prop_map(
        |(articles, days, (low, high, dead_fraction, cancel))| Round {
            articles,
            days,
            low,
            high,
            dead_fraction,
            cancel,
        },
    )
}

fn file(spool: &mut Spool, filed: &mut Vec<Filed>, wanted: &Arriving, arrival: i64) {
    let id = format!("<{}@x>", filed.len());
    let mut links = Vec::new();
    let mut is_late = false;
    for &group in &wanted.groups {
        let name = GROUPS[group].as_bytes();
        let found = spool.active().find(name).unwrap();
        let high = spool.active().high(found);
        let used = |number: u64| {
            let mut links = filed.iter().flat_map(|article: &Filed| &article.links);
            links.any(|(its, used, _)| (*its, *used) == (group, number))
        };
        let mut free = None;
        for number in 1..=high {
            let is_free = spool.is_free(name, number).unwrap();
            assert!(!is_free || !used(number), "{} {number}", GROUPS[group]);
            free = free.or(is_free.then_some(number));
        }
        if let Some(number) = free.filter(|_| wanted.is_late) {
            is_late = true;
            links.push((group, number));
        } else {
            assert!(spool.active_mut().set_high(found, high + wanted.skips));
            links.push((group, spool.active_mut().take_number(found).unwrap()));
        }
    }
    let named: Vec<(&[u8], u64)> = links
        .iter()
        .map(|(group, number)| (GROUPS[*group].as_bytes(), *number))
        .collect();
    let expires = wanted.expires.map(|after| arrival + after);
    let places = links
        .iter()
        .map(|(group, number)| format!(" {}:{number}", GROUPS[*group]));
    let xref = format!("h{}", places.collect::<String>());
    let header = format!("Xref: {xref}\nSubject: s\nMessage-ID: {id}\n\n");
    let body = "x".repeat(wanted.filler) + "\n";
    let position = spool
        .append(&Filing {
            id: id.as_bytes(),
            arrival,
            expires: if wanted.unreadable {
                Expires::Unreadable(b"some day")
            } else {
                expires.into()
            },
            is_late,
            links: &named,
            sites: b"",
            header: &[Piece::Native(header.as_bytes())],
            body: Piece::Native(body.as_bytes()),
            left_out: None,
            overview: OverviewFields {
                subject: b"s",
                id: id.as_bytes(),
                xref: xref.as_bytes(),
                ..OverviewFields::default()
            },
        })
        .unwrap();
    filed.push(Filed {
        id,
        text: header + &body,
        arrival,
        expires,
        unreadable: wanted.unreadable,
        position,
        cancelled: false,
        links: links
            .into_iter()
            .map(|(group, number)| (group, number, true))
            .collect(),
    });
}

fn check(dir: &Path, filed: &[Filed], forget_before: i64) {
    let snapshot = Snapshot::open(dir).unwrap();
    for article in filed {
        let alive = article.links.iter().any(|(_, _, alive)| *alive);
        let mut buffer = Vec::new();
        let found = snapshot
            .article(article.id.as_bytes(), &mut buffer)
            .unwrap_or_else(|error| panic!("{} {:?}: {error}", article.id, article.links));
        let seen = alive && !article.cancelled;
        assert_eq!(found.is_some(), seen, "{}", article.id);
        if let Some(found) = found {
            let mut native = Vec::new();
            found.push_native(&mut native);
            assert!(native == article.text.as_bytes(), "{}", article.id);
        }
        let known = snapshot
            .history_line(article.id.as_bytes())
            .unwrap()
            .is_some();
        // A cancelled article may have lost even its row, which shows that its number was used.
        if !article.cancelled {
            let latest = article.arrival + store::EXPIRES_REMEMBERED_SECONDS_MAX;
            let expires = article.expires.unwrap_or(article.arrival);
            let from = expires.clamp(article.arrival, latest);
            let should = alive || from >= forget_before;
            assert_eq!(known, should, "{}", article.id);
        }
        for (group, number, alive) in &article.links {
            let name = GROUPS[*group].as_bytes();
            let seen = *alive && !article.cancelled;
            let found = snapshot
                .article_by_number(name, *number, &mut buffer)
                .unwrap();
            assert_eq!(found.is_some(), seen, "{} {number}", GROUPS[*group]);
            let mut rows = 0;
            snapshot
                .overview(name, (*number, *number), |_| {
                    rows += 1;
                    Ok(())
                })
                .unwrap();
            assert_eq!(rows, usize::from(seen), "{} {number}", GROUPS[*group]);
            assert!(
                !alive || snapshot.active().low(snapshot.active().find(name).unwrap()) <= *number
            );
            assert_eq!(snapshot.is_alive_in(name, *number, article.position), seen);
        }
    }
    drop(snapshot);
    let report = store::fsck(dir, false).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

fn story(rounds: &[Round]) {
    let news = tempfile::tempdir().unwrap();
    let dir = news.path();
    for name in ["segments", "bad"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
    let active: String = GROUPS
        .iter()
        .map(|group| {
            let flag = if *group == "c.moderated" { 'm' } else { 'y' };
            format!("{group} 0000000000 00001 {flag}\n")
        })
        .collect();
    std::fs::write(dir.join("active"), active).unwrap();
    let options = Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    };
    let mut filed: Vec<Filed> = Vec::new();
    let mut clock = 10_000_000i64;
    let mut set_back = 0;
    let mut horizon = i64::MIN;
    for (place, round) in rounds.iter().enumerate() {
        let mut spool = Spool::open(dir, options).unwrap();
        for wanted in &round.articles {
            clock += wanted.after;
            set_back -= wanted.after.min(0);
            file(&mut spool, &mut filed, wanted, clock);
        }
        if !filed.is_empty() && place % 2 == 0 {
            let article = round.cancel.get(&filed).id.clone();
            let article = filed.iter_mut().find(|filed| filed.id == article).unwrap();
            spool
                .cancel(article.position, article.id.as_bytes())
                .unwrap();
            article.cancelled = true;
        }
        spool.commit().unwrap();
        drop(spool);
        let [x, y, b, m] = round.days;
        let (low, high) = (round.low, round.high);
        let explist = format!(
            "/expired/ x 10 -\n/bounds/ x {low}-9-{high} -\nc m {m} -\na.x x {x} -\na.y x {y} -\nall x {b} -\n"
        );
        let list = || Explist::parse(explist.as_bytes(), "explist", None).unwrap();
        let order = RunOptions {
            now: clock,
            dry: false,
            force: true,
            trace: false,
            space: SpaceLimits {
                dead_fraction: round.dead_fraction,
                ..SpaceLimits::default()
            },
            disk: None,
            store: options,
        };
        let dry = expire::run(
            dir,
            list(),
            &RunOptions { dry: true, ..order },
            Archiving::default(),
        )
        .unwrap();
        let outcome = expire::run(dir, list(), &order, Archiving::default()).unwrap();
        let counts = |going: &RemovalCount| (going.articles, going.links, going.bytes);
        assert_eq!(counts(&dry.plan.total), counts(&outcome.plan.total));

        let unreadable = filed.iter().filter(|article| article.unreadable);
        let unreadable = unreadable.filter(|article| article.is_alive()).count();
        assert_eq!(outcome.plan.unreadable.count, unreadable as u64);

        let table = Snapshot::open(dir).unwrap();
        let (policy, _) = Policy::compile(list(), table.active()).unwrap();
        let mut going = 0;
        let mut articles = 0;
        for article in &mut filed {
            let was_alive = article.is_alive();
            let facts = Facts {
                arrival: article.arrival,
                expires: article.expires,
                expires_unreadable: article.unreadable,
            };
            let later = Facts {
                arrival: facts.arrival + set_back,
                ..facts
            };
            for (group, number, alive) in &mut article.links {
                let name = GROUPS[*group].as_bytes();
                let id = table.active().find(name).unwrap();
                let stays = |facts| policy.decide(facts, id, clock).verdict == Verdict::Keep;
                let mut goes = !stays(facts);
                if goes && *alive && stays(later) {
                    goes = !table.expired().keeps(name, *number);
                }
                going += u64::from(goes && *alive && !article.cancelled);
                *alive &= !goes;
            }
            articles += u64::from(was_alive && !article.is_alive());
        }
        for (name, told) in &dry.plan.hierarchies {
            assert_eq!(told.oldest_kept, oldest(&filed, name), "{name:?}");
        }
        for (name, told) in &outcome.plan.hierarchies {
            assert_eq!(told.oldest_kept, oldest(&filed, name), "{name:?}");
        }
        let forget_before = table.expired().forget_before();
        drop(table);
        // A forgotten id stays forgotten, even if the clock is set back.
        horizon = horizon.max(policy.forget_before(clock));
        assert!(forget_before <= horizon);
        check(dir, &filed, forget_before);
        assert_eq!(outcome.plan.total.links, going, "round {place}");
        assert_eq!(outcome.plan.total.articles, articles, "round {place}");
        assert_eq!(outcome.reclaimed.faults, [""; 0]);
        // Everything derived from the log may be lost.
        if place % 2 == 1 {
            std::fs::remove_file(dir.join("expired")).unwrap();
            check(dir, &filed, forget_before);
            store::rebuild(dir).unwrap();
            check(dir, &filed, forget_before);
        }
    }
}

/// The number of cases: BROADSHEET_TEST_ROUNDS, else the default.
fn rounds(usual: u32) -> u32 {
    let told = std::env::var("BROADSHEET_TEST_ROUNDS").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(24), ..ProptestConfig::default() })]
    #[test]
    fn removals_agree_with_a_model(rounds in prop::collection::vec(round(), 1..6)) {
        story(&rounds);
    }
}
