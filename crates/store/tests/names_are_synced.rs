//! What is renamed, made or removed in a news directory is not on the disk before its directory is synced. Everything the store does to names
//! is listed here from a trace, and nothing counts on a name that a power cut could take back.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::double;
use crate::news;
use crate::story;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use double::{Deed, Double, Fault};
use news::News;
use store::{ExpiryDecision, Position, ReclaimPolicy, Snapshot, Spool, reclaim_on};
use story::small;

/// What the names of a file have in common, and whose they are: a segment's, or of all.
fn kind(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.trim_start_matches(|c: char| c.is_ascii_digit())
        .to_owned()
}

fn is_fresh(path: &Path) -> bool {
    let kind = kind(path);
    kind.ends_with(".new") || kind.ends_with(".remake")
}

/// The name that a deed leaves on the disk only when its directory is synced.
fn name(deed: &Deed) -> Option<&PathBuf> {
    match deed {
        Deed::Make(path) | Deed::Remove(path) | Deed::Rename(_, path) => Some(path),
        _ => None,
    }
}

/// Removals that the next run does again, should they come back.
fn may_come_back(deed: &Deed) -> bool {
    match deed {
        Deed::Remove(path) => {
            is_fresh(path) || [".his", ".ovr", ".exp"].contains(&kind(path).as_str())
        }
        Deed::Make(path) => is_fresh(path),
        _ => false,
    }
}

/// Two files of one segment, or at least one that is not of a segment.
fn belong_together(one: &Path, other: &Path) -> bool {
    let stem = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
        Some(digits).filter(|digits| !digits.is_empty())
    };
    stem(one).is_none() || stem(other).is_none() || stem(one) == stem(other)
}

/// Goes through a trace; returns what was put in place and removed.
fn check(trace: &[Deed]) -> BTreeSet<String> {
    let mut pending: Vec<&Deed> = Vec::new();
    let mut met = BTreeSet::new();
    for deed in trace {
        let waiting = || pending.iter().filter(|deed| !may_come_back(deed));
        let blocked = match deed {
            Deed::Told(_) => waiting().next(),
            // A checkpoint: what it counts on must not be taken back.
            Deed::Sync(path) if path.file_name().unwrap() == "index" => waiting().next(),
            // What is given back is gone for good.
            Deed::Punch(path) => waiting().find(|one| belong_together(name(one).unwrap(), path)),
            Deed::Remove(path) if !is_fresh(path) => {
                waiting().find(|one| belong_together(name(one).unwrap(), path))
            }
            _ => None,
        };
        if let Some(blocked) = blocked {
            panic!("{deed:?} comes before the directory of {blocked:?} is synced");
        }
        match deed {
            Deed::SyncDirectory(dir) => {
                pending.retain(|one| name(one).unwrap().parent() != Some(dir));
            }
            Deed::Rename(_, path) => {
                met.insert(format!("put {}", kind(path)));
                pending.push(deed);
            }
            Deed::Remove(path) => {
                met.insert(format!("remove {}", kind(path)));
                pending.push(deed);
            }
            Deed::Make(_) => pending.push(deed),
            _ => {}
        }
    }
    met
}

/// Files, cancels and expires.
fn file_and_expire(news: &News, double: &Double) -> Spool {
    let dir = news.dir();
    let disk = double.disk();
    let mut spool = Spool::open_on(disk.clone(), dir, small()).unwrap();
    double.told("opened");
    let filler = "some words of text ".repeat(2000);
    let mut positions: Vec<(Position, String)> = Vec::new();
    for number in 0..100 {
        let id = format!("<{number}@x>");
        let group = if number % 3 == 0 { "c" } else { "a.b" };
        positions.push((news.file_with(&mut spool, &id, &[group], &filler), id));
        if number % 10 == 9 {
            spool.commit().unwrap();
            double.told("filed");
        }
    }
    for (position, id) in positions.iter().take(30).chain(positions.iter().skip(97)) {
        spool.cancel(*position, id.as_bytes()).unwrap();
    }
    spool.commit().unwrap();
    double.told("cancelled");
    spool
        .set_group(b"new.one", groups::Flag::Moderated)
        .unwrap();
    spool.commit().unwrap();
    double.told("a group was made");
    // Both groups' articles in the first segment go, then scattered ones, then a long run.
    let cuts = vec![(b"a.b".to_vec(), 24), (b"c".to_vec(), 12)];
    let gone = (30..50).step_by(2).map(|number| (b"a.b".to_vec(), number));
    let touched = Snapshot::open_on(disk.clone(), dir)
        .unwrap()
        .segments()
        .to_vec();
    let expiry = ExpiryDecision {
        cuts,
        gone: gone.collect(),
        forget_before: Some(900),
        touched,
        ..ExpiryDecision::default()
    };
    spool.expire(&expiry).unwrap();
    double.told("expired");
    spool
}

/// Also gives space back: as much as meets every name.
fn life(news: &News, double: &Double) {
    let (dir, disk) = (news.dir(), double.disk());
    drop(file_and_expire(news, double));
    for dead_part in [1.0, 0.0] {
        reclaim_on(
            disk.clone(),
            dir,
            small(),
            ReclaimPolicy {
                dead_part,
                everywhere: true,
                now: i64::MAX,
            },
        )
        .unwrap();
        double.told("space was given back");
    }
    let mut spool = Spool::open_on(disk.clone(), dir, small()).unwrap();
    let expiry = ExpiryDecision {
        forget_before: Some(2000),
        touched: Snapshot::open_on(disk.clone(), dir)
            .unwrap()
            .segments()
            .to_vec(),
        ..ExpiryDecision::default()
    };
    spool.expire(&expiry).unwrap();
    double.told("ids may be forgotten");
    drop(spool);
    reclaim_on(
        disk.clone(),
        dir,
        small(),
        ReclaimPolicy {
            dead_part: 0.0,
            everywhere: true,
            now: i64::MAX,
        },
    )
    .unwrap();
    double.told("more was given back");
}

#[test]
fn what_counts_on_a_name_comes_behind_the_sync_of_its_directory() {
    let news = News::new(&["a.b", "c"]);
    let double = Double::new(news.dir());
    life(&news, &double);
    let mut met = check(&double.take_trace());
    // The derived files of a sealed segment, the index and active are made again.
    let disk = double.disk();
    let sealed = Snapshot::open_on(disk.clone(), news.dir())
        .unwrap()
        .segments()[0];
    let views = news
        .dir()
        .join("segments")
        .join(format!("{sealed:020}.his"));
    std::fs::write(views, "<torn").unwrap();
    std::fs::write(news.dir().join("active"), "a.b 12 zz y\n").unwrap();
    let report = store::fsck::fsck_on(disk.clone(), news.dir(), true).unwrap();
    assert!(report.faults > 1, "{report:?}");
    double.told("repaired");
    let before = double.take_trace();
    met.extend(check(&before));
    // A checkpoint fails: everything derived is made anew.
    let mut spool = Spool::open_on(disk.clone(), news.dir(), small()).unwrap();
    news.file(&mut spool, "<more@x>", &["c"]);
    spool.commit().unwrap();
    double.fail_sync(1);
    assert!(spool.checkpoint().is_err());
    double.heal();
    drop(spool);
    Spool::open_on(disk, news.dir(), small()).unwrap();
    double.told("opened again");
    met.extend(check(&double.take_trace()));
    let listed: Vec<&str> = met.iter().map(String::as_str).collect();
    let known = [
        "put .art",
        "put .exp",
        "put .his",
        "put .ovr",
        "put active",
        "put cancels",
        "put expired",
        "put index",
        "put unreclaimed",
        "remove .art",
        "remove .exp",
        "remove .his",
        "remove .ovr",
        "remove index",
    ];
    for one in known {
        assert!(listed.contains(&one), "{one} was not met: {listed:?}");
    }
}

/// The cancels were written anew without those of the segments that went; a power cut brought the old file back under the new
/// mark, which ended it in the middle.
#[test]
fn cancelled_articles_stay_away_when_the_power_fails_behind_expire() {
    let news = News::new(&["a.b", "c"]);
    let double = Double::new(news.dir());
    let mut spool = file_and_expire(&news, &double);
    spool.checkpoint().unwrap();
    drop(spool);
    let reclaim = |double: &Double, dir: &Path| {
        let eagerness = ReclaimPolicy::usual(1.0);
        reclaim_on(double.disk(), dir, small(), eagerness).map(drop)
    };
    let mut at = 1;
    loop {
        let dir = double.remounted();
        std::fs::write(dir.path().join("lock"), "").unwrap();
        let double = Double::new(dir.path());
        double.fail_at(at, Fault::PowerCut, true);
        if reclaim(&double, dir.path()).is_ok() {
            break;
        }
        let left = double.power_cut(at);
        let reader = Snapshot::open_on(Double::new(left.path()).disk(), left.path()).unwrap();
        for number in 97..100 {
            let id = format!("<{number}@x>");
            let mut buffer = Vec::new();
            let found = reader.article(id.as_bytes(), &mut buffer).unwrap();
            assert!(found.is_none(), "call {at}: {id} is back");
        }
        at += 2;
    }
    assert!(at > 40, "{at}");
}
