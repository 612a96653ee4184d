//! A power cut, or an error of the disk, at each call while a segment moves to the object store and back: the articles are always there, and in the
//! end the store has the objects that segments name, and no others.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::double;
use crate::news;
use crate::object_double;

use std::path::Path;
use std::sync::Arc;

use double::{Double, Fault};
use news::News;
use object_double::ObjectDouble;
use store::disk::Disk;
use store::offload::{self, Wanted};
use store::{Error, Options, Position, Snapshot, Spool};

const ARTICLES: usize = 12;

fn build() -> (News, Vec<Position>) {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let mut positions = Vec::new();
    for number in 0..ARTICLES {
        let filler = format!("\nline of {number}").repeat(1000);
        positions.push(news.file_with(&mut spool, &id(number), &["a.b"], &filler));
    }
    spool.commit().unwrap();
    spool.seal().unwrap();
    spool.commit().unwrap();
    (news, positions)
}

fn id(number: usize) -> String {
    format!("<{number}@x>")
}

fn step(disk: &Arc<dyn Disk>, dir: &Path, is_back: bool) -> Result<(), Error> {
    let base = Snapshot::open_on(disk.clone(), dir)?.segments()[0];
    let (disk, options) = (disk.clone(), Options::default());
    match is_back {
        true => offload::bring_back_on(disk, dir, options, &[base], |_| {}),
        false => offload::move_away_on(disk, dir, options, Wanted::Bases(&[base]), |_| {}),
    }
}

fn check(disk: &Arc<dyn Disk>, dir: &Path, positions: &[Position], what: &str) {
    let snapshot = Snapshot::open_on(disk.clone(), dir).unwrap_or_else(|e| panic!("{what}: {e}"));
    for (number, position) in positions.iter().enumerate() {
        let mut buffer = Vec::new();
        let record = snapshot.record(*position, &mut buffer);
        let record = record.unwrap_or_else(|e| panic!("{what}: {e}"));
        let mut native = Vec::new();
        record.unwrap().push_native(&mut native);
        let filler = format!("\nline of {number}").repeat(1000);
        let expected = news::article(&id(number)) + &filler;
        assert!(native == expected.as_bytes(), "{what}");
    }
}

fn meets(is_back: bool, fault: Fault) {
    let mut at = 0;
    loop {
        let (news, positions) = build();
        let objects = ObjectDouble::new(1 << 30);
        objects.serve(news.dir());
        if is_back {
            let real: Arc<dyn Disk> = Arc::new(store::disk::RealDisk);
            patiently(|| step(&real, news.dir(), false)).unwrap();
        }
        let double = Double::new(news.dir());
        let disk = double.disk();
        double.fail_at(at, fault, false);
        let done = patiently(|| step(&disk, news.dir(), is_back));
        let what = format!("{is_back} {fault:?} at {at}: {:?}", double.failed());
        if double.failed().is_none() {
            done.unwrap();
            assert!(at > 20, "{at}");
            return;
        }
        if fault == Fault::PowerCut {
            let after = double.power_cut(at);
            // Each possible disk with a store of its own, as it was then.
            let then = ObjectDouble::new(1 << 30);
            *then.objects.lock().unwrap() = objects.objects.lock().unwrap().clone();
            then.serve(after.path());
            finish(after.path(), &positions, is_back, &then, &what);
        } else {
            double.heal();
            drop(disk);
            finish(news.dir(), &positions, is_back, &objects, &what);
        }
        at += 1;
    }
}

/// Other tests of this process start programs, which have our locks for a moment.
fn patiently(mut work: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    loop {
        match work() {
            Err(Error::Locked(_)) => std::thread::yield_now(),
            done => return done,
        }
    }
}

/// The articles are there; after another run the store is as it should be, and the articles are there.
fn finish(dir: &Path, positions: &[Position], is_back: bool, objects: &ObjectDouble, what: &str) {
    let disk: Arc<dyn Disk> = Arc::new(store::disk::RealDisk);
    check(&disk, dir, positions, what);
    let done = patiently(|| step(&disk, dir, is_back));
    done.unwrap_or_else(|e| panic!("{what}: {e}"));
    // What bringing back could not delete goes with the next run.
    let none = Wanted::Bases(&[]);
    patiently(|| offload::move_away(dir, Options::default(), none, |_| {})).unwrap();
    check(&disk, dir, positions, what);
    let places = offload::list(&Snapshot::open(dir).unwrap()).unwrap();
    let named: Vec<String> = places
        .into_iter()
        .filter_map(|place| place.object)
        .collect();
    assert_eq!(named.len(), usize::from(!is_back), "{what}");
    assert_eq!(objects.names(), named, "{what}");
}

#[test]
fn the_power_fails_while_a_segment_moves_away() {
    meets(false, Fault::PowerCut);
}

#[test]
fn the_power_fails_while_a_segment_comes_back() {
    meets(true, Fault::PowerCut);
}

#[test]
fn the_disk_fails_while_a_segment_moves_away() {
    meets(false, Fault::Eio);
}

#[test]
fn the_disk_is_full_while_a_segment_comes_back() {
    meets(true, Fault::Enospc);
}
