//! Feeds when the disk forgot: older cursors come back after a power cut, the log lost its end (`sync = "none"`), the disk is full here or
//! there. Nothing is skipped; what is sent twice is refused.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use program::articles::{batch, many};
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

/// `news` feeds `west`; their settings have `sync` and these lines in front.
fn two_sites(via: &str, sync: &str) -> Program {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml");
    let told = settings.replace("sync = \"commit\"", &format!("sync = \"{sync}\""));
    assert!(told.contains(&format!("\nsync = \"{sync}\"")), "{told}");
    let told = told + &format!("\n[[site]]\nname = \"west\"\ngroups = \"comp\"\nvia = {via}\n");
    program.write("news/broadsheet.toml", told.as_bytes());
    program.init("west", "west");
    program
}

fn run(program: &Program, words: &[&str]) {
    let told = program.run(words);
    assert_eq!(told.status, 0, "{words:?} {told:?}");
}

fn file(program: &Program, prefix: &str, count: usize, bytes: usize) -> u64 {
    let told = program.rnews(&batch(&many(prefix, count, "comp.test", bytes)));
    assert_eq!(told.status, 0, "{told:?}");
    told.count("accepted")
}

fn exchange(program: &Program) {
    run(program, &["sendbatches", "--dir", "news"]);
    run(program, &["newsrun", "--dir", "west"]);
}

fn ids(program: &Program, dir: &str) -> BTreeSet<String> {
    let rows = program.run(&["overview", "--dir", dir, "comp.test"]);
    assert_eq!(rows.status, 0, "{rows:?}");
    let id = |row: &str| row.split('\t').nth(4).unwrap().to_owned();
    rows.out.lines().map(id).collect()
}

fn copy(program: &Program, from: &str, to: &str) {
    let _ = std::fs::remove_dir_all(program.path(to));
    let copied = Command::new("cp")
        .args(["-a", from, to])
        .current_dir(program.path(""))
        .status();
    assert!(copied.unwrap().success());
}

fn duplicates(program: &Program) -> usize {
    let log = program.read("west/log");
    log.lines()
        .filter(|line| line.ends_with(" duplicate"))
        .count()
}

const DIRECTORY: &str = "{ directory = \"../west/in.coming\", size = \"10 kB\" }";

#[test]
fn older_cursors_send_again_and_skip_nothing() {
    let program = two_sites(DIRECTORY, "commit");
    file(&program, "first", 20, 1500);
    exchange(&program);
    copy(&program, "news/feeds", "kept");
    for part in ["second", "third"] {
        file(&program, part, 20, 1500);
        exchange(&program);
    }
    // The power went, and the file system came back as it was.
    copy(&program, "kept", "news/feeds");
    file(&program, "fourth", 20, 1500);
    exchange(&program);
    assert_eq!(ids(&program, "west"), ids(&program, "news"));
    assert_eq!(duplicates(&program), 40);
    // And without its directory a site is asked for, not begun anew behind the administrator's back.
    std::fs::remove_dir_all(program.path("news/feeds/west")).unwrap();
    let told = program.run(&["sendbatches", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("west"), "{told:?}");
    run(
        &program,
        &["feed", "reset", "--dir", "news", "--to", "oldest", "west"],
    );
    exchange(&program);
    assert_eq!(duplicates(&program), 40 + 80);
}

#[test]
fn what_is_filed_behind_the_end_of_a_cut_log_is_sent() {
    // What is filed then is as large as what was lost, smaller and larger: records lie across the place of the last one sent, and behind it.
    // A cursor that was reset knows no last article. Whatever command comes first, only one that files moves cursors.
    let rebuilds: &[&str] = &["history", "rebuild"];
    for (count, bytes, is_reset, first) in [
        (20, 1500, false, rebuilds),
        (5, 700, false, &["feed", "list"]),
        (31, 2311, false, &["fsck", "--repair"]),
        (60, 433, false, &["group", "add", "comp.new"]),
        (31, 2311, true, rebuilds),
        (
            31,
            2311,
            true,
            &["history", "find", "<first.1@example.com>"],
        ),
    ] {
        let program = two_sites(DIRECTORY, "none");
        file(&program, "first", 20, 1500);
        exchange(&program);
        assert_eq!(ids(&program, "west").len(), 20);
        if is_reset {
            run(
                &program,
                &["feed", "reset", "--dir", "news", "--to", "now", "west"],
            );
        }
        // The end of the log never reached the disk, and nothing that is derived either.
        let segments = program.files("news/segments");
        for path in &segments {
            if path.extension().is_some_and(|end| end == "art") {
                let log = std::fs::OpenOptions::new().write(true).open(path).unwrap();
                log.set_len(18_000).unwrap();
            } else {
                std::fs::remove_file(path).unwrap();
            }
        }
        std::fs::remove_file(program.path("news/index")).unwrap();
        let told = program.run(&[first, &["--dir", "news"]].concat());
        assert_eq!(told.status, 0, "{told:?}");
        let left = ids(&program, "news").len();
        assert!((2..19).contains(&left), "{left}");

        file(&program, "second", count, bytes);
        exchange(&program);
        let (here, there) = (ids(&program, "news"), ids(&program, "west"));
        let missing: Vec<_> = here.difference(&there).collect();
        assert_eq!(missing, Vec::<&String>::new(), "{count} of {bytes}");
        assert_eq!(here.len(), left + count);
        assert_eq!(duplicates(&program), 0);
        file(&program, "third", 3, bytes);
        exchange(&program);
        assert_eq!(duplicates(&program), 0);
        assert_eq!(ids(&program, "west").len(), 20 + count + 3);
        program.assert_clean();
    }
}

/// A small file system in memory, gone at the end.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, size: &str) -> Option<Small> {
        let options = format!("size={size}");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(at)
            .output();
        if !done.is_ok_and(|done| done.status.success()) {
            eprintln!("skipped: a disk that is full (mounting a tmpfs is not allowed)");
            return None;
        }
        Some(Small(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Writes a file until nothing more goes into the directory.
fn fill(program: &Program, dir: &str) {
    let done = Command::new("dd")
        .args(["if=/dev/zero", "bs=4096"])
        .arg(format!("of={dir}/filler"))
        .current_dir(program.path(""))
        .output();
    assert!(!done.unwrap().status.success(), "it is not full");
}

#[test]
fn a_disk_that_is_full_when_a_site_is_new() {
    let program = two_sites(DIRECTORY, "commit");
    std::fs::create_dir_all(program.path("news/feeds")).unwrap();
    let feeds = program.path("news/feeds");
    let Some(small) = Small::mount(&feeds, "64k") else {
        return;
    };
    fill(&program, "news/feeds");
    let text = batch(&many("first", 9, "comp.test", 1500));
    let told = program.rnews(&text);
    assert_ne!(told.status, 0, "{told:?}");
    assert!(told.err.contains("No space left on device"), "{told:?}");
    // Nothing is filed of which a site would never hear.
    assert_eq!(ids(&program, "news").len(), 0);
    let told = program.run(&["sendbatches", "--dir", "news"]);
    assert_ne!(told.status, 0, "{told:?}");
    std::fs::remove_file(program.path("news/feeds/filler")).unwrap();
    assert_eq!(program.rnews(&text).count("accepted"), 9);
    exchange(&program);
    assert_eq!(ids(&program, "west").len(), 9);

    // A cursor moves on a full disk, too: its place is there.
    fill(&program, "news/feeds");
    file(&program, "second", 9, 1500);
    exchange(&program);
    assert_eq!(ids(&program, "west").len(), 18);
    assert_eq!(duplicates(&program), 0);
    drop(small);
}

#[test]
fn a_list_on_a_full_disk_waits() {
    let program = two_sites("{ files = \"lists/west\", form = \"I\" }", "commit");
    std::fs::create_dir(program.path("news/lists")).unwrap();
    let lists = program.path("news/lists");
    let Some(small) = Small::mount(&lists, "64k") else {
        return;
    };
    fill(&program, "news/lists");
    file(&program, "first", 300, 10);
    let told = program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    std::fs::remove_file(program.path("news/lists/filler")).unwrap();
    run(&program, &["feed", "flush", "--dir", "news"]);
    let mut listed: Vec<String> = program
        .read("news/lists/west")
        .lines()
        .map(str::to_owned)
        .collect();
    listed.sort_unstable();
    assert!(
        listed.iter().eq(&ids(&program, "news")),
        "each id, and once"
    );
    drop(small);
}

#[test]
fn an_in_coming_that_takes_no_whole_batch() {
    let program = two_sites(
        "{ directory = \"../west/in.coming\", size = \"100 kB\" }",
        "commit",
    );
    file(&program, "first", 20, 1500);
    // 16 KiB a file; the shell ignores SIGXFSZ, and so does what it starts: writes then fail (EFBIG).
    let script = format!(
        "trap '' XFSZ; ulimit -f 32; exec {} sendbatches --dir news",
        env!("CARGO_BIN_EXE_broadsheet")
    );
    let done = Command::new("sh")
        .args(["-c", &script])
        .current_dir(program.path(""))
        .output()
        .unwrap();
    let told = Told {
        status: done.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    };
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("File too large"), "{told:?}");
    let left = program.files("west/in.coming");
    assert!(left.is_empty(), "{left:?}");
    exchange(&program);
    assert_eq!(ids(&program, "west"), ids(&program, "news"));
    assert_eq!(duplicates(&program), 0);
}

#[test]
fn a_full_in_coming_is_waited_for() {
    let program = two_sites(DIRECTORY, "commit");
    let incoming = program.path("west/in.coming");
    let Some(small) = Small::mount(&incoming, "4m") else {
        return;
    };
    file(&program, "first", 20, 1500);
    let told = program.run(&["sendbatches", "--dir", "news"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err.contains("free in the directory of its batches"),
        "{told:?}"
    );
    drop(small);
    exchange(&program);
    assert_eq!(ids(&program, "west"), ids(&program, "news"));
}
