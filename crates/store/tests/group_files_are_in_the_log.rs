//! `newsgroups`, `active.times` and the serial numbers of checkgroups: the log has what the store changes, and copies of what the
//! administrator edits. A lost file is restored.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::double::{Deed, Double};
use crate::news::News;
use crate::story::small;

use std::fs;
use std::path::Path;

use groups::times::GroupCreation;
use store::{ExpiryDecision, GroupEdits, ReclaimPolicy, Serial, Spool, fsck, reclaim};

const FILES: [&str; 3] = ["newsgroups", "active.times", "checkgroups.serials"];

fn make(spool: &mut Spool, group: &str, text: &str) {
    let edits = GroupEdits {
        descriptions: vec![(group.as_bytes(), Some(text.as_bytes()))],
        creations: vec![GroupCreation {
            group: group.as_bytes(),
            seconds: 5,
            creator: b"boss@x",
        }],
        ..GroupEdits::default()
    };
    spool.edit_groups(&edits).unwrap();
    spool.keep_serial(&serial(7)).unwrap();
}

fn serial(number: u64) -> Serial {
    Serial {
        hierarchies: vec![b"a".to_vec()],
        key: "A1".to_owned(),
        number,
        replaces: false,
    }
}

fn read(dir: &Path) -> [String; 3] {
    FILES.map(|file| fs::read_to_string(dir.join(file)).unwrap_or_default())
}

fn lose(dir: &Path) {
    for file in FILES {
        fs::remove_file(dir.join(file)).unwrap();
    }
}

fn restored(dir: &Path) -> [String; 3] {
    fsck(dir, true).unwrap();
    let spool = Spool::open(dir, small()).unwrap();
    assert_eq!(spool.serials().unwrap().newer(&serial(6)), Some(7));
    assert!(spool.serials().unwrap().newer(&serial(7)).is_none());
    drop(spool);
    let clean = fsck(dir, false).unwrap();
    assert_eq!(clean.faults, 0, "{clean:?}");
    read(dir)
}

#[test]
fn lost_files_are_restored() {
    let news = News::new(&["a.b"]);
    fs::write(news.dir().join("newsgroups"), "# by hand\na.b\tOld.\n").unwrap();
    let mut spool = Spool::open(news.dir(), small()).unwrap();
    spool.seal().unwrap();
    make(&mut spool, "a.c", "New.");
    make(&mut spool, "a.b", "Newer.");
    spool.commit().unwrap();
    drop(spool);
    let told = read(news.dir());
    let newsgroups = "# by hand\na.b\t\t\tNewer.\na.c\t\t\tNew.\n";
    let times = "a.c 5 boss@x\na.b 5 boss@x\n";
    assert_eq!(told, [newsgroups, times, "a 7 A1\n"]);
    lose(news.dir());
    let found = fsck(news.dir(), false).unwrap();
    assert!(!found.is_clean(), "{found:?}");
    lose_if_there(news.dir());
    assert_eq!(restored(news.dir()), told);
    // Without the index, too: opening restores them.
    lose(news.dir());
    fs::remove_file(news.dir().join("index")).unwrap();
    assert_eq!(restored(news.dir()), told);
    // A change to a file that is lost finds the lines of the others.
    lose(news.dir());
    let mut spool = Spool::open(news.dir(), small()).unwrap();
    make(&mut spool, "a.d", "Last.");
    spool.commit().unwrap();
    drop(spool);
    let [newsgroups, times, serials] = read(news.dir());
    assert!(newsgroups.starts_with(&told[0]) && newsgroups.ends_with("a.d\t\t\tLast.\n"));
    assert!(times.starts_with(&told[1]) && times.ends_with("a.d 5 boss@x\n"));
    assert_eq!(serials, told[2]);
}

fn lose_if_there(dir: &Path) {
    for file in FILES {
        let _ = fs::remove_file(dir.join(file));
    }
}

#[test]
fn they_outlive_the_segment_they_were_logged_in() {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), small()).unwrap();
    make(&mut spool, "a.c", "New.");
    news.file(&mut spool, "<3@x>", &["a.b"]);
    spool.commit().unwrap();
    // What the administrator edits is in the copy.
    let path = news.dir().join("newsgroups");
    let text = fs::read_to_string(&path).unwrap() + "a.b\tBy hand.\n";
    fs::write(&path, text).unwrap();
    spool.seal().unwrap();
    spool.commit().unwrap();
    let expiry = ExpiryDecision {
        cuts: vec![(b"a.b".to_vec(), 2)],
        forget_before: Some(2000),
        touched: vec![4096],
        ..ExpiryDecision::default()
    };
    spool.expire(&expiry).unwrap();
    drop(spool);
    let told = reclaim(news.dir(), small(), ReclaimPolicy::usual(0.1)).unwrap();
    assert_eq!((told.segments, told.faults.len()), (1, 0), "{told:?}");
    let told = read(news.dir());
    assert!(told[0].ends_with("a.b\tBy hand.\n"));
    lose(news.dir());
    assert_eq!(restored(news.dir()), told);
}

#[test]
fn an_edited_file_is_used_as_it_is() {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), small()).unwrap();
    make(&mut spool, "a.c", "New.");
    spool.commit().unwrap();
    let path = news.dir().join("newsgroups");
    fs::write(&path, "a.b\tBy hand.\n").unwrap();
    make(&mut spool, "a.d", "Last.");
    spool.commit().unwrap();
    drop(spool);
    let told = "a.b\tBy hand.\na.d\t\t\tLast.\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), told);
    assert_eq!(fsck(news.dir(), true).unwrap().faults, 0);
    fs::remove_file(news.dir().join("index")).unwrap();
    drop(Spool::open(news.dir(), small()).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), told);
}

/// A record is in the commit of its message; a file is on the disk before the commit is reported.
#[test]
fn a_power_cut_keeps_what_was_reported() {
    let news = News::new(&["a.b"]);
    let double = Double::new(news.dir());
    let mut spool = Spool::open_on(double.disk(), news.dir(), small()).unwrap();
    make(&mut spool, "a.c", "New.");
    double.take_trace();
    spool.commit().unwrap();
    let is_sync = |deed: &Deed| matches!(deed, Deed::Sync(_));
    assert!(double.take_trace().iter().any(is_sync));
    let told = read(news.dir());
    assert_eq!(told[2], "a 7 A1\n");
    for seed in 0..20 {
        let after = double.power_cut(seed);
        let again = Double::new(after.path());
        drop(Spool::open_on(again.disk(), after.path(), small()).unwrap());
        assert_eq!(read(after.path()), told, "seed {seed}");
    }
}
