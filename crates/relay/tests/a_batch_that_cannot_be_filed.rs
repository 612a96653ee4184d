//! A batch at which filing stops, each time it is tried, keeps none of the others waiting and goes to bad/ in the end; when nothing
//! can be filed, all of them stay.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use std::fs;
use std::io::Write;

use newsdir::{NOW, Newsdir, Told, article, batch};
use relay::incoming::tries::TRIES_MAX;
use relay::incoming::{Drain, DrainOptions, Drained};
use relay::rnews::{Input, Status};
use relay::{FilerOptions, Rules};

/// A news directory in which control messages that make groups stop filing: their line in active.times cannot be written.
fn newsdir() -> Newsdir {
    let newsdir = Newsdir::new();
    fs::create_dir(newsdir.path().join("in.coming")).unwrap();
    fs::write(newsdir.path().join("control.ctl"), "all:*:*:doit\n").unwrap();
    fs::create_dir(newsdir.path().join("active.times.new")).unwrap();
    newsdir
}

fn put(newsdir: &Newsdir, name: &str, article: &str) {
    let path = newsdir.path().join("in.coming").join(name);
    fs::write(path, batch(&[article])).unwrap();
}

fn bad_article() -> String {
    let more = ["Control: newgroup comp.new", "Approved: boss@near.example"];
    article("<bad@a>", "comp.std", &more)
}

fn newsrun(newsdir: &Newsdir) -> (Drained, String) {
    let mut options = DrainOptions::default();
    options.rnews.clock = || NOW;
    let mut drain = Drain::new(newsdir.path(), options);
    let mut told = Told::default();
    if let Some(lock) = drain.take_lock().unwrap() {
        drain.run(&lock, &mut newsdir.filer(), &mut told).unwrap();
    }
    (drain.drained(), told.0.join("\n"))
}

fn waiting(newsdir: &Newsdir) -> usize {
    fs::read_dir(newsdir.path().join("in.coming"))
        .unwrap()
        .count()
}

#[test]
fn goes_to_bad_and_the_others_are_filed() {
    let newsdir = newsdir();
    put(&newsdir, "7501234560.t", &article("<1@a>", "comp.std", &[]));
    put(&newsdir, "7501234561.t", &bad_article());
    for number in 2..60 {
        let good = article(&format!("<{number}@a>"), "comp.std", &[]);
        put(&newsdir, &format!("{}0.t", 750_123_457 + number), &good);
    }
    let (drained, told) = newsrun(&newsdir);
    assert_eq!(drained.status, Status::Attention);
    assert!(
        told.contains("7501234561.t: filing stopped at this batch (attempt 1 of 3"),
        "{told}"
    );
    // The others do not wait for it any more.
    let (drained, _) = newsrun(&newsdir);
    assert_eq!((drained.files, waiting(&newsdir)), (59, 1));
    for number in 1..60 {
        assert!(
            newsdir.links(&format!("<{number}@a>")).is_some(),
            "{number}"
        );
    }
    for _ in 2..TRIES_MAX {
        assert!(newsdir.bad().is_empty());
        newsrun(&newsdir);
    }
    put(
        &newsdir,
        "8501234560.t",
        &article("<60@a>", "comp.std", &[]),
    );
    let (drained, told) = newsrun(&newsdir);
    assert_eq!((drained.files, drained.bad, waiting(&newsdir)), (2, 1, 0));
    assert_eq!(drained.status, Status::Attention);
    assert!(
        told.contains("7501234561.t") && told.contains("bad/7501234561.t"),
        "{told}"
    );
    assert_eq!(newsdir.bad(), ["7501234561.t"]);
    assert_eq!(newsrun(&newsdir).0.status, Status::Fine);
    assert!(!newsdir.path().join("in.coming.tries").exists());
    // What was wrong is mended, and the batch is given again.
    fs::remove_dir(newsdir.path().join("active.times.new")).unwrap();
    let kept = newsdir.path().join("bad/7501234561.t");
    let input = relay::rnews::Input::File(kept);
    let (outcome, _) = newsdir.rnews(&[input], relay::rnews::Options::default());
    assert_eq!(outcome.summary.accepted, 1);
    assert!(newsdir.links("<bad@a>").is_some());
}

#[test]
fn stays_while_nothing_else_is_filed() {
    let newsdir = newsdir();
    put(&newsdir, "7501234561.t", &bad_article());
    for _ in 0..2 * TRIES_MAX {
        assert_eq!(newsrun(&newsdir).0.status, Status::Attention);
    }
    assert_eq!((waiting(&newsdir), newsdir.bad().len()), (1, 0));
    fs::remove_dir(newsdir.path().join("active.times.new")).unwrap();
    let (drained, told) = newsrun(&newsdir);
    assert_eq!((drained.status, drained.files), (Status::Fine, 1), "{told}");
    assert!(!newsdir.path().join("in.coming.tries").exists());
}

/// A control message, and an article of an unknown group, for which `active` has no place: it is the administrator's fault, not theirs.
#[test]
fn what_active_has_no_place_for_is_kept() {
    let active = "comp.std 0000000000 00001 y\n";
    let newsdir = Newsdir::with(active, newsdir::SYS);
    let order = article("<1@a>", "comp.std", &["Control: newgroup comp.new"]);
    let unknown = article("<2@a>", "comp.none", &[]);
    let good = article("<3@a>", "comp.std", &[]);
    let input = newsdir.input("batch", &batch(&[&order, &unknown, &good]));
    let options = relay::rnews::Options {
        unlink: true,
        ..relay::rnews::Options::default()
    };
    let (outcome, told) = newsdir.rnews(&[input], options);
    assert_eq!(outcome.status, Status::Attention);
    assert!(newsdir.links("<3@a>").is_some());
    let bad = newsdir.bad();
    assert_eq!(bad.len(), 1, "{told:?}");
    let kept = fs::read(newsdir.path().join("bad").join(&bad[0])).unwrap();
    assert_eq!(kept, batch(&[&order, &unknown]));
    assert!(
        told.join("\n").contains("2 articles could not be filed"),
        "{told:?}"
    );
    // Filed from there, it stays, and there is no second copy.
    let path = newsdir.path().join("bad").join(&bad[0]);
    let (outcome, told) = newsdir.rnews(&[Input::File(path)], options);
    assert_eq!(outcome.status, Status::Attention);
    assert!(
        told.join("\n")
            .contains("2 articles could not be filed; the batch stays"),
        "{told:?}"
    );
    assert_eq!(newsdir.bad(), bad);
    // Once there is a place, they are filed.
    fs::write(
        newsdir.path().join("active"),
        format!("{active}control 0 1 y\njunk 0 1 y\n"),
    )
    .unwrap();
    let path = newsdir.path().join("bad").join(&bad[0]);
    let (outcome, told) = newsdir.rnews(&[Input::File(path)], relay::rnews::Options::default());
    assert_eq!(outcome.status, Status::Fine, "{told:?}");
    assert_eq!(outcome.summary.accepted, 2, "{told:?}");
}

/// A compressed batch for which the disk has no room, whatever is filed or not: it is its own size that stops it.
#[test]
fn a_batch_too_large_when_expanded_keeps_no_others_waiting() {
    let newsdir = Newsdir::in_memory();
    fs::create_dir(newsdir.path().join("in.coming")).unwrap();
    put(&newsdir, "7501234560.t", &article("<1@a>", "comp.std", &[]));
    let filler = ("x".repeat(99) + "\n").repeat(700);
    let large: Vec<String> = (0..300)
        .map(|number| article(&format!("<large{number}@a>"), "comp.std", &[]) + &filler)
        .collect();
    let large: Vec<&str> = large.iter().map(String::as_str).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&batch(&large)).unwrap();
    let name = newsdir.path().join("in.coming/7501234561.t");
    fs::write(name, gzip.finish().unwrap()).unwrap();
    put(&newsdir, "7501234562.t", &article("<2@a>", "comp.std", &[]));
    let run_with = |room: u64| {
        let space = rustix::fs::statvfs(newsdir.path()).unwrap();
        let options = FilerOptions {
            keep_free: (space.f_bavail * space.f_frsize).saturating_sub(room),
            ..FilerOptions::default()
        };
        let mut filer = newsdir.filer_with(Rules::new(newsdir::HOST.as_bytes()), options);
        let mut options = DrainOptions::default();
        options.rnews.clock = || NOW;
        let mut drain = Drain::new(newsdir.path(), options);
        let mut told = Told::default();
        let lock = drain.take_lock().unwrap().unwrap();
        drain.run(&lock, &mut filer, &mut told).unwrap();
        told.0.join("\n")
    };
    // Room for the others, and less than the expanded batch and its article need.
    let run = || run_with(30 << 20);
    let told = run();
    assert!(
        told.contains("for the batch when it is expanded, and for its articles")
            && told.contains("7501234561.t: filing stopped at this batch; other batches"),
        "{told}"
    );
    run();
    assert_eq!(waiting(&newsdir), 1);
    assert!(newsdir.links("<1@a>").is_some() && newsdir.links("<2@a>").is_some());
    for _ in 0..TRIES_MAX {
        run();
        put(&newsdir, "8501234560.t", &article("<3@a>", "comp.std", &[]));
    }
    run();
    assert_eq!((waiting(&newsdir), newsdir.bad().len()), (1, 0));
    run_with(200 << 20);
    assert_eq!((waiting(&newsdir), newsdir.bad().len()), (0, 0));
    assert!(newsdir.links("<large299@a>").is_some());
}
