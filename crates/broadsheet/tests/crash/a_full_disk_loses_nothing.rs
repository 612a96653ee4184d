//! Disk full: filing stops and says so, what was committed stays, and after space has returned the
//! same batch files the rest, without duplicates.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::process::Command;

use program::articles::{batch, many};
use program::daemon::{Daemon, until};
use program::small::Small;
use program::{Program, Told};

const ARTICLES: usize = 1500;

/// Small commits, so that some come before the disk is full.
fn with_small_commits() -> Program {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program
        .read("news/broadsheet.toml")
        .replace("commit_bytes = \"8 MiB\"", "commit_bytes = \"128 KiB\"");
    assert!(settings.contains("128 KiB"));
    program.write("news/broadsheet.toml", settings.as_bytes());
    program.keep_nothing_free();
    program
}

fn the_rest_is_filed(program: &Program, stopped: &Told, words: &[&str], text: &[u8]) {
    let again = program.feed(words, text);
    assert_eq!(again.status, 0, "{again:?}");
    let filed = again.count("duplicates");
    assert!(filed > 0 && filed < ARTICLES as u64, "{again:?}");
    assert_eq!(
        again.count("accepted"),
        ARTICLES as u64 - filed,
        "{stopped:?} {again:?}"
    );
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let mut ids: Vec<&str> = rows
        .lines()
        .map(|row| row.split('\t').nth(4).unwrap())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), ARTICLES);
    assert_eq!(rows.lines().count(), ARTICLES);
    program.assert_clean();
}

#[test]
fn on_a_full_file_system() {
    let program = with_small_commits();
    // The news directory goes onto the small file system.
    let Some(small) = Small::under(&program, "4m") else {
        return;
    };
    let text = batch(&many("full", ARTICLES, "comp.test", 3000));
    program.write("batch", &text);
    let words = ["rnews", "--dir", "news", "--json", "batch"];
    let stopped = program.run(&words);
    assert_eq!(stopped.status, 2, "{stopped:?}");
    assert!(
        stopped.err.contains("No space left on device"),
        "{stopped:?}"
    );
    assert!(stopped.err.contains("make room"), "{stopped:?}");
    // What comes through a pipe now stays with its sender.
    let piped = program.rnews(&text);
    assert_eq!(piped.status, 75, "{piped:?}");
    assert!(piped.err.contains("send it again"), "{piped:?}");
    // Readers go on meanwhile.
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]);
    assert_eq!(rows.status, 0, "{rows:?}");
    assert!(rows.out.lines().count() > 0);

    small.grow("64m");
    the_rest_is_filed(&program, &stopped, &words, b"");
    drop(small);
}

#[test]
fn the_daemon_tries_in_coming_again() {
    let program = with_small_commits();
    let Some(small) = Small::under(&program, "4m") else {
        return;
    };
    // What waits lies elsewhere.
    let waiting = program.path("news/in.coming");
    let Some(elsewhere) = Small::mount(&waiting, "16m") else {
        return;
    };
    let text = batch(&many("full", ARTICLES, "comp.test", 3000));
    std::fs::write(waiting.join("700000000a.t"), &text).unwrap();
    let daemon = Daemon::start(&program);
    daemon.until_said("make room");
    small.grow("64m");
    // Nobody tells it: it looks again by itself.
    until("all of the batch", || {
        let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
        rows.lines().count() == ARTICLES
    });
    daemon.stop();
    program.assert_clean();
    drop(elsewhere);
    drop(small);
}

#[test]
fn on_a_file_that_may_not_grow() {
    let program = with_small_commits();
    let text = batch(&many("limit", ARTICLES, "comp.test", 3000));
    program.write("batch", &text);
    // 2 MiB a file. The shell ignores SIGXFSZ, and so does what it starts: writes then fail (EFBIG).
    let script = format!(
        "trap '' XFSZ; ulimit -f 4096; exec {} rnews --dir news --json batch",
        env!("CARGO_BIN_EXE_broadsheet")
    );
    let done = Command::new("sh")
        .args(["-c", &script])
        .current_dir(program.path(""))
        .output()
        .unwrap();
    let stopped = Told {
        status: done.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    };
    assert_eq!(stopped.status, 2, "{stopped:?}");
    assert!(stopped.err.contains("File too large"), "{stopped:?}");
    assert!(program.path("batch").exists());
    the_rest_is_filed(
        &program,
        &stopped,
        &["rnews", "--dir", "news", "--json", "batch"],
        b"",
    );
}

#[test]
fn a_compressed_batch_waits_for_the_place_to_expand_it() {
    use std::io::Write;
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let waiting = program.path("news/in.coming");
    let Some(small) = Small::mount(&waiting, "12m") else {
        eprintln!("skipped: a disk that is full (mounting a tmpfs is not allowed)");
        return;
    };
    // Above 16 MiB the expanded batch is in a file.
    let text = batch(&many("large", 4, "comp.test", 5 << 20));
    assert!(text.len() > 16 << 20);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&text).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 2 << 20);
    let path = waiting.join("700000000a.gz");
    std::fs::write(&path, &packed).unwrap();
    let words = ["newsrun", "--dir", "news"];
    let stopped = program.run(&words);
    assert_eq!(stopped.status, 2, "{stopped:?}");
    assert!(
        stopped.err.contains("for the batch when it is expanded"),
        "{stopped:?}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), packed, "{stopped:?}");
    assert!(!program.path("news/bad").join("700000000a.gz").exists());

    small.grow("64m");
    let again = program.run(&words);
    assert_eq!(again.status, 0, "{again:?}");
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), 4);
    assert!(!path.exists());
    drop(small);
}
