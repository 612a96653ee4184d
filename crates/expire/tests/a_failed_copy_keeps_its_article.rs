//! What cannot be archived stays and is told by name; after three failures all that should be archived stays, and the rest
//! of expire goes on. Once the cause is mended the next run finishes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::room;

use expire::Archiving;
use room::{OLD, Room, text};

const POLICY: &str = "plain x 10 -\nall x 10 DIR/arch\n";

/// Groups `a.b` to `a.f` with two old articles each, and `plain`; where a name is in `blocked`, a file lies in place of the
/// group's directory.
fn room(blocked: &[&str]) -> Room {
    let room = Room::new(&["a.b", "a.c", "a.d", "a.e", "plain"]);
    room.folder("arch/a");
    for name in blocked {
        std::fs::write(room.path("arch/a").join(name), "in the way").unwrap();
    }
    room.file(&[
        ("1", "a.b", OLD),
        ("2", "a.c", OLD),
        ("3", "a.d", OLD),
        ("4", "a.e", OLD),
        ("5", "plain", OLD),
        ("6", "a.e", OLD),
    ]);
    room
}

const LINKS: [&str; 6] = ["a.b/1", "a.c/1", "a.d/1", "a.e/1", "plain/1", "a.e/2"];

/// After the cause is gone, everything goes and everything is in the archive once.
fn mended(room: &Room, blocked: &[&str]) {
    for name in blocked {
        std::fs::remove_file(room.path("arch/a").join(name)).unwrap();
    }
    let told = room.run(POLICY);
    assert_eq!(told.archived.faults, [""; 0]);
    assert_eq!(room.stay(&LINKS), [false; 6]);
    assert_eq!(
        room.files("arch"),
        ["a/b/1", "a/c/1", "a/d/1", "a/e/1", "a/e/2"]
    );
    room.assert_clean();
}

#[test]
fn one() {
    let room = room(&["c"]);
    let told = room.run(POLICY);
    let counts = |told: &expire::Archived| (told.copies, told.failed, told.held);
    assert_eq!(counts(&told.archived), (4, 1, 0));
    assert_eq!(told.plan.total.links, 5);
    assert_eq!(told.archived.faults.len(), 1);
    let fault = &told.archived.faults[0];
    assert!(
        fault.starts_with("cannot archive a.c/1: cannot "),
        "{fault}"
    );
    assert!(fault.ends_with("; the article stays"), "{fault}");
    assert_eq!(room.stay(&LINKS), [false, true, false, false, false, false]);
    mended(&room, &["c"]);
}

#[test]
fn two() {
    let room = room(&["b", "d"]);
    let told = room.run(POLICY);
    assert_eq!((told.archived.copies, told.archived.failed), (3, 2));
    assert_eq!(room.stay(&LINKS), [true, false, true, false, false, false]);
    mended(&room, &["b", "d"]);
}

#[test]
fn three_hold_the_rest() {
    let room = room(&["b", "c", "d"]);
    let told = room.run(POLICY);
    assert_eq!((told.archived.copies, told.archived.failed), (0, 3));
    assert_eq!((told.archived.held, told.plan.total.links), (2, 1));
    let last = told.archived.faults.last().unwrap();
    assert!(
        last.contains("nothing more is archived in this run"),
        "{last}"
    );
    assert_eq!(room.stay(&LINKS), [true, true, true, true, false, true]);
    mended(&room, &["b", "c", "d"]);
}

#[test]
fn what_was_copied_before_the_third_failure_goes() {
    let room = room(&["c", "d", "e"]);
    let told = room.run(POLICY);
    assert_eq!((told.archived.copies, told.archived.failed), (1, 3));
    assert_eq!((told.archived.held, told.plan.total.links), (1, 2));
    assert_eq!(room.stay(&LINKS), [false, true, true, true, false, true]);
    mended(&room, &["c", "d", "e"]);
}

#[test]
fn another_file_is_never_overwritten_and_the_same_is_as_good_as_a_copy() {
    let room = room(&[]);
    room.folder("arch/a/b");
    room.folder("arch/a/c");
    room.folder("arch/a/d");
    // As long as the article, and not the same.
    let other = text("1").replace("body", "BODY");
    std::fs::write(room.path("arch/a/b/1"), &other).unwrap();
    std::fs::write(room.path("arch/a/c/1"), text("2")).unwrap();
    std::fs::write(room.path("aside"), text("3")).unwrap();
    std::os::unix::fs::symlink(room.path("aside"), room.path("arch/a/d/1")).unwrap();
    // What a kill left.
    std::fs::write(room.path("arch/a/c/.1.new"), "half").unwrap();
    room.folder("arch/a/e");
    std::fs::write(room.path("arch/a/e/.1.new"), "half").unwrap();

    let told = room.run(POLICY);
    assert_eq!((told.archived.copies, told.archived.failed), (3, 2));
    for fault in &told.archived.faults {
        assert!(
            fault.contains("is in the way and is something else"),
            "{fault}"
        );
    }
    assert_eq!(room.stay(&LINKS), [true, false, true, false, false, false]);
    let kept = std::fs::read_to_string(room.path("arch/a/b/1")).unwrap();
    assert_eq!(kept, other);
    assert!(room.path("arch/a/d/1").is_symlink());
    assert_eq!(
        std::fs::read_to_string(room.path("arch/a/e/1")).unwrap(),
        text("4")
    );
    assert!(!room.path("arch/a/e/.1.new").exists());
}

#[test]
fn a_missing_directory_holds_its_groups_only() {
    let room = room(&[]);
    let policy = "plain x 10 -\na.b x 10 DIR/elsewhere\nall x 10 DIR/arch\n";
    let told = room.run(policy);
    assert_eq!((told.archived.copies, told.archived.held), (4, 1));
    assert_eq!(told.archived.faults.len(), 1);
    assert!(told.archived.faults[0].contains("elsewhere does not exist"));
    assert_eq!(room.stay(&LINKS), [true, false, false, false, false, false]);
    assert!(!room.path("elsewhere").exists());
    room.folder("elsewhere");
    assert_eq!(room.run(policy).archived.copies, 1);
    assert_eq!(room.files("elsewhere"), ["a/b/1"]);
}

#[test]
fn hold_keeps_all_that_should_be_archived() {
    let room = room(&[]);
    let hold = Archiving {
        hold: true,
        ..Archiving::default()
    };
    let told = room.run_with(POLICY, false, hold);
    assert_eq!((told.archived.copies, told.archived.held), (0, 5));
    assert_eq!(told.archived.faults, [""; 0]);
    assert_eq!(told.plan.total.links, 1);
    assert_eq!(room.stay(&LINKS), [true, true, true, true, false, true]);
    mended(&room, &[]);
}

#[test]
fn a_damaged_article_stays() {
    let room = room(&[]);
    let position = room.reader().find(b"<2@x>").unwrap().unwrap().position;
    let base = room.reader().segments()[0];
    let path = room.news().join(format!("segments/{base:020}.art"));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[(position.unwrap().0 - base) as usize + 100] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let told = room.run(POLICY);
    assert_eq!((told.archived.copies, told.archived.failed), (4, 1));
    assert!(told.archived.faults[0].starts_with("cannot archive a.c/1: "));
    let gone = |link| !room.stay(&[link])[0];
    assert!(gone("a.b/1") && gone("a.d/1"));
    assert!(room.reader().expired().keeps(b"a.c", 1));
}
