//! `archive = "segments"`: what expires is filed in a second news directory, where every command can read it.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::program;

use std::process::Stdio;

use program::Program;
use program::articles::{batch, with};
use program::daemon::until;

const TABLES: &str = "
[expiry]
archive_directory = \"old\"

[[expire]]
patterns = \"test\"
keep_days = 10
archive = \"segments\"

[[expire]]
patterns = \"all\"
keep_days = 20
";

const DAY: i64 = 86_400;

fn now() -> i64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64
}

fn expire_after(program: &Program, days: i64) -> program::Told {
    let time = (now() + days * DAY).to_string();
    let told = program.run(&[
        "expire", "--dir", "news", "--force", "--json", "--now", &time,
    ]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    told
}

#[test]
fn what_expires_is_read_there() {
    let program = Program::with_news("test.a 0 1 y\ntest.b 0 1 m\nother 0 1 y\n");
    let tables = program.read("news/broadsheet.toml") + TABLES;
    program.write("news/broadsheet.toml", tables.as_bytes());
    let mut late = b"Expires: ".to_vec();
    article::date::write_utc(&mut late, now() + 30 * DAY);
    late.push(b'\n');
    let late = String::from_utf8(late).unwrap();
    let told = program.rnews(&batch(&[
        with("<1@x>", "test.a", &late, b"one\n"),
        with("<2@x>", "test.a,other", "", b"..two\n.\nno end"),
        with("<3@x>", "test.a,test.b", "Approved: x\n", b""),
        with("<4@x>", "other", "", b"four\n"),
    ]));
    assert_eq!(told.status, 0, "{told:?}");
    let article = |dir: &str, which: &str| program.run_bytes(&["article", "--dir", dir, which]);
    let filed: Vec<_> = ["<1@x>", "<2@x>", "<3@x>"]
        .iter()
        .map(|id| article("news", id))
        .collect();

    let told = program.run(&["expire", "--dir", "news", "-c"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    let told = expire_after(&program, 11);
    assert_eq!((told.count("links"), told.count("archived")), (3, 3));
    // Two of them stay in `other` still; this comes late, with a lower number.
    let told = expire_after(&program, 31);
    assert_eq!((told.count("links"), told.count("archived")), (3, 1));

    for (id, bytes) in ["<1@x>", "<2@x>", "<3@x>"].iter().zip(&filed) {
        assert_eq!(&article("news/old", id), bytes, "{id}");
        assert_eq!(program.run(&["article", "--dir", "news", id]).status, 1);
    }
    assert_eq!(article("news/old", "test.b/1"), filed[2]);
    assert_eq!(
        article("news/old", "other/1"),
        filed[1],
        "in all its groups"
    );
    let told = program.run(&["article", "--dir", "news/old", "<4@x>"]);
    assert_eq!(told.status, 1, "no rule archives it: {told:?}");
    let rows = program
        .run(&["overview", "--dir", "news/old", "test.a"])
        .out;
    let numbers: Vec<_> = rows
        .lines()
        .map(|row| row.split('\t').next().unwrap())
        .collect();
    assert_eq!(numbers, ["1", "2", "3"]);
    let active = program.read("news/old/active");
    assert!(active.contains("test.a 0000000003 00001 n\n"), "{active}");
    for dir in ["news", "news/old"] {
        let told = program.run(&["fsck", "--dir", dir]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    let told = program.run(&["check", "--dir", "news/old"]);
    assert_eq!(told.status, 0, "{told:?}");

    let time = (now() + 9999 * DAY).to_string();
    let told = program.run(&["expire", "--dir", "news/old", "--now", &time, "--json"]);
    assert_eq!(
        (told.status, told.count("articles")),
        (0, 0),
        "all of it stays: {told:?}"
    );
}

#[test]
fn the_news_directory_is_no_archive_of_its_own() {
    let program = Program::with_news("test.a 0 1 y\n");
    let tables = program.read("news/broadsheet.toml") + &TABLES.replace("\"old\"", "\".\"");
    program.write("news/broadsheet.toml", tables.as_bytes());
    program.rnews(&batch(&[with("<1@x>", "test.a", "", b"one\n")]));
    let time = (now() + 11 * DAY).to_string();
    let told = program.run(&[
        "expire", "--dir", "news", "--force", "--json", "--now", &time,
    ]);
    assert_eq!((told.status, told.count("held")), (2, 1), "{told:?}");
    assert!(
        told.err.contains("is the news directory itself"),
        "{told:?}"
    );
    program.run_bytes(&["article", "--dir", "news", "<1@x>"]);
}

#[test]
fn what_is_no_news_directory_is_left_alone() {
    let program = Program::with_news("test.a 0 1 y\n");
    let tables = program.read("news/broadsheet.toml") + TABLES;
    program.write("news/broadsheet.toml", tables.as_bytes());
    std::fs::create_dir(program.path("news/old")).unwrap();
    program.write("news/old/diary", b"mine\n");
    program.rnews(&batch(&[with("<1@x>", "test.a", "", b"one\n")]));
    let time = (now() + 11 * DAY).to_string();
    let told = program.run(&[
        "expire", "--dir", "news", "--force", "--json", "--now", &time,
    ]);
    assert_eq!((told.status, told.count("held")), (2, 1), "{told:?}");
    assert_eq!(program.files("news/old").len(), 1);
    assert!(!program.path("news/.old.new").exists());
    program.run_bytes(&["article", "--dir", "news", "<1@x>"]);
}

#[test]
fn an_article_that_is_restored_meanwhile_stays() {
    let program = Program::with_news("test.a 0 1 y\n");
    let tables = program.read("news/broadsheet.toml") + TABLES;
    program.write("news/broadsheet.toml", tables.as_bytes());
    let ids = ["<1@x>", "<2@x>", "<3@x>"];
    program.rnews(&batch(&[with("<0@x>", "test.a", "", b"first\n")]));
    // It makes the archive.
    assert_eq!(expire_after(&program, 11).count("archived"), 1);
    let articles = ids.map(|id| with(id, "test.a", "", b"text\n"));
    assert_eq!(program.rnews(&batch(&articles)).count("accepted"), 3);
    let article = |words: &[&str]| program.run(&[&["article"], words, &["<2@x>"]].concat());
    assert_eq!(article(&["remove", "--dir", "news"]).status, 0);

    // Expire has decided, and waits for its archive.
    let archive = store::Lock::take_named(&program.path("news/old"), "lock", true).unwrap();
    let time = (now() + 11 * DAY).to_string();
    let words = [
        "expire", "--dir", "news", "--force", "--json", "--now", &time,
    ];
    let mut expire = program.command(&words);
    expire.stdout(Stdio::piped()).stderr(Stdio::piped());
    let expire = expire.spawn().unwrap();
    let process = expire.id().to_string();
    until("the wait", || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let is_its = |line: &str| line.split_whitespace().any(|word| word == process);
        locks
            .lines()
            .any(|line| line.contains(" -> ") && is_its(line))
    });
    let told = article(&["restore", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    drop(archive);
    let done = expire.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let count = |of: &str| told[of].as_u64().unwrap();
    assert_eq!((count("links"), count("archived")), (2, 2), "{told}");
    assert_eq!(count("archive_missing"), 0, "{told}");
    assert_eq!(article(&["--dir", "news"]).status, 0);
    program.assert_clean();

    let told = expire_after(&program, 11);
    assert_eq!((told.count("links"), told.count("archived")), (1, 1));
    assert_eq!(article(&["--dir", "news/old"]).status, 0);
    program.assert_clean();
}

/// Files articles, and expires them so late that their ids are forgotten. Returns what expire told.
fn pass(program: &Program, articles: &[Vec<u8>]) -> program::Told {
    let told = program.rnews(&batch(articles));
    assert_eq!(told.count("accepted"), articles.len() as u64, "{told:?}");
    let time = (now() + 500 * DAY).to_string();
    program.run(&[
        "expire", "--dir", "news", "--force", "--json", "--now", &time,
    ])
}

#[test]
fn another_article_with_an_archived_id_is_kept() {
    let program = Program::with_news("test.a 0 1 y\ntest.b 0 1 y\n");
    let tables = program.read("news/broadsheet.toml") + TABLES;
    program.write("news/broadsheet.toml", tables.as_bytes());
    let ids: Vec<String> = (1..=30).map(|number| format!("<{number}@x>")).collect();
    let versions = |body: &[u8]| -> Vec<Vec<u8>> {
        ids.iter().map(|id| with(id, "test.a", "", body)).collect()
    };
    let told = pass(&program, &versions(b"first\n"));
    assert_eq!((told.status, told.count("archived")), (0, 30), "{told:?}");

    // The same articles by another way are there already, under their first numbers.
    let again = |text: Vec<u8>| {
        let text = String::from_utf8(text).unwrap();
        text.replace("far!near!user", "other!way!user").into_bytes()
    };
    let told = pass(
        &program,
        &versions(b"first\n")
            .into_iter()
            .map(again)
            .collect::<Vec<_>>(),
    );
    assert_eq!((told.status, told.count("archived")), (0, 30), "{told:?}");
    assert_eq!(program.run(&["fsck", "--dir", "news/old"]).status, 0);

    // Those of senders who use the ids again are kept, and do not end the archiving of others.
    let mut articles = versions(b"second\n");
    articles.push(with("<new@x>", "test.a", "", b"new\n"));
    let told = pass(&program, &articles);
    assert_eq!((told.status, told.count("archived")), (2, 1), "{told:?}");
    assert_eq!(told.count("archive_failed"), 30, "{told:?}");
    assert_eq!(told.count("held"), 0, "{told:?}");
    assert_eq!(
        told.err.matches("has another article with its id").count(),
        20
    );
    assert!(told.err.contains("10 more links are kept"), "{told:?}");
    let read = |dir: &str, id: &str| program.run(&["article", "--dir", dir, id]).out;
    for id in &ids {
        assert!(read("news", id).ends_with("second\n"), "{id}");
        assert!(read("news/old", id).ends_with("first\n"), "{id}");
    }
    assert!(read("news/old", "<new@x>").ends_with("new\n"));
    program.assert_clean();

    // As is one whose copy there lacks a group.
    let cross = with("<new@x>", "test.a,test.b", "", b"new\n");
    let told = pass(&program, &[cross]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(!read("news", "<new@x>").is_empty());
}
