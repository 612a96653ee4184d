//! Copies in a tree of directories, or flat, as in C News; made before anything is removed, and never with `-n`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::newsdir;

use std::os::unix::fs::MetadataExt;

use expire::Archiving;
use newsdir::{FRESH, NewsDir, OLD, text};

#[test]
fn a_tree_has_a_directory_per_part() {
    let newsdir = NewsDir::new(&["a.b", "a.b.c", "other"]);
    newsdir.folder("arch");
    newsdir.file(&[
        ("one", "a.b", OLD),
        ("two", "a.b,a.b.c,other", OLD),
        ("three", "other", OLD),
        ("four", "a.b", FRESH),
    ]);
    let told = newsdir.run("other x 10 -\nall x 10 DIR/arch\n");
    assert_eq!(told.archived.copies, 3);
    assert_eq!(told.archived.errors, [""; 0]);
    assert_eq!(told.plan.total.links, 5);
    assert_eq!(newsdir.files("arch"), ["a/b/1", "a/b/2", "a/b/c/1"]);
    for (path, name) in [("a/b/1", "one"), ("a/b/2", "two"), ("a/b/c/1", "two")] {
        let copy = std::fs::read_to_string(newsdir.path("arch").join(path)).unwrap();
        assert_eq!(copy, text(name));
    }
    // One article is one file with two names.
    let inode = |path: &str| {
        std::fs::metadata(newsdir.path("arch").join(path))
            .unwrap()
            .ino()
    };
    assert_eq!(inode("a/b/2"), inode("a/b/c/1"));
    let gone = newsdir.stay(&["a.b/1", "a.b/2", "a.b.c/1", "other/1", "other/2", "a.b/3"]);
    assert_eq!(gone, [false, false, false, false, false, true]);
    newsdir.assert_clean();
}

#[test]
fn a_flat_archive_has_numbers_only() {
    let newsdir = NewsDir::new(&["a.b"]);
    newsdir.folder("arch");
    newsdir.file(&[("one", "a.b", OLD), ("two", "a.b", OLD)]);
    let told = newsdir.run("all x 10 =DIR/arch\n");
    assert_eq!(told.archived.copies, 2);
    assert_eq!(newsdir.files("arch"), ["1", "2"]);
}

#[test]
fn each_group_of_a_cross_post_has_its_own_archive() {
    let newsdir = NewsDir::new(&["a", "b", "c"]);
    newsdir.folder("first");
    newsdir.folder("second");
    newsdir.file(&[("one", "a,b,c", OLD)]);
    newsdir.run("a x 10 DIR/first\nb x 10 DIR/second\nc x 200 DIR/second\n");
    assert_eq!(newsdir.files("first"), ["a/1"]);
    assert_eq!(newsdir.files("second"), ["b/1"]);
    assert_eq!(newsdir.stay(&["a/1", "b/1", "c/1"]), [false, false, true]);
}

#[test]
fn a_removed_group_is_archived() {
    let newsdir = NewsDir::new(&["a", "b"]);
    newsdir.folder("arch");
    newsdir.file(&[("one", "a", OLD), ("two", "b", FRESH)]);
    let mut spool = newsdir.spool();
    spool.remove_group(b"a").unwrap();
    spool.commit().unwrap();
    drop(spool);
    let told = newsdir.run("a x 10 DIR/arch\nall x 10 -\n");
    assert_eq!(told.archived.copies, 1);
    assert_eq!(newsdir.files("arch"), ["a/1"]);
}

#[test]
fn a_dry_run_copies_nothing() {
    let newsdir = NewsDir::new(&["a"]);
    newsdir.folder("arch");
    let filed = newsdir.file(&[("one", "a", OLD), ("two", "a", OLD)]);
    let mut spool = newsdir.spool();
    spool.cancel(filed[1], b"<two@x>").unwrap();
    spool.commit().unwrap();
    drop(spool);
    let told = newsdir.run_with("all x 10 DIR/arch\n", true, Archiving::default());
    assert_eq!((told.archived.copies, told.archived.missing), (1, 1));
    assert_eq!(newsdir.files("arch"), [""; 0]);
    assert_eq!(newsdir.stay(&["a/1"]), [true]);
}

#[test]
fn a_missing_article_is_removed_without_a_copy() {
    let newsdir = NewsDir::new(&["a"]);
    newsdir.folder("arch");
    let filed = newsdir.file(&[("one", "a", OLD), ("two", "a", OLD), ("three", "a", OLD)]);
    let mut spool = newsdir.spool();
    spool.cancel(filed[1], b"<two@x>").unwrap();
    spool.commit().unwrap();
    spool.seal().unwrap();
    spool.commit().unwrap();
    drop(spool);
    let mut lines = Vec::new();
    let index = Archiving {
        index: Some(&mut lines),
        ..Archiving::default()
    };
    let told = newsdir.run_with("all x 10 DIR/arch\n", false, index);
    assert_eq!((told.archived.copies, told.archived.missing), (2, 1));
    assert_eq!(told.archived.errors, [""; 0]);
    assert_eq!(newsdir.files("arch"), ["a/1", "a/3"]);
    let lines = String::from_utf8(lines).unwrap();
    assert_eq!(
        lines,
        "a/1\t<one@x>\t6-Jan-1970\tone\na/3\t<three@x>\t6-Jan-1970\tthree\n"
    );
}

#[test]
fn a_segment_that_expire_has_removed_is_not_an_error() {
    let newsdir = NewsDir::new(&["a"]);
    newsdir.folder("arch");
    let filed = newsdir.file(&[("one", "a", OLD)]);
    let mut spool = newsdir.spool();
    spool.seal().unwrap();
    spool.commit().unwrap();
    drop(spool);
    newsdir.file(&[("two", "a", OLD)]);
    let base = newsdir.snapshot().segments()[0];
    assert!(filed[0].0 >= base);
    // One segment is removed after the snapshot has listed them.
    let snapshot = newsdir.snapshot();
    let file = |end| newsdir.news().join(format!("segments/{base:020}.{end}"));
    std::fs::remove_file(file("art")).unwrap();
    let mut buffer = Vec::new();
    // Expire empties the rows first: with rows left the segment is lost.
    assert!(snapshot.record(filed[0], &mut buffer).is_err());
    std::fs::write(file("ovr"), b"").unwrap();
    assert!(snapshot.record(filed[0], &mut buffer).unwrap().is_none());
    let told = newsdir.run("all x 10 DIR/arch\n");
    assert_eq!(told.archived.errors, [""; 0]);
    assert_eq!(newsdir.files("arch"), ["a/2"]);
}
