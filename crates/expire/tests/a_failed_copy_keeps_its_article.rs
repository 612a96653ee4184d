//! An article whose copy fails is kept and reported; after three failures all articles that should be archived are kept, and expire
//! continues with the others. Once the cause is removed, the next run finishes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::newsdir;

use expire::Archiving;
use newsdir::{NewsDir, OLD, text};

const POLICY: &str = "plain x 10 -\nall x 10 DIR/arch\n";

/// Groups `a.b` to `a.f` with two old articles each, and `plain`; for each name in `blocked` a file exists in place of the
/// group's directory.
fn newsdir(blocked: &[&str]) -> NewsDir {
    let newsdir = NewsDir::new(&["a.b", "a.c", "a.d", "a.e", "plain"]);
    newsdir.folder("arch/a");
    for name in blocked {
        std::fs::write(newsdir.path("arch/a").join(name), "in the way").unwrap();
    }
    newsdir.file(&[
        ("1", "a.b", OLD),
        ("2", "a.c", OLD),
        ("3", "a.d", OLD),
        ("4", "a.e", OLD),
        ("5", "plain", OLD),
        ("6", "a.e", OLD),
    ]);
    newsdir
}

const LINKS: [&str; 6] = ["a.b/1", "a.c/1", "a.d/1", "a.e/1", "plain/1", "a.e/2"];

/// Once the cause is removed, every article is removed and in the archive once.
fn check_after_repair(newsdir: &NewsDir, blocked: &[&str]) {
    for name in blocked {
        std::fs::remove_file(newsdir.path("arch/a").join(name)).unwrap();
    }
    let told = newsdir.run(POLICY);
    assert_eq!(told.archived.errors, [""; 0]);
    assert_eq!(newsdir.stay(&LINKS), [false; 6]);
    assert_eq!(
        newsdir.files("arch"),
        ["a/b/1", "a/c/1", "a/d/1", "a/e/1", "a/e/2"]
    );
    newsdir.assert_clean();
}

#[test]
fn one_failure_keeps_one_article() {
    let newsdir = newsdir(&["c"]);
    let told = newsdir.run(POLICY);
    let counts = |told: &expire::Archived| (told.copies, told.failed, told.held);
    assert_eq!(counts(&told.archived), (4, 1, 0));
    assert_eq!(told.plan.total.links, 5);
    assert_eq!(told.archived.errors.len(), 1);
    let fault = &told.archived.errors[0];
    assert!(
        fault.starts_with("cannot archive a.c/1: cannot "),
        "{fault}"
    );
    assert!(fault.ends_with("; the article is kept"), "{fault}");
    assert_eq!(
        newsdir.stay(&LINKS),
        [false, true, false, false, false, false]
    );
    check_after_repair(&newsdir, &["c"]);
}

#[test]
fn two_failures_keep_two_articles() {
    let newsdir = newsdir(&["b", "d"]);
    let told = newsdir.run(POLICY);
    assert_eq!((told.archived.copies, told.archived.failed), (3, 2));
    assert_eq!(
        newsdir.stay(&LINKS),
        [true, false, true, false, false, false]
    );
    check_after_repair(&newsdir, &["b", "d"]);
}

#[test]
fn three_failures_hold_the_rest() {
    let newsdir = newsdir(&["b", "c", "d"]);
    let told = newsdir.run(POLICY);
    assert_eq!((told.archived.copies, told.archived.failed), (0, 3));
    assert_eq!((told.archived.held, told.plan.total.links), (2, 1));
    let last = told.archived.errors.last().unwrap();
    assert!(last.contains("this run archives nothing more"), "{last}");
    assert_eq!(newsdir.stay(&LINKS), [true, true, true, true, false, true]);
    check_after_repair(&newsdir, &["b", "c", "d"]);
}

#[test]
fn copies_made_before_the_third_failure_count() {
    let newsdir = newsdir(&["c", "d", "e"]);
    let told = newsdir.run(POLICY);
    assert_eq!((told.archived.copies, told.archived.failed), (1, 3));
    assert_eq!((told.archived.held, told.plan.total.links), (1, 2));
    assert_eq!(newsdir.stay(&LINKS), [false, true, true, true, false, true]);
    check_after_repair(&newsdir, &["c", "d", "e"]);
}

#[test]
fn another_file_is_never_overwritten_and_an_identical_one_counts_as_a_copy() {
    let newsdir = newsdir(&[]);
    newsdir.folder("arch/a/b");
    newsdir.folder("arch/a/c");
    newsdir.folder("arch/a/d");
    // As long as the article, with other content.
    let other = text("1").replace("body", "BODY");
    std::fs::write(newsdir.path("arch/a/b/1"), &other).unwrap();
    std::fs::write(newsdir.path("arch/a/c/1"), text("2")).unwrap();
    std::fs::write(newsdir.path("aside"), text("3")).unwrap();
    std::os::unix::fs::symlink(newsdir.path("aside"), newsdir.path("arch/a/d/1")).unwrap();
    // The leftover of a killed run.
    std::fs::write(newsdir.path("arch/a/c/.1.new"), "half").unwrap();
    newsdir.folder("arch/a/e");
    std::fs::write(newsdir.path("arch/a/e/.1.new"), "half").unwrap();

    let told = newsdir.run(POLICY);
    assert_eq!((told.archived.copies, told.archived.failed), (3, 2));
    for fault in &told.archived.errors {
        assert!(fault.contains("exists and is not this article"), "{fault}");
    }
    assert_eq!(
        newsdir.stay(&LINKS),
        [true, false, true, false, false, false]
    );
    let kept = std::fs::read_to_string(newsdir.path("arch/a/b/1")).unwrap();
    assert_eq!(kept, other);
    assert!(newsdir.path("arch/a/d/1").is_symlink());
    assert_eq!(
        std::fs::read_to_string(newsdir.path("arch/a/e/1")).unwrap(),
        text("4")
    );
    assert!(!newsdir.path("arch/a/e/.1.new").exists());
}

#[test]
fn a_missing_directory_holds_its_groups_only() {
    let newsdir = newsdir(&[]);
    let policy = "plain x 10 -\na.b x 10 DIR/elsewhere\nall x 10 DIR/arch\n";
    let told = newsdir.run(policy);
    assert_eq!((told.archived.copies, told.archived.held), (4, 1));
    assert_eq!(told.archived.errors.len(), 1);
    assert!(told.archived.errors[0].contains("elsewhere does not exist"));
    assert_eq!(
        newsdir.stay(&LINKS),
        [true, false, false, false, false, false]
    );
    assert!(!newsdir.path("elsewhere").exists());
    newsdir.folder("elsewhere");
    assert_eq!(newsdir.run(policy).archived.copies, 1);
    assert_eq!(newsdir.files("elsewhere"), ["a/b/1"]);
}

#[test]
fn hold_keeps_all_articles_to_be_archived() {
    let newsdir = newsdir(&[]);
    let hold = Archiving {
        hold: true,
        ..Archiving::default()
    };
    let told = newsdir.run_with(POLICY, false, hold);
    assert_eq!((told.archived.copies, told.archived.held), (0, 5));
    assert_eq!(told.archived.errors, [""; 0]);
    assert_eq!(told.plan.total.links, 1);
    assert_eq!(newsdir.stay(&LINKS), [true, true, true, true, false, true]);
    check_after_repair(&newsdir, &[]);
}

#[test]
fn a_damaged_article_is_kept() {
    let newsdir = newsdir(&[]);
    let position = newsdir.snapshot().find(b"<2@x>").unwrap().unwrap().position;
    let base = newsdir.snapshot().segments()[0];
    let path = newsdir.news().join(format!("segments/{base:020}.art"));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[(position.0 - base) as usize + 100] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let told = newsdir.run(POLICY);
    assert_eq!((told.archived.copies, told.archived.failed), (4, 1));
    assert!(told.archived.errors[0].starts_with("cannot archive a.c/1: "));
    let gone = |link| !newsdir.stay(&[link])[0];
    assert!(gone("a.b/1") && gone("a.d/1"));
    assert!(newsdir.snapshot().expired().keeps(b"a.c", 1));
}
