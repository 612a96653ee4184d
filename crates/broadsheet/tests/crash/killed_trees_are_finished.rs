//! A tree of files: written by rnews and the daemon, killed before each of its system calls, with file systems that have no links.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use program::Program;
use program::articles::{batch, filed, id, many, with};
use program::daemon::{Daemon, until};
use program::faults;
use program::small::Small;

const GROUPS: &str = "alt.test 0 1 y\ncomp.test 0 1 y\ncontrol 0 1 y\n";
/// System calls that change the disk.
const CHANGES: &str = "openat,write,pwrite64,fsync,fdatasync,syncfs,linkat,symlinkat,?rename,?renameat,?renameat2,?unlink,?unlinkat,?mkdir,?mkdirat,close";

/// A news directory with a site for a tree; the tree is beside it.
fn growing(more: &str) -> Program {
    let program = Program::with_classic_cancels(GROUPS);
    let settings = program.read("news/broadsheet.toml")
        + &format!(
            "\n[[site]]\nname = \"grove\"\ngroups = \"alt,comp\"\nvia = {{ tree = \"../tree\"{more} }}\n"
        );
    program.write("news/broadsheet.toml", settings.as_bytes());
    program
}

fn cross_posted(number: usize) -> Vec<u8> {
    let body = format!("..a dot {number}\n").repeat(number * 100);
    with(
        &id("both", number),
        "comp.test,alt.test",
        "",
        body.as_bytes(),
    )
}

fn cancel(target: &str) -> Vec<u8> {
    let id = target.replace('<', "<cancel.");
    with(
        &id,
        "comp.test",
        &format!("Control: cancel {target}\n"),
        b"\n",
    )
}

/// The files of a tree with their inodes and contents.
fn tree(program: &Program, tree: &str) -> BTreeMap<String, (u64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for group in ["alt/test", "comp/test"] {
        for path in program.files(&format!("{tree}/{group}")) {
            // The daemon may remove one meanwhile.
            let Ok(text) = std::fs::read(&path) else {
                continue;
            };
            let Ok(data) = std::fs::metadata(&path) else {
                continue;
            };
            let name = format!("{group}/{}", path.file_name().unwrap().display());
            found.insert(name, (data.ino(), text));
        }
    }
    found
}

fn names(program: &Program) -> Vec<String> {
    tree(program, "tree").into_keys().collect()
}

/// Everything goes.
fn expire(program: &Program) {
    program.write("explist", b"all x 1 -\n");
    let now = (1_u64 << 34).to_string();
    let words = [
        "expire", "--dir", "news", "--force", "--now", &now, "explist",
    ];
    let told = program.run(&words);
    assert_eq!(told.status, 0, "{told:?}");
}

#[test]
fn rnews_and_expire_write_it_without_the_daemon() {
    let program = growing("");
    let told = program.rnews(&batch(&[cross_posted(1), cross_posted(2)]));
    assert_eq!(told.count("accepted"), 2, "{told:?}");
    let found = tree(&program, "tree");
    let expected = filed(&cross_posted(2), "alt.test:2 comp.test:2");
    assert!(found["comp/test/2"].1 == expected);
    assert!(found["comp/test/2"] == found["alt/test/2"]);
    assert_eq!(found.len(), 4);
    let told = program.rnews(&batch(&[cancel(&id("both", 1))]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    assert_eq!(names(&program), ["alt/test/2", "comp/test/2"]);
    let listed = program
        .run(&["feed", "list", "--dir", "news", "--json"])
        .summary();
    assert_eq!(
        (&listed["articles"], &listed["state"]),
        (&0.into(), &"ready".into())
    );
    expire(&program);
    assert_eq!(names(&program), Vec::<String>::new());
    program.assert_clean();
}

#[test]
fn the_daemon_keeps_it_up_to_date() {
    let program = growing(", overview = true");
    let daemon = Daemon::start(&program);
    program.rnews(&batch(&[cross_posted(1), cross_posted(2)]));
    until("the tree", || names(&program).len() == 6);
    program.rnews(&batch(&[cancel(&id("both", 1))]));
    let overview = || program.read("tree/alt/test/.overview");
    until("the cancel", || names(&program).len() == 4);
    assert!(overview().starts_with("2\ta test\t") && overview().lines().count() == 1);
    expire(&program);
    until("the end of all", || names(&program).is_empty());
    program.rnews(&batch(&[cross_posted(3)]));
    until("the next", || names(&program).len() == 4);
    // What it cannot write is reported, and waits.
    program.write("tree/alt/test/4", b"mine");
    program.rnews(&batch(&[cross_posted(4)]));
    assert!(daemon.until_said("in the way").contains("tree/alt/test/4"));
    std::fs::remove_file(program.path("tree/alt/test/4")).unwrap();
    let told = program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    until("the last", || names(&program).len() == 6);
    daemon.stop();
}

/// Runs `feed flush` under strace; true if it ended well.
fn traced(program: &Program, options: &[&str]) -> bool {
    let options = [&["-f"], options].concat();
    let mut strace = faults::strace(&program.path(""), CHANGES, &options);
    strace.args(["feed", "flush", "--dir", "news"]);
    strace.status().unwrap().success()
}

/// Puts the news directory and the tree into a directory, or back.
fn copy(program: &Program, from: &str, to: &str) {
    for part in ["news", "tree"] {
        let place = |dir: &str| program.path(dir).join(part);
        faults::copy(&place(from), &place(to));
    }
}

#[test]
fn killed_before_each_call() {
    if !faults::can_trace() {
        return;
    }
    let program = growing(", overview = true");
    program.rnews(&batch(&[cross_posted(1)]));
    pause(&program);
    let articles: Vec<Vec<u8>> = (2..=4).map(cross_posted).collect();
    program.rnews(&batch(&articles));
    program.rnews(&batch(&many("comp", 1, "comp.test", 100)));
    program.rnews(&batch(&[cancel(&id("both", 1))]));
    std::fs::remove_file(program.path("news/feeds/grove/paused")).unwrap();
    std::fs::create_dir(program.path("made")).unwrap();
    copy(&program, "", "made");
    let contents = || -> BTreeMap<String, Vec<u8>> {
        let found = tree(&program, "tree").into_iter();
        found.map(|(name, (_, content))| (name, content)).collect()
    };
    assert!(traced(&program, &[]));
    let expected = contents();
    assert_eq!(expected.len(), 9, "{:?}", names(&program));
    // Those from its first look at the tree on.
    let all = faults::calls(&program.path(""), "tree/.broadsheet");
    assert!(all.len() > 20, "{all:?}");
    let mut kills = 0;
    for (place, (name, count)) in all.into_iter().enumerate() {
        let is_tried = place % 3 == 0 && name != "close";
        for fault in ["signal=SIGKILL", "error=EIO"]
            .iter()
            .take(1 + usize::from(is_tried))
        {
            copy(&program, "made", "");
            let inject = faults::inject(&name, fault, count);
            let is_done = traced(&program, &["-e", &inject]);
            kills += usize::from(!is_done);
            let told = program.run(&["feed", "flush", "--dir", "news"]);
            assert_eq!(told.status, 0, "{inject}: {told:?}");
            assert!(contents() == expected, "{inject}");
            let found = tree(&program, "tree");
            for number in 2..=4 {
                let inode = |top| found[&format!("{top}/test/{number}")].0;
                assert_eq!(inode("alt"), inode("comp"), "{inject}: {number}");
            }
        }
    }
    assert!(kills > 20);
}

fn pause(program: &Program) {
    let told = program.run(&["feed", "pause", "--dir", "news", "grove"]);
    assert_eq!(told.status, 0, "{told:?}");
}

/// The page cache has what the disk may not have: it may not count as written.
#[test]
fn after_a_failed_sync_nothing_of_the_batch_stays() {
    if !faults::can_trace() {
        return;
    }
    let program = growing("");
    program.rnews(&batch(&[cross_posted(1)]));
    pause(&program);
    program.rnews(&batch(&[cross_posted(2), cross_posted(3)]));
    std::fs::remove_file(program.path("news/feeds/grove/paused")).unwrap();
    assert!(!traced(&program, &["-e", "inject=syncfs:error=EIO"]));
    assert_eq!(names(&program), ["alt/test/1", "comp/test/1"]);
    let told = program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(names(&program).len(), 6);
}

#[test]
fn without_links_there_are_symbolic_ones_or_copies() {
    if !faults::can_trace() {
        return;
    }
    for (options, is_symlink) in [
        (&["-e", "inject=linkat:error=EPERM"][..], true),
        (&["-e", "inject=linkat:error=EMLINK"], true),
        (
            &[
                "-e",
                "inject=linkat:error=EOPNOTSUPP",
                "-e",
                "inject=symlinkat:error=EPERM",
            ],
            false,
        ),
    ] {
        let program = growing("");
        program.rnews(b"");
        let told = program.run(&["feed", "list", "--dir", "news"]);
        assert_eq!(told.status, 0, "{told:?}");
        pause(&program);
        program.rnews(&batch(&[cross_posted(1)]));
        std::fs::remove_file(program.path("news/feeds/grove/paused")).unwrap();
        assert!(traced(&program, options), "{options:?}");
        let told = std::fs::symlink_metadata(program.path("tree/comp/test/1")).unwrap();
        assert_eq!(told.is_symlink(), is_symlink, "{options:?}");
        let found = tree(&program, "tree");
        assert!(found["alt/test/1"].1 == found["comp/test/1"].1);
        assert_eq!(found["alt/test/1"].0 == found["comp/test/1"].0, is_symlink);
    }
}

#[test]
fn articles_leave_a_full_disk() {
    let program = growing(", overview = true");
    std::fs::create_dir(program.path("tree")).unwrap();
    let Some(small) = Small::mount(&program.path("tree"), "1m") else {
        return;
    };
    let told = program.rnews(&batch(&many("f", 60, "comp.test", 100)));
    assert_eq!(told.count("accepted"), 60, "{told:?}");
    let lines = || program.read("tree/comp/test/.overview").lines().count();
    assert_eq!((names(&program).len(), lines()), (61, 60));
    small.fill(0);
    // A cancel: the overview without its line has no room beside the old one.
    let told = program.run(&["article", "remove", "--dir", "news", &id("f", 7)]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!((names(&program).len(), lines()), (60, 59));
    assert!(!program.path("tree/comp/test/7").exists());
    // As if a kill had come before the overview was written again.
    std::fs::remove_file(program.path("tree/comp/test/.overview")).unwrap();
    program.run(&["article", "remove", "--dir", "news", &id("f", 8)]);
    program.run(&["feed", "flush", "--dir", "news"]);
    assert_eq!((names(&program).len(), lines()), (59, 58));
    let overview = program.read("tree/comp/test/.overview");
    let first = overview
        .lines()
        .map(|line| line.split('\t').next().unwrap());
    let first: Vec<_> = first.take(7).collect();
    assert_eq!(first, ["1", "2", "3", "4", "5", "6", "9"]);
}

/// The disk became full while lines were appended: the lines of the articles that stay need more room than there is.
#[test]
fn articles_leave_a_full_disk_without_an_overview() {
    let program = growing(", overview = true");
    std::fs::create_dir(program.path("tree")).unwrap();
    let Some(small) = Small::mount(&program.path("tree"), "1m") else {
        return;
    };
    program.rnews(&batch(&many("f", 100, "comp.test", 100)));
    std::fs::remove_file(program.path("tree/comp/test/.overview")).unwrap();
    small.fill(0);
    let remove = |number| {
        let told = program.run(&["article", "remove", "--dir", "news", &id("f", number)]);
        assert_eq!(told.status, 0, "{told:?}");
    };
    let flush = || program.run(&["feed", "flush", "--dir", "news"]);
    remove(1);
    let told = flush();
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err.contains("tree/comp/test/.overview: No space"),
        "{told:?}"
    );
    assert!(!program.path("tree/comp/test/1").exists());
    // A comparison of all files.
    remove(2);
    program.write("explist", b"all x never -\n");
    let told = program.run(&["expire", "--dir", "news", "--force", "explist"]);
    assert_eq!(told.status, 0, "{told:?}");
    small.fill(0);
    assert_eq!(flush().status, 1);
    assert!(!program.path("tree/comp/test/2").exists());
    // The files that go make the room.
    (3..=8).for_each(remove);
    let told = flush();
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(program.read("tree/comp/test/.overview").lines().count(), 92);
    assert_eq!(names(&program).len(), 93);
}
