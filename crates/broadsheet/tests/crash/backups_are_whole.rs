//! `backup` beside a daemon that files, and `restore`: what was acknowledged before the backup is there, under its numbers, and none of these
//! numbers is given again.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::program;
use program::articles::{batch, filed, id, many};
use program::daemon::Daemon;
use program::{Program, Told};
use sha2::{Digest, Sha256};

fn backup(program: &Program, more: &[&str]) -> serde_json::Value {
    let words = [&["backup", "backups", "--dir", "news", "--json"], more].concat();
    let told = program.run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    serde_json::from_str(&told.out).unwrap()
}

fn restore(program: &Program, more: &[&str]) -> Told {
    let _ = fs::remove_dir_all(program.path("restored"));
    program.run(&[&["restore", "backups", "--dir", "restored"], more].concat())
}

fn contents(program: &Program) -> Vec<PathBuf> {
    program.files("backups/data")
}

#[test]
fn directories_above_the_backups_are_not_made() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let told = program.run(&["backup", "disk/backups", "--dir", "news"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err.contains("mount the disk of the backups"),
        "{told:?}"
    );
    assert!(!program.path("disk").exists());
}

#[test]
fn a_place_in_the_news_directory_is_not_made() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    for place in ["news/backups", "news/bad/../backups/"] {
        let told = program.run(&["backup", place, "--dir", "news"]);
        assert_eq!(told.status, 2, "{told:?}");
        assert!(told.err.contains("is in the news directory"), "{told:?}");
        assert!(!program.path("news/backups").exists(), "{place}");
    }
}

#[test]
fn a_full_disk_is_no_damage() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.rnews(&batch(&many("a", 100, "comp.test", 40_000)));
    backup(&program, &[]);
    fs::create_dir(program.path("small")).unwrap();
    let Some(small) = program::small::Small::mount(&program.path("small"), "1m") else {
        eprintln!("skipped: a full disk (no file system may be mounted here)");
        return;
    };
    let told = program.run(&["restore", "backups", "--dir", "small/restored"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("No space left"), "{told:?}");
    assert!(!told.err.contains("damaged"), "{told:?}");
    drop(small);
}

/// Opening it would wait for ever.
#[test]
fn a_fifo_in_the_place_of_a_file_is_damage() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.rnews(&batch(&many("a", 3, "comp.test", 1000)));
    backup(&program, &[]);
    for path in [contents(&program), program.files("backups")].concat() {
        // The lock is only locked.
        if !path.is_file() || path.ends_with("lock") {
            continue;
        }
        let aside = path.with_extension("aside");
        fs::rename(&path, &aside).unwrap();
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        for more in [&[][..], &["--check"]] {
            let told = restore(&program, more);
            assert_ne!(told.status, 0, "{}: {told:?}", path.display());
        }
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
    }
    assert_eq!(restore(&program, &[]).status, 0);
}

#[test]
fn while_articles_are_filed() {
    let program = Program::with_small_segments("comp.test 0000000000 00001 y\n", 4);
    let daemon = Daemon::start(&program);
    let articles = many("a", 600, "comp.test", 40_000);
    let (filed_count, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let feed = || {
        for part in articles.chunks(5) {
            assert_eq!(program.rnews(&batch(part)).status, 0);
            filed_count.fetch_add(part.len(), Ordering::SeqCst);
            if is_over.load(Ordering::SeqCst) {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let feeder = scope.spawn(feed);
        for _ in 0..3 {
            let before = filed_count.load(Ordering::SeqCst);
            backup(&program, &[]);
            let after = filed_count.load(Ordering::SeqCst) + 5;
            let told = restore(&program, &["--verify"]);
            assert_eq!(told.status, 0, "{told:?}");
            let found = program
                .run(&["overview", "--dir", "restored", "comp.test"])
                .out;
            let found = found.lines().count();
            assert!(
                (before..=after).contains(&found),
                "{before} {found} {after}"
            );
            for number in [1, before.max(1)] {
                let words = ["article", "--dir", "restored", &id("a", number)];
                let expected = filed(&articles[number - 1], &format!("comp.test:{number}"));
                assert!(
                    number > found || program.run_bytes(&words) == expected,
                    "{number}"
                );
            }
        }
        is_over.store(true, Ordering::SeqCst);
        feeder.join().unwrap();
    });
    daemon.stop();
    let filed_count = filed_count.load(Ordering::SeqCst);
    // All that came after the backup may come again, under other numbers.
    let all = batch(&articles[..filed_count]);
    let told = program.feed(&["rnews", "--dir", "restored", "--json"], &all);
    assert_eq!(
        told.count("accepted") + told.count("duplicates"),
        filed_count as u64
    );
    let next = batch(&many("b", 1, "comp.test", 10));
    let told = program.feed(&["rnews", "--dir", "restored", "--json"], &next);
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    let told = program
        .run(&["overview", "--dir", "restored", "comp.test"])
        .out;
    let number = |line: &str| line.split('\t').next().unwrap().parse::<usize>().unwrap();
    let newest = told.lines().map(number).max().unwrap();
    assert!(newest > 10_000, "{newest}");
}

#[test]
fn unchanged_contents_are_copied_once() {
    let program = Program::with_small_segments("comp.test 0000000000 00001 y\n", 4);
    assert_eq!(
        program
            .rnews(&batch(&many("a", 600, "comp.test", 40_000)))
            .status,
        0
    );
    let first = backup(&program, &[]);
    let size = |of: &serde_json::Value, key| of[key].as_u64().unwrap();
    assert!(size(&first, "new_bytes") > 12_000_000, "{first}");
    assert_eq!(
        program.rnews(&batch(&many("b", 1, "comp.test", 10))).status,
        0
    );
    let second = backup(&program, &[]);
    assert!(
        size(&second, "new_bytes") < size(&first, "new_bytes") / 2,
        "{second}"
    );
    let third = backup(&program, &["--keep", "2"]);
    assert_eq!(size(&third, "removed"), 1);
    // What is kept can be restored.
    for at in [&second, &third] {
        let at = size(at, "time").to_string();
        let told = restore(&program, &["--at", &at, "--verify"]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    let gone = size(&first, "time").to_string();
    let told = restore(&program, &["--at", &gone]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("has no such backup; it has "), "{told:?}");
    // Only contents of the one backup that is left are there.
    assert_eq!(
        program.rnews(&batch(&many("c", 1, "comp.test", 10))).status,
        0
    );
    // An interrupted backup leaves contents without a list.
    program.write(&format!("backups/data/{}", "0".repeat(64)), b"left");
    let last = backup(&program, &["--keep", "1"]);
    let list = program.read(&format!("backups/{:012}.list", size(&last, "time")));
    let files = list.lines().filter(|line| line.split(' ').count() == 7);
    let needed: HashSet<&str> = files.map(|line| &line[..64]).collect();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let there: Vec<String> = contents(&program).iter().map(name).collect();
    let there: HashSet<&str> = there.iter().map(String::as_str).collect();
    assert_eq!(there, needed);
    assert_eq!(restore(&program, &["--check"]).status, 0);
}

#[test]
fn with_a_damaged_list_no_older_backup_is_removed() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let times = [(); 3].map(|()| backup(&program, &[])["time"].as_u64().unwrap());
    let list = format!("backups/{:012}.list", times[2]);
    let text = program.read(&list).replace("end ", "end 0");
    program.write(&list, text.as_bytes());
    let words = ["backup", "backups", "--dir", "news", "--keep", "2"];
    let told = program.run(&words);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err.contains("no older backup was removed")
            && told
                .err
                .contains(&format!("{:012}.list: damaged", times[2])),
        "{told:?}"
    );
    assert!(told.out.starts_with("backup "), "{told:?}");
    fs::remove_file(program.path(&list)).unwrap();
    let told = program.run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.contains("removed 2 old backups"), "{told:?}");
}

#[test]
fn removed_articles_stay_removed() {
    let program = Program::with_classic_cancels("comp.test 0000000000 00001 y\n");
    let articles = many("a", 40, "comp.test", 2_000);
    assert_eq!(program.rnews(&batch(&articles)).status, 0);
    let cancel = format!(
        "Path: x!y\nFrom: me@example.com\nNewsgroups: comp.test\nSubject: cancel\nDate: {}\nMessage-ID: <c@x.example>\nControl: cancel {}\n\nx\n",
        program::articles::date(relay_now()),
        id("a", 3),
    );
    assert_eq!(program.rnews(&batch(&[cancel.into_bytes()])).status, 0);
    assert_eq!(
        program
            .run(&["article", "--dir", "news", &id("a", 3)])
            .status,
        1
    );
    backup(&program, &[]);
    let told = restore(&program, &["--verify", "--gap", "0"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(
        program
            .run(&["article", "--dir", "restored", &id("a", 3)])
            .status,
        1
    );
    let told = program.feed(&["rnews", "--dir", "restored", "--json"], &batch(&articles));
    assert_eq!(told.count("duplicates"), 40, "{told:?}");
    assert_eq!(program.read("restored/active"), program.read("news/active"));
    // A directory that is in use is not written over.
    let told = program.run(&["restore", "backups", "--dir", "news"]);
    assert_eq!(told.status, 2, "{told:?}");
}

/// The log has the groups, too. An older backup may have a whole `active`, and stays.
#[test]
fn a_backup_without_a_usable_active_is_told_and_restored() {
    let groups = ["comp.test", "comp.misc", "comp.last"];
    let lines = groups.map(|group| format!("{group} 0000000000 00001 y\n"));
    let program = Program::with_news(&lines.concat());
    let articles = batch(&many("a", 30, "comp.test", 50));
    assert_eq!(program.rnews(&articles).count("accepted"), 30);
    backup(&program, &[]);
    let whole = program.read("news/active");
    let first_two = whole.split_inclusive('\n').take(2).collect::<String>();
    for text in [None, Some(&whole[..40]), Some(&first_two)] {
        match text {
            None => fs::remove_file(program.path("news/active")).unwrap(),
            Some(text) => program.write("news/active", text.as_bytes()),
        }
        let words = ["backup", "backups", "--dir", "news", "--keep", "1"];
        let told = program.run(&words);
        assert_eq!(told.status, 1, "{text:?}: {told:?}");
        assert!(!told.out.contains("removed"), "{text:?}: {told:?}");
        let remedy = [
            "`broadsheet fsck --repair'",
            "put a whole copy in its place",
        ];
        let is_told = remedy.iter().any(|remedy| told.err.contains(remedy));
        assert!(is_told && told.err.contains("active"), "{text:?}: {told:?}");
        let told = restore(&program, &["--gap", "20"]);
        assert_eq!(told.status, 0, "{text:?}: {told:?}");
        let active = program.read("restored/active");
        assert!(active.contains("comp.test 0000000050 "), "{active}");
        assert!(active.contains("comp.last 0000000020 "), "{active}");
        program.write("news/active", whole.as_bytes());
    }
}

/// The gap counts from the numbers of the log, not from those of a file that is behind it.
#[test]
fn high_marks_are_raised_above_those_of_the_log() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let articles = batch(&many("a", 30, "comp.test", 50));
    assert_eq!(program.rnews(&articles).count("accepted"), 30);
    let whole = program.read("news/active");
    let behind = whole.replace("comp.test 0000000030", "comp.test 0000000010");
    for text in [behind.as_str(), ""] {
        program.write("news/active", text.as_bytes());
        backup(&program, &[]);
        let told = restore(&program, &["--gap", "20"]);
        assert_eq!(told.status, 0, "{told:?}");
        fs::remove_file(program.path("restored/index")).unwrap();
        fs::remove_file(program.path("restored/active")).unwrap();
        let more = batch(&many("b", 1, "comp.test", 50));
        let told = program.feed(&["rnews", "--dir", "restored", "--json"], &more);
        assert_eq!(told.count("accepted"), 1, "{told:?}");
        let active = program.read("restored/active");
        assert!(active.contains("comp.test 0000000051 "), "{active}");
    }
}

/// RFC 3977, 6: no number is above 2,147,483,647.
#[test]
fn no_high_mark_is_raised_above_the_highest_number() {
    let program = Program::with_news("comp.test 2147480000 00001 y\n");
    backup(&program, &[]);
    for gap in ["2147483648", "18446744073709551615"] {
        let told = restore(&program, &["--gap", gap]);
        assert_eq!(told.status, 64, "{told:?}");
        assert!(told.err.contains("--gap is at most 2147483647"), "{told:?}");
        assert!(!program.path("restored").exists());
    }
    let told = restore(&program, &[]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err
            .contains("the high mark of comp.test would be 2147490000"),
        "{told:?}"
    );
    assert!(!program.path("restored").exists());
    let told = restore(&program, &["--gap", "3647"]);
    assert_eq!(told.status, 0, "{told:?}");
    let active = program.read("restored/active");
    assert!(active.contains("comp.test 2147483647 "), "{active}");
}

fn relay_now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap().as_secs()
}

#[test]
fn damage_is_found() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    assert_eq!(
        program
            .rnews(&batch(&many("a", 40, "comp.test", 2_000)))
            .status,
        0
    );
    backup(&program, &[]);
    let largest = contents(&program)
        .into_iter()
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap();
    let whole = fs::read(&largest).unwrap();
    let mut spoilt = whole.clone();
    spoilt[5_000] ^= 1;
    fs::write(&largest, &spoilt).unwrap();
    let told = program.run(&["restore", "backups", "--check"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err.contains(".art: the content does not have"),
        "{told:?}"
    );
    let told = restore(&program, &[]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("the backup is damaged"), "{told:?}");
    // It is no news directory.
    assert!(!program.path("restored/broadsheet.toml").exists());
    fs::write(&largest, &whole).unwrap();
    assert_eq!(restore(&program, &["--verify"]).status, 0);
    // The next backup does not believe in a content that is too short.
    fs::write(&largest, &whole[..100]).unwrap();
    backup(&program, &[]);
    assert_eq!(restore(&program, &["--verify"]).status, 0);
    let told = program.run(&["backup", "news/backups", "--dir", "news"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("is in the news directory"), "{told:?}");
}

/// Nothing but the checksum of the header is wrong: every article can be read.
fn spoil_header(program: &Program) {
    let arts = program.files("news/segments").into_iter();
    let mut arts: Vec<PathBuf> = arts
        .filter(|path| path.extension().is_some_and(|end| end == "art"))
        .collect();
    arts.sort();
    let path = arts.pop().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[62] ^= 1;
    fs::write(&path, bytes).unwrap();
}

#[test]
fn a_damaged_header_of_a_segment_is_reported_and_restored_whole() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let articles = many("a", 40, "comp.test", 2_000);
    assert_eq!(program.rnews(&batch(&articles)).status, 0);
    backup(&program, &[]);
    spoil_header(&program);
    let told = program.run(&["backup", "backups", "--dir", "news", "--keep", "1"]);
    assert_eq!(told.status, 1, "{told:?}");
    for part in [
        ".art is damaged at byte 0",
        "fsck --repair",
        "back up again",
    ] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
    // The one without the damage stays.
    assert!(!told.out.contains("removed"), "{told:?}");
    let told = restore(&program, &["--verify"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.out.contains("header is not ours: rewritten"),
        "{told:?}"
    );
    let active = program.read("restored/active");
    assert!(active.contains("comp.test 0000010040 "), "{active}");
    let out = program.run_bytes(&["article", "--dir", "restored", &id("a", 7)]);
    assert!(out == filed(&articles[6], "comp.test:7"));
    let next = batch(&many("b", 1, "comp.test", 10));
    let told = program.feed(&["rnews", "--dir", "restored", "--json"], &next);
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    let row = program.run(&["overview", "--dir", "restored", "comp.test", "10041"]);
    assert!(row.out.contains(&id("b", 1)), "{row:?}");
    assert_eq!(
        program.run(&["fsck", "--dir", "news", "--repair"]).status,
        0
    );
    backup(&program, &["--keep", "1"]);
}

#[test]
fn a_directory_that_was_not_restored_whole_is_named() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    backup(&program, &[]);
    let largest = contents(&program)
        .into_iter()
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap();
    fs::write(&largest, b"").unwrap();
    let told = restore(&program, &[]);
    assert_eq!(told.status, 2, "{told:?}");
    for part in [
        "restored is not a whole news directory: remove it",
        "the backup is damaged",
    ] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
}

#[test]
fn a_site_may_be_named_like_a_file_in_the_making() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program.read("news/broadsheet.toml")
        + "\n[[site]]\nname = \"peer.new\"\ngroups = \"comp\"\nvia = { directory = \"../peer\" }\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
    assert_eq!(
        program
            .rnews(&batch(&many("a", 2, "comp.test", 100)))
            .status,
        0
    );
    program.write("news/in.coming/1.new", b"waits");
    program.write("news/feeds/peer.new/selected.new", b"half");
    backup(&program, &[]);
    let told = restore(&program, &[]);
    assert_eq!(told.status, 0, "{told:?}");
    let there = |name: &str| program.path("restored").join(name).exists();
    assert!(there("feeds/peer.new/cursor"));
    assert!(there("in.coming/1.new"));
    assert!(!there("feeds/peer.new/selected.new"));
}

#[test]
fn a_link_that_leads_nowhere_is_refused() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    assert_eq!(
        program
            .rnews(&batch(&many("a", 4, "comp.test", 100)))
            .status,
        0
    );
    fs::create_dir_all(program.path("disk")).unwrap();
    let art = program.files("news/segments").into_iter();
    let mut art = art.filter(|path| path.extension().is_some_and(|end| end == "art"));
    let art = art.next_back().unwrap();
    let art = format!("segments/{}", art.file_name().unwrap().to_string_lossy());
    for name in ["in.coming", art.as_str(), "bad"] {
        let _ = fs::create_dir(program.path("news").join(name));
        let (here, there) = (program.path("news").join(name), program.path("disk/there"));
        fs::rename(&here, &there).unwrap();
        symlink(&there, &here).unwrap();
        backup(&program, &[]);
        backup(&program, &[]);
        let lists = || program.files("backups").len();
        let before = lists();
        // The disk is not mounted.
        fs::rename(program.path("disk"), program.path("unmounted")).unwrap();
        let told = program.run(&["backup", "backups", "--dir", "news", "--keep", "1"]);
        assert_eq!(told.status, 2, "{name}: {told:?}");
        let part = format!("{name} is a link that leads nowhere");
        assert!(told.err.contains(&part), "{name}: {told:?}");
        assert_eq!(lists(), before, "{name}");
        fs::rename(program.path("unmounted"), program.path("disk")).unwrap();
        fs::remove_file(&here).unwrap();
        fs::rename(&there, &here).unwrap();
    }
    // The lock of an editor is such a link.
    symlink("me@host.1:2", program.path("news/.#active")).unwrap();
    backup(&program, &["--keep", "1"]);
    assert_eq!(restore(&program, &["--verify"]).status, 0);
}

/// Makes the newest list later, as if its files had not changed for a long time.
fn age(program: &Program) {
    let path = program.files("backups").into_iter();
    let mut path = path.filter(|path| path.extension().is_some_and(|end| end == "list"));
    let path = path.next_back().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let time: i64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let later = time + 1000;
    let (body, _) = text.trim_end().rsplit_once('\n').unwrap();
    let body = body.replacen(&format!("time {time}"), &format!("time {later}"), 1) + "\n";
    let sum: String = Sha256::digest(body.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    program.write(
        &format!("backups/{later:012}.list"),
        format!("{body}end {sum}\n").as_bytes(),
    );
}

#[test]
fn damaged_contents_are_replaced() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    assert_eq!(
        program
            .rnews(&batch(&many("a", 40, "comp.test", 2_000)))
            .status,
        0
    );
    let new_bytes = |told: serde_json::Value| told["new_bytes"].as_u64().unwrap();
    backup(&program, &[]);
    age(&program);
    let largest = contents(&program)
        .into_iter()
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap();
    let whole = fs::read(&largest).unwrap();
    let spoil = || {
        let mut spoilt = whole.clone();
        spoilt[5_000] ^= 1;
        fs::write(&largest, &spoilt).unwrap();
    };
    let check = || program.run(&["restore", "backups", "--check", "--json"]);
    let damaged = || check().summary()["faults"].as_array().unwrap().len();
    spoil();
    // Unchanged files are not read again.
    assert_eq!(new_bytes(backup(&program, &[])), 0);
    age(&program);
    // A backup that runs may rely on the content.
    let lock = store::Lock::take_named(&program.path("backups"), "lock", true).unwrap();
    let told = check();
    assert_eq!(
        (told.status, &told.summary()["set_aside"]),
        (1, &false.into())
    );
    drop(lock);
    let told = program.run(&["restore", "backups", "--check"]);
    assert_eq!(told.status, 1, "{told:?}");
    for part in [
        ".art: the content does not have",
        "copies these files again",
    ] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
    let told = program.run(&["restore", "backups", "--check"]);
    assert!(told.err.contains("set aside until"), "{told:?}");
    assert_eq!(restore(&program, &[]).status, 2);
    let bytes = new_bytes(backup(&program, &[]));
    assert_eq!(bytes, whole.len() as u64);
    assert_eq!(damaged(), 0);
    assert_eq!(restore(&program, &["--verify"]).status, 0);
    let is_aside = |path: &PathBuf| path.extension().is_some();
    assert!(!contents(&program).iter().any(is_aside));

    // A file that is read anyway replaces it without a check.
    spoil();
    let arts = program.files("news/segments");
    for path in arts.iter().filter(|path| path.extension().is_some()) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::now()).unwrap();
    }
    assert_eq!(new_bytes(backup(&program, &[])), whole.len() as u64);
    assert_eq!(damaged(), 0);

    // One that no kept backup needs goes.
    spoil();
    assert_eq!(damaged(), 1);
    assert!(contents(&program).iter().any(is_aside));
    assert_eq!(
        program.rnews(&batch(&many("b", 1, "comp.test", 10))).status,
        0
    );
    backup(&program, &["--keep", "1"]);
    assert!(!contents(&program).iter().any(is_aside));
    assert_eq!(restore(&program, &["--verify"]).status, 0);
}

#[test]
fn a_restored_directory_has_its_owner_and_no_interruption() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.rnews(&batch(&many("a", 3, "comp.test", 20)));
    // The secret of Cancel-Locks.
    fs::create_dir_all(program.path("news/keys")).unwrap();
    program.write("news/keys/cancel.secret", b"secret\n");
    backup(&program, &[]);
    let told = restore(&program, &[]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(!told.out.contains("after an interruption"), "{told:?}");
    let mode = fs::metadata(program.path("restored/keys")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o700);
    if !rustix::process::geteuid().is_root() {
        return;
    }
    assert!(told.err.contains("restored belongs to root: "), "{told:?}");
    // The other user can read the backups.
    let open = std::process::Command::new("chmod")
        .args(["-R", "a+rX"])
        .args([program.path(""), program.path("backups")])
        .status();
    assert!(open.unwrap().success());
    fs::remove_dir_all(program.path("restored")).unwrap();
    let words = ["restore", "--dir", "restored", "--run-as", "nobody", "--"];
    let told = program.run(&[&words[..], &["backups"]].concat());
    assert_eq!(told.status, 0, "{told:?}");
    assert!(!told.err.contains("belongs to root"), "{told:?}");
    let owner = fs::metadata(program.path("restored/active")).unwrap().uid();
    assert_ne!(owner, 0);
}
