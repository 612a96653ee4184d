//! sendbatches hands its batches to real UUCP, as a classic line of batchparms says: uux, uucico over a pipe, uuxqt and our rnews at the
//! other site. Jobs that wait hold sendbatches up; what the other site cannot take is tried again.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use program::Told;
use program::articles::{batch, id, many};
use program::uucp::Uucp;

/// A news directory `origin` at `here`, which feeds `there` as its batchparms say.
fn origin(uucp: &Uucp, batchparms: &str) {
    let program = &uucp.program;
    program.init("origin", "origin.example");
    let sys = "ME:all\nthere/origin.example:comp/all:f:\n";
    program.write("origin/sys", sys.as_bytes());
    program.write("origin/batchparms", batchparms.as_bytes());
    // Only the place of its files is its own; the words are those of the line.
    fs::create_dir(program.path("path")).unwrap();
    let uux = format!(
        "#!/bin/sh\nexec {} -I {} \"$@\"\n",
        program.path("bin/uux").display(),
        program.path("here/config").display()
    );
    program.write("path/uux", uux.as_bytes());
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(program.path("path/uux"), executable).unwrap();
}

fn file(uucp: &Uucp, prefix: &str, count: usize) {
    let text = batch(&many(prefix, count, "comp.test", 2000));
    let told = uucp
        .program
        .feed(&["rnews", "--dir", "origin", "--json"], &text);
    assert_eq!(told.count("accepted"), count as u64, "{told:?}");
}

fn sendbatches(uucp: &Uucp) -> Told {
    let path = std::env::var("PATH").unwrap_or_default();
    let words = [
        "sendbatches",
        "--dir",
        "origin",
        "--json",
        "--uucp-spool",
        "here/spool",
    ];
    let done = uucp
        .program
        .command(&words)
        .env(
            "PATH",
            format!("{}:{path}", uucp.program.path("path").display()),
        )
        .output()
        .unwrap();
    Told {
        status: done.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

fn queuelen(uucp: &Uucp) -> String {
    let words = [
        "queuelen",
        "--dir",
        "origin",
        "--uucp-spool",
        "here/spool",
        "there",
    ];
    let told = uucp.program.run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    told.out
}

/// Each article is there, once, and says that it came from here.
fn assert_arrived(uucp: &Uucp, prefix: &str, count: usize) {
    let ids: Vec<String> = (1..=count).map(|number| id(prefix, number)).collect();
    let mut words = vec!["article", "--dir", "news"];
    words.extend(ids.iter().map(String::as_str));
    let text = uucp.program.run_bytes(&words);
    let text = String::from_utf8_lossy(&text);
    let path = "\nPath: news.example.org!origin.example!far!near!user\n";
    assert_eq!(text.matches(path).count(), count, "{prefix}");
}

#[test]
fn plain_and_compressed_with_every_classic_line() {
    let Some(uucp) = Uucp::new("") else { return };
    origin(&uucp, "");
    let mut all = 0;
    for (prefix, pipeline) in [
        ("plain", "batcher | viauux -z"),
        ("line", "batcher | uux - -r -z SITE!rnews"),
        ("grade", "batcher | viauux -gd -n"),
        ("compcun", "batcher | compcun | viauux -z"),
        ("gzip", "batcher | gzip -9 | viauux -z"),
        ("gunzip", "batcher | gzip -1 | viauux -d gunzip"),
        ("compress", "batcher | compress | viauux"),
        ("bzip2", "batcher | bzip2 | viauux"),
    ] {
        let line = format!("there u 20000 20 {pipeline}\n");
        uucp.program.write("origin/batchparms", line.as_bytes());
        file(&uucp, prefix, 25);
        let told = sendbatches(&uucp);
        assert_eq!(told.status, 0, "{prefix}: {told:?}");
        let batches = told.count("batches");
        assert!(batches > 1, "{told:?}");
        assert_eq!(queuelen(&uucp), format!("{batches}\n"), "{prefix}");
        uucp.call();
        assert_eq!(queuelen(&uucp), "0\n", "{prefix}");
        uucp.execute();
        assert_eq!(uucp.waiting(), (0, 0), "{prefix}: {}", uucp.told());
        all += 25;
        assert_eq!(uucp.filed(), all, "{prefix}: {}", uucp.told());
        assert_arrived(&uucp, prefix, 25);
    }
    uucp.program.assert_clean();
}

#[test]
fn jobs_that_wait_hold_it_up_and_what_is_put_off_comes_later() {
    let Some(uucp) = Uucp::new("--spool") else {
        return;
    };
    origin(&uucp, "/default/ u 20000 2 batcher | compcun | viauux -z\n");
    file(&uucp, "many", 60);
    let settings = uucp.program.read("news/broadsheet.toml");
    let full = settings.replace("keep_free = \"5 MiB\"", "keep_free = 1000000000000000000");
    assert_ne!(settings, full);
    let (mut sent, mut turns) = (0, 0);
    while sent < 60 {
        turns += 1;
        assert!(turns < 20, "{sent}");
        let told = sendbatches(&uucp);
        sent += told.count("articles");
        if sent < 60 {
            assert_eq!(told.status, 1, "{told:?}");
            assert_eq!(told.summary()["why"], "2 batches are in its queue already");
            assert_eq!(queuelen(&uucp), "2\n");
            // Nothing is added while nobody calls.
            assert_eq!(sendbatches(&uucp).count("batches"), 0);
        }
        // The other site's disk is full: its rnews ends with 75, and uuxqt keeps the jobs.
        uucp.call();
        uucp.program.write("news/broadsheet.toml", full.as_bytes());
        uucp.execute();
        let (waiting, failed) = uucp.waiting();
        assert!(waiting > 0 && failed == 0, "{}", uucp.told());
        uucp.program
            .write("news/broadsheet.toml", settings.as_bytes());
        uucp.execute();
        assert_eq!(uucp.waiting(), (0, 0), "{}", uucp.told());
    }
    assert!(turns > 2);
    let told = uucp.program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!(told.count("accepted"), 60, "{told:?}");
    assert_eq!(told.count("duplicates"), 0, "{told:?}");
    assert_arrived(&uucp, "many", 60);
    uucp.program.assert_clean();
}
