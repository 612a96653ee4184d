//! The articles of a sealed segment are in an object store: they are read as before, and what the store does wrong is told.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::news;
use crate::object_double;

use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use news::News;
use object_double::{Event, ObjectDouble, Wrong};
use store::fsck::fsck;
use store::offload::{self, Wanted};
use store::{
    Error, ExpiryDecision, Options, Position, ReclaimPolicy, RemovalNote, RemovedBy, Snapshot,
    Spool, reclaim,
};

const ARTICLES: usize = 40;
/// Longer than what one fetch brings, so that each article has its own.
const FILLER_LINES: usize = 20_000;

fn options() -> Options {
    Options {
        segment_bytes: 64 << 20,
        ..Options::default()
    }
}

struct Site {
    news: News,
    objects: Arc<ObjectDouble>,
    positions: Vec<Position>,
    wires: Vec<Vec<u8>>,
    base: u64,
}

impl Site {
    /// A sealed segment of many articles, half of them in each of two groups.
    fn new(filler_lines: usize, cache_bytes_max: u64) -> Site {
        let news = News::new(&["goes", "stays"]);
        let objects = ObjectDouble::new(cache_bytes_max);
        objects.serve(news.dir());
        let mut spool = Spool::open(news.dir(), options()).unwrap();
        let mut positions = Vec::new();
        for number in 0..ARTICLES {
            let filler = format!("\nline of {number}").repeat(filler_lines);
            let group = if number % 2 == 0 { "goes" } else { "stays" };
            let id = format!("<{number}@x>");
            positions.push(news.file_with(&mut spool, &id, &[group], &filler));
        }
        spool.commit().unwrap();
        spool.seal().unwrap();
        spool.commit().unwrap();
        drop(spool);
        let mut site = Site {
            news,
            objects,
            positions,
            wires: Vec::new(),
            base: 0,
        };
        let snapshot = site.snapshot();
        site.base = snapshot.segments()[0];
        site.wires = site
            .positions
            .iter()
            .map(|at| wire(&snapshot, *at).unwrap())
            .collect();
        site
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::open(self.news.dir()).unwrap()
    }

    fn move_away(&self) -> Result<u64, Error> {
        let wanted = Wanted::Bases(&[self.base]);
        loop {
            let mut moved = 0;
            // Other tests of this process start programs, which have our locks for a moment.
            match offload::move_away(self.news.dir(), options(), wanted, |_| moved += 1) {
                Err(Error::Locked(_)) => std::thread::yield_now(),
                done => return done.map(|()| moved),
            }
        }
    }

    fn bring_back(&self) -> Result<(), Error> {
        loop {
            match offload::bring_back(self.news.dir(), options(), &[self.base], |_| {}) {
                Err(Error::Locked(_)) => std::thread::yield_now(),
                done => return done,
            }
        }
    }

    fn local_bytes(&self) -> u64 {
        self.snapshot().art_bytes(self.base).1
    }

    fn check_all(&self, what: &str) {
        let snapshot = self.snapshot();
        for (position, expected) in self.positions.iter().zip(&self.wires) {
            assert!(wire(&snapshot, *position).unwrap() == *expected, "{what}");
        }
        let mut walked = Vec::new();
        let all = (snapshot.oldest(), snapshot.end());
        let walk = snapshot.each_article::<()>(all, |logged| {
            walked.push(logged.record.wire().to_vec());
            ControlFlow::Continue(())
        });
        let _ = walk.unwrap();
        assert!(walked == self.wires, "{what}");
    }
}

fn wire(snapshot: &Snapshot, position: Position) -> Result<Vec<u8>, Error> {
    let mut buffer = Vec::new();
    let record = snapshot.record(position, &mut buffer)?;
    Ok(record.unwrap().wire().to_vec())
}

#[test]
fn articles_are_the_same_there_and_back() {
    let site = Site::new(100, 1 << 30);
    let before = site.snapshot();
    let whole = site.local_bytes();
    assert_eq!(site.move_away().unwrap(), 1);
    assert_eq!(site.objects.names().len(), 1);
    assert!(
        site.local_bytes() < whole / 4,
        "{} of {whole}",
        site.local_bytes()
    );
    // A reader that had the segment mapped keeps it.
    for (position, expected) in site.positions.iter().zip(&site.wires) {
        assert!(wire(&before, *position).unwrap() == *expected);
    }
    site.check_all("away");
    let report = fsck(site.news.dir(), false).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!((report.offloaded, report.articles), (1, ARTICLES as u64));
    // Large ones are sent from the cache.
    let snapshot = site.snapshot();
    let stretch = snapshot.stretch(site.positions[3]).unwrap().unwrap();
    assert!(stretch.bytes() == site.wires[3] && stretch.is_still_there());
    assert_eq!(site.move_away().unwrap(), 0);
    site.bring_back().unwrap();
    assert!(site.objects.names().is_empty());
    assert_eq!(site.local_bytes(), whole);
    site.check_all("back");
}

#[test]
fn one_fetch_brings_the_articles_behind_it() {
    let site = Site::new(10, 1 << 30);
    site.move_away().unwrap();
    *site.objects.reads.lock().unwrap() = 0;
    let snapshot = site.snapshot();
    for position in &site.positions {
        wire(&snapshot, *position).unwrap();
    }
    let reads = *site.objects.reads.lock().unwrap();
    assert!((1..=2).contains(&reads), "{reads}");
}

#[test]
fn a_store_that_is_down_hides_nothing_else() {
    let site = Site::new(FILLER_LINES, 1 << 30);
    site.move_away().unwrap();
    let snapshot = site.snapshot();
    wire(&snapshot, site.positions[5]).unwrap();
    site.objects.set(Wrong::Down);
    assert!(wire(&snapshot, site.positions[5]).unwrap() == site.wires[5]);
    let told = wire(&snapshot, site.positions[20]).unwrap_err();
    assert!(matches!(told, Error::ObjectStore { .. }), "{told}");
    assert!(offload::health(site.news.dir()).unwrap().failure.is_some());
    // Nothing of it is damage, and nobody moves anything meanwhile.
    let all = (snapshot.oldest(), snapshot.end());
    let walk = snapshot.each_article::<()>(all, |_| ControlFlow::Continue(()));
    assert!(walk.is_err());
    assert!(fsck(site.news.dir(), true).is_err());
    assert!(site.bring_back().is_err());
    assert_eq!(site.objects.names().len(), 1);
    let found = snapshot.find(b"<20@x>").unwrap();
    assert!(found.is_some());
}

#[test]
fn a_thread_that_may_not_wait_is_told() {
    let site = Site::new(FILLER_LINES, 1 << 30);
    site.move_away().unwrap();
    let mut snapshot = site.snapshot();
    snapshot.never_fetch();
    let at = site.positions[7];
    *site.objects.reads.lock().unwrap() = 0;
    assert!(matches!(wire(&snapshot, at), Err(Error::Offloaded(told)) if told == at));
    assert_eq!(*site.objects.reads.lock().unwrap(), 0);
    snapshot.fetch(at).unwrap();
    assert!(wire(&snapshot, at).unwrap() == site.wires[7]);
    assert!(matches!(
        wire(&snapshot, site.positions[30]),
        Err(Error::Offloaded(_))
    ));
}

#[test]
fn other_bytes_than_were_stored_are_never_kept() {
    let site = Site::new(FILLER_LINES, 1 << 30);
    site.objects.set(Wrong::Nonsense);
    // They are read back before the local ones go.
    assert!(site.move_away().is_err());
    site.objects.set(Wrong::Nothing);
    site.check_all("not moved");
    assert_eq!(site.objects.names().len(), 1);
    assert_eq!(site.move_away().unwrap(), 1);
    site.objects.set(Wrong::Nonsense);
    let snapshot = site.snapshot();
    let told = wire(&snapshot, site.positions[1]).unwrap_err();
    assert!(matches!(told, Error::Damaged { .. }), "{told}");
    assert!(site.bring_back().is_err());
    site.objects.set(Wrong::Nothing);
    assert!(wire(&snapshot, site.positions[1]).unwrap() == site.wires[1]);
    site.check_all("right again");
}

#[test]
fn a_forged_length_takes_no_memory() {
    let site = Site::new(FILLER_LINES * 3, 1 << 30);
    assert_eq!(site.move_away().unwrap(), 1);
    *site.objects.largest.lock().unwrap() = 0;
    site.objects.set(Wrong::Claims(17 << 20));
    let snapshot = site.snapshot();
    let told = wire(&snapshot, site.positions[1]).unwrap_err();
    assert!(matches!(told, Error::Damaged { .. }), "{told}");
    assert!(*site.objects.largest.lock().unwrap() < 1 << 20);
    site.objects.set(Wrong::Nothing);
    assert!(wire(&snapshot, site.positions[1]).unwrap() == site.wires[1]);
}

#[test]
fn fsck_names_the_articles_of_a_lost_object() {
    let site = Site::new(100, 1 << 30);
    site.move_away().unwrap();
    site.objects.objects.lock().unwrap().clear();
    let told = wire(&site.snapshot(), site.positions[20]).unwrap_err();
    assert!(matches!(told, Error::LostObject { .. }), "{told}");
    let report = fsck(site.news.dir(), false).unwrap();
    assert_eq!(report.lost, ARTICLES as u64);
    assert!(report.lost_ids.contains(&b"<39@x>".to_vec()));
    let told = &report.findings[0].what;
    assert!(
        told.contains("does not have segments/") && told.contains("lost to damage: <0@x> (goes/1)"),
        "{told}"
    );
    let mut places = offload::list(&site.snapshot()).unwrap();
    assert_eq!(
        offload::check(site.news.dir(), &mut places).unwrap(),
        [site.base]
    );
}

#[test]
fn an_object_that_stays_is_deleted_by_the_next_run() {
    let site = Site::new(100, 1 << 30);
    site.move_away().unwrap();
    site.objects.set(Wrong::KeepsDeleted);
    let back = |bases: &[u64]| {
        let mut moved = Vec::new();
        let done = offload::bring_back(site.news.dir(), options(), bases, |segment| {
            moved.push(segment.base);
        });
        let left = offload::count_undeleted(&site.snapshot()).unwrap();
        (moved, done.is_ok(), left)
    };
    // What is here counts, whatever becomes of the object.
    assert_eq!(back(&[site.base]), (vec![site.base], false, 1));
    site.check_all("brought back");
    // Nothing is left to bring, and the object is still there.
    assert_eq!(back(&[]), (vec![], false, 1));
    site.objects.set(Wrong::Nothing);
    assert_eq!(back(&[]), (vec![], true, 0));
    assert!(site.objects.names().is_empty());
}

#[test]
fn expire_deletes_the_object_of_a_dead_segment() {
    let site = Site::new(100, 1 << 30);
    site.move_away().unwrap();
    expire(&site, &["goes", "stays"]);
    assert!(site.objects.names().is_empty());
    assert!(!site.snapshot().segments().contains(&site.base));
    // Later, if the store was down.
    let site = Site::new(100, 1 << 30);
    site.move_away().unwrap();
    site.objects.set(Wrong::Down);
    expire(&site, &["goes", "stays"]);
    assert_eq!(site.objects.names().len(), 1);
    site.objects.set(Wrong::Nothing);
    // There is nothing to move, and what is left over goes.
    site.move_away().unwrap();
    assert!(site.objects.names().is_empty());
}

fn expire(site: &Site, groups: &[&str]) {
    let mut spool = Spool::open(site.news.dir(), options()).unwrap();
    let cuts = groups
        .iter()
        .map(|group| (group.as_bytes().to_vec(), ARTICLES as u64 / 2 + 1));
    let decision = ExpiryDecision {
        cuts: cuts.collect(),
        touched: vec![site.base],
        ..ExpiryDecision::default()
    };
    spool.expire(&decision).unwrap();
    drop(spool);
    let told = reclaim(site.news.dir(), options(), ReclaimPolicy::usual(0.1)).unwrap();
    let is_up = *site.objects.wrong.lock().unwrap() == Wrong::Nothing;
    assert_eq!(told.faults.is_empty(), is_up, "{:?}", told.faults);
}

#[test]
fn a_segment_of_which_half_is_dead_comes_back() {
    let site = Site::new(1000, 1 << 30);
    site.move_away().unwrap();
    // Not yet half.
    expire(&site, &["goes"]);
    let away = site.objects.names().len();
    let snapshot = site.snapshot();
    for number in (1..ARTICLES).step_by(2) {
        assert!(wire(&snapshot, site.positions[number]).unwrap() == site.wires[number]);
    }
    let mut spool = Spool::open(site.news.dir(), options()).unwrap();
    for number in [1, 3] {
        let note = RemovalNote {
            by: RemovedBy::Cancel,
            text: b"",
            seconds: 1,
            until: 1,
        };
        spool
            .remove(
                site.positions[number],
                format!("<{number}@x>").as_bytes(),
                note,
            )
            .unwrap();
    }
    spool.commit().unwrap();
    drop(spool);
    expire(&site, &["goes"]);
    assert_eq!((away, site.objects.names().len()), (1, 0));
    let snapshot = site.snapshot();
    for number in (5..ARTICLES).step_by(2) {
        assert!(wire(&snapshot, site.positions[number]).unwrap() == site.wires[number]);
    }
    assert_eq!(site.move_away().unwrap(), 1);
    let report = fsck(site.news.dir(), false).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    let snapshot = site.snapshot();
    for number in (5..ARTICLES).step_by(2) {
        assert!(wire(&snapshot, site.positions[number]).unwrap() == site.wires[number]);
    }
}

#[test]
fn erased_bytes_stay_nowhere() {
    let site = Site::new(100, 1 << 30);
    site.move_away().unwrap();
    // It is in the cache, too.
    wire(&site.snapshot(), site.positions[6]).unwrap();
    let _alone = store::Lock::take_named(site.news.dir(), "lock.expire", true).unwrap();
    let mut spool = Spool::open(site.news.dir(), options()).unwrap();
    let note = RemovalNote {
        by: RemovedBy::Erasure,
        text: b"",
        seconds: 1,
        until: i64::MIN,
    };
    site.objects.set(Wrong::Down);
    assert!(spool.erase(site.positions[6], b"<6@x>", note).is_err());
    // It is not removed either.
    assert!(site.snapshot().find(b"<6@x>").unwrap().is_some());
    site.objects.set(Wrong::Nothing);
    let erased = spool.erase(site.positions[6], b"<6@x>", note).unwrap();
    assert!(erased.bytes > 0);
    drop(spool);
    assert!(site.objects.names().is_empty());
    let names = std::fs::read_dir(site.news.dir().join("segments")).unwrap();
    for name in names {
        let path = name.unwrap().path();
        if path.extension().is_some_and(|end| end == "art") {
            let bytes = std::fs::read(path).unwrap();
            assert!(memchr::memmem::find(&bytes, b"line of 6\r").is_none());
        }
    }
    assert!(wire(&site.snapshot(), site.positions[7]).unwrap() == site.wires[7]);
}

#[test]
fn the_cache_stays_within_its_size() {
    const CACHE: u64 = 4 << 20;
    let site = Site::new(FILLER_LINES, CACHE);
    site.move_away().unwrap();
    let snapshot = site.snapshot();
    let mut most = 0;
    for _ in 0..3 {
        for (position, expected) in site.positions.iter().zip(&site.wires) {
            assert!(wire(&snapshot, *position).unwrap() == *expected);
            most = most.max(site.local_bytes());
        }
    }
    assert!(most <= CACHE + CACHE / 8, "{most}");
    assert!(most > CACHE / 2, "{most}");
}

/// The writer decides by the log, not by what is in the cache.
#[test]
fn the_writer_does_not_read_there() {
    let site = Site::new(10, 1 << 30);
    site.move_away().unwrap();
    wire(&site.snapshot(), site.positions[0]).unwrap();
    let spool = Spool::open(site.news.dir(), options()).unwrap();
    let read = spool.record(site.positions[0], &mut Vec::new()).map(drop);
    assert!(matches!(read, Err(Error::Offloaded(_))));
}

#[test]
fn an_object_that_is_missing_may_come_back() {
    let site = Site::new(FILLER_LINES, 1 << 30);
    site.move_away().unwrap();
    let name = site.objects.names().remove(0);
    let object = site.objects.objects.lock().unwrap().remove(&name).unwrap();
    let snapshot = site.snapshot();
    // Who takes damage for an article that is gone does not take this for it.
    let all = (snapshot.oldest(), snapshot.end());
    let walk = snapshot.each_article::<()>(all, |_| ControlFlow::Continue(()));
    for told in [
        wire(&snapshot, site.positions[20]).unwrap_err(),
        walk.unwrap_err(),
        site.bring_back().unwrap_err(),
    ] {
        assert!(matches!(told, Error::LostObject { .. }), "{told}");
        assert!(told.to_string().contains(&name), "{told}");
    }
    // Half an object is none.
    let half = object[..object.len() / 2].to_vec();
    site.objects
        .objects
        .lock()
        .unwrap()
        .insert(name.clone(), half);
    let told = wire(&snapshot, site.positions[30]).unwrap_err();
    assert!(matches!(told, Error::LostObject { .. }), "{told}");
    site.objects.objects.lock().unwrap().insert(name, object);
    site.check_all("it is there again");
}

/// The articles come back between the look at the segment's header and the read.
#[test]
fn articles_that_come_back_meanwhile_are_read() {
    let site = Arc::new(Site::new(FILLER_LINES, 1 << 30));
    let at = site.positions[20];
    for is_walk in [false, true] {
        site.move_away().unwrap();
        let snapshot = site.snapshot();
        let bringing = site.clone();
        let event = Event(Box::new(move || bringing.bring_back().unwrap()));
        *site.objects.before_read.lock().unwrap() = Some(event);
        match is_walk {
            false => assert!(wire(&snapshot, at).unwrap() == site.wires[20]),
            true => {
                let mut count = 0;
                let all = (snapshot.oldest(), snapshot.end());
                let walk = snapshot.each_article::<()>(all, |logged| {
                    assert!(logged.record.wire() == site.wires[count]);
                    count += 1;
                    ControlFlow::Continue(())
                });
                let _ = walk.unwrap();
                assert_eq!(count, ARTICLES);
            }
        }
        assert!(site.objects.before_read.lock().unwrap().is_none());
        assert!(site.objects.names().is_empty());
    }
}

/// The object would have the same name as the one whose deletion failed, and may still be carried out.
#[test]
fn a_segment_stays_while_the_deletion_of_its_object_is_uncertain() {
    let site = Site::new(100, 1 << 30);
    site.move_away().unwrap();
    site.objects.set(Wrong::KeepsDeleted);
    assert!(site.bring_back().is_err());
    assert!(site.move_away().is_err());
    site.objects
        .objects
        .lock()
        .unwrap()
        .retain(|name, _| name == "owner");
    site.check_all("the deletion came late");
    site.objects.set(Wrong::Nothing);
    assert_eq!(site.move_away().unwrap(), 1);
    site.check_all("away again");
}

/// A rebuild cannot read them, and has their history and the removals in them here.
#[test]
fn a_rebuild_keeps_the_history_of_articles_that_it_cannot_reach() {
    let site = Site::new(100, 1 << 30);
    let mut spool = Spool::open(site.news.dir(), options()).unwrap();
    // The first block of a segment is always here.
    let filler = "\nline".repeat(1000);
    site.news
        .file_with(&mut spool, "<more@x>", &["stays"], &filler);
    spool.cancel(site.positions[2], b"<2@x>").unwrap();
    spool.commit().unwrap();
    spool.seal().unwrap();
    spool.commit().unwrap();
    drop(spool);
    // The articles, and the cancel.
    let bases = site.snapshot().segments()[..2].to_vec();
    let wanted = Wanted::Bases(&bases);
    patiently(|| offload::move_away(site.news.dir(), options(), wanted, |_| {})).unwrap();
    let files: Vec<_> = ["his", "ovr"]
        .iter()
        .map(|end| format!("segments/{:020}.{end}", site.base))
        .chain(["cancels".to_owned()])
        .map(|name| site.news.dir().join(name))
        .collect();
    let read = || -> Vec<_> {
        files
            .iter()
            .map(|path| std::fs::read(path).unwrap())
            .collect()
    };
    let before = read();
    let objects = site.objects.objects.lock().unwrap().clone();
    site.objects
        .objects
        .lock()
        .unwrap()
        .retain(|name, _| name == "owner");
    let rebuild = || patiently(|| store::rebuild(site.news.dir())).unwrap();
    for wrong in [Wrong::Nothing, Wrong::Down] {
        site.objects.set(wrong);
        let told = rebuild();
        let ids = ARTICLES as u64 + 1;
        assert_eq!((told.damaged, told.ids), (2, ids), "{told:?}");
        let notices = told.notices.join("\n");
        for name in objects.keys().filter(|name| *name != "owner") {
            assert!(notices.contains(name), "{notices}");
        }
        assert!(notices.contains(".art: its articles cannot be reached"));
        assert_eq!(read(), before);
        let snapshot = site.snapshot();
        assert!(snapshot.find(b"<20@x>").unwrap().is_some());
        assert!(snapshot.is_cancelled(site.positions[2]));
    }
    site.objects.set(Wrong::Nothing);
    *site.objects.objects.lock().unwrap() = objects;
    // A process does not ask again at once.
    offload::reconnect(site.news.dir());
    assert_eq!(rebuild().damaged, 0);
    assert_eq!(read(), before);
    assert!(wire(&site.snapshot(), site.positions[20]).unwrap() == site.wires[20]);
}

enum Damage {
    Byte,
    Block,
    Empty,
}

/// Nobody knows the object then; what is known about its articles here stays.
#[test]
fn a_damaged_header_of_articles_that_are_away_takes_no_history() {
    for damage in [Damage::Byte, Damage::Block, Damage::Empty] {
        let site = Site::new(100, 1 << 30);
        let file = |end: &str| {
            let name = format!("segments/{:020}.{end}", site.base);
            site.news.dir().join(name)
        };
        site.move_away().unwrap();
        let history = std::fs::read(file("his")).unwrap();
        let art = std::fs::OpenOptions::new().write(true).open(file("art"));
        let art = art.unwrap();
        match damage {
            // Of the checksum of the object.
            Damage::Byte => art.write_all_at(&[0xff], 48).unwrap(),
            Damage::Block => art.write_all_at(&[0xff; 4096], 0).unwrap(),
            Damage::Empty => art.set_len(0).unwrap(),
        }
        let check = |repair| patiently(|| fsck(site.news.dir(), repair)).unwrap();
        for repair in [false, true, true] {
            let report = check(repair);
            assert!(!report.is_clean());
            let told = report.findings.iter().map(|found| found.what.as_str());
            let told = told.collect::<Vec<_>>().join("\n");
            let wanted = format!(
                "copy segments/{:020}-*.art from the object store",
                site.base
            );
            assert!(told.contains(&wanted), "{told}");
            assert_eq!(std::fs::read(file("his")).unwrap(), history, "{told}");
        }
        let rebuilt = patiently(|| store::rebuild(site.news.dir())).unwrap();
        assert_eq!(
            (rebuilt.damaged, rebuilt.ids),
            (1, ARTICLES as u64),
            "{rebuilt:?}"
        );
        // It removed the index itself.
        let notices = rebuilt.notices.join("\n");
        assert!(!notices.contains("index"), "{notices}");
        assert_eq!(std::fs::read(file("his")).unwrap(), history);
        assert!(site.snapshot().find(b"<20@x>").unwrap().is_some());
        // The administrator does what the message says.
        let object = site.objects.objects.lock().unwrap();
        let object = object.iter().find(|(name, _)| name.ends_with(".art"));
        std::fs::write(file("art"), object.unwrap().1).unwrap();
        check(true);
        let report = check(false);
        assert!(report.is_clean(), "{:?}", report.findings);
        site.check_all("copied");
    }
}

/// Other tests of this process start programs, which have our locks for a moment.
fn patiently<T>(mut work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match work() {
            Err(Error::Locked(_)) => std::thread::yield_now(),
            done => return done,
        }
    }
}
