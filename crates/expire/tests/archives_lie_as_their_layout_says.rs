//! Copies in a tree of directories, or flat, as C News laid them; made before anything goes, and never with `-n`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::room;

use std::os::unix::fs::MetadataExt;

use expire::Archiving;
use room::{FRESH, OLD, Room, text};

#[test]
fn in_a_tree() {
    let room = Room::new(&["a.b", "a.b.c", "other"]);
    room.folder("arch");
    room.file(&[
        ("one", "a.b", OLD),
        ("two", "a.b,a.b.c,other", OLD),
        ("three", "other", OLD),
        ("four", "a.b", FRESH),
    ]);
    let told = room.run("other x 10 -\nall x 10 DIR/arch\n");
    assert_eq!(told.archived.copies, 3);
    assert_eq!(told.archived.faults, [""; 0]);
    assert_eq!(told.plan.total.links, 5);
    assert_eq!(room.files("arch"), ["a/b/1", "a/b/2", "a/b/c/1"]);
    for (path, name) in [("a/b/1", "one"), ("a/b/2", "two"), ("a/b/c/1", "two")] {
        let copy = std::fs::read_to_string(room.path("arch").join(path)).unwrap();
        assert_eq!(copy, text(name));
    }
    // One article, one file with two names.
    let inode = |path: &str| {
        std::fs::metadata(room.path("arch").join(path))
            .unwrap()
            .ino()
    };
    assert_eq!(inode("a/b/2"), inode("a/b/c/1"));
    let gone = room.stay(&["a.b/1", "a.b/2", "a.b.c/1", "other/1", "other/2", "a.b/3"]);
    assert_eq!(gone, [false, false, false, false, false, true]);
    room.assert_clean();
}

#[test]
fn flat() {
    let room = Room::new(&["a.b"]);
    room.folder("arch");
    room.file(&[("one", "a.b", OLD), ("two", "a.b", OLD)]);
    let told = room.run("all x 10 =DIR/arch\n");
    assert_eq!(told.archived.copies, 2);
    assert_eq!(room.files("arch"), ["1", "2"]);
}

#[test]
fn each_group_of_a_cross_post_in_its_own_archive() {
    let room = Room::new(&["a", "b", "c"]);
    room.folder("first");
    room.folder("second");
    room.file(&[("one", "a,b,c", OLD)]);
    room.run("a x 10 DIR/first\nb x 10 DIR/second\nc x 200 DIR/second\n");
    assert_eq!(room.files("first"), ["a/1"]);
    assert_eq!(room.files("second"), ["b/1"]);
    assert_eq!(room.stay(&["a/1", "b/1", "c/1"]), [false, false, true]);
}

#[test]
fn of_a_group_that_was_removed() {
    let room = Room::new(&["a", "b"]);
    room.folder("arch");
    room.file(&[("one", "a", OLD), ("two", "b", FRESH)]);
    let mut spool = room.spool();
    spool.remove_group(b"a").unwrap();
    spool.commit().unwrap();
    drop(spool);
    let told = room.run("a x 10 DIR/arch\nall x 10 -\n");
    assert_eq!(told.archived.copies, 1);
    assert_eq!(room.files("arch"), ["a/1"]);
}

#[test]
fn nothing_is_copied_to_look() {
    let room = Room::new(&["a"]);
    room.folder("arch");
    let filed = room.file(&[("one", "a", OLD), ("two", "a", OLD)]);
    let mut spool = room.spool();
    spool.cancel(filed[1], b"<two@x>").unwrap();
    spool.commit().unwrap();
    drop(spool);
    let told = room.run_with("all x 10 DIR/arch\n", true, Archiving::default());
    assert_eq!((told.archived.copies, told.archived.missing), (1, 1));
    assert_eq!(room.files("arch"), [""; 0]);
    assert_eq!(room.stay(&["a/1"]), [true]);
}

#[test]
fn what_is_not_there_any_more_just_goes() {
    let room = Room::new(&["a"]);
    room.folder("arch");
    let filed = room.file(&[("one", "a", OLD), ("two", "a", OLD), ("three", "a", OLD)]);
    let mut spool = room.spool();
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
    let told = room.run_with("all x 10 DIR/arch\n", false, index);
    assert_eq!((told.archived.copies, told.archived.missing), (2, 1));
    assert_eq!(told.archived.faults, [""; 0]);
    assert_eq!(room.files("arch"), ["a/1", "a/3"]);
    let lines = String::from_utf8(lines).unwrap();
    assert_eq!(
        lines,
        "a/1\t<one@x>\t6-Jan-1970\tone\na/3\t<three@x>\t6-Jan-1970\tthree\n"
    );
}

#[test]
fn a_lost_segment_is_no_fault() {
    let room = Room::new(&["a"]);
    room.folder("arch");
    let filed = room.file(&[("one", "a", OLD)]);
    let mut spool = room.spool();
    spool.seal().unwrap();
    spool.commit().unwrap();
    drop(spool);
    room.file(&[("two", "a", OLD)]);
    let base = room.reader().segments()[0];
    assert!(filed[0].0 >= base);
    // While the list of segments is at hand, one of them goes.
    let reader = room.reader();
    std::fs::remove_file(room.news().join(format!("segments/{base:020}.art"))).unwrap();
    assert!(matches!(
        reader.read(filed[0]),
        Err(store::Error::NoArticle(_))
    ));
    let told = room.run("all x 10 DIR/arch\n");
    assert_eq!(told.archived.faults, [""; 0]);
    assert_eq!(room.files("arch"), ["a/2"]);
}
