//! Trees: a file for each article, links for cross-posts, and nothing that was there is lost.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::planted;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use planted::Planted;

#[test]
fn each_link_is_a_name_of_one_file() {
    let mut news = Planted::new();
    let one = news.file(&["comp.lang.c"], b"one\n");
    let both = news.file(&["comp.lang.c", "alt.test"], b"..two\n.\nno newline");
    assert_eq!(news.write().unwrap(), 2);
    assert_eq!(news.read("comp/lang/c/1"), one);
    assert_eq!(news.read("comp/lang/c/2"), both);
    assert_eq!(news.read("alt/test/1"), both);
    let inode = |name| fs::metadata(news.path(name)).unwrap().ino();
    assert_eq!(inode("comp/lang/c/2"), inode("alt/test/1"));
    // Once only; what comes later is added.
    assert_eq!(news.write().unwrap(), 0);
    news.file(&["alt.test"], b"three\n");
    assert_eq!(news.write().unwrap(), 1);
    news.assert_equal();
}

#[test]
fn only_groups_of_the_site_are_there() {
    let mut news = Planted::new();
    news.groups("comp,!comp.lang.c.moderated");
    news.file(
        &["comp.lang.c", "alt.test", "comp.lang.c.moderated"],
        b"x\n",
    );
    news.file(&["alt.test"], b"y\n");
    news.write().unwrap();
    assert_eq!(news.names(), ["comp/lang/c/1"]);
}

#[test]
fn gone_articles_are_not_written() {
    let mut news = Planted::new();
    news.file(&["alt.test"], b"x\n");
    news.file(&["comp.lang.c", "alt.test"], b"y\n");
    news.file(&["comp.lang.c"], b"z\n");
    news.cancel(0);
    news.expire(&[("comp.lang.c", 1)], &[]);
    news.write().unwrap();
    assert_eq!(news.names(), ["alt/test/2", "comp/lang/c/2"]);
}

#[test]
fn a_tree_begins_in_an_empty_directory() {
    let mut news = Planted::new();
    news.file(&["alt.test"], b"x\n");
    fs::create_dir(news.path("")).unwrap();
    fs::create_dir(news.path("lost+found")).unwrap();
    fs::write(news.path("letters"), b"dear sir").unwrap();
    let error = news.write().unwrap_err();
    assert!(
        error.contains("it has other files, such as letters"),
        "{error}"
    );
    assert!(!news.path(".broadsheet").exists());
    fs::remove_file(news.path("letters")).unwrap();
    assert_eq!(news.write().unwrap(), 1);
}

#[test]
fn the_tree_of_another_feed_is_refused() {
    let mut news = Planted::new();
    news.file(&["alt.test"], b"x\n");
    news.write().unwrap();
    let marker = news.path(".broadsheet");
    let text = fs::read_to_string(&marker).unwrap();
    fs::write(&marker, text.replace("feed one", "feed two")).unwrap();
    news.file(&["alt.test"], b"y\n");
    let error = news.write().unwrap_err();
    assert!(error.contains("the tree of feed two of "), "{error}");
    fs::write(&marker, "?").unwrap();
    let error = news.write().unwrap_err();
    assert!(error.contains("is damaged"), "{error}");
    fs::write(&marker, text).unwrap();
    assert_eq!(news.write().unwrap(), 1);
}

#[test]
fn a_disk_that_is_not_mounted_is_noticed() {
    let mut news = Planted::new();
    news.file(&["alt.test"], b"x\n");
    news.write().unwrap();
    news.file(&["alt.test"], b"y\n");
    fs::rename(news.path(""), news.aside()).unwrap();
    fs::create_dir(news.path("")).unwrap();
    let error = news.write().unwrap_err();
    assert!(error.contains("is its disk mounted?"), "{error}");
    fs::remove_dir(news.path("")).unwrap();
    fs::rename(news.aside(), news.path("")).unwrap();
    news.write().unwrap();
    news.assert_equal();
    // Begun again on request.
    fs::remove_dir_all(news.path("")).unwrap();
    news.reset();
    assert_eq!(news.write().unwrap(), 2);
    news.assert_equal();
}

#[test]
fn a_group_with_the_name_of_an_article_is_reported_with_the_remedy() {
    let mut news = Planted::new();
    news.file(&["comp.lang.c"], b"x\n");
    news.write().unwrap();
    news.file(&["comp.lang.c.1"], b"y\n");
    let error = news.write().unwrap_err();
    assert!(
        error.contains("exclude comp.lang.c.1 from this site, or exclude comp.lang.c without its subgroups and remove this file"),
        "{error}"
    );
    news.groups("all,!comp.lang.c,comp.lang.c.1");
    fs::remove_file(news.path("comp/lang/c/1")).unwrap();
    assert_eq!(news.write().unwrap(), 1);
    assert_eq!(news.names(), ["comp/lang/c/1/1"]);
}

#[test]
fn a_foreign_file_stops_the_feed_and_stays() {
    let mut news = Planted::new();
    news.file(&["alt.test"], b"x\n");
    news.file(&["comp.lang.c", "alt.test"], b"y\n");
    news.file(&["alt.test"], b"z\n");
    fs::create_dir_all(news.path("alt/test")).unwrap();
    fs::write(news.path(".broadsheet"), news.marker()).unwrap();
    fs::write(news.path("alt/test/2"), b"mine").unwrap();
    let error = news.write().unwrap_err();
    assert!(
        error.contains("alt/test/2: it is in the way of article 2 of alt.test"),
        "{error}"
    );
    assert_eq!(fs::read(news.path("alt/test/2")).unwrap(), b"mine");
    // What came before is delivered.
    assert_eq!(news.sent(), 1);
    fs::remove_file(news.path("alt/test/2")).unwrap();
    assert_eq!(news.write().unwrap(), 2);
    news.assert_equal();
}

#[test]
fn a_remainder_is_written_again() {
    let mut news = Planted::new();
    let text = news.file(&["comp.lang.c", "alt.test"], b"a body\n");
    fs::create_dir_all(news.path("comp/lang/c")).unwrap();
    fs::create_dir_all(news.path("alt/test")).unwrap();
    fs::write(news.path(".broadsheet"), news.marker()).unwrap();
    for (first, second) in [(0, 5), (7, 0), (text.len(), 3), (5, text.len())] {
        news.reset();
        for (name, length) in [("comp/lang/c/1", first), ("alt/test/1", second)] {
            let _ = fs::remove_file(news.path(name));
            fs::write(news.path(name), &text[..length]).unwrap();
        }
        assert_eq!(news.write().unwrap(), 1);
        assert_eq!(news.read("comp/lang/c/1"), text);
        assert_eq!(news.read("alt/test/1"), text);
    }
}

/// A descriptor that was kept from the run before leads to the directory that was moved, and must not be used.
#[test]
fn a_directory_that_was_moved_is_not_written() {
    let mut news = Planted::new();
    news.file(&["comp.lang.c"], b"x\n");
    news.file(&["comp.lang.c.moderated"], b"x\n");
    news.write().unwrap();
    for moved in ["comp", "comp/lang", "comp/lang/c", "comp/lang/c/moderated"] {
        let aside = news.aside();
        fs::rename(news.path(moved), &aside).unwrap();
        let before = planted::names(&aside);
        news.file(&["comp.lang.c.moderated"], b"y\n");
        news.file(&["comp.lang.c"], b"y\n");
        news.write().unwrap();
        assert_eq!(planted::names(&aside), before, "{moved}");
        fs::remove_dir_all(&aside).unwrap();
        news.forget_lost();
        news.assert_equal();
    }
}

/// As a program that removes empty directories does it, while articles are being written.
#[test]
fn directories_may_be_removed_at_any_moment() {
    let mut news = Planted::new();
    for number in 0..300 {
        let group = ["comp.lang.c", "comp.lang.c.moderated", "alt.test"][number % 3];
        news.file(&[group], b"x\n");
    }
    let top = news.path("");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(order) {
                std::thread::yield_now();
                for name in [
                    "comp/lang/c/moderated",
                    "comp/lang/c",
                    "comp/lang",
                    "comp",
                    "alt/test",
                ] {
                    let _ = fs::remove_dir(top.join(name));
                }
            }
        });
        let began = Instant::now();
        // It may lose five times in a row; then the articles wait.
        while news.write().is_err() && began.elapsed() < Duration::from_secs(60) {}
        is_over.store(true, order);
    });
    news.assert_equal();
}

#[test]
fn links_go_to_other_file_systems() {
    use std::os::unix::fs::symlink;
    let other = tempfile::tempdir_in("/dev/shm");
    let mut news = Planted::new();
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
    news.file(&["comp.lang.c", "alt.test"], b"x\n");
    news.file(&["alt.test", "comp.lang.c"], b"y\n");
    news.write().unwrap();
    news.assert_equal();
    let is_link = |name| fs::symlink_metadata(news.path(name)).unwrap().is_symlink();
    assert!(is_link("alt/test/1") && is_link("comp/lang/c/2"));
    assert!(!is_link("comp/lang/c/1") && !is_link("alt/test/2"));
    // Written again, it is the same.
    news.reset();
    news.write().unwrap();
    news.assert_equal();
}

#[test]
fn an_article_and_a_directory_of_one_name_are_told() {
    for is_article_first in [true, false] {
        let mut news = Planted::new();
        let groups = ["comp.lang.c", "comp.lang.c.1"];
        let order = if is_article_first { [0, 1] } else { [1, 0] };
        for which in order {
            news.file(&[groups[which]], b"x\n");
        }
        let error = news.write().unwrap_err();
        assert!(error.contains("comp/lang/c/1: "), "{error}");
        assert!(
            error.contains("comp.lang.c") && error.contains("exclude"),
            "{error}"
        );
        news.groups("all,!comp.lang.c.1");
        if !is_article_first {
            fs::remove_dir_all(news.path("comp/lang/c/1")).unwrap();
        }
        news.write().unwrap();
        assert_eq!(news.names(), ["comp/lang/c/1"]);
    }
}
