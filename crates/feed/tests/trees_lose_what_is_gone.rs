//! Trees: what expire and cancels remove is removed there, and the overview says what is there.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::planted;

use std::fs;

use planted::Planted;
use proptest::prelude::*;

fn some() -> Planted {
    let mut news = Planted::new();
    news.file(&["comp.lang.c", "alt.test"], b"one\n");
    news.file(&["alt.test"], b"two\n");
    news.file(&["comp.lang.c.moderated", "comp.lang.c"], b"three\n");
    news.file(&["alt.test", "comp.lang.c.moderated"], b"four\n");
    news
}

#[test]
fn a_cancelled_article_goes_under_all_names() {
    let mut news = some();
    news.write().unwrap();
    news.cancel(0);
    // No article has to come for that.
    assert_eq!(news.write().unwrap(), 0);
    assert_eq!(news.names().len(), 5);
    news.assert_equal();
    let before = news.read(".broadsheet");
    news.restart();
    news.write().unwrap();
    assert_eq!(news.read(".broadsheet"), before);
    news.cancel(2);
    news.file(&["alt.test"], b"five\n");
    news.write().unwrap();
    assert_ne!(news.read(".broadsheet"), before);
    news.assert_equal();
}

#[test]
fn what_expires_in_a_group_goes_there() {
    let mut news = some();
    news.write().unwrap();
    news.expire(&[("alt.test", 1)], &[("comp.lang.c", 2)]);
    news.write().unwrap();
    assert_eq!(
        news.names(),
        [
            "alt/test/2",
            "alt/test/3",
            "comp/lang/c/1",
            "comp/lang/c/moderated/1",
            "comp/lang/c/moderated/2"
        ]
    );
    news.assert_equal();
    // An empty directory goes, and comes again.
    news.expire(&[("alt.test", 3)], &[]);
    news.write().unwrap();
    assert!(!news.path("alt").exists());
    news.file(&["alt.test"], b"five\n");
    news.write().unwrap();
    news.assert_equal();
}

#[test]
fn files_that_are_not_ours_stay() {
    let mut news = some();
    news.write().unwrap();
    for name in ["alt/test/README", "alt/test/99", "alt/test/02", "alt/notes"] {
        fs::write(news.path(name), b"mine").unwrap();
    }
    news.expire(&[("alt.test", 3), ("comp.lang.c", 2)], &[]);
    news.write().unwrap();
    assert_eq!(
        news.names(),
        [
            "alt/notes",
            "alt/test/02",
            "alt/test/99",
            "alt/test/README",
            "comp/lang/c/moderated/1",
            "comp/lang/c/moderated/2"
        ]
    );
}

#[test]
fn links_outlive_the_file_that_they_lead_to() {
    use std::os::unix::fs::{MetadataExt, symlink};
    let mut news = Planted::new();
    let other = tempfile::tempdir_in("/dev/shm");
    let device = |path: &std::path::Path| fs::metadata(path).unwrap().dev();
    let Some(other) = other
        .ok()
        .filter(|other| device(other.path()) != device(news.dir()))
    else {
        println!("skipped: links between file systems (there is no other one at /dev/shm)");
        return;
    };
    fs::create_dir(news.path("")).unwrap();
    fs::write(news.path(".broadsheet"), news.marker()).unwrap();
    symlink(other.path(), news.path("alt")).unwrap();
    news.file(
        &["comp.lang.c", "alt.test", "comp.lang.c.moderated"],
        b"x\n",
    );
    news.file(&["alt.test", "comp.lang.c"], b"y\n");
    news.write().unwrap();
    news.expire(&[("comp.lang.c", 1)], &[]);
    news.write().unwrap();
    news.assert_equal();
    // All directories below the link went and came again.
    news.expire(&[("alt.test", 2)], &[]);
    news.write().unwrap();
    news.assert_equal();
    assert!(!other.path().join("test").exists());
    news.file(&["alt.test"], b"z\n");
    news.write().unwrap();
    news.assert_equal();
}

/// The lines of a group's overview: number and subject.
fn overview(news: &Planted, group: &str) -> Vec<String> {
    let text = news.read(&format!("{group}/.overview"));
    let text = String::from_utf8(text).unwrap();
    assert!(text.is_empty() || text.ends_with('\n') && !text.contains('\r'));
    let columns = |line: &str| line.split('\t').take(2).collect::<Vec<_>>().join(" ");
    text.lines().map(columns).collect()
}

#[test]
fn the_overview_has_a_line_for_each_article() {
    let mut news = some();
    news.overview = true;
    news.write().unwrap();
    assert_eq!(
        overview(&news, "alt/test"),
        ["1 number 0", "2 number 1", "3 number 3"]
    );
    let text = news.read("comp/lang/c/moderated/.overview");
    let bytes = news.filed[2].native.len() + 12;
    assert_eq!(
        String::from_utf8(text).unwrap().lines().next().unwrap(),
        format!(
            "1\tnumber 2\tu@x\tthen\t<2@x>\t\t{}\t1\tXref: x comp.lang.c.moderated:1 comp.lang.c:2",
            bytes - 4
        )
    );
    news.file(&["alt.test"], b"five\n");
    news.cancel(1);
    news.write().unwrap();
    assert_eq!(
        overview(&news, "alt/test"),
        ["1 number 0", "3 number 3", "4 number 4"]
    );
    news.expire(&[("alt.test", 1)], &[("alt.test", 4), ("comp.lang.c", 1)]);
    news.write().unwrap();
    assert_eq!(overview(&news, "alt/test"), ["3 number 3"]);
    assert_eq!(overview(&news, "comp/lang/c"), ["2 number 2"]);
    // Written again, nothing is there twice; lost and torn lines come again.
    fs::write(news.path("comp/lang/c/.overview"), "2\tnumb").unwrap();
    fs::remove_file(news.path("comp/lang/c/moderated/.overview")).unwrap();
    news.reset();
    news.write().unwrap();
    assert_eq!(overview(&news, "alt/test"), ["3 number 3"]);
    assert_eq!(overview(&news, "comp/lang/c"), ["2 number 2"]);
    assert_eq!(
        overview(&news, "comp/lang/c/moderated"),
        ["1 number 2", "2 number 3"]
    );
}

#[test]
fn the_overview_may_come_and_go() {
    let mut news = some();
    news.write().unwrap();
    news.overview = true;
    news.restart();
    news.write().unwrap();
    assert_eq!(
        overview(&news, "alt/test"),
        ["1 number 0", "2 number 1", "3 number 3"]
    );
    let appended = news.read("comp/lang/c/.overview");
    news.overview = false;
    news.restart();
    news.write().unwrap();
    assert!(!news.path("comp/lang/c/.overview").exists());
    // The lines are the same, whether they were appended or written anew.
    news.overview = true;
    news.restart();
    fs::remove_dir_all(news.path("")).unwrap();
    news.reset();
    news.write().unwrap();
    assert_eq!(news.read("comp/lang/c/.overview"), appended);
}

#[test]
fn the_overview_is_whole_after_a_kill_in_the_middle_of_writing_it() {
    let mut news = some();
    news.overview = true;
    news.write().unwrap();
    // On a full disk the old file is changed in its place.
    fs::write(news.path("alt/test/.overview.new"), "").unwrap();
    fs::write(
        news.path("alt/test/.overview"),
        "2\tnum\tu@x\n3\tnumber 3\n",
    )
    .unwrap();
    news.expire(&[], &[("comp.lang.c", 1)]);
    news.write().unwrap();
    news.assert_overview();
    assert!(!news.path("alt/test/.overview.new").exists());
}

#[derive(Debug, Clone)]
enum Step {
    File(Vec<usize>),
    Cancel(usize),
    Below(usize, u64),
    Single(usize, u64),
    Write,
    /// A run that got so far; then another process.
    Killed(usize),
    /// Another process, maybe with another wish for the overview.
    Restart(bool),
    /// All is written again.
    Reset,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let group = 0..3usize;
    let step = prop_oneof![
        6 => prop::collection::btree_set(group.clone(), 1..4)
            .prop_map(|groups| Step::File(groups.into_iter().collect())),
        2 => (0..40usize).prop_map(Step::Cancel),
        1 => (group.clone(), 0..20u64).prop_map(|(group, number)| Step::Below(group, number)),
        2 => (group, 1..20u64).prop_map(|(group, number)| Step::Single(group, number)),
        3 => Just(Step::Write),
        1 => (0..6usize).prop_map(Step::Killed),
        1 => any::<bool>().prop_map(Step::Restart),
        1 => Just(Step::Reset),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn the_tree_equals_the_articles(steps in steps()) {
        let mut news = Planted::new();
        for step in steps {
            take(&mut news, &step);
        }
        news.write().unwrap();
        news.assert_equal();
        if news.overview {
            news.assert_overview();
        }
    }
}

fn take(news: &mut Planted, step: &Step) {
    const GROUPS: [&str; 3] = ["alt.test", "comp.lang.c", "comp.lang.c.moderated"];
    // No number above the last may expire.
    let high = |news: &Planted, group: &str| {
        let id = news.spool.active().find(group.as_bytes()).unwrap();
        news.spool.active().high(id)
    };
    match step {
        Step::File(groups) => {
            let groups: Vec<&str> = groups.iter().map(|group| GROUPS[*group]).collect();
            news.file(&groups, b"a line\n..\n");
        }
        Step::Cancel(which) if *which < news.filed.len() => {
            news.spool.commit().unwrap();
            news.cancel(*which);
        }
        Step::Cancel(_) => {}
        Step::Below(group, number) => {
            let group = GROUPS[*group];
            let number = (*number).min(high(news, group));
            news.expire(&[(group, number)], &[]);
        }
        Step::Single(group, number) => {
            let group = GROUPS[*group];
            if *number <= high(news, group) {
                news.expire(&[], &[(group, *number)]);
            }
        }
        Step::Write => {
            news.write().unwrap();
            news.assert_equal();
        }
        Step::Killed(articles) => {
            news.write_some(*articles);
            news.restart();
        }
        Step::Restart(overview) => {
            news.overview = *overview;
            news.restart();
        }
        Step::Reset => news.reset(),
    }
}
