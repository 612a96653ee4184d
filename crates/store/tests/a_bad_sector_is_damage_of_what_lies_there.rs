//! Parts of files that the disk cannot read (EIO, and SIGBUS under a map): what lies there is damaged, all else is read, checked and
//! repaired, and what was lost may come again.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::double;
use crate::news;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use double::Double;
use news::News;
use store::disk::Disk;
use store::fsck::{Report, fsck_on};
use store::{Error, Met, Options, Position, Published, Snapshot, Spool};

/// So long that the blocks in the middle of an article are its own.
fn filler(number: usize) -> String {
    format!("\nline of {number}").repeat(2000)
}

fn id(number: usize) -> String {
    format!("<{number}@x>")
}

/// A news directory with a sealed segment and a current one; the positions of its articles, twenty in each.
fn news() -> (News, Vec<Position>) {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let mut positions = Vec::new();
    for number in 0..40 {
        let filler = filler(number);
        positions.push(news.file_with(&mut spool, &id(number), &["a.b"], &filler));
        if number % 5 == 4 {
            spool.commit().unwrap();
        }
        if number == 19 {
            spool.seal().unwrap();
        }
    }
    spool.commit().unwrap();
    (news, positions)
}

fn files(dir: &Path, suffix: &str) -> Vec<PathBuf> {
    let names = fs::read_dir(dir.join("segments")).unwrap();
    let mut files: Vec<PathBuf> = names.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == suffix));
    files.sort();
    files
}

/// A disk on which nothing is left to do for whoever opens the spool.
fn settled(dir: &Path) -> Double {
    let double = Double::new(dir);
    drop(Spool::open_on(double.disk(), dir, Options::default()).unwrap());
    double
}

/// Where an article lies in its file, and the file.
fn place(dir: &Path, number: usize) -> (PathBuf, usize) {
    let wanted = format!("\r\nline of {number}\r\n");
    let found = files(dir, "art").into_iter().find_map(|path| {
        let bytes = fs::read(&path).unwrap();
        let at = memchr::memmem::find(&bytes, wanted.as_bytes())?;
        Some((path, at))
    });
    found.unwrap()
}

/// Makes two blocks in the middle of an article unreadable.
fn spoil(double: &Double, dir: &Path, number: usize) -> PathBuf {
    let (path, at) = place(dir, number);
    let start = (at as u64 + 8192).next_multiple_of(4096);
    double.spoil(&path, start..start + 8192);
    path
}

fn check(double: &Double, dir: &Path, repair: bool) -> Report {
    fsck_on(Arc::new(double.clone()), dir, repair).unwrap()
}

#[test]
fn fsck_names_the_article_and_repair_lets_it_come_again() {
    for number in [7, 27] {
        let (news, _) = news();
        let dir = news.dir();
        let double = settled(dir);
        let path = spoil(&double, dir, number);
        let told = check(&double, dir, false);
        let name = format!("{} (a.b/{})", id(number), number + 1);
        let is_told = |report: &Report| {
            report.findings.iter().any(|finding| {
                finding.path == path
                    && finding.what.contains("cannot read")
                    && finding.what.contains(&name)
            })
        };
        assert!(is_told(&told), "{told:#?}");
        assert_eq!((told.lost, told.articles), (1, 39), "{told:#?}");
        assert_eq!(told.lost_ids, [id(number).into_bytes()]);
        let told = check(&double, dir, true);
        assert!(is_told(&told) && told.is_clean(), "{told:#?}");
        let listed = fs::read_to_string(dir.join("bad/lost.ids")).unwrap();
        assert_eq!(listed, id(number) + "\n");
        // What was written over is readable again, as on a disk that has spare sectors.
        let told = check(&double, dir, false);
        assert!(told.faults == 0 && told.articles == 39, "{told:#?}");
        let disk: Arc<dyn Disk> = Arc::new(double.clone());
        let mut spool = Spool::open_on(disk.clone(), dir, Options::default()).unwrap();
        for other in 0..40 {
            assert_eq!(spool.has(id(other).as_bytes()).unwrap(), other != number);
        }
        news.file(&mut spool, &id(number), &["a.b"]);
        spool.commit().unwrap();
        drop(spool);
        let reader = Snapshot::open_on(disk, dir).unwrap();
        for other in 0..40 {
            let (mut buffer, mut native) = (Vec::new(), Vec::new());
            let stored = reader.article(id(other).as_bytes(), &mut buffer).unwrap();
            stored.unwrap().push_native(&mut native);
            let filler = if other == number {
                String::new()
            } else {
                filler(other)
            };
            assert!(native == (news::article(&id(other)) + &filler).into_bytes());
        }
        // The number is not given again.
        let found = reader.history_line(id(number).as_bytes()).unwrap().unwrap();
        assert_eq!(found.links().collect::<Vec<_>>(), [(&b"a.b"[..], 41)]);
    }
}

#[test]
fn the_first_block_of_a_segment_can_be_lost() {
    let (news, _) = news();
    let dir = news.dir();
    let double = settled(dir);
    let art = files(dir, "art").remove(0);
    double.spoil(&art, 0..4096);
    let told = check(&double, dir, true);
    assert!(told.is_clean(), "{told:#?}");
    let told = check(&double, dir, false);
    assert_eq!((told.faults, told.articles), (0, 39), "{told:#?}");
}

#[test]
fn a_log_whose_last_commit_cannot_be_read_is_not_cut_short() {
    let (news, _) = news();
    let dir = news.dir();
    let before = fs::metadata(&files(dir, "art")[1]).unwrap().len();
    // Everything derived is lost, so that the log is replayed; in the last commit lies a bad sector.
    fs::remove_file(dir.join("index")).unwrap();
    let double = Double::new(dir);
    let path = spoil(&double, dir, 36);
    let disk: Arc<dyn Disk> = Arc::new(double.clone());
    let refused = Spool::open_on(disk, dir, Options::default())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("fsck --repair"), "{refused}");
    assert_eq!(fs::metadata(&path).unwrap().len(), before);
    let told = check(&double, dir, true);
    assert!(told.is_clean(), "{told:#?}");
    let told = check(&double, dir, false);
    assert_eq!((told.faults, told.articles), (0, 39), "{told:#?}");
}

#[test]
fn a_reader_and_a_feed_miss_that_article_alone() {
    let (news, positions) = news();
    let dir = news.dir();
    let double = settled(dir);
    spoil(&double, dir, 7);
    let reader = Snapshot::open_on(Arc::new(double), dir).unwrap();
    for (number, position) in positions.iter().enumerate() {
        match reader.record(*position, &mut Vec::new()) {
            Ok(found) => assert!(found.is_some() && number != 7),
            Err(error @ Error::Damaged { .. }) => {
                assert_eq!(number, 7);
                assert!(error.to_string().contains("the disk cannot read it"));
            }
            Err(error) => panic!("{error}"),
        }
    }
    let mut met = Vec::new();
    let walked = reader.each_article((Position(0), reader.end()), |logged| {
        met.push(logged.position);
        std::ops::ControlFlow::<()>::Continue(())
    });
    assert!(walked.unwrap().is_continue());
    assert_eq!(met.len(), 39);
    assert!(!met.contains(&positions[7]));
    // The history tells a feed what it misses, and where it goes on.
    let mut missed = Vec::new();
    let walked = reader.each_met((Position(0), reader.end()), |met| {
        if let Met::Unreadable {
            position,
            next,
            line,
        } = met
        {
            missed.push((position, next, line.id.to_vec()));
        }
        std::ops::ControlFlow::<()>::Continue(())
    });
    assert!(walked.unwrap().is_continue());
    let [(position, next, known)] = &missed[..] else {
        panic!("{missed:?}");
    };
    assert_eq!((*position, *next), (positions[7], positions[8]));
    assert_eq!(*known, id(7).into_bytes());
}

/// The end of a file under a map, taken away: each page of it raises SIGBUS, as one that the disk cannot read.
fn cut(path: &Path, length: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(length).unwrap();
}

#[test]
fn maps_without_their_pages_end_nobody() {
    let (news, positions) = news();
    let dir = news.dir();
    let mut spool = Spool::open(dir, Options::default()).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let snapshot = Snapshot::open_live(dir, published).unwrap();
    for position in &positions {
        assert!(
            snapshot
                .record(*position, &mut Vec::new())
                .unwrap()
                .is_some()
        );
    }
    for number in 0..40 {
        assert!(snapshot.has(id(number).as_bytes()).unwrap());
    }
    let mut rows = 0;
    snapshot
        .rows(b"a.b", (1, 40), usize::MAX, |run| rows += run.rows)
        .unwrap();
    assert_eq!(rows, 40);
    let stretch = snapshot.stretch(positions[12]).unwrap().unwrap();
    assert!(stretch.is_still_there());

    // Of the sealed segment from the middle of the eighth article on.
    let (art, at) = place(dir, 7);
    cut(&art, (at as u64 + 4096).next_multiple_of(4096));
    for (number, position) in positions.iter().enumerate() {
        match snapshot.record(*position, &mut Vec::new()) {
            Ok(found) => assert_eq!(found.is_some(), !(7..20).contains(&number)),
            Err(Error::Damaged { .. }) => assert!((7..20).contains(&number)),
            Err(error) => panic!("{number}: {error}"),
        }
    }
    assert!(!stretch.is_still_there());

    // All rows of it, and then its history: nobody hears that an id is unknown.
    let mut found = 0;
    cut(&files(dir, "ovr")[0], 0);
    let next = snapshot.rows(b"a.b", (1, 40), usize::MAX, |run| {
        assert!(!run.is_readable() || run.bytes().ends_with(b"\r\n"));
        found += run.rows;
    });
    assert_eq!(next.unwrap().next, None);
    assert!((20..=40).contains(&found), "{found}");
    cut(&files(dir, "his")[0], 0);
    for number in 0..40 {
        assert!(snapshot.has(id(number).as_bytes()).unwrap());
        let found = snapshot.find(id(number).as_bytes());
        assert_eq!(found.is_err(), number < 20, "{number}");
    }
    // The index: nobody hears that an id is unknown, and it is made again.
    cut(&dir.join("index"), 4096);
    for number in 0..50 {
        assert!(snapshot.has(id(number).as_bytes()).is_err());
        assert!(spool.has(id(number).as_bytes()).is_err());
    }
    drop(spool);
    let told = store::fsck(dir, true).unwrap();
    assert!(told.is_clean(), "{told:#?}");
    let spool = Spool::open(dir, Options::default()).unwrap();
    for number in 20..40 {
        assert!(spool.has(id(number).as_bytes()).unwrap(), "{number}");
    }
}
