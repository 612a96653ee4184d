//! `check` tells of archives that cannot work, before expire meets them; what would be lost in them stays.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::program;

use std::io::Read;
use std::process::Stdio;

use program::articles::{batch, with};
use program::{Program, Told};

const DAY: i64 = 86_400;

/// `archive = "segments"` of all groups, in this directory.
fn tables(directory: &str) -> String {
    format!(
        "\n[expiry]\narchive_directory = \"{directory}\"\nexpired_days = 14\n\n\
         [[expire]]\npatterns = \"all\"\nkeep_days = 10\narchive = \"segments\"\n"
    )
}

fn add_settings(program: &Program, news: &str, text: &str) {
    let file = format!("{news}/broadsheet.toml");
    let settings = program.read(&file) + text;
    program.write(&file, settings.as_bytes());
}

/// Expires what is older than 10 days, 11 days from now.
fn expire(program: &Program, news: &str, more: &[&str]) -> Told {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64 + 11 * DAY;
    let now = now.to_string();
    let words = ["expire", "--dir", news, "--force", "--now", &now];
    program.run(&[&words, more].concat())
}

fn file(program: &Program, news: &str, id: &str, groups: &str) {
    let told = program.feed(
        &["rnews", "--dir", news],
        &batch(&[with(id, groups, "", b"text\n")]),
    );
    assert_eq!(told.status, 0, "{told:?}");
}

fn has(program: &Program, news: &str, id: &str) -> bool {
    let told = program.run(&["article", "--dir", news, id]);
    assert!(told.status <= 1, "{told:?}");
    told.status == 0
}

#[test]
fn check_says_what_expire_would() {
    for (directory, explist, said, status) in [
        // explist, with and without the directory of `@'.
        (Some("old"), "all x 10 @\n", "", 0),
        (None, "all x 10 @\n", "no archive directory is set", 1),
        (Some("absent"), "all x 10 @\n", "absent does not exist", 0),
        (
            None,
            "all x 10 segments\n",
            "is in `segments' of the news",
            0,
        ),
        (None, "all x 10 bad/x\n", "is in `bad' of the news", 0),
        (None, "all x 10 .\n", "is the news directory itself", 0),
        (None, "all x 10 =old\n", "numbers collide", 0),
        (None, "a x 10 =old\nall x 10 -\n", "", 0),
        // [[expire]].
        (Some("old"), "", "", 0),
        (None, "", "no archive directory is set", 1),
        (Some("absent/old"), "", "absent does not exist", 0),
        (Some("."), "", "is the news directory itself", 0),
        (Some("segments"), "", "is in `segments' of the news", 0),
        (Some("diary"), "", "neither a news directory nor empty", 0),
    ] {
        let program = Program::with_news("a 0 1 y\nb 0 1 y\n");
        for folder in ["news/old", "news/bad/x", "news/diary/today"] {
            std::fs::create_dir_all(program.path(folder)).unwrap();
        }
        let directory = directory.map(|name| format!("archive_directory = \"{name}\"\n"));
        let settings = format!(
            "\n[expiry]\nexpired_days = 14\n{}{}",
            directory.unwrap_or_default(),
            match explist {
                "" => "[[expire]]\npatterns = \"all\"\nkeep_days = 10\narchive = \"segments\"\n",
                _ => "",
            }
        );
        add_settings(&program, "news", &settings);
        if !explist.is_empty() {
            let text = format!("/expired/ x 14 -\n{explist}");
            program.write("news/explist", text.as_bytes());
        }
        file(&program, "news", "<1@x>", "a");
        file(&program, "news", "<2@x>", "b");
        let case = format!("{settings}{explist}");
        let told = program.run(&["check", "-q", "--dir", "news"]);
        assert_eq!(told.status, status, "{case} {told:?}");
        assert!(told.out.contains(said), "{case} {told:?}");
        assert_eq!(
            told.out.contains("archive"),
            !said.is_empty(),
            "{case} {told:?}"
        );

        let before = program.files("news").len();
        let told = expire(&program, "news", &[]);
        assert_eq!(told.status == 0, said.is_empty(), "{case} {told:?}");
        assert!(told.err.contains(said), "{case} {told:?}");
        // Of two articles that collide one is archived.
        if said != "numbers collide" {
            assert_eq!(has(&program, "news", "<1@x>"), !said.is_empty(), "{case}");
        }
        assert!(program.files("news").len() <= before + 3, "{case}");
        assert!(!program.path("news/.diary.new").exists());
    }
}

/// An archive whose disk is not mounted leaves an empty directory in its place, or nothing.
#[test]
fn nothing_goes_below_an_archive_that_is_not_mounted() {
    for (layout, leaves_mount_point) in [("segments", true), ("segments", false), ("@", true)] {
        let program = Program::with_news("a 0 1 y\n");
        let text = tables("../disk/old").replace("\"segments\"", &format!("{layout:?}"));
        add_settings(&program, "news", &text);
        std::fs::create_dir_all(program.path("disk/old")).unwrap();
        file(&program, "news", "<1@x>", "a");
        let told = expire(&program, "news", &["--json"]);
        assert_eq!((told.status, told.count("archived")), (0, 1), "{told:?}");

        std::fs::rename(program.path("disk/old"), program.path("away")).unwrap();
        if leaves_mount_point {
            std::fs::create_dir(program.path("disk/old")).unwrap();
        }
        file(&program, "news", "<2@x>", "a");
        let told = program.run(&["check", "-q", "--dir", "news"]);
        assert!(told.out.contains("mount its disk"), "{told:?}");
        let told = expire(&program, "news", &["--json"]);
        assert_eq!((told.status, told.count("held")), (2, 1), "{told:?}");
        assert!(told.err.contains("archives.known"), "{told:?}");
        assert!(has(&program, "news", "<2@x>"));
        assert_eq!(program.path("disk/old").exists(), leaves_mount_point);

        // It is mounted again.
        let _ = std::fs::remove_dir(program.path("disk/old"));
        std::fs::rename(program.path("away"), program.path("disk/old")).unwrap();
        let told = expire(&program, "news", &["--json"]);
        assert_eq!((told.status, told.count("archived")), (0, 1), "{told:?}");

        // The administrator begins another one there.
        std::fs::rename(program.path("disk/old"), program.path("away")).unwrap();
        std::fs::create_dir(program.path("disk/old")).unwrap();
        program.write("news/archives.known", b"");
        file(&program, "news", "<3@x>", "a");
        let told = expire(&program, "news", &["--json"]);
        assert_eq!((told.status, told.count("archived")), (0, 1), "{told:?}");
    }
}

#[test]
fn a_news_directory_that_cannot_get_its_name_leaves_nothing_behind() {
    let program = Program::with_news("a 0 1 y\n");
    add_settings(&program, "news", &tables("../old"));
    std::os::unix::fs::symlink("nowhere", program.path("old")).unwrap();
    file(&program, "news", "<1@x>", "a");
    let told = expire(&program, "news", &["--json"]);
    assert_eq!(
        (told.status, told.count("archive_failed")),
        (2, 1),
        "{told:?}"
    );
    assert!(has(&program, "news", "<1@x>"));
    assert!(!program.path(".old.new").exists(), "{told:?}");
}

#[test]
fn a_number_of_another_article_is_not_given_twice() {
    let program = Program::with_news("a 0 1 y\nb 0 1 y\n");
    add_settings(&program, "news", &tables("../old"));
    file(&program, "news", "<1@x>", "a");
    assert_eq!(expire(&program, "news", &[]).status, 0);
    // A new spool, whose numbers begin again.
    program.init("other", "news.example.org");
    add_settings(&program, "other", &tables("../old"));
    file(&program, "other", "<2@x>", "b,a");
    file(&program, "other", "<3@x>", "b");
    let told = expire(&program, "other", &["--json"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("has another article as a/1"), "{told:?}");
    assert!(has(&program, "other", "<2@x>") && !has(&program, "old", "<2@x>"));
    assert!(has(&program, "old", "<1@x>") && has(&program, "old", "<3@x>"));
    let rows = program.run(&["overview", "--dir", "old", "a"]).out;
    assert_eq!(rows.lines().count(), 1, "{rows}");
    for news in ["old", "other"] {
        let told = program.run(&["fsck", "--dir", news]);
        assert_eq!(told.status, 0, "{told:?}");
    }
}

#[test]
fn a_damaged_copy_is_no_copy() {
    let program = Program::with_news("a 0 1 y\nb 0 1 y\n");
    let only_a = tables("../old").replace("\"all\"", "\"a\"")
        + "\n[[expire]]\npatterns = \"all\"\nkeep_days = 90\n";
    add_settings(&program, "news", &only_a);
    let marker = b"a body that is easily found\n";
    let told = program.rnews(&batch(&[with("<1@x>", "a,b", "", marker)]));
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(expire(&program, "news", &[]).status, 0);
    assert!(has(&program, "old", "<1@x>") && has(&program, "news", "<1@x>"));
    let art = program.files("old/segments");
    let mut art = art
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "art"));
    let (art, none) = (art.next().unwrap(), art.next());
    assert!(none.is_none());
    let mut bytes = std::fs::read(art).unwrap();
    let at = memchr::memmem::find(&bytes, b"easily").unwrap();
    bytes[at] ^= 1;
    std::fs::write(art, bytes).unwrap();

    // Now it would leave its last group.
    let settings = program
        .read("news/broadsheet.toml")
        .replace("keep_days = 90", "keep_days = 10\narchive = \"segments\"");
    program.write("news/broadsheet.toml", settings.as_bytes());
    let told = expire(&program, "news", &["--json"]);
    assert_eq!(
        (told.status, told.count("archive_failed")),
        (2, 1),
        "{told:?}"
    );
    assert!(told.err.contains("is damaged at byte"), "{told:?}");
    assert!(has(&program, "news", "<1@x>"));
    // A repair gives the damaged copy up, and the next run makes another one.
    program.run(&["fsck", "--dir", "old", "--repair"]);
    let told = expire(&program, "news", &["--json"]);
    assert_eq!((told.status, told.count("archived")), (0, 1), "{told:?}");
    assert!(has(&program, "old", "<1@x>") && !has(&program, "news", "<1@x>"));
}

#[test]
fn h_holds_as_in_c_news() {
    let program = Program::with_news("a 0 1 y\nb 0 1 y\n");
    let only_a = tables("../old").replace("\"all\"", "\"a\"")
        + "\n[[expire]]\npatterns = \"all\"\nkeep_days = 10\n";
    add_settings(&program, "news", &only_a);
    file(&program, "news", "<1@x>", "a");
    file(&program, "news", "<2@x>", "b");
    let told = expire(&program, "news", &["-h", "--json"]);
    assert_eq!((told.status, told.count("held")), (0, 1), "{told:?}");
    assert!(has(&program, "news", "<1@x>") && !has(&program, "news", "<2@x>"));
}

#[test]
fn a_run_that_waits_for_the_archive_says_so() {
    let program = Program::with_news("a 0 1 y\n");
    add_settings(&program, "news", &tables("../old"));
    file(&program, "news", "<1@x>", "a");
    assert_eq!(expire(&program, "news", &[]).status, 0);
    file(&program, "news", "<2@x>", "a");
    let lock = store::Lock::take(&program.path("old"), None).unwrap();
    let now = (std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64 + 11 * DAY).to_string();
    let mut run = program
        .command(&["expire", "--dir", "news", "--force", "--now", &now])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = run.stderr.take().unwrap();
    let mut said = Vec::new();
    let mut byte = [0];
    while told.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        said.extend(byte);
    }
    drop(lock);
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("waiting for another program"), "{said}");
    assert!(said.contains("old"), "{said}");
    assert!(run.wait().unwrap().success());
    assert!(has(&program, "old", "<2@x>"));
}
