//! Expire gets a news directory out of a disk that is full to the last byte, whatever happened before.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::os::unix::fs::MetadataExt;

use program::articles::{batch, many};
use program::daemon::Daemon;
use program::small::Small;
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

fn has_reserve(program: &Program, dir: &str) -> bool {
    let told = std::fs::metadata(program.path(dir).join("reserve"));
    told.is_ok_and(|told| told.blocks() * 512 >= 2 << 20)
}

/// A news directory made on a small disk, which articles fill. `None` where no file system may be mounted.
fn full_disk() -> Option<(Program, Small)> {
    let program = Program::new();
    program.write("active.list", ACTIVE.as_bytes());
    std::fs::create_dir(program.path("news")).unwrap();
    let Some(small) = Small::mount(&program.path("news"), "24m") else {
        eprintln!("skipped: a full disk (no file system may be mounted here)");
        return None;
    };
    program.init("news", "news.example.org");
    program.keep_nothing_free();
    program.set_commit_bytes("128 KiB");
    program.write("news/explist", b"/expired/ x 30 -\nall x 10 -\n");
    let told = program.rnews(&batch(&many("full", 3000, "comp.test", 5000)));
    assert_eq!(told.status, 0, "{told:?}");
    small.fill(0);
    Some((program, small))
}

fn expire(program: &Program) -> Told {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 30 * 86_400;
    program.run(&["expire", "--dir", "news", "--now", &now.to_string()])
}

#[test]
fn before_the_first_expire() {
    let Some((program, small)) = full_disk() else {
        return;
    };
    assert!(has_reserve(&program, "news"));
    let told = expire(&program);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.contains("3000 articles removed"), "{told:?}");
    assert!(has_reserve(&program, "news"));
    program.assert_clean();
    drop(small);
}

#[test]
fn a_restored_directory_has_the_reserve_and_so_has_one_that_a_daemon_serves() {
    let program = Program::with_news(ACTIVE);
    for words in [
        ["backup", "--dir", "news", "kept"],
        ["restore", "--dir", "again", "kept"],
    ] {
        let told = program.run(&words);
        assert_eq!(told.status, 0, "{told:?}");
    }
    assert!(has_reserve(&program, "again"));
    std::fs::remove_file(program.path("news/reserve")).unwrap();
    let daemon = Daemon::start(&program);
    assert!(has_reserve(&program, "news"));
    daemon.stop();
}
