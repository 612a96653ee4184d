//! If a file that expire reads is damaged or outdated, expire refuses to run or keeps the articles: none is removed wrongly.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use expire::{Archiving, Explist, Policy, RunOptions, RunReport, SpaceLimits};
use groups::Flag;
use store::{Expires, Filing, Options, OverviewFields, Piece, Snapshot, Spool};

const DAY: i64 = 86_400;
const NOW: i64 = 100 * DAY;

fn options() -> Options {
    Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    }
}

struct News(tempfile::TempDir);

impl News {
    fn new(active: &str) -> News {
        let news = News(tempfile::tempdir().unwrap());
        for name in ["segments", "bad"] {
            fs::create_dir(news.dir().join(name)).unwrap();
        }
        fs::write(news.dir().join("active"), active).unwrap();
        news
    }

    fn dir(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, group: &str, count: usize, arrival: i64, expires: Expires<'_>) {
        let mut spool = Spool::open(self.dir(), options()).unwrap();
        for _ in 0..count {
            let found = spool.active().find(group.as_bytes()).unwrap();
            let number = spool.active_mut().take_number(found).unwrap();
            let id = format!("<{number}@{group}>");
            let header = format!("Xref: h {group}:{number}\nSubject: s\nMessage-ID: {id}\n\n");
            let body = "x".repeat(10_000) + "\n";
            spool
                .append(&Filing {
                    id: id.as_bytes(),
                    arrival,
                    expires,
                    is_late: false,
                    links: &[(group.as_bytes(), number)],
                    sites: b"",
                    header: &[Piece::Native(header.as_bytes())],
                    body: Piece::Native(body.as_bytes()),
                    left_out: None,
                    overview: OverviewFields {
                        id: id.as_bytes(),
                        ..OverviewFields::default()
                    },
                })
                .unwrap();
        }
        spool.commit().unwrap();
    }

    fn expire_at(&self, now: i64, policy: &str) -> Result<RunReport, String> {
        let list = Explist::parse(policy.as_bytes(), "explist", None).unwrap();
        let order = RunOptions {
            now,
            dry: false,
            trace: false,
            force: true,
            space: SpaceLimits::default(),
            disk: None,
            store: options(),
        };
        expire::run(self.dir(), list, &order, Archiving::default()).map_err(|e| e.to_string())
    }

    fn expire(&self, policy: &str) -> Result<RunReport, String> {
        self.expire_at(NOW, policy)
    }

    /// The number of readable articles of a group.
    fn there(&self, group: &str) -> usize {
        let snapshot = Snapshot::open(self.dir()).unwrap();
        let id = snapshot.active().find(group.as_bytes()).unwrap();
        let numbers = 1..=snapshot.active().high(id);
        let mut buffer = Vec::new();
        let mut is_there = |number: &u64| {
            let read = snapshot.article_by_number(group.as_bytes(), *number, &mut buffer);
            read.unwrap().is_some()
        };
        numbers.filter(|number| is_there(number)).count()
    }

    fn first(&self, view: &str) -> PathBuf {
        self.dir().join(format!("segments/{:020}.{view}", 4096))
    }
}

#[test]
fn articles_filed_and_sealed_after_the_reader_opened_are_kept() {
    let news = News::new("a.b 0000000000 00001 y\n");
    news.file("a.b", 10, NOW - 30 * DAY, Expires::Absent);
    let snapshot = Snapshot::open(news.dir()).unwrap();
    news.file("a.b", 200, NOW, Expires::Absent);
    let list = Explist::parse(b"all x 10 -\n", "explist", None).unwrap();
    let (policy, _) = Policy::compile(list, snapshot.active()).unwrap();
    let plan = expire::decide(&snapshot, &policy, NOW, |_| false).unwrap();
    assert_eq!(plan.expiry.cuts, [(b"a.b".to_vec(), 11)]);
}

#[test]
fn lost_rows_do_not_remove_a_segment() {
    for lost in ["ovr", "his", "exp"] {
        let news = News::new("a.b 0000000000 00001 y\n");
        let late = Expires::At(NOW + 1000 * DAY);
        news.file("a.b", 50, NOW - 30 * DAY, late);
        news.file("a.b", 300, NOW - DAY, Expires::Absent);
        fs::write(news.first(lost), "").unwrap();
        let _ = fs::remove_file(news.dir().join("unreclaimed"));
        let told = news.expire("all x 0-10-never -\n");
        store::fsck::fsck(news.dir(), true).unwrap();
        assert_eq!(news.there("a.b"), 350, "{lost}: {told:?}");
    }
}

#[test]
fn an_unused_number_cuts_nothing() {
    let news = News::new("a.b 0000000000 00001 y\n");
    news.file("a.b", 300, NOW - 30 * DAY, Expires::Absent);
    // The entries contain numbers of 8 bytes; one bit of the last number of the group is set.
    let mut rows = fs::read(news.first("ovr")).unwrap();
    let at = |n: usize| u32::from_le_bytes(rows[n..n + 4].try_into().unwrap()) as usize;
    let (groups, entries) = (at(16), at(20));
    rows[32 + groups * 16 + (entries - 1) * 16 + 5] ^= 0x10;
    fs::write(news.first("ovr"), rows).unwrap();
    let error = news.expire("all x 10 -\n").unwrap_err();
    assert!(error.contains("a block of rows is damaged"), "{error}");
    store::fsck::fsck(news.dir(), true).unwrap();
    assert_eq!(news.there("a.b"), 300);
    news.expire("all x 10 -\n").unwrap();
    news.file("a.b", 1, NOW, Expires::Absent);
    assert_eq!(news.there("a.b"), 1);
}

#[test]
fn a_damaged_line_of_active_stops_expire() {
    let news = News::new("m.x 0000000000 00001 m\nu.x 0000000000 00001 y\n");
    news.file("m.x", 5, NOW - 30 * DAY, Expires::Absent);
    let path = news.dir().join("active");
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, good.replace(" m\n", " m what\n")).unwrap();
    let error = news.expire("all m never -\nall u 10 -\n").unwrap_err();
    assert!(error.contains("nothing is removed before"), "{error}");
    fs::write(&path, good).unwrap();
    assert_eq!(news.there("m.x"), 5);
}

#[test]
fn a_lost_segment_is_reported() {
    let news = News::new("a.b 0000000000 00001 y\n");
    news.file("a.b", 300, NOW - DAY, Expires::Absent);
    fs::remove_file(news.first("art")).unwrap();
    fs::remove_file(news.dir().join("unreclaimed")).unwrap();
    let told = news.expire("all x 10 -\n").unwrap();
    assert_eq!(told.reclaimed.faults.len(), 1, "{told:?}");
    assert!(news.first("ovr").exists());
}

#[test]
fn a_clock_far_ahead_does_not_forget_ids() {
    let news = News::new("a.b 0000000000 00001 y\n");
    news.file("a.b", 10, NOW - DAY, Expires::Absent);
    let policy = "/expired/ x 14 -\nall x 10 -\n";
    news.expire_at(NOW + 10_000 * DAY, "/expired/ x 14 -\nall x never -\n")
        .unwrap();
    news.file("a.b", 10, NOW, Expires::Absent);
    news.expire_at(NOW + 12 * DAY, policy).unwrap();
    assert_eq!(news.there("a.b"), 0);
    let snapshot = Snapshot::open(news.dir()).unwrap();
    assert!(snapshot.history_line(b"<15@a.b>").unwrap().is_some());
}

#[test]
fn a_clock_that_was_ahead_when_an_article_came_forgets_nothing_later() {
    let news = News::new("a.b 0000000000 00001 y\n");
    let later = NOW + 3650 * DAY;
    news.file("a.b", 1, later, Expires::Absent);
    news.expire_at(later + DAY, "/expired/ x 14 -\nall x never -\n")
        .unwrap();
    let forget_before = || {
        let snapshot = Snapshot::open(news.dir()).unwrap();
        snapshot.expired().forget_before()
    };
    assert!(forget_before() > NOW + 3000 * DAY);
    // The clock is right again.
    news.file("a.b", 10, NOW, Expires::Absent);
    news.expire_at(NOW + DAY, "/expired/ x 14 -\nall x 0 -\n")
        .unwrap();
    assert!(forget_before() < NOW);
    let snapshot = Snapshot::open(news.dir()).unwrap();
    assert!(snapshot.history_line(b"<5@a.b>").unwrap().is_some());
}

#[test]
fn a_removed_group_follows_its_own_rule() {
    let news = News::new("r.x 0000000000 00001 y\nk.x 0000000000 00001 y\n");
    news.file("r.x", 20, NOW - 5 * DAY, Expires::Absent);
    news.file("k.x", 5, NOW - 5 * DAY, Expires::Absent);
    let mut spool = Spool::open(news.dir(), options()).unwrap();
    spool.remove_group(b"r.x").unwrap();
    spool.commit().unwrap();
    drop(spool);
    let told = news.expire("r x 1 -\nall x 100 -\n").unwrap();
    assert_eq!((told.plan.total.links, told.plan.live), (20, 25));
    let mut spool = Spool::open(news.dir(), options()).unwrap();
    spool.set_group(b"r.x", Flag::parse(b"y").unwrap()).unwrap();
    spool.commit().unwrap();
    drop(spool);
    assert_eq!((news.there("r.x"), news.there("k.x")), (0, 5));
}
